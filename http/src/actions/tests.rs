#![allow(clippy::unwrap_used, clippy::panic)]
use std::collections::HashSet;

use super::action::Means;
use super::*;
use admin::registry::table;
use admin::statement::{Statement, reading};
use admin::table::Schema;
use rusqlite::types::Value;

fn action(name: &str) -> &'static Action {
    ACTIONS.iter().find(|it| it.name == name).unwrap()
}

fn order(name: &str, named: &str, body: &str) -> Result<Order, String> {
    let fields = body::parse(body.as_bytes())?;
    let ordered = action(name).means.order(named, fields);
    ordered.map_err(|refusal| format!("{refusal:?}"))
}

fn texts(values: &[&str]) -> Vec<Value> {
    let values = values.iter();
    values.map(|it| Value::Text((*it).to_owned())).collect()
}

#[test]
fn each_action_has_its_name_and_its_path_alone() {
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for action in ACTIONS {
        assert!(names.insert(action.name), "{}", action.name);
        let is_alone = paths.insert((action.method.name(), action.path));
        assert!(is_alone, "{}", action.path);
        assert!(action.about.ends_with('.'), "{}", action.about);
    }
}

#[test]
fn every_key_of_a_body_is_a_column_that_can_be_set() {
    for action in ACTIONS {
        let parameters = action.means.parameters();
        assert!(
            parameters.iter().all(|it| it.name != CHECK),
            "{}",
            action.name
        );
        let Some(list) = action.means.named_in() else {
            continue;
        };
        let sql = list.delete();
        let name = sql.split(' ').nth(2).unwrap();
        let table = table(None, name).unwrap();
        let how = table.alterable().unwrap();
        for parameter in list.parameters() {
            let columns = table.columns();
            let column = columns.iter().find(|it| it.name == parameter.name);
            let name = column.unwrap_or_else(|| panic!("{}", parameter.name)).name;
            assert!(
                how.position_column == Some(name) || how.key(name).is_some(),
                "{name}"
            );
        }
    }
}

#[test]
fn names_in_a_request_are_bound_as_values() {
    let evil = "x' OR 1=1; --\"";
    let body = serde_json::json!({"weight": 2, "role": evil, "zone": null}).to_string();
    let order = order("changeBackend", evil, &body).unwrap();
    assert_eq!(
        order.text,
        "UPDATE backends SET \"role\" = ?, \"weight\" = ?, \"zone\" = ? WHERE \"name\" = ? COLLATE BINARY"
    );
    let mut values = texts(&[evil, "2"]);
    values.extend([Value::Null, Value::Text(evil.to_owned())]);
    assert_eq!(order.values, values);
}

#[test]
fn an_account_is_named_with_its_host_or_any() {
    for (named, expected) in [
        ("batch", ["batch", "%"]),
        ("batch@10.0.0.%", ["batch", "10.0.0.%"]),
        ("a@b@localhost", ["a@b", "localhost"]),
        ("@%", ["", "%"]),
    ] {
        let order = order("removeAccount", named, "").unwrap();
        assert_eq!(order.values, texts(&expected), "{named}");
        assert_eq!(
            order.text,
            "DELETE FROM accounts WHERE \"user\" = ? COLLATE BINARY AND \"host\" = ? COLLATE BINARY"
        );
    }
}

#[test]
fn settings_are_set_by_their_own_names() {
    let body = r#"{"limits.sessions_max": 5000, "http.names": ["a", "b"], "zone": null}"#;
    let order = order("changeSettings", "", body).unwrap();
    let set = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    let expected = Statement::Set(vec![
        set("limits.sessions_max", Some("5000")),
        set("http.names", Some(r#"["a","b"]"#)),
        set("zone", None),
    ]);
    assert_eq!(order.statement, expected);
}

#[test]
fn a_malformed_body_gets_the_reason() {
    for (name, body, words) in [
        ("changeSettings", "{}", "names no setting"),
        ("changeSettings", r#"{"limit": 1}"#, "is no setting"),
        (
            "changeSettings",
            r#"{"limits.sessions_max": "1"}"#,
            "whole number",
        ),
        (
            "changeSettings",
            r#"{"backend[db1].weight": 1}"#,
            "is no setting",
        ),
        ("addBackend", "{}", "needs"),
        ("addBackend", r#"{"address": null}"#, "needs"),
        ("addBackend", r#"{"address": {}}"#, "is a text"),
        ("changeBackend", "{}", "says nothing"),
        ("changeBackend", r#"{"state": "up"}"#, "is not known here"),
        ("changeRule", r#"{"tables": "a"}"#, "is a list"),
        ("save", r#"{"to": "/etc/passwd"}"#, "nothing is to be said"),
        ("endSession", "", "is a number"),
    ] {
        let text = order(name, "x", body).unwrap_err();
        assert!(text.contains(words), "{name} {body}: {text}");
    }
}

#[test]
fn only_actions_that_change_the_proxy_need_an_administrator() {
    for action in ACTIONS {
        let Means::Statement(text) = action.means else {
            assert_eq!(action.role(), AdminRole::Admin, "{}", action.name);
            continue;
        };
        let statement = reading::read(text, Schema::Pilotfish).unwrap();
        let is_for_admins = action.role() == AdminRole::Admin;
        assert_eq!(is_for_admins, statement.changes_the_proxy(), "{text}");
    }
}
