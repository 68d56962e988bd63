//! `mysql_query_rules`: rules.

use config::{RuleConfig, SqlText};

use super::chains::{Chained, unfold};
use super::groups::Groups;
use super::tables::{Row, Tables};
use crate::output::{Origin, Output, Table, Toml};
use crate::units::spell_time;

const TABLE: &str = "mysql_query_rules";

/// Writes all rules, and the default timeout, which becomes a rule.
pub fn translate(tables: &Tables, groups: &Groups, output: &mut Output<'_>) {
    hints(tables, groups, output);
    note_unreachable(tables, output);
    let Some(chained) = unfold(tables) else {
        let origin = Origin::named(None, TABLE);
        output.lost(
            &origin,
            "the chains of flags grow beyond 10000 rules",
            "write the rules by hand",
        );
        return;
    };
    for rule in &chained {
        if let Some(row) = rule.row()
            && let Some(table) = (Translation {
                rule,
                row,
                groups,
                output,
            })
            .table()
        {
            output.rules.push(table);
        }
    }
    default_timeout(tables, output);
}

/// ProxySQL obeys every hint. In Pilotfish hints must be allowed.
fn hints(tables: &Tables, groups: &Groups, output: &mut Output<'_>) {
    if tables.rows("mysql_servers").count() < 2 {
        return;
    }
    let origin = Origin::named(None, "comments such as hostgroup=1 in statements");
    output.set("hints.hostgroups", Toml::List(groups.hints()), &origin);
    let reason = "ProxySQL obeys them from every client. Here somebody must allow it";
    output.aside(
        "hints.accepted",
        Toml::List(vec!["proxysql".to_owned()]),
        reason,
    );
}

fn note_unreachable(tables: &Tables, output: &mut Output<'_>) {
    for row in tables.rows(TABLE) {
        let origin = Origin::named(row.line, format!("{TABLE} {}", title(row)));
        let flag = row.number("flagIN").unwrap_or(0);
        let leads = |it: &Row| it.number("flagOUT") == Some(flag);
        if !row.truth("active", true) {
            output.unneeded(&origin, "the rule is not active");
        } else if flag != 0 && !tables.rows(TABLE).any(leads) {
            output.unneeded(&origin, format!("no rule leads to flagIN = {flag}"));
        }
    }
}

/// Writes a timeout for all statements as a rule that matches all statements.
fn default_timeout(tables: &Tables, output: &mut Output<'_>) {
    const NAME: &str = "mysql-default_query_timeout";
    let Some(variable) = tables.variables.iter().rev().find(|it| it.name == NAME) else {
        return;
    };
    let origin = Origin::new(variable.line, NAME, &variable.value);
    let Ok(ms) = variable.value.parse::<u64>() else {
        return output.unreadable(&origin, "a number");
    };
    // A day is ProxySQL's own default.
    if ms == 0 || ms >= 86_400_000 {
        return output.unneeded(&origin, "a statement that runs for a day has no limit here");
    }
    let mut table = Table::new(format!("{NAME} = {ms}"));
    table.text("name", "default query timeout");
    table.text("timeout", spell_time(ms));
    table.set("stop", Toml::Truth(false));
    if output.rules.iter().any(|it| it.has("timeout")) {
        let reason = "it holds for statements that no rule with stop = true takes before";
        output.differs(&origin, reason, "rule.timeout in those rules");
        output.rules.push(table);
    } else {
        output.rules.insert(0, table);
    }
}

fn title(row: &Row) -> String {
    row.get("rule_id")
        .map_or_else(|| "rule".to_owned(), |id| format!("rule {id}"))
}

/// The translation of one rule.
struct Translation<'a, 'o, 's> {
    rule: &'a Chained<'a>,
    row: &'a Row,
    groups: &'a Groups,
    output: &'o mut Output<'s>,
}

