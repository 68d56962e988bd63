//! The rules as ProxySQL's admin schema has them: changes wait until LOAD MYSQL QUERY RULES TO RUNTIME.
//!
//! A rule's name is its `rule_id`, and behind a space its `comment`.

use std::net::Ipv4Addr;

use config::manual::plain;
use config::{Config, Edit, RULE, RuleConfig, SessionMode, SqlText};

use super::replacement::{self, Extent};
use super::several;
use super::waiting::{
    Value, Waiting, Words, alterable, awaited, hostgroup, only, said, said_cluster,
};
use crate::fault::Fault;
use crate::material::Material;
use crate::sheet::{Altered, Asks, Cell, Column, Row, Schema, Sheet, integer, measure, text};

/// See the module.
pub static TABLE: Waiting<Rule> = Waiting {
    sheet: Sheet {
        schema: Schema::Main,
        name: "mysql_query_rules",
        about: "The rules by the names of ProxySQL. Rows can be changed, and changes wait until LOAD MYSQL QUERY RULES \
                TO RUNTIME.",
        asks: Asks::Waiting,
        columns: COLUMNS,
        items: |material| rules(material, awaited(material)),
    },
    alterable: alterable(edit),
    unique: &["rule_id"],
    order,
};

/// The same as they hold.
pub static RUNTIME: Sheet<Rule> = Sheet {
    schema: Schema::Main,
    name: "runtime_mysql_query_rules",
    about: "The rules as they hold, by the names of ProxySQL.",
    asks: Asks::Nothing,
    columns: COLUMNS,
    items: |material| rules(material, &material.config),
};

const COLUMNS: &[Column<Rule>] = &[
    integer(
        "rule_id",
        "The number that its name begins with; NULL: none.",
        |it| it.id.into(),
    ),
    integer(
        "active",
        "Whether it does anything (watch = false).",
        |it| (!it.config.watch).into(),
    ),
    text("username", "Users; several as a list.", |it| {
        several::shown(&it.config.user)
    }),
    text("schemaname", "Default schemas; several as a list.", |it| {
        several::shown(&it.config.schema)
    }),
    integer("flagIN", "Rules are read in their order: 0.", |_| {
        0_u32.into()
    }),
    text(
        "client_addr",
        "Networks of clients; several as a list.",
        |it| several::shown(&it.config.networks),
    ),
    text("proxy_addr", "rules.listener says it: NULL.", |_| {
        Cell::Null
    }),
    integer("proxy_port", "rules.listener says it: NULL.", |_| {
        Cell::Null
    }),
    text("digest", "Digests; several as a list.", |it| {
        several::shown(it.config.digest.iter().map(SqlText::to_string))
    }),
    text(
        "match_digest",
        "Regular expression for the digest's text.",
        |it| {
            it.config
                .digest_regex
                .as_ref()
                .map(SqlText::to_string)
                .into()
        },
    ),
    text("match_pattern", "Regular expression for the text.", |it| {
        it.config.regex.as_ref().map(SqlText::to_string).into()
    }),
    integer("negate_match_pattern", "Always 0.", |_| 0_u32.into()),
    text(
        "re_modifiers",
        "CASELESS, unless the expression says (?-i); and every match is replaced.",
        |_| "CASELESS,GLOBAL".into(),
    ),
    integer("flagOUT", "Rules are read in their order: NULL.", |_| {
        Cell::Null
    }),
    text(
        "replace_pattern",
        "What replaces matches; groups are \\1, those with names \\g<name>.",
        |it| {
            let template = it.config.rewrite.as_ref().map(SqlText::to_string);
            let extent = Extent::of(it.config.regex.is_some());
            template.map(|it| replacement::shown(&it, extent)).into()
        },
    ),
    integer(
        "destination_hostgroup",
        "The number of the cluster.",
        |it| it.destination.into(),
    ),
    integer("cache_ttl", "There is no cache: NULL.", |_| Cell::Null),
    integer("cache_empty_result", "There is no cache: NULL.", |_| {
        Cell::Null
    }),
    integer("cache_timeout", "There is no cache: NULL.", |_| Cell::Null),
    integer("reconnect", "It has no meaning: NULL.", |_| Cell::Null),
    measure("timeout", "ms", "How long a statement may run.", |it| {
        it.config.timeout.map(|it| it.as_millis() as u64).into()
    }),
    integer("retries", "How often a read is sent again.", |it| {
        it.config.retry.map(u32::from).into()
    }),
    measure(
        "delay",
        "ms",
        "How long it waits before it is sent.",
        |it| it.config.delay.map(|it| it.as_millis() as u64).into(),
    ),
    integer(
        "next_query_flagIN",
        "Rules know one statement: NULL.",
        |_| Cell::Null,
    ),
    integer(
        "mirror_flagOUT",
        "Rules are read in their order: NULL.",
        |_| Cell::Null,
    ),
    integer(
        "mirror_hostgroup",
        "The number of the cluster that it is sent to as well.",
        |it| it.mirror.into(),
    ),
    text("error_msg", "The text with which it is refused.", |it| {
        it.config.refuse.as_ref().map(SqlText::to_string).into()
    }),
    text("OK_msg", "rules.answer says it: NULL.", |_| Cell::Null),
    integer("sticky_conn", "It has no meaning: NULL.", |_| Cell::Null),
    integer(
        "multiplex",
        "0: the session keeps its connection from there on; NULL: nothing changes.",
        |it| match it.config.session {
            Some(SessionMode::Transparent) => 0_u32.into(),
            _ => Cell::Null,
        },
    ),
    integer(
        "gtid_from_hostgroup",
        "balance.consistency says it: NULL.",
        |_| Cell::Null,
    ),
    integer("log", "Whether it is logged.", |it| it.config.log.into()),
    integer("apply", "Whether rules behind it are left unread.", |it| {
        it.config.stop.into()
    }),
    text(
        "attributes",
        "What else it says, as JSON; it is set in rules.",
        |it| others(&it.config).into(),
    ),
    text("comment", "Its name behind the number.", |it| {
        Some(it.comment.clone()).filter(|it| !it.is_empty()).into()
    }),
];

