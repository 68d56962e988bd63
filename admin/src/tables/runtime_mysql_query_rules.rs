//! The rules as ProxySQL's admin schema shows them. A rule's name holds its `rule_id` and, after a space, its
//! `comment`.

use config::manual::plain;
use config::{RULE, RuleConfig, SessionMode, SqlText};

use super::runtime_mysql_servers::hostgroup;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<Rule> = TableDefinition {
    schema: Schema::Main,
    name: "runtime_mysql_query_rules",
    about: "The rules as they hold, by the names of ProxySQL. They are changed in rules.",
    asks: Asks::Nothing,
    columns: columns! {
        integer "rule_id", "The number that its name begins with; NULL: none.", |it| it.id.into();
        integer "active", "Whether it does anything (dry_run = false).", |it| (!it.config.dry_run).into();
        text "username", "Users; several as a list.", |it| list(&it.config.user);
        text "schemaname", "Default schemas; several as a list.", |it| list(&it.config.schema);
        integer "flagIN", "Rules are read in their order: 0.", |_| 0_u32.into();
        text "client_addr", "Networks of clients; several as a list.", |it| list(&it.config.networks);
        text "proxy_addr", "rules.listener says it: NULL.", |_| Cell::Null;
        integer "proxy_port", "rules.listener says it: NULL.", |_| Cell::Null;
        text "digest", "Digests; several as a list.", |it| list(it.config.digest.iter().map(SqlText::to_string));
        text "match_digest", "Regular expression for the digest's text.",
            |it| it.config.digest_regex.as_ref().map(SqlText::to_string).into();
        text "match_pattern", "Regular expression for the text.",
            |it| it.config.regex.as_ref().map(SqlText::to_string).into();
        integer "negate_match_pattern", "Always 0.", |_| 0_u32.into();
        text "re_modifiers", "CASELESS, unless the expression says (?-i); and every match is replaced.",
            |_| "CASELESS,GLOBAL".into();
        integer "flagOUT", "Rules are read in their order: NULL.", |_| Cell::Null;
        text "replace_pattern", "The text that replaces matches, as rules.rewrite has it.",
            |it| it.config.rewrite.as_ref().map(SqlText::to_string).into();
        integer "destination_hostgroup", "The number of the cluster.", |it| it.destination.into();
        integer "cache_ttl", "There is no cache: NULL.", |_| Cell::Null;
        integer "cache_empty_result", "There is no cache: NULL.", |_| Cell::Null;
        integer "cache_timeout", "There is no cache: NULL.", |_| Cell::Null;
        integer "reconnect", "It has no meaning: NULL.", |_| Cell::Null;
        measure "timeout" ["ms"], "How long a statement may run.",
            |it| it.config.timeout.map(|it| it.as_millis() as u64).into();
        integer "retries", "How often a read is sent again.", |it| it.config.retry.map(u32::from).into();
        measure "delay" ["ms"], "How long it waits before it is sent.",
            |it| it.config.delay.map(|it| it.as_millis() as u64).into();
        integer "next_query_flagIN", "Rules know one statement: NULL.", |_| Cell::Null;
        integer "mirror_flagOUT", "Rules are read in their order: NULL.", |_| Cell::Null;
        integer "mirror_hostgroup", "The number of the cluster that it is sent to as well.", |it| it.mirror.into();
        text "error_msg", "The text with which it is refused.",
            |it| it.config.refuse.as_ref().map(SqlText::to_string).into();
        text "OK_msg", "rules.answer says it: NULL.", |_| Cell::Null;
        integer "sticky_conn", "It has no meaning: NULL.", |_| Cell::Null;
        integer "multiplex", "0: the session keeps its connection from there on; NULL: nothing changes.",
            |it| match it.config.routing.session { Some(SessionMode::Transparent) => 0_u32.into(), _ => Cell::Null };
        integer "gtid_from_hostgroup", "routing.consistency says it: NULL.", |_| Cell::Null;
        integer "log", "Whether it is logged.", |it| it.config.log.into();
        integer "apply", "Whether rules behind it are left unread.", |it| it.config.stop.into();
        text "attributes", "The other settings of the rule, as JSON.", |it| other_settings(&it.config).into();
        text "comment", "Its name behind the number.", |it| text_or_null(&it.comment);
    },
    items: rules,
};

/// Settings that have columns of their own.
const TOLD: &str = "name user schema networks digest digest_regex regex rewrite routing.cluster timeout retry delay \
                    mirror refuse routing.session log stop watch tests";

/// One rule.
pub struct Rule {
    config: RuleConfig,
    /// The number that its name begins with, unless an earlier rule has that number.
    id: Option<u32>,
    comment: String,
    destination: Option<u32>,
    mirror: Option<u32>,
}

fn rules(input: &TableInput) -> Vec<Rule> {
    let mut ids = Vec::new();
    let rule = |rule: &RuleConfig| {
        let number = |name: &Option<String>| hostgroup(input, name.as_deref()?);
        // If several rules have the same number, the first one keeps it.
        let (id, comment) = match parted(&rule.name) {
            (Some(id), comment) if !ids.contains(&id) => {
                ids.push(id);
                (Some(id), comment)
            }
            _ => (None, rule.name.clone()),
        };
        Rule {
            id,
            comment,
            destination: number(&rule.routing.cluster),
            mirror: number(&rule.mirror),
            config: rule.clone(),
        }
    };
    input.config.rules.iter().map(rule).collect()
}

/// The number at the start of a name, and the rest.
fn parted(name: &str) -> (Option<u32>, String) {
    let (number, comment) = name.split_once(' ').unwrap_or((name, ""));
    match number.parse::<u32>() {
        // A number written in another way, such as `007`, does not count as one.
        Ok(id) if id.to_string() == number => (Some(id), comment.to_owned()),
        _ => (None, name.to_owned()),
    }
}

/// Settings that no other column shows.
fn other_settings(rule: &RuleConfig) -> String {
    let is_told = |key: &str| TOLD.split(' ').any(|told| told == key);
    let bare = RuleConfig::default();
    let settings = RULE.settings.iter();
    let others = settings.filter(|it| !is_told(it.key) && !(it.same)(rule, &bare));
    let others = others.map(|it| (it.column().to_owned(), plain(&(it.show)(rule)).into()));
    let others: serde_json::Map<String, serde_json::Value> = others.collect();
    match others.is_empty() {
        true => String::new(),
        false => serde_json::Value::Object(others).to_string(),
    }
}

/// One value as it is; several as a list: `["a", "b"]`.
fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> Cell {
    let mut values: Vec<String> = values.into_iter().map(|it| it.to_string()).collect();
    match values.len() {
        0 => Cell::Null,
        1 => Cell::Text(values.remove(0)),
        _ => Cell::Text(serde_json::json!(values).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_name_is_split_into_rule_id_and_comment() {
        for (name, id, comment) in [
            ("10 no drop", Some(10), "no drop"),
            ("10", Some(10), ""),
            ("no drop", None, "no drop"),
            ("007 bond", None, "007 bond"),
            ("2nd", None, "2nd"),
        ] {
            assert_eq!(parted(name), (id, comment.to_owned()), "{name}");
        }
    }

    #[test]
    fn several_values_are_shown_as_a_list() {
        assert_eq!(list([] as [&str; 0]), Cell::Null);
        assert_eq!(list(["a, b"]), Cell::Text("a, b".to_owned()));
        assert_eq!(list(["a", "b\""]), Cell::Text(r#"["a","b\""]"#.to_owned()));
    }
}
