//! The table of rewritten statements, and properties of the rewriting for any text.

use pilotfish_sql::{About, Answers, Charset, Flags, QUESTIONS_MAX, Server, Uses, facts, rewrite};
use proptest::prelude::*;

const MYSQL: Server = Server::MySql(90_704);
const MARIADB: Server = Server::MariaDb(101_119);

const ANSWERS: Answers = Answers {
    connection_id: Some(7),
    pseudo_thread_id: Some(8),
    row_count: Some(3),
    found_rows: Some(5),
    last_insert_id: Some(9),
    warning_count: Some(2),
    error_count: Some(1),
};

/// The abbreviations in the table for the literals of [`ANSWERS`].
const LITERALS: [(&str, &str); 8] = [
    ("CID", "CAST(0000000007 AS UNSIGNED)"),
    ("TID", "NULLIF(8|0,NULL)"),
    ("RC", "ABS(CAST(-00000000000000000003 AS SIGNED))"),
    ("FR", "ABS(CAST(-00000000000000000005 AS SIGNED))"),
    ("LID", "CAST(000000000000000000009 AS UNSIGNED)"),
    ("LIV", "NULLIF(9|0,NULL)"),
    ("WC", "NULLIF(2|0,NULL)"),
    ("EC", "NULLIF(1|0,NULL)"),
];

fn reads(server: Server) -> Flags {
    Flags {
        server,
        ..Flags::default()
    }
}

fn with_literals(text: &str) -> String {
    let text = LITERALS
        .iter()
        .fold(text.to_owned(), |text, (name, literal)| {
            let (open, close) = (format!("{name} "), format!("{literal} "));
            let text = text.replace(&open, &close);
            ["+", ")", ",", ";", "}"].iter().fold(text, |text, end| {
                text.replace(&format!("{name}{end}"), &format!("{literal}{end}"))
            })
        });
    let unfinished = LITERALS.iter().find(|(name, _)| text.ends_with(name));
    match unfinished {
        Some((name, literal)) => text[..text.len() - name.len()].to_owned() + literal,
        None => text,
    }
}

fn left(uses: Uses) -> String {
    let names: Vec<_> = uses.names().map(str::to_lowercase).collect();
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(" ")
    }
}

/// The expected text for a server. MySQL keeps a call of FOUND_ROWS(), which is never executed, for its warning.
fn as_for(server: Server, expected: &str) -> String {
    const FOUND: &str = "ABS(CAST(-00000000000000000005 AS SIGNED))";
    match server {
        Server::MySql(_) => expected.replace(FOUND, &format!("COALESCE({FOUND},FOUND_ROWS())")),
        Server::MariaDb(_) | Server::Unknown => expected.to_owned(),
    }
}