/// Settings that the other columns tell.
const TOLD: [&str; 19] = [
    "name",
    "user",
    "schema",
    "networks",
    "digest",
    "digest_regex",
    "regex",
    "rewrite",
    "cluster",
    "timeout",
    "retry",
    "delay",
    "mirror",
    "refuse",
    "session",
    "log",
    "stop",
    "watch",
    "tests",
];

/// One rule.
pub struct Rule {
    /// As it is configured.
    pub config: RuleConfig,
    /// The number that its name begins with, unless a rule before it has that.
    pub id: Option<u32>,
    comment: String,
    destination: Option<u32>,
    mirror: Option<u32>,
}

/// A configuration's rules.
pub fn rules(material: &Material, config: &Config) -> Vec<Rule> {
    let mut ids = Vec::new();
    let rule = |rule: &RuleConfig| {
        let number = |name: &Option<String>| hostgroup(material, name.as_deref()?);
        // Of several with one number the first has it.
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
            destination: number(&rule.cluster),
            mirror: number(&rule.mirror),
            config: rule.clone(),
        }
    };
    config.rules.iter().map(rule).collect()
}

/// A number and what is behind it.
fn parted(name: &str) -> (Option<u32>, String) {
    let (number, comment) = name.split_once(' ').unwrap_or((name, ""));
    match number.parse::<u32>() {
        // One that is spelled otherwise, such as `007`, is no number.
        Ok(id) if id.to_string() == number => (Some(id), comment.to_owned()),
        _ => (None, name.to_owned()),
    }
}

fn named(id: &str, comment: &str) -> String {
    match (id, comment) {
        ("", comment) => comment.to_owned(),
        (id, "") => id.to_owned(),
        (id, comment) => format!("{id} {comment}"),
    }
}

