//! How servers treat the bytes of each character set when they split a statement into tokens: the facts behind the
//! lexer. The table is `sql/src/charsets/rows.rs`, which is a part of the crate `sql`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use e2e::raw::{RawConn, Reply, command};
use e2e::{Product, Server, sized};

const PRODUCTS: [Product; 3] = [Product::MySql, Product::MariaDb, Product::MariaDbNext];

/// If this variable is set, the table is written anew.
const WRITE: &str = "PILOTFISH_WRITE";

const HEAD: &str = "//! What the servers say of each character set that a client may have, and which set each collation is of.
//!
//! `e2e/tests/letters.rs` compares this with the servers and, with PILOTFISH_WRITE=1, writes it.

use super::Row;

#[rustfmt::skip] // as it is written
pub(super) const ROWS: [Row; COUNT] = [
";

/// One server's answers about a character set.
#[derive(Debug, Default, PartialEq)]
struct Said {
    blanks: Vec<u8>,
    words: Vec<u8>,
    variables: Vec<u8>,
    dashes: Vec<u8>,
    leads: Vec<u8>,
    trails: Vec<u8>,
}

fn ask(conn: &mut RawConn, parts: &[&[u8]]) -> Reply {
    conn.free_buffers();
    conn.command(command::QUERY, &parts.concat())
}

/// Whether a reply is a single result with this number of columns.
fn has_columns(reply: &Reply, count: usize) -> bool {
    let is_alone = reply.outcomes.len() == 1;
    is_alone && reply.results().any(|rows| rows.columns.len() == count)
}

/// Whether a byte is a letter at this place: one more column follows the alias or variable, unless the byte begins a
/// comment. Error 1300 shows that the server read the bytes as a name, which has an invalid character.
fn is_letter(reply: &Reply) -> bool {
    has_columns(reply, 2) || reply.error().is_some_and(|error| error.code == 1300)
}

fn is_one(reply: &Reply, columns: usize) -> bool {
    has_columns(reply, columns) && reply.text(0, 0).as_deref() == Some("1")
}

fn said(conn: &mut RawConn, is_wide: bool, name: &str) -> Said {
    let mut said = Said::default();
    for byte in 1..=255u8 {
        let it = &[byte][..];
        if is_one(
            &ask(conn, &[b"SELECT", it, b"1", it, b"AS", it, b"x, 2"]),
            2,
        ) {
            said.blanks.push(byte);
        }
        // Bytes from 0x80 are parts of characters, or the server refuses them.
        let is_part = is_wide && byte >= 0x80;
        if is_part || is_letter(&ask(conn, &[b"SELECT 1 AS a", it, b"a, 2"])) {
            said.words.push(byte);
        }
        if has_columns(&ask(conn, &[b"SELECT @a", it, b"a AS x, 2"]), 2) {
            said.variables.push(byte);
        }
        if is_one(&ask(conn, &[b"SELECT 1--", it, b"' ("]), 1) {
            said.dashes.push(byte);
        }
    }
    if is_wide {
        pairs(conn, name, &mut said);
    }
    said
}

/// Records the first and second bytes of characters whose second byte may be a backslash.
fn pairs(conn: &mut RawConn, name: &str, said: &mut Said) {
    for lead in 0x80..=255u8 {
        let pair = |trail| format!("CHAR_LENGTH(CONVERT(x'{lead:02x}{trail:02x}' USING {name}))");
        let all: Vec<_> = (0..=255u8).map(pair).collect();
        let reply = ask(conn, &[b"SELECT ", all.join(",").as_bytes()]);
        let lengths = reply.texts().concat();
        let trails = (0..=255u8)
            .zip(&lengths)
            .filter(|(_, length)| *length == "1");
        let trails: Vec<u8> = trails.map(|(trail, _)| trail).collect();
        let hides = has_columns(&ask(conn, &[b"SELECT '", &[lead], b"\\', 2 -- "]), 2);
        assert_eq!(trails.contains(&b'\\'), hides, "{name} {lead:#x}");
        if hides {
            let known = if said.leads.is_empty() {
                &trails
            } else {
                &said.trails
            };
            assert_eq!(*known, trails, "{name} {lead:#x}");
            said.leads.push(lead);
            said.trails = trails;
        }
    }
}

/// Bytes as ranges in Rust.
fn ranges(bytes: &[u8]) -> String {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in bytes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *byte => *last = *byte,
            _ => ranges.push((*byte, *byte)),
        }
    }
    let shown = ranges
        .iter()
        .map(|(first, last)| format!("({first:#04x}, {last:#04x})"));
    format!("&[{}]", shown.collect::<Vec<_>>().join(", "))
}

