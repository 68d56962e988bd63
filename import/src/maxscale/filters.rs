//! Filters: they become rules of the listeners whose services name them.

use config::{RuleConfig, SqlText};

use super::objects::Objects;
use super::services::Placed;
use crate::ini::Section;
use crate::output::{Origin, Output, Table, Toml};
use crate::units::milliseconds;

/// Writes the filters that some service uses.
pub fn translate(objects: &Objects, listeners: &[Placed], output: &mut Output<'_>) {
    for section in objects.of("filter") {
        let from = Origin::named(section.line, format!("[{}]", section.name));
        let used: Vec<String> = listeners
            .iter()
            .filter(|it| it.filters.contains(&section.name))
            .map(|it| it.address.clone())
            .collect();
        if used.is_empty() {
            output.unneeded(&from, "no listener's service uses the filter");
            continue;
        }
        let used = if used.len() == listeners.len() {
            Vec::new()
        } else {
            used
        };
        filter(section, &used, &from, output);
    }
}

fn filter(section: &Section, listeners: &[String], from: &Origin, output: &mut Output<'_>) {
    let module = section.value("module").unwrap_or("").to_ascii_lowercase();
    let (reason, nearest) = match module.as_str() {
        "regexfilter" | "namedserverfilter" | "throttlefilter" => {
            return rules(&module, section, listeners, from, output);
        }
        "hintfilter" => {
            output.set(
                "hints.accepted",
                Toml::List(vec!["maxscale".to_owned()]),
                from,
            );
            return output.differs(from, "hints are obeyed on every listener", "account.hints");
        }
        "qlafilter" => return query_log(section, from, output),
        "optimistictrx" => {
            return output.set("routing.optimistic_transactions", Toml::Truth(true), from);
        }
        "ccrfilter" => {
            return output.unneeded(
                from,
                "reads see what their session has written, as consistency says",
            );
        }
        "psreuse" | "nullfilter" | "topfilter" | "tpmfilter" => {
            return output.unneeded(
                from,
                "the proxy does this by itself: see digests and slow statements on the admin port",
            );
        }
        "cache" => (
            "Pilotfish has no result cache yet",
            "a cache in the application",
        ),
        "tee" => (
            "a filter does not send statements to another service",
            "a [[rule]] with mirror = CLUSTER",
        ),
        "masking" => (
            "results are not changed",
            "a view on the server, or a script",
        ),
        "maxrows" => (
            "results are not cut",
            "sql_select_limit on the server, or a rule with timeout",
        ),
        "dbfwfilter" => (
            "the rules of its file are not read",
            "[[rule]] with kind, tables, regex and refuse",
        ),
        "luafilter" => (
            "MaxScale's hooks are others",
            "a script, see the page Scripts",
        ),
        "comment" => ("no comment is put before statements", ""),
        "rewritefilter" => (
            "the templates of its file are not read",
            "[[rule]] with regex and rewrite",
        ),
        _ => ("this import does not know the filter", ""),
    };
    output.lost(from, reason, nearest);
}

fn query_log(section: &Section, from: &Origin, output: &mut Output<'_>) {
    match section.value("filebase") {
        Some(path) => {
            output.new_file("query_log.file", path, from);
            output.differs(
                from,
                "one log of all listeners, in JSON, of statements without values",
                "query_log.include_values = true",
            );
        }
        None => output.lost(from, "the filter has no filebase", "query_log.file"),
    }
}

fn rules(
    module: &str,
    section: &Section,
    listeners: &[String],
    from: &Origin,
    output: &mut Output<'_>,
) {
    for (index, (pattern, action)) in expressions(module, section).into_iter().enumerate() {
        let mut table = Table::new(format!("[{}], line {}", section.name, section.line));
        let count = if index == 0 {
            String::new()
        } else {
            format!(" {}", index + 1)
        };
        table.text("name", format!("{}{count}", section.name));
        if !listeners.is_empty() {
            table.set("listener", Toml::List(listeners.to_vec()));
        }
        if let Some(user) = section.value("user") {
            table.set("user", Toml::List(vec![user.to_owned()]));
        }
        if let Some(source) = section.value("source") {
            match source.parse::<config::IpNet>().is_ok()
                || source.parse::<std::net::IpAddr>().is_ok()
            {
                true => table.set("networks", Toml::List(vec![source.to_owned()])),
                false => {
                    output.lost(
                        from,
                        format!("source \"{source}\" is no network"),
                        "rule.networks",
                    );
                    continue;
                }
            }
        }
        if let Some(pattern) = pattern {
            let is_exact = section
                .value("options")
                .is_some_and(|it| it.contains("case") && !it.contains("ignorecase"));
            table.text(
                "regex",
                if is_exact {
                    format!("(?-i){pattern}")
                } else {
                    pattern
                },
            );
        }
        if action.apply(section, &mut table, from, output) {
            output.rules.push(table);
        }
    }
}