/// What no other column tells.
fn others(rule: &RuleConfig) -> String {
    let bare = RuleConfig::default();
    let settings = RULE.settings.iter();
    let others = settings.filter(|it| !TOLD.contains(&it.key) && !(it.same)(rule, &bare));
    let others = others.map(|it| (it.key.to_owned(), plain(&(it.show)(rule)).into()));
    let others: serde_json::Map<String, serde_json::Value> = others.collect();
    match others.is_empty() {
        true => String::new(),
        false => serde_json::Value::Object(others).to_string(),
    }
}

const WORDS: Words = Words {
    list: RULE.name,
    title: |row| named(&row.text("rule_id"), &row.text("comment")),
    values,
    come,
};

fn edit(altered: &Altered<'_>, material: &Material) -> Result<Edit, Fault> {
    WORDS.edit(altered, material)
}

/// A rule that has come: it does what its column `apply` says. One without a name gets one in [`order`].
fn come(row: &Row<'_>, _: &Material) -> Result<Vec<Value>, Fault> {
    if row.text("active").is_empty() {
        return Err(Fault::wrong_value(
            "Say whether it is active: a rule with active = 0 counts what it matches and does nothing",
        ));
    }
    let (id, comment) = (row.text("rule_id"), row.text("comment"));
    let name = named(&id, &comment);
    let stops = row.text("apply") == "1";
    Ok([said("name", &name), said("stop", &stops.to_string())].concat())
}

/// Has rules stand before the first with a larger number: those that come, and those whose number becomes
/// another. Edits are done one behind the other, so each is told what those before it have made of the list.
fn order(edits: &mut [Edit], material: &Material) {
    let rules = awaited(material).rules.iter();
    order_among(edits, rules.map(|it| it.name.clone()).collect());
}

fn order_among(edits: &mut [Edit], mut names: Vec<String>) {
    for edit in edits {
        match edit {
            Edit::Set { .. } => {}
            Edit::Remove { title, .. } => names.retain(|it| it != title),
            Edit::Add { values, place, .. } => {
                let name = values.iter().find(|(key, _)| key == "name");
                let name = match name {
                    Some((_, name)) => name.clone(),
                    None => {
                        let last = names.iter().filter_map(|it| parted(it).0).max();
                        let name = last.map_or(1, |it| it.saturating_add(1)).to_string();
                        values.push(("name".to_owned(), name.clone()));
                        name
                    }
                };
                // At the end it needs none.
                *place = Some(stand(&mut names, name)).filter(|it| *it < names.len());
            }
            Edit::Change {
                title,
                values,
                place,
                ..
            } => {
                let name = values.iter().find(|(key, _)| key == "name");
                let name = name.and_then(|(_, name)| name.clone());
                let index = names.iter().position(|it| it == title);
                let (Some(name), Some(index)) = (name, index) else {
                    continue;
                };
                match parted(&name).0 {
                    Some(id) if parted(title).0 != Some(id) => {
                        names.remove(index);
                        *place = Some(stand(&mut names, name));
                    }
                    _ => names[index] = name,
                }
            }
        }
    }
}

/// Puts a rule where its number says, one without a number behind all; its place from 1.
fn stand(names: &mut Vec<String>, name: String) -> usize {
    let id = parted(&name).0;
    let larger = id.and_then(|id| names.iter().position(|it| parted(it).0 > Some(id)));
    let index = larger.unwrap_or(names.len());
    names.insert(index, name);
    index + 1
}