#[test]
fn every_row_of_the_rewrite_table_is_rewritten_as_expected() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (index, line) in include_str!("rewrite.tsv").lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let columns: Vec<_> = line.split('\t').collect();
        let [dialect, still, expected, statement] = columns[..] else {
            panic!("line {} has {} columns", index + 1, columns.len());
        };
        count += 1;
        let text = statement.replace('⏎', "\n");
        let expected = with_literals(&expected.replace('⏎', "\n"));
        let mut still: Vec<_> = still.split(' ').collect();
        still.sort_unstable();
        let readers: &[Server] = match dialect {
            "my" => &[MYSQL],
            "maria" => &[MARIADB],
            _ => &[Server::Unknown, MYSQL, MARIADB],
        };
        for server in readers {
            let rewritten = rewrite(text.as_bytes(), reads(*server), &ANSWERS);
            let told = rewritten
                .text
                .map_or("=".to_owned(), |text| String::from_utf8(text).unwrap());
            let mut left: Vec<_> = left(rewritten.left).split(' ').map(str::to_owned).collect();
            left.sort_unstable();
            let expected = as_for(*server, &expected);
            if told != expected || left != still {
                wrong.push(format!(
                    "line {} for {server:?}: {text}\n  expected {expected} {still:?}\n  told     {told} {left:?}",
                    index + 1
                ));
                break;
            }
        }
    }
    assert!(count >= 80, "{count} rows");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn numbers_of_any_size_and_sign_are_literals() {
    let text = b"SELECT ROW_COUNT() a, LAST_INSERT_ID() b, CONNECTION_ID() c";
    let shown = |answers: &Answers| {
        let rewritten = rewrite(text, Flags::default(), answers);
        String::from_utf8(rewritten.text.unwrap()).unwrap()
    };
    let most = Answers {
        row_count: Some(i64::MIN),
        last_insert_id: Some(u64::MAX),
        connection_id: Some(u64::MAX),
        ..Answers::default()
    };
    assert_eq!(
        shown(&most),
        "SELECT CAST(-09223372036854775808 AS SIGNED) a, CAST(018446744073709551615 AS UNSIGNED) b, \
         CAST(18446744073709551615 AS UNSIGNED) c"
    );
    let least = Answers {
        row_count: Some(-1),
        last_insert_id: Some(0),
        connection_id: Some(0),
        ..Answers::default()
    };
    assert_eq!(
        shown(&least),
        "SELECT CAST(-00000000000000000001 AS SIGNED) a, CAST(000000000000000000000 AS UNSIGNED) b, CAST(0000000000 AS UNSIGNED) c"
    );
}

#[test]
fn calls_without_a_known_answer_stay_in_the_statement() {
    let text = b"SELECT ROW_COUNT(), CONNECTION_ID(), @@identity, LAST_INSERT_ID()";
    let only_id = Answers {
        connection_id: Some(7),
        ..Answers::default()
    };
    let rewritten = rewrite(text, Flags::default(), &only_id);
    assert_eq!(left(rewritten.left), "last_insert_id row_count");
    assert_eq!(
        rewritten.text.unwrap(),
        b"SELECT ROW_COUNT(), CAST(0000000007 AS UNSIGNED) AS `CONNECTION_ID()`, @@identity, \
          LAST_INSERT_ID()"
    );
}

#[test]
fn a_name_of_a_wide_charset_is_quoted_by_its_characters() {
    let flags = Flags {
        charset: Charset::GBK,
        ..Flags::default()
    };
    // A backtick that is half of a character, and one that is not.
    let text = b"SELECT ROW_COUNT(/* \x81` ` */)";
    let rewritten = rewrite(text, flags, &ANSWERS).text.unwrap();
    assert!(rewritten.ends_with(b" AS `ROW_COUNT(/* \x81` `` */)`"));
}

#[test]
fn a_column_too_long_for_a_name_gets_none() {
    let text = format!("SELECT CONCAT(ROW_COUNT(), '{}')", "x".repeat(300));
    let rewritten = rewrite(text.as_bytes(), Flags::default(), &ANSWERS)
        .text
        .unwrap();
    assert!(!rewritten.windows(4).any(|part| part == b" AS `"));
}

#[test]
fn functions_beyond_the_maximum_count_are_not_rewritten() {
    let text = format!("SELECT {} 1", "ROW_COUNT(), ".repeat(QUESTIONS_MAX + 1));
    let rewritten = rewrite(text.as_bytes(), Flags::default(), &ANSWERS);
    assert!(rewritten.left.has(Uses::ROW_COUNT));
}

/// A text and its rewritten form.
#[derive(Clone, Debug)]
struct Pair {
    old: String,
    new: String,
}

impl Pair {
    fn same(text: impl Into<String>) -> Self {
        let old: String = text.into();
        let new = old.clone();
        Self { old, new }
    }

    /// Puts both texts into a frame in the place of `{}`.
    fn within(&self, frame: &str) -> Self {
        Self {
            old: frame.replace("{}", &self.old),
            new: frame.replace("{}", &self.new),
        }
    }