impl Translation<'_, '_, '_> {
    fn table(mut self) -> Option<Table> {
        let path: Vec<_> = self.rule.rows.iter().map(|it| title(it)).collect();
        let line = self
            .row
            .line
            .map(|it| format!(", line {it}"))
            .unwrap_or_default();
        let comment = self
            .row
            .get("comment")
            .map(|it| format!(": {it}"))
            .unwrap_or_default();
        let mut table = Table::new(format!("{TABLE}{line}, {}{comment}", path.join(" after ")));
        table.text("name", path.join(" after "));
        if let Err(reason) = self.conditions(&mut table) {
            let origin = Origin::named(self.row.line, format!("{TABLE} {}", path.join(" after ")));
            self.output.lost(
                &origin,
                reason,
                "write the rule by hand, see the page Rules of the manual",
            );
            return None;
        }
        self.actions(&mut table);
        if !self.rule.stops {
            table.set("stop", Toml::Truth(false));
        }
        Some(table)
    }

    /// A condition of the chain. Two rules of a chain cannot have different values of it.
    fn condition(&self, column: &str) -> Result<Option<String>, String> {
        let mut values = self.rule.rows.iter().filter_map(|it| it.get(column));
        let first = values.next();
        match values.any(|it| Some(it) != first) {
            true => Err(format!(
                "two rules of the chain have a {column}, and a rule here has one"
            )),
            false => Ok(first.map(str::to_owned)),
        }
    }

    fn conditions(&mut self, table: &mut Table) -> Result<(), String> {
        if self
            .rule
            .rows
            .iter()
            .any(|it| it.truth("negate_match_pattern", false))
        {
            return Err(
                "an expression cannot be negated; a rule before it can take what shall not match"
                    .to_owned(),
            );
        }
        if self.condition("digest")?.is_some() {
            let reason = "ProxySQL's hash of a digest is another than Pilotfish's; give the statement itself as digest";
            return Err(reason.to_owned());
        }
        if let Some(user) = self.condition("username")? {
            table.set("user", Toml::List(vec![user]));
        }
        if let Some(schema) = self.condition("schemaname")? {
            table.set("schema", Toml::List(vec![schema]));
        }
        if let Some(client) = self.condition("client_addr")? {
            let network =
                network(&client).ok_or(format!("client_addr \"{client}\" is no network"))?;
            table.set("networks", Toml::List(vec![network]));
        }
        self.listener(table)?;
        for (column, key) in [("match_digest", "digest_regex"), ("match_pattern", "regex")] {
            if let Some(pattern) = self.condition(column)? {
                let pattern = self.pattern(pattern);
                let sql = Some(SqlText::from(pattern.as_str()));
                let rule = match key {
                    "regex" => RuleConfig {
                        regex: sql,
                        ..RuleConfig::default()
                    },
                    _ => RuleConfig {
                        digest_regex: sql,
                        ..RuleConfig::default()
                    },
                };
                if let Some(fault) = Output::rule_fault(rule) {
                    return Err(format!(
                        "the expression of {column} is another dialect: {fault}"
                    ));
                }
                table.text(key, pattern);
            }
        }
        Ok(())
    }

    /// The pattern with its modifier. The case counts, unless the modifiers have CASELESS, which is the default.
    fn pattern(&self, pattern: String) -> String {
        let modifiers = self
            .rule
            .get("re_modifiers")
            .unwrap_or("CASELESS")
            .to_ascii_uppercase();
        match modifiers.contains("CASELESS") {
            true => pattern,
            false => format!("(?-i){pattern}"),
        }
    }

    fn listener(&self, table: &mut Table) -> Result<(), String> {
        let (address, port) = (self.condition("proxy_addr")?, self.condition("proxy_port")?);
        if address.is_none() && port.is_none() {
            return Ok(());
        }
        let fits = |it: &&String| {
            let (ip, at) = it.rsplit_once(':').unwrap_or((it, ""));
            address.as_deref().is_none_or(|wanted| wanted == ip)
                && port.as_deref().is_none_or(|wanted| wanted == at)
        };
        let found: Vec<String> = self.output.listen().iter().filter(fits).cloned().collect();
        if found.is_empty() {
            return Err("the proxy does not listen at that proxy_addr and proxy_port".to_owned());
        }
        table.set("listener", Toml::List(found));
        Ok(())
    }

    fn actions(&mut self, table: &mut Table) {
        let ends = self.end(table);
        for column in [
            "destination_hostgroup",
            "timeout",
            "delay",
            "retries",
            "mirror_hostgroup",
            "replace_pattern",
        ] {
            let Some(value) = self.rule.get(column) else {
                continue;
            };
            let owner = self
                .rule
                .rows
                .iter()
                .rev()
                .find(|it| it.get(column).is_some());
            let origin = owner.map_or_else(
                || Origin::named(None, column),
                |it| it.origin(TABLE, column),
            );
            match column {
                "delay" => self.time(table, "delay", "rule.delay", value, &origin),
                _ if ends => self
                    .output
                    .unneeded(&origin, "the statement is answered and goes to no backend"),
                "destination_hostgroup" => self.destination(table, value, &origin),
                "timeout" => self.time(table, "timeout", "rule.timeout", value, &origin),
                "retries" => match value.parse() {
                    Ok(count) => {
                        let count = self
                            .output
                            .bounded("rule.retry", count, &origin, |it| it.to_string());
                        table.set("retry", Toml::Number(count));
                    }
                    Err(_) => self.output.unreadable(&origin, "a number"),
                },
                "mirror_hostgroup" => self.mirror(table, value, &origin),
                _ => self.rewrite(table, value, &origin),
            }
        }
        for column in self.row.names() {
            self.other(table, column);
        }
    }

    /// Writes an answer that needs no backend. Returns whether the rule has one.
    fn end(&mut self, table: &mut Table) -> bool {
        if let Some(text) = self.rule.get("error_msg") {
            table.text("answer", "error");
            table.set("answer_error", Toml::Number(1148));
            table.text("answer_sqlstate", "42000");
            table.text("answer_message", text);
            return true;
        }
        let Some(text) = self.rule.get("OK_msg") else {
            return false;
        };
        table.text("answer", "ok");
        let origin = Origin::new(self.row.line, "mysql_query_rules.OK_msg", text);
        self.output.differs(
            &origin,
            "the OK has no text",
            "answer = \"rows\" answers with a result",
        );
        true
    }

    fn destination(&mut self, table: &mut Table, value: &str, origin: &Origin) {
        let Some(target) = value.parse().ok().and_then(|it| self.groups.target(it)) else {
            let reason =
                "no server is in that hostgroup, so the statement goes where its session goes";
            return self.output.lost(origin, reason, "");
        };
        if self.groups.are_several() {
            table.text("routing.cluster", &target.cluster);
        }
        if self.groups.has_replicas(&target.cluster) {
            table.text("routing.replicas", target.role);
        }
    }

    fn time(
        &mut self,
        table: &mut Table,
        key: &'static str,
        name: &str,
        value: &str,
        origin: &Origin,
    ) {
        match value.parse() {
            Ok(0) => {}
            Ok(ms) => {
                let ms = self.output.bounded(name, ms, origin, spell_time);
                table.text(key, spell_time(ms));
            }
            Err(_) => self.output.unreadable(origin, "a number of milliseconds"),
        }
    }

    fn mirror(&mut self, table: &mut Table, value: &str, origin: &Origin) {
        let target = value.parse().ok().and_then(|it| self.groups.target(it));
        match target {
            Some(target)
                if self.groups.are_several()
                    && table.get("routing.cluster") != Some(&target.cluster) =>
            {
                table.text("mirror", &target.cluster);
            }
            _ => {
                let reason = "a mirror is another cluster than the statement's own";
                self.output.lost(
                    origin,
                    reason,
                    "give the mirror's backends a cluster of their own",
                );
            }
        }
    }

    fn rewrite(&mut self, table: &mut Table, value: &str, origin: &Origin) {
        if !table.has("regex") {
            let reason = "a rewrite replaces what match_pattern has matched, and the rule has none";
            return self
                .output
                .lost(origin, reason, "rule.regex with rule.rewrite");
        }
        let rewrite = with_groups(value);
        let sql = |text: &str| Some(SqlText::from(text));
        let rule = RuleConfig {
            regex: table.get("regex").and_then(sql),
            rewrite: sql(&rewrite),
            ..RuleConfig::default()
        };
        if let Some(fault) = Output::rule_fault(rule) {
            return self.output.lost(
                origin,
                format!("the rewrite cannot be used: {fault}"),
                "rule.rewrite",
            );
        }
        table.text("rewrite", rewrite);
        if !self
            .rule
            .get("re_modifiers")
            .unwrap_or("")
            .to_ascii_uppercase()
            .contains("GLOBAL")
        {
            let reason = "every match is replaced, not only the first";
            self.output
                .differs(origin, reason, "begin the expression with ^");
        }
        if !self.rule.stops {
            let reason = "rules behind it look at the statement as the client has sent it";
            self.output.differs(
                origin,
                reason,
                "write their expressions for the statement before the rewrite",
            );
        }
    }

    fn other(&mut self, table: &mut Table, column: &str) {
        let origin = self.row.origin(TABLE, column);
        let is_set = self.row.truth(column, false);
        let (reason, nearest) = match column {
            "log" if is_set => return table.set("log", Toml::Truth(true)),
            "multiplex" if self.row.get(column) == Some("0") => {
                return table.text("routing.session", "transparent");
            }
            "multiplex" => {
                return self.output.unneeded(
                    &origin,
                    "the proxy restores variables, so they pin no session",
                );
            }
            "gtid_from_hostgroup" if !table.has("answer") => {
                return table.text("routing.consistency", "session");
            }
            "cache_ttl" | "cache_empty_result" | "cache_timeout" => (
                "Pilotfish has no result cache yet",
                "a cache in the application, or replicas for these reads",
            ),
            "sticky_conn" | "reconnect" => {
                return self.output.unneeded(
                    &origin,
                    "ProxySQL reads the column and does nothing with it",
                );
            }
            "next_query_flagIN" => (
                "a rule does not change which rules the next statement meets",
                "rule.routing.session keeps a connection",
            ),
            "mirror_flagOUT" => ("a mirrored statement meets no rules", ""),
            "attributes" => (
                "rules have no attributes",
                "rule.percentage for weighted flags",
            ),
            "negate_match_pattern" | "log" | "gtid_from_hostgroup" => return,
            "rule_id"
            | "active"
            | "apply"
            | "comment"
            | "flagIN"
            | "flagOUT"
            | "username"
            | "schemaname"
            | "client_addr"
            | "proxy_addr"
            | "proxy_port"
            | "digest"
            | "match_digest"
            | "match_pattern"
            | "re_modifiers"
            | "destination_hostgroup"
            | "replace_pattern"
            | "timeout"
            | "retries"
            | "delay"
            | "mirror_hostgroup"
            | "error_msg"
            | "OK_msg" => return,
            _ => ("this import does not know the column", ""),
        };
        self.output.lost(&origin, reason, nearest);
    }
}