/// The action of a filter on the statements that it matches.
enum Action {
    Rewrite(String),
    Target(String),
    Throttle,
}

/// Each expression of a filter, with its action.
fn expressions(module: &str, section: &Section) -> Vec<(Option<String>, Action)> {
    let get = |key: &str| section.value(key).map(str::to_owned);
    match module {
        "regexfilter" => vec![(
            get("match"),
            Action::Rewrite(get("replace").unwrap_or_default()),
        )],
        "namedserverfilter" => {
            let numbered = (1..=25).map(|it| {
                (
                    get(&format!("match{it:02}")),
                    get(&format!("target{it:02}")),
                )
            });
            let plain = [(get("match"), get("server"))].into_iter().chain(numbered);
            plain
                .filter_map(|(pattern, target)| Some((Some(pattern?), Action::Target(target?))))
                .collect()
        }
        _ => vec![(None, Action::Throttle)],
    }
}

impl Action {
    /// Writes the action into the rule. Returns whether the rule can be used.
    fn apply(
        self,
        section: &Section,
        table: &mut Table,
        from: &Origin,
        output: &mut Output<'_>,
    ) -> bool {
        let sql = |text: &str| Some(SqlText::from(text));
        let mut rule = RuleConfig {
            regex: table.get("regex").and_then(sql),
            ..RuleConfig::default()
        };
        match self {
            Self::Rewrite(text) => {
                // An empty text would mean that the setting is not set.
                let text = with_groups(&text);
                let text = if text.is_empty() {
                    " ".to_owned()
                } else {
                    text
                };
                rule.rewrite = sql(&text);
                table.text("rewrite", text);
                table.set("stop", Toml::Truth(false));
            }
            Self::Target(target) => {
                if !set_target(&target, table, output) {
                    output.lost(
                        from,
                        format!("no backend is \"{target}\""),
                        "rule.backend, rule.routing.replicas",
                    );
                    return false;
                }
            }
            Self::Throttle => return throttle(section, table, from, output),
        }
        if let Some(fault) = Output::rule_fault(rule) {
            let reason = format!("the expression is another dialect: {fault}");
            output.lost(
                from,
                reason,
                "write the rule by hand, see the page Rules of the manual",
            );
            return false;
        }
        true
    }
}

fn set_target(target: &str, table: &mut Table, output: &Output<'_>) -> bool {
    match target {
        "->master" => table.text("routing.replicas", "primary"),
        "->slave" => table.text("routing.replicas", "replica"),
        "->all" => return false,
        name if output
            .backends
            .iter()
            .any(|it| it.get("name") == Some(name)) =>
        {
            table.text("backend", name)
        }
        _ => return false,
    }
    true
}

fn throttle(section: &Section, table: &mut Table, from: &Origin, output: &mut Output<'_>) -> bool {
    let Some(rate) = section
        .value("max_qps")
        .and_then(|it| it.parse::<u64>().ok())
        .filter(|it| *it > 0)
    else {
        output.unreadable(from, "a max_qps of at least 1");
        return false;
    };
    table.set("rate", Toml::Number(rate.min(1_000_000_000)));
    table.text("rate_by", "account");
    let wait = section
        .value("throttling_duration")
        .and_then(|it| milliseconds(it, 1));
    if let Some(ms) = wait {
        let ms = output.bounded(
            "rule.timeout_queue",
            ms.max(1),
            from,
            crate::units::spell_time,
        );
        table.text("timeout_queue", crate::units::spell_time(ms));
    }
    table.set("stop", Toml::Truth(false));
    output.differs(
        from,
        "an account's sessions are counted together, and an error ends the wait, not the session",
        "rule.rate",
    );
    true
}

/// Converts `\1` and `$1` of PCRE2 to `${1}`, and escapes other dollar signs.
fn with_groups(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\' | '$', Some(digit)) if digit.is_ascii_digit() => {
                out.push_str(&format!("${{{digit}}}"));
                letters.next();
            }
            ('$', Some('{')) => out.push('$'),
            ('$', _) => out.push_str("$$"),
            _ => out.push(letter),
        }
    }
    out
}
