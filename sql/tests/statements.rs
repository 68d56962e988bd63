//! The table of statements: each has the kind, access and facts that the table says.

use pilotfish_sql::{Facts, Flags, Mention, Role, Server, facts};

const MYSQL: Server = Server::MySql(90_704);
const MARIADB: Server = Server::MariaDb(101_119);

/// A row of the table.
struct Row<'a> {
    line: usize,
    readers: &'static [Server],
    expected: String,
    statement: String,
    is_valid: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = include_str!("statements.tsv").lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.starts_with('#'));
    lines.map(|(index, line)| row(index + 1, line)).collect()
}

fn row(line: usize, text: &'static str) -> Row<'static> {
    let columns: Vec<_> = text.split('\t').collect();
    let [dialect, kind, access, facts, names, statement] = columns[..] else {
        panic!("line {line} has {} columns", columns.len());
    };
    let mut facts: Vec<_> = facts.split(' ').filter(|fact| *fact != "-").collect();
    facts.sort_unstable();
    Row {
        line,
        readers: match dialect {
            "my" => &[MYSQL],
            "maria" => &[MARIADB],
            "unknown" => &[Server::Unknown],
            _ => &[Server::Unknown, MYSQL, MARIADB],
        },
        expected: format!(
            "{kind} | {access} | {} | {}",
            facts.join(" "),
            names.replace('-', "")
        ),
        statement: statement.replace('⏎', "\n").replace('⇥', "\t"),
        is_valid: dialect,
    }
}

fn described(facts: &Facts, text: &str) -> String {
    let uses = facts
        .uses
        .names()
        .map(|name| format!("u:{}", name.to_lowercase()));
    let effects = facts
        .effects
        .names()
        .map(|name| format!("e:{}", name.to_lowercase()));
    let marks = facts
        .marks
        .names()
        .map(|name| format!("m:{}", name.to_lowercase()));
    let mut all: Vec<_> = uses.chain(effects).chain(marks).collect();
    all.sort();
    let names: Vec<_> = facts
        .mentions
        .iter()
        .map(|mention| name_of(mention, text))
        .collect();
    let access = format!("{:?}", facts.access).to_lowercase();
    let names = names.join(" ").replace('-', "");
    format!("{} | {access} | {} | {names}", facts.kind, all.join(" "))
}

fn name_of(mention: &Mention, text: &str) -> String {
    let letter = match mention.role {
        Role::TableRead => 'r',
        Role::TableWritten => 'w',
        Role::TemporaryCreated => 'c',
        Role::TableDropped => 'd',
        Role::UserVariableRead => 'v',
        Role::UserVariableSet => 'V',
        Role::VariableRead => 'y',
        Role::Function => 'f',
        Role::Procedure => 'p',
        Role::Prepared => 's',
        Role::PreparedText => 't',
        Role::Savepoint => 'S',
        Role::Schema => 'D',
        Role::SchemaDropped => 'X',
        Role::Handler => 'H',
        Role::Killed => 'K',
        Role::CommonTable => 'C',
        Role::LockTaken => 'L',
        Role::LockReleased => 'U',
    };
    let of =
        |span: pilotfish_sql::Span| String::from_utf8_lossy(span.of(text.as_bytes())).into_owned();
    let dot = if mention.schema.is_empty() { "" } else { "." };
    format!("{letter}:{}{dot}{}", of(mention.schema), of(mention.name))
}

#[test]
fn every_statement_has_its_kind() {
    let mut wrong = Vec::new();
    for row in rows() {
        for server in row.readers {
            let flags = Flags {
                server: *server,
                ..Flags::default()
            };
            let told = described(&facts(row.statement.as_bytes(), flags), &row.statement);
            if told != row.expected {
                wrong.push(format!(
                    "line {} for {server:?}: {}\n  expected {}\n  told     {told}",
                    row.line, row.statement, row.expected
                ));
                break;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_statement_table_has_400_rows_and_every_dialect() {
    let rows = rows();
    assert!(rows.len() >= 400, "{} rows", rows.len());
    for dialect in ["both", "my", "maria", "unknown", "bad"] {
        assert!(rows.iter().any(|row| row.is_valid == dialect));
    }
}

#[test]
fn unqualified_table_names_belong_to_the_sessions_schema() {
    use pilotfish_sql::{Schema, Uses};
    let threads = Uses::THREADS | Uses::VARIABLES;
    let uses = |home: &str, text: &str| {
        let schema = Schema::of_name(home.as_bytes());
        let flags = Flags {
            schema,
            ..Flags::default()
        };
        facts(text.as_bytes(), flags).uses
    };
    for (home, text, expected) in [
        ("performance_schema", "SELECT * FROM threads", threads),
        ("Performance_Schema", "SELECT * FROM `threads` t", threads),
        (
            "performance_schema",
            "SELECT * FROM shop.threads",
            Uses::NONE,
        ),
        ("information_schema", "SELECT * FROM processlist", threads),
        ("information_schema", "SELECT * FROM plugins", Uses::SERVER),
        ("information_schema", "SELECT * FROM tables", Uses::NONE),
        ("sys", "SELECT * FROM session", threads),
        ("mysql", "SELECT * FROM user", Uses::SERVER),
        ("shop", "SELECT * FROM user, threads, plugins", Uses::NONE),
        ("shop", "USE mysql; SELECT * FROM user", Uses::SERVER),
        ("mysql", "USE `shop`; SELECT * FROM user", Uses::NONE),
        (
            "mysql",
            "WITH user AS (SELECT 1) SELECT * FROM user",
            Uses::NONE,
        ),
    ] {
        assert_eq!(uses(home, text), expected, "{text} in {home}");
    }
}
