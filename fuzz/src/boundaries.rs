//! Rules as boundaries: statements that a server has said to touch a table, in every wrapping that still runs them, do
//! not pass a rule that refuses the table.

use std::sync::OnceLock;

use config::{Config, Day, RuleConfig, TimeOfDay};
use route::rules::{Chance, Client, Counters, LocalTime, Occasion, Reply, Rules};
use sql::{Analysis, Flags, Server};

use crate::input::Input;

/// The number of nested wrappings is below this.
const DEPTH_MAX: u8 = 6;

/// Input: the number of a form, a server, and the wrappings.
pub fn boundaries(data: &[u8]) {
    let mut input = Input::new(data);
    let number = usize::from(u16::from_le_bytes([input.u8(), input.u8()]));
    let forms = forms();
    let Some(form) = forms.get(number % forms.len()) else {
        return;
    };
    let server = SERVERS[usize::from(input.u8()) % SERVERS.len()];
    if !form.touches[server.0] {
        return;
    }
    let mut text = form.text.to_owned();
    for _ in 0..input.u8() % DEPTH_MAX {
        text = wrapped(&text, input.u8());
    }
    let flags = Flags {
        server: server.1,
        ..Flags::default()
    };
    assert!(
        is_refused(text.as_bytes(), flags),
        "{text} on {:?}",
        server.1
    );
}

/// The number of a column in `names.tsv`, and its server.
const SERVERS: [(usize, Server); 3] = [
    (0, Server::MySql(90_704)),
    (1, Server::MariaDb(101_119)),
    (2, Server::MariaDb(110_809)),
];

/// A statement, and the servers on which it touches the table.
struct Form {
    touches: [bool; 3],
    text: &'static str,
}

/// The statements of `sql/tests/names.tsv`, which says what servers do.
fn forms() -> &'static [Form] {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let lines = include_str!("../../sql/tests/names.tsv").lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        let forms = lines.filter_map(|line| {
            let mut columns = line.split('\t');
            let touches = [(); 3].map(|()| columns.next().is_some_and(|said| said != "-"));
            Some(Form {
                touches,
                text: columns.next()?,
            })
        });
        forms.collect()
    })
}

/// Wraps a statement in another statement that still runs it.
fn wrapped(text: &str, how: u8) -> String {
    let literal = || format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    match how % 12 {
        0 => format!("DO 1; {text}"),
        1 => format!("{text}; DO 1"),
        2 => format!("PREPARE p FROM {}", literal()),
        3 => format!("EXECUTE IMMEDIATE {}", literal()),
        4 => format!("/* a comment ' */ {text}"),
        5 => format!("SET NAMES utf8mb4; {text}"),
        6 => format!("USE names; {text}"),
        7 => format!("SET @a = 1, sql_mode = ''; {text}"),
        8 => format!("CALL p(); {text}"),
        9 => format!("BEGIN NOT ATOMIC {text}; END"),
        10 => format!("EXECUTE IMMEDIATE CONCAT({})", literal()),
        _ => format!("SET @text = {}; PREPARE p FROM @text; EXECUTE p", literal()),
    }
}

fn is_refused(text: &[u8], flags: Flags) -> bool {
    static RULES: OnceLock<Rules> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        let rule = RuleConfig {
            name: "no secrets".to_owned(),
            tables: vec!["secret".to_owned()],
            refuse: Some("no".into()),
            ..RuleConfig::default()
        };
        let config = Config {
            rules: vec![rule],
            ..Config::default()
        };
        Rules::compile(&config)
            .expect("it is without a fault")
            .rules
    });
    let mut analysis = Analysis::default();
    analysis.read(text, flags);
    let occasion = Occasion {
        text,
        flags,
        facts: &analysis.facts,
        digest: None,
        digest_hash: None,
        client: Client {
            user: b"app",
            schema: b"names",
            ..Client::default()
        },
        attributes: &[],
        prepared: &(),
        time: LocalTime {
            day: Day::Monday,
            time: TimeOfDay::NOON,
        },
        chance: Chance::Thrown {
            session: 1,
            statement: 1,
        },
    };
    let judgement = rules.judge(&occasion, &Counters::new(rules), &mut ());
    let reply = judgement.reply.map(|by| by.value);
    matches!(reply, Some(Reply::Error { .. }))
}

/// Returns each form on one server, plain and in one wrapping.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let count = u16::try_from(forms().len()).expect("there are some hundred");
    let of_form = |number: u16| {
        let [low, high] = number.to_le_bytes();
        let (server, how) = ((number % 3) as u8, (number % 12) as u8);
        [vec![low, high, server, 0], vec![low, high, server, 1, how]]
    };
    (0..count).flat_map(of_form).collect()
}
