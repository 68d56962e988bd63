//! Which calls of a name reach a stored function: the facts behind the classification of statements. The table is
//! `sql/tests/calls.tsv`, which the tests of the crate `sql` read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use e2e::raw::RawConn;
use e2e::{Product, Server, sized};

/// In the order of the table's columns.
const PRODUCTS: [Product; 3] = [Product::MySql, Product::MariaDb, Product::MariaDbNext];

/// If this variable is set, the table is written anew.
const WRITE: &str = "PILOTFISH_WRITE";

/// Errors of a call of a missing stored function: one with a new name, one with the name of a built-in function.
const NO_FUNCTION: [u16; 2] = [1305, 1630];

fn is_stored(conn: &mut RawConn, call: &str) -> bool {
    let reply = conn.query(&format!("SELECT {call} LIMIT 0"));
    reply
        .error()
        .is_some_and(|error| NO_FUNCTION.contains(&error.code))
}

/// The numbers of arguments with which a call reaches a stored function.
fn cell(conn: &mut RawConn, name: &str, gap: &str) -> String {
    let shapes = ["()", "(1)", "(1, 1)"].into_iter().enumerate();
    let mut stored = shapes.filter(|(_, shape)| is_stored(conn, &format!("{name}{gap}{shape}")));
    let mut text = String::new();
    for (number, _) in &mut stored {
        let _ = write!(text, "{number}");
    }
    match text.is_empty() {
        true => "-".to_owned(),
        false => text,
    }
}

/// The words in the server's own lists of keywords and functions.
fn own_words(conn: &mut RawConn, product: Product) -> Vec<String> {
    let mut queries = vec!["SELECT word FROM information_schema.keywords"];
    if product != Product::MySql {
        queries.push("SELECT `function` FROM information_schema.sql_functions");
    }
    let rows = queries.into_iter().flat_map(|sql| conn.run(sql).texts());
    let words = rows.map(|row| row[0].to_uppercase());
    let is_word = |word: &String| {
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        word.bytes()
            .all(|byte| is_letter(byte) || byte.is_ascii_digit())
            && word.bytes().next().is_some_and(is_letter)
    };
    words.filter(is_word).collect()
}

#[test]
fn the_table_of_calls_matches_the_servers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/calls.tsv");
    let old = std::fs::read_to_string(&path).unwrap();
    let mut conns = PRODUCTS.map(|product| Server::shared(product).root());
    let rows = || old.lines().filter(|line| !line.starts_with('#'));
    let mut names: BTreeSet<String> = rows()
        .filter_map(|row| row.split('\t').next())
        .map(str::to_owned)
        .collect();
    for (conn, product) in conns.iter_mut().zip(PRODUCTS) {
        conn.run("CREATE DATABASE IF NOT EXISTS calls");
        conn.run("USE calls");
        conn.run("SET sql_mode = ''");
        names.extend(own_words(conn, product));
    }
    let is_written = std::env::var_os(WRITE).is_some();
    let step = if is_written { 1 } else { sized(4, 1) };
    let mut fresh = Vec::new();
    for name in names.iter().step_by(step) {
        let mut row = name.clone();
        for conn in &mut conns {
            for gap in ["", " "] {
                let _ = write!(row, "\t{}", cell(conn, name, gap));
            }
        }
        fresh.push(row);
    }
    if is_written {
        let head = old.lines().filter(|line| line.starts_with('#'));
        let lines = head.chain(fresh.iter().map(String::as_str));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        return std::fs::write(&path, text).unwrap();
    }
    let known: BTreeSet<&str> = rows().collect();
    let other: Vec<&String> = fresh
        .iter()
        .filter(|row| !known.contains(row.as_str()))
        .collect();
    assert!(
        other.is_empty(),
        "the servers say otherwise ({WRITE}=1 writes the table): {other:#?}"
    );
}
