//! The table of SET statements: each has the assignments that the table says.

use pilotfish_sql::{
    Access, Assignment, Constancy, Effects, Flags, Scope, Server, Span, Target, Value, facts,
};

fn described(text: &str, server: Server) -> String {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let facts = facts(text.as_bytes(), flags);
    let told = facts
        .assignments
        .iter()
        .map(|assignment| assignment_of(assignment, text));
    told.collect::<Vec<_>>().join(" & ")
}

fn raw(span: Span, text: &str) -> &str {
    std::str::from_utf8(span.of(text.as_bytes())).unwrap()
}

fn name(span: Span, text: &str) -> String {
    String::from_utf8(span.name(text.as_bytes()).into_owned())
        .unwrap()
        .to_lowercase()
}

fn assignment_of(assignment: &Assignment, text: &str) -> String {
    let value = value_of(assignment.value, text);
    match assignment.target {
        Target::Variable {
            scope,
            base,
            name: of,
        } => {
            let dot = if base.is_empty() { "" } else { "." };
            format!(
                "{}:{}{dot}{}={value}",
                letter(scope),
                name(base, text),
                name(of, text)
            )
        }
        Target::User(span) => format!("{}={value}", raw(span, text)),
        Target::Names => format!("names {value}"),
        Target::CharacterSet => format!("charset {value}"),
        Target::Isolation(scope) => format!("isolation({}) {}", letter(scope), &value[4..]),
        Target::AccessMode(scope) => format!("mode({}) {value}", letter(scope)),
        Target::Role => format!("role {}", &value[4..]),
        Target::DefaultRole => "default role".to_owned(),
        Target::Password => "password".to_owned(),
        Target::ResourceGroup => format!("resource group {}", &value[4..]),
        Target::Opaque => "opaque".to_owned(),
    }
}

fn letter(scope: Scope) -> &'static str {
    match scope {
        Scope::Implicit => "i",
        Scope::Session => "s",
        Scope::Global => "g",
        Scope::Persist => "p",
        Scope::PersistOnly => "po",
        Scope::NextTransaction => "n",
        Scope::Statement => "st",
    }
}

fn value_of(value: Value, text: &str) -> String {
    match value {
        Value::Default => "default".to_owned(),
        Value::Literal(span) => format!("lit {}", raw(span, text)),
        Value::Expression(span, Constancy::Constant) => format!("const {}", raw(span, text)),
        Value::Expression(span, Constancy::Session) => format!("sess {}", raw(span, text)),
        Value::Expression(span, Constancy::Unknown) => format!("unk {}", raw(span, text)),
        Value::Charset { charset, collation } if collation.is_empty() => {
            raw(charset, text).to_owned()
        }
        Value::Charset { charset, collation } => {
            format!("{}/{}", raw(charset, text), raw(collation, text))
        }
        Value::ReadOnly(is_read_only) => if is_read_only { "ro" } else { "rw" }.to_owned(),
        Value::None => "none".to_owned(),
    }
}

#[test]
fn every_set_has_its_assignments() {
    let (mysql, mariadb) = (Server::MySql(90_704), Server::MariaDb(101_119));
    let mut wrong = Vec::new();
    let mut count = 0;
    for (index, line) in include_str!("set.tsv").lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        count += 1;
        let columns: Vec<_> = line.split('\t').collect();
        let [dialect, expected, statement] = columns[..] else {
            panic!("line {} has {} columns", index + 1, columns.len());
        };
        let text = statement.replace('⏎', "\n").replace('⇥', "\t");
        let server = if dialect == "maria" { mariadb } else { mysql };
        let told = described(&text, server);
        if !told.eq_ignore_ascii_case(expected) {
            wrong.push(format!(
                "line {}: {text}\n  expected {expected}\n  told     {told}",
                index + 1
            ));
        }
    }
    assert!(count >= 120, "{count} rows");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn statements_that_are_not_understood_are_reported() {
    for text in [
        "SET",
        "SET 1 = 2",
        "SET a = 1, b",
        "SET NAMES utf8mb4 extra",
    ] {
        let facts = facts(text.as_bytes(), Flags::default());
        assert!(facts.effects.has(Effects::OPAQUE), "{text}");
    }
}

#[test]
fn a_long_list_is_opaque_rather_than_cut() {
    let items: Vec<_> = (0..100_000).map(|n| format!("@v{n}={n}")).collect();
    let text = format!("SET {}", items.join(","));
    let facts = facts(text.as_bytes(), Flags::default());
    assert_eq!(facts.assignments.len(), pilotfish_sql::ASSIGNMENTS_MAX);
    assert!(facts.effects.has(Effects::OPAQUE));
}

#[test]
fn setting_the_server_writes_and_setting_the_session_does_not() {
    let access = |text: &str| facts(text.as_bytes(), Flags::default()).access;
    assert_eq!(access("SET sql_mode = '', @x = 1"), Access::Session);
    assert_eq!(access("SET sql_mode = '', GLOBAL x = 1"), Access::Write);
    assert_eq!(access("SET @x = f()"), Access::Unsure);
}
