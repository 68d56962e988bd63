#![allow(clippy::panic)]

use sql::{Charset, Flags};

use super::super::ast::{Expr, Operator, SelectItem};
use super::*;

fn reading(family: Family) -> Reading {
    Reading {
        family,
        flags: Flags {
            server: family.dialect(),
            charset: Charset::of_name(b"utf8mb4"),
            ..Flags::default()
        },
        is_prepared: false,
    }
}

fn read(text: &str) -> SqlResult<Parsed> {
    parse(text.as_bytes(), reading(Family::MariaDb))
}

fn titles(text: &str) -> Vec<String> {
    let Ok(parsed) = read(text) else {
        return Vec::new();
    };
    let Statement::Select(select) = &*parsed.statement else {
        return Vec::new();
    };
    let titles = select.columns.iter().map(|it| match it {
        SelectItem::All => "*".to_owned(),
        SelectItem::Value(_, title) => title.to_string(),
    });
    titles.collect()
}

#[test]
fn columns_have_the_servers_names() {
    assert_eq!(titles("SELECT 1 +  1, 'a', null"), ["1 +  1", "a", "NULL"]);
    assert_eq!(
        titles("select t.b, @x, x as y, x z from t"),
        ["b", "@x", "y", "z"]
    );
    assert_eq!(titles("select t.*, count( * ) from t"), ["*", "count( * )"]);
}

#[test]
fn an_error_names_the_place() {
    let error = read("SELECT 1\nFROM WHERE").expect_err("it makes no sense");
    assert_eq!(error.number, 1064);
    assert!(
        error.text.ends_with("near 'WHERE' at line 2"),
        "{}",
        error.text
    );
}

#[test]
fn statements_follow_one_another() {
    let parsed = read(" SELECT 1 ; SELECT 2").expect("it is a statement");
    assert_eq!((&*parsed.text, parsed.next), ("SELECT 1", Some(11)));
    assert_eq!(read("SELECT 1;").expect("it is a statement").next, None);
    assert_eq!(read("  ").expect_err("nothing").number, 1065);
    let empty = read(" /* a */ ").expect("a comment");
    assert_eq!(*empty.statement, Statement::Empty);
}

#[test]
fn operators_bind_as_in_the_servers() {
    let parsed = read("SELECT 1 + 2 * 3 = 7 AND 1").expect("it is a statement");
    let Statement::Select(select) = &*parsed.statement else {
        panic!("it is a SELECT");
    };
    let [SelectItem::Value(Expr::Binary(Operator::And, left, _), _)] = &select.columns[..] else {
        panic!("{select:?}");
    };
    assert!(matches!(&**left, Expr::Binary(Operator::Equal, ..)));
}