/// The row of a character set, from the answers of MySQL and the MariaDBs.
fn row(name: &str, mut all: Vec<(Product, Said)>) -> String {
    let words_of = |all: &[(Product, Said)], is_mariadb: bool| {
        let of_family = |(product, _): &&(Product, Said)| product.is_mariadb() == is_mariadb;
        let words: Vec<_> = all
            .iter()
            .filter(of_family)
            .map(|(_, said)| said.words.clone())
            .collect();
        assert!(words.windows(2).all(|both| both[0] == both[1]), "{name}");
        words.into_iter().next()
    };
    let (mysql, mariadb) = (words_of(&all, false), words_of(&all, true));
    let of_both = mariadb.or_else(|| mysql.clone()).unwrap_or_default();
    let mysql = mysql.unwrap_or_else(|| of_both.clone());
    assert!(
        of_both.iter().all(|byte| mysql.contains(byte)),
        "{name}: MySQL lacks letters"
    );
    let of_mysql: Vec<u8> = mysql
        .into_iter()
        .filter(|byte| !of_both.contains(byte))
        .collect();
    for (_, said) in &mut all {
        said.words.clone_from(&of_both);
    }
    let (_, first) = &all[0];
    assert!(all.iter().all(|(_, said)| said == first), "{name}: {all:?}");
    let mut row = format!("    Row {{\n        name: \"{name}\",\n");
    for (field, bytes) in [
        ("blanks", &first.blanks),
        ("words", &first.words),
        ("words_of_mysql", &of_mysql),
        ("variables", &first.variables),
        ("dashes", &first.dashes),
        ("leads", &first.leads),
        ("trails", &first.trails),
    ] {
        let _ = writeln!(row, "        {field}: {},", ranges(bytes));
    }
    row + "    },\n"
}

/// The collations of all servers, with neighbouring ids together.
fn collations(conns: &mut [RawConn; 3]) -> String {
    let mut sets: BTreeMap<u16, String> = BTreeMap::new();
    for (conn, product) in conns.iter_mut().zip(PRODUCTS) {
        let mut tables = vec!["COLLATIONS"];
        if product.is_mariadb() {
            tables.push("COLLATION_CHARACTER_SET_APPLICABILITY");
        }
        for table in tables {
            let rows = conn.run(&format!(
                "SELECT ID, CHARACTER_SET_NAME FROM information_schema.{table} \
                 WHERE ID IS NOT NULL AND CHARACTER_SET_NAME IS NOT NULL"
            ));
            for row in rows.texts() {
                let known = sets
                    .entry(row[0].parse().unwrap())
                    .or_insert_with(|| row[1].clone());
                assert_eq!(
                    *known, row[1],
                    "the servers mean different sets by {}",
                    row[0]
                );
            }
        }
    }
    let mut ranges: Vec<(u16, u16, String)> = Vec::new();
    for (id, set) in sets {
        match ranges.last_mut() {
            Some((_, last, of)) if *last + 1 == id && *of == set => *last = id,
            _ => ranges.push((id, id, set)),
        }
    }
    let shown = ranges
        .iter()
        .map(|(first, last, set)| format!("    ({first}, {last}, \"{set}\"),\n"));
    let head = "/// The ids of collations, from the first to the last of neighbours, and the character set that they are of.
#[rustfmt::skip] // as it is written
pub(super) const COLLATIONS: &[(u16, u16, &str)] = &[\n";
    head.to_owned() + &shown.collect::<String>() + "];\n"
}

/// Character sets of all servers, and whether their characters may have more than one byte.
fn sets(conns: &mut [RawConn; 3]) -> BTreeSet<(String, bool)> {
    let sql = "SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS";
    let rows = conns.iter_mut().flat_map(|conn| conn.run(sql).texts());
    rows.map(|row| (row[0].clone(), row[1] != "1")).collect()
}

#[test]
fn the_table_of_letters_matches_the_servers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/src/charsets/rows.rs");
    let old = std::fs::read_to_string(&path).unwrap();
    let mut conns = PRODUCTS.map(|product| Server::shared(product).root());
    conns.iter_mut().for_each(|conn| {
        conn.run("SET sql_mode = ''");
    });
    let is_written = std::env::var_os(WRITE).is_some();
    let step = if is_written { 1 } else { sized(5, 1) };
    let mut rows = Vec::new();
    for (name, is_wide) in sets(&mut conns).into_iter().step_by(step) {
        let mut all = Vec::new();
        for (conn, product) in conns.iter_mut().zip(PRODUCTS) {
            let is_client = conn.query(&format!("SET NAMES {name}")).error().is_none();
            if is_client {
                all.push((product, said(conn, is_wide, &name)));
            }
        }
        if !all.is_empty() {
            rows.push(row(&name, all));
        }
    }
    for conn in &mut conns {
        conn.run("SET NAMES utf8mb4");
    }
    let collations = collations(&mut conns);
    if is_written {
        let count = format!(
            "];\n\n/// How many there are.\npub(super) const COUNT: usize = {};\n\n",
            rows.len()
        );
        return std::fs::write(
            &path,
            HEAD.to_owned() + &rows.concat() + &count + &collations,
        )
        .unwrap();
    }
    let parts = rows.iter().chain([&collations]);
    let other: Vec<_> = parts.filter(|part| !old.contains(part.as_str())).collect();
    assert!(
        other.is_empty(),
        "the servers say otherwise ({WRITE}=1 writes the table): {other:#?}"
    );
}