    fn join(pairs: &[Self], between: &str) -> Self {
        let all = |text: fn(&Self) -> &String| {
            let texts: Vec<_> = pairs.iter().map(|pair| text(pair).as_str()).collect();
            texts.join(between)
        };
        Self {
            old: all(|pair| &pair.old),
            new: all(|pair| &pair.new),
        }
    }
}

fn any_operand() -> impl Strategy<Value = Pair> {
    let questions = [
        ("ROW_COUNT()", "RC"),
        ("row_count ( )", "RC"),
        ("FOUND_ROWS(/* c */)", "FR"),
        ("CONNECTION_ID()", "CID"),
        ("Last_Insert_Id()", "LID"),
        ("@@identity", "LIV"),
        ("@@session.pseudo_thread_id", "TID"),
        ("@@warning_count", "WC"),
    ];
    let question = prop::sample::select(questions.to_vec()).prop_map(|(old, name)| Pair {
        old: old.to_owned(),
        new: LITERALS
            .iter()
            .find(|(of, _)| *of == name)
            .unwrap()
            .1
            .to_owned(),
    });
    let plain = [
        "1",
        "'a'",
        "'ROW_COUNT()'",
        "NULL",
        "t.a",
        "`b`",
        "@x",
        "@@sql_mode",
        "NOW()",
    ];
    prop_oneof![
        question,
        prop::sample::select(plain.to_vec()).prop_map(Pair::same)
    ]
}

/// An expression, with subqueries inside.
fn any_expression() -> impl Strategy<Value = Pair> {
    any_operand().prop_recursive(4, 12, 3, |inner| {
        let frames = [
            "({})",
            "-{}",
            "NOT {}",
            "CONCAT('x', {})",
            "CAST({} AS CHAR)",
            "{} IS NULL",
            "CASE {} WHEN 1 THEN 2 END",
            "{fn ABS({})}",
            "COUNT(DISTINCT {})",
            "EXISTS (SELECT 1 FROM t WHERE {})",
        ];
        let operators = ["+", " AND ", " <=> ", " DIV ", ", "];
        prop_oneof![
            (inner.clone(), prop::sample::select(frames.to_vec()))
                .prop_map(|(pair, frame)| pair.within(frame)),
            (
                inner.clone(),
                inner.clone(),
                prop::sample::select(operators.to_vec())
            )
                .prop_map(|(left, right, operator)| {
                    let frame = if operator == ", " { "IF(0, {})" } else { "{}" };
                    Pair::join(&[left, right], operator).within(frame)
                }),
            prop::collection::vec(any_column(inner), 1..3)
                .prop_map(|columns| Pair::join(&columns, ", ").within("(SELECT {} FROM t)")),
        ]
    })
}

/// An expression with or without an alias. If it has none and is rewritten, it gets its old text as its alias.
fn any_column(of: impl Strategy<Value = Pair>) -> impl Strategy<Value = Pair> {
    let names = ["", "", " AS n", " n", " 'n m'", " AS `n``m`"];
    (of, prop::sample::select(names.to_vec())).prop_map(|(pair, name)| {
        if name.is_empty() && pair.old != pair.new {
            let name = pair.old.replace('`', "``");
            let new = format!("{} AS `{name}`", pair.new);
            return Pair { new, ..pair };
        }
        pair.within(&format!("{{}}{name}"))
    })
}