/// Converts `\1` of ProxySQL to `${1}`, and escapes dollar signs, which have no meaning in ProxySQL.
fn with_groups(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                out.push_str(&format!("${{{digit}}}"));
                letters.next();
            }
            ('\\', Some('\\')) => {
                out.push('\\');
                letters.next();
            }
            ('$', _) => out.push_str("$$"),
            _ => out.push(letter),
        }
    }
    out
}

/// Converts `10.1.%` and single addresses to networks.
fn network(text: &str) -> Option<String> {
    if let Some(prefix) = text.strip_suffix('%') {
        let octets: Vec<&str> = prefix.split('.').filter(|it| !it.is_empty()).collect();
        let is_whole = prefix.is_empty() || prefix.ends_with('.');
        if !is_whole || octets.len() > 3 {
            return None;
        }
        let filled: Vec<&str> = octets.iter().copied().chain(["0"; 4]).take(4).collect();
        let network = format!("{}/{}", filled.join("."), octets.len() * 8);
        return filled
            .iter()
            .all(|it| it.parse::<u8>().is_ok())
            .then_some(network);
    }
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let address: std::net::IpAddr = address.parse().ok()?;
    match bits.parse::<u8>() {
        Ok(bits) if bits <= if address.is_ipv4() { 32 } else { 128 } => {
            Some(format!("{address}/{bits}"))
        }
        _ if bits.is_empty() => Some(address.to_string()),
        _ => None,
    }
}