fn values(column: &str, row: &Row<'_>, material: &Material) -> Result<Vec<Value>, Fault> {
    let text = row.text(column);
    let milliseconds = |key| match text.is_empty() {
        true => said(key, ""),
        false => said(key, &format!("{text}ms")),
    };
    let truth = |key: &str, is: &str, is_not: &str| match &*text {
        "1" => Ok(said(key, is)),
        "0" | "" => Ok(said(key, is_not)),
        _ => Err(Fault::wrong_value(format!(
            "{column} is 0 or 1, and not {text}"
        ))),
    };
    Ok(match column {
        "rule_id" | "comment" => said("name", &named(&row.text("rule_id"), &row.text("comment"))),
        "active" => truth("watch", "", "true")?,
        "username" => several::said("user", &several::meant(column, &text)?),
        "schemaname" => several::said("schema", &several::meant(column, &text)?),
        "client_addr" => {
            let networks = several::meant(column, &text)?.into_iter();
            let networks: Result<Vec<_>, Fault> = networks.map(|it| network(&it)).collect();
            several::said("networks", &networks?)
        }
        "digest" => several::said("digest", &several::meant(column, &text)?),
        "match_digest" => said("digest_regex", &text),
        "match_pattern" => regex(row),
        "replace_pattern" => rewrite(row),
        "destination_hostgroup" => said_cluster("cluster", &text, material)?,
        "timeout" => milliseconds("timeout"),
        "retries" => said("retry", &text),
        "delay" => milliseconds("delay"),
        "mirror_hostgroup" => said_cluster("mirror", &text, material)?,
        "error_msg" => said("refuse", &text),
        "multiplex" => match &*text {
            "0" => said("session", SessionMode::Transparent.name()),
            "" => said("session", ""),
            _ => {
                return Err(Fault::wrong_value(
                    "multiplex is 0 or NULL here: what keeps a connection with its session, the servers tell",
                ));
            }
        },
        "log" => truth("log", "true", "")?,
        "apply" => truth("stop", "true", "false")?,
        "flagIN" | "negate_match_pattern" => only(
            column,
            row,
            &["0"],
            "rules are read in their order, and say what they match",
        )?,
        "re_modifiers" => only(
            column,
            row,
            &["CASELESS", "CASELESS,GLOBAL", "GLOBAL,CASELESS"],
            "it is CASELESS,GLOBAL; write (?-i) in the expression where case matters",
        )?,
        "proxy_addr" | "proxy_port" => only(column, row, &[], "rules.listener says it")?,
        "OK_msg" => only(column, row, &[], "rules.answer says it")?,
        "attributes" => only(column, row, &[], "what it shows is set in rules")?,
        "cache_ttl" | "cache_empty_result" | "cache_timeout" => {
            only(column, row, &[], "there is no cache of results")?
        }
        _ => only(column, row, &[], "it has no meaning")?,
    })
}

/// A pattern; what replaces depends on whether there is one.
fn regex(row: &Row<'_>) -> Vec<Value> {
    let regex = said("regex", &row.text("match_pattern"));
    match row.text("replace_pattern").is_empty() {
        true => regex,
        false => [regex, rewrite(row)].concat(),
    }
}

fn rewrite(row: &Row<'_>) -> Vec<Value> {
    let extent = Extent::of(!row.text("match_pattern").is_empty());
    let meant = replacement::meant(&row.text("replace_pattern"), extent);
    said("rewrite", &meant)
}