fn any_statement() -> impl Strategy<Value = Pair> {
    let frames = [
        "SELECT {}",
        "SELECT DISTINCT {} FROM t",
        "(SELECT {} LIMIT 1) UNION SELECT 1",
        "INSERT INTO t SELECT {} FROM u ON DUPLICATE KEY UPDATE a = 1",
        "SELECT {} INTO @y",
        "CREATE TABLE n SELECT {}",
        "SELECT SQL_NO_CACHE {} ORDER BY 1;",
        "EXPLAIN SELECT {}",
    ];
    let columns = prop::collection::vec(any_column(any_expression()), 1..4);
    let select = (columns, prop::sample::select(frames.to_vec()))
        .prop_map(|(columns, frame)| Pair::join(&columns, ",").within(frame));
    let others = [
        "SET @x = {}",
        "DO {}",
        "SELECT a FROM t WHERE {}",
        "UPDATE t SET a = {} LIMIT 1",
        "INSERT INTO t VALUES ({}, 1), ({}, 2)",
        "SELECT a FROM t GROUP BY {} HAVING {}",
    ];
    let other = (any_expression(), prop::sample::select(others.to_vec()))
        .prop_map(|(pair, frame)| pair.within(frame));
    // Longer columns get no names.
    prop_oneof![select, other].prop_filter("too long", |pair| pair.old.len() < 250)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_text_without_session_functions_is_not_rewritten(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let rewritten = rewrite(&bytes, Flags::default(), &ANSWERS);
        if facts(&bytes, Flags::default()).questions.is_empty() {
            prop_assert_eq!(rewritten.text, None);
        }
    }

    #[test]
    fn questions_become_literals_and_columns_keep_their_names(pair in any_statement()) {
        let rewritten = rewrite(pair.old.as_bytes(), reads(MYSQL), &ANSWERS);
        let text = rewritten.text.map_or(pair.old.clone(), |text| String::from_utf8(text).unwrap());
        prop_assert_eq!(text, as_for(MYSQL, &pair.new));
        prop_assert!(rewritten.left.is_empty());
    }

    #[test]
    fn a_rewritten_statement_keeps_its_effects_and_needs_no_answer(pair in any_statement()) {
        let (old, new) = (
            facts(pair.old.as_bytes(), reads(MARIADB)),
            facts(pair.new.as_bytes(), reads(MARIADB)),
        );
        prop_assert_eq!(old.kind, new.kind);
        prop_assert_eq!(old.access, new.access);
        prop_assert_eq!(old.effects, new.effects);
        prop_assert!(new.questions.is_empty());
        let asked = Uses::CONNECTION_ID | Uses::ROW_COUNT | Uses::FOUND_ROWS | Uses::LAST_INSERT_ID
            | Uses::DIAGNOSTICS;
        prop_assert!(!new.uses.has(asked));
        for (bit, _) in Uses::NAMES {
            prop_assert!(asked.has(*bit) || old.uses.has(*bit) == new.uses.has(*bit));
        }
    }

    #[test]
    fn any_bytes_around_questions_are_kept(
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(vec!["SELECT ", "ROW_COUNT()", ", ", "(", ")", "@@identity", ";",
                "/*! ", "*/ ", " AS ", "`", "FROM ", "x ", "'"]).prop_map(|text| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..4),
        ], 0..40)
    ) {
        let text = parts.concat();
        let questions = facts(&text, Flags::default()).questions;
        let Some(new) = rewrite(&text, Flags::default(), &ANSWERS).text else { return Ok(()) };
        // The bytes between questions appear in order, interrupted only where aliases are inserted.
        let mut rest = new.as_slice();
        for byte in text.iter().enumerate().filter_map(|(at, byte)| {
            let asked = questions.iter().any(|question| {
                (question.span.start as usize..question.span.end as usize).contains(&at)
            });
            (!asked).then_some(byte)
        }) {
            let found = rest.iter().position(|other| other == byte);
            prop_assert!(found.is_some());
            rest = &rest[found.unwrap() + 1..];
        }
    }
}

#[test]
fn questions_have_their_subject_and_position() {
    let text = "SET @a = 1; SELECT CONNECTION_ID(), @@session.identity";
    let questions = facts(text.as_bytes(), Flags::default()).questions;
    let told: Vec<_> = questions
        .iter()
        .map(|question| {
            (
                question.about,
                question.statement_index,
                question.span.of(text.as_bytes()),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (About::ConnectionId, 1, b"CONNECTION_ID()".as_slice()),
            (About::LastInsertId, 1, b"@@session.identity".as_slice()),
        ]
    );
}