/// A client's address: a whole one, or the beginning of one with `%`.
fn network(text: &str) -> Result<String, Fault> {
    let Some(begin) = text.strip_suffix('%') else {
        return Ok(text.to_owned());
    };
    let parts: Vec<&str> = begin.split('.').filter(|it| !it.is_empty()).collect();
    let octets: Result<Vec<u8>, _> = parts.iter().map(|it| it.parse::<u8>()).collect();
    match octets {
        Ok(octets) if octets.len() < 4 && (begin.is_empty() || begin.ends_with('.')) => {
            let mut address = [0; 4];
            address[..octets.len()].copy_from_slice(&octets);
            Ok(format!("{}/{}", Ipv4Addr::from(address), octets.len() * 8))
        }
        _ => Err(Fault::wrong_value(format!(
            "client_addr is an address, a network as 10.0.0.0/8, or as 10.%, and not {text}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sheet::Table;

    #[test]
    fn a_name_is_a_number_and_a_comment() {
        for (name, id, comment) in [
            ("10 no drop", Some(10), "no drop"),
            ("10", Some(10), ""),
            ("no drop", None, "no drop"),
            ("007 bond", None, "007 bond"),
            ("2nd", None, "2nd"),
        ] {
            assert_eq!(parted(name), (id, comment.to_owned()), "{name}");
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            assert_eq!(named(&id, comment), name);
        }
    }

    fn add(name: Option<&str>) -> Edit {
        let name = name.map(|it| ("name".to_owned(), it.to_owned()));
        Edit::Add {
            list: RULE.name,
            values: name.into_iter().collect(),
            place: None,
        }
    }

    fn rename(title: &str, name: &str) -> Edit {
        Edit::Change {
            list: RULE.name,
            title: title.to_owned(),
            values: vec![("name".to_owned(), Some(name.to_owned()))],
            place: None,
        }
    }

    fn remove(title: &str) -> Edit {
        let title = title.to_owned();
        Edit::Remove {
            list: RULE.name,
            title,
        }
    }

    /// The rules that edits make of some, by the draft that does them.
    fn after(rules: &[&str], mut edits: Vec<Edit>) -> Vec<String> {
        let names: Vec<String> = rules.iter().map(|it| (*it).to_owned()).collect();
        let mut config = Config::default();
        let rule = |name: &String| RuleConfig {
            name: name.clone(),
            ..RuleConfig::default()
        };
        config.rules = names.iter().map(rule).collect();
        order_among(&mut edits, names);
        let draft = config::Draft::of_config(&config).with(&edits).unwrap();
        let rules = draft.sketch().unwrap().rules;
        rules.into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn rules_stand_by_their_numbers_however_many_come_at_once() {
        let come = vec![
            add(Some("30")),
            add(Some("5 a")),
            add(Some("7")),
            add(Some("20")),
        ];
        assert_eq!(
            after(&["10", "mine"], come),
            ["5 a", "7", "10", "mine", "20", "30"]
        );
        let without = vec![add(None), add(None), add(Some("named"))];
        assert_eq!(after(&["3"], without), ["3", "4", "5", "named"]);
        // As REPLACE does it.
        let replaced = vec![remove("5"), remove("20"), add(Some("5 b")), add(Some("20"))];
        assert_eq!(after(&["5", "10", "20"], replaced), ["5 b", "10", "20"]);
        let turned = vec![
            rename("10", "90"),
            rename("20", "80"),
            rename("30", "70 x"),
            rename("40", "40 y"),
        ];
        assert_eq!(
            after(&["10", "20", "30", "40"], turned),
            ["40 y", "70 x", "80", "90"]
        );
    }

    #[test]
    fn another_pattern_means_another_rewriting() {
        let columns = TABLE.columns();
        for (pattern, replacement, expected) in [
            (
                "a(b)",
                r"$\1",
                vec![("regex", "a(b)"), ("rewrite", "$$${1}")],
            ),
            ("", r"$\1", vec![("regex", ""), ("rewrite", r"$\1")]),
            ("a(b)", "", vec![("regex", "a(b)")]),
        ] {
            let cell = |name: &str| match name {
                "match_pattern" => Cell::Text(pattern.to_owned()),
                "replace_pattern" => Cell::Text(replacement.to_owned()),
                _ => Cell::Null,
            };
            let cells: Vec<Cell> = columns.iter().map(|it| cell(it.name)).collect();
            let row = Row {
                columns: &columns,
                cells: &cells,
            };
            let expected: Vec<Value> = expected
                .into_iter()
                .flat_map(|(key, value)| said(key, value))
                .collect();
            assert_eq!(regex(&row), expected, "{pattern} {replacement}");
        }
    }

    #[test]
    fn what_proxysql_writes_otherwise_is_written_as_here() {
        for (text, expected) in [
            ("10.1.%", "10.1.0.0/16"),
            ("%", "0.0.0.0/0"),
            ("10.0.0.7", "10.0.0.7"),
        ] {
            assert_eq!(network(text).unwrap(), expected);
        }
        for text in ["10.1%", "x.%", "1.2.3.4.%"] {
            assert!(network(text).is_err(), "{text}");
        }
    }
}
