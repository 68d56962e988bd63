//! Session state changes of real servers, decoded and encoded again.
//!
//! The files in `session_track/` hold the OK packets of one session with every tracker on: `=` is the
//! statement, `<` the last packet of its reply.

use std::path::Path;

use pilotfish_wire::reply::{OkHeader, OkPacket};
use pilotfish_wire::session_track::{Change, OkTail, put_ok};
use pilotfish_wire::{Capabilities, StatusFlags};

const PRODUCTS: [&str; 3] = ["mariadb", "mariadb-11.8", "mysql-9.7"];

struct Session {
    capabilities: Capabilities,
    /// Statements and the payloads that end their replies.
    replies: Vec<(String, Vec<u8>)>,
}

impl Session {
    fn read(product: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_track");
        let text = std::fs::read_to_string(folder.join(format!("{product}.txt"))).unwrap();
        let mut session = Self {
            capabilities: Capabilities(0),
            replies: Vec::new(),
        };
        let mut statement = "";
        for line in text.lines() {
            match line.split_once(' ').unwrap() {
                ("capabilities", bits) => {
                    let bits = bits.trim_start_matches("0x");
                    session.capabilities = Capabilities(u64::from_str_radix(bits, 16).unwrap());
                }
                ("=", text) => statement = text,
                ("<", hex) => {
                    let payload = bytes(hex).split_off(4);
                    session.replies.push((statement.to_owned(), payload));
                }
                _ => {}
            }
        }
        session
    }

    fn payload(&self, statement: &str) -> &[u8] {
        let found = self.replies.iter().find(|(text, _)| text == statement);
        &found.unwrap_or_else(|| panic!("{statement}")).1
    }

    /// The changes that the server reported for a statement, without `statement_id`, which MySQL reports each time.
    fn changes(&self, statement: &str) -> Vec<Change<'_>> {
        let tail = OkTail::decode(self.payload(statement), self.capabilities).unwrap();
        let changes = tail.changes().map(Result::unwrap);
        let is_news = |change: &Change<'_>| {
            !matches!(
                change,
                Change::Variable {
                    name: b"statement_id",
                    ..
                }
            )
        };
        changes.filter(is_news).collect()
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

fn variable<'a>(name: &'a str, value: &'a str) -> Change<'a> {
    Change::Variable {
        name: name.as_bytes(),
        value: value.as_bytes(),
    }
}

#[test]
fn oks_are_written_as_they_were_read() {
    for product in PRODUCTS {
        let session = Session::read(product);
        for (statement, payload) in &session.replies {
            let ok = OkPacket::decode(payload).unwrap();
            let tail = OkTail::decode(payload, session.capabilities).unwrap();
            let header = match payload[0] {
                0xfe => OkHeader::Eof,
                _ => OkHeader::Ok,
            };
            let changes: Vec<Change<'_>> = tail.changes().map(Result::unwrap).collect();
            let mut again = Vec::new();
            put_ok(
                &mut again,
                header,
                session.capabilities,
                &ok,
                tail.info,
                changes.clone(),
            );
            // MySQL may set the flag with an empty list of changes; the encoder then clears the flag.
            if payload.ends_with(&[0, 0]) && changes.is_empty() && payload.len() == 9 {
                let status = ok.status.with(StatusFlags::SESSION_STATE_CHANGED, false);
                assert_eq!(OkPacket::decode(&again), Ok(OkPacket { status, ..ok }));
            } else {
                assert_eq!(&again, payload, "{product}: {statement}");
            }
        }
    }
}

#[test]
fn tracked_variables_have_their_values() {
    for product in PRODUCTS {
        let session = Session::read(product);
        let mut changes = session.changes("SET NAMES latin1");
        assert_eq!(changes.pop(), Some(Change::StateChanged(true)));
        let names = ["client", "connection", "results"].map(|what| format!("character_set_{what}"));
        assert_eq!(changes.len(), names.len(), "{product}");
        for name in &names {
            assert!(
                changes.contains(&variable(name, "latin1")),
                "{product}: {name}"
            );
        }
        let changes = session.changes("SET character_set_results=NULL");
        assert_eq!(changes[0], variable("character_set_results", ""));
        let changes = session.changes("SET autocommit=0");
        assert_eq!(changes[0], variable("autocommit", "OFF"));
    }
}

#[test]
fn the_tracked_schema_is_read() {
    for product in PRODUCTS {
        let session = Session::read(product);
        let changes = session.changes("USE demo");
        assert_eq!(
            changes,
            [Change::Schema(b"demo"), Change::StateChanged(true)]
        );
        // If the session's schema is dropped, the session has no schema.
        let changes = session.changes("DROP DATABASE gone");
        assert!(
            changes.contains(&Change::Schema(b"")),
            "{product}: {changes:?}"
        );
    }
}

#[test]
fn tracked_gtids_are_read_in_each_familys_form() {
    for product in PRODUCTS {
        let session = Session::read(product);
        let changes = session.changes("INSERT INTO t(s) VALUES ('a'),('b')");
        let [change] = changes[..] else {
            panic!("{product}: {changes:?}");
        };
        match (product, change) {
            ("mysql-9.7", Change::Gtids(text)) => assert!(text[36] == b':', "{text:?}"),
            ("mysql-9.7", _) => panic!("{change:?}"),
            (_, Change::Variable { name, value }) => {
                assert_eq!(name, b"last_gtid");
                assert!(value.starts_with(b"0-1-"));
            }
            _ => panic!("{change:?}"),
        }
    }
}

#[test]
fn tracked_transactions_have_their_begin_statement() {
    for product in PRODUCTS {
        let session = Session::read(product);
        let begin = session.changes("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
        let statements = b"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; \
                           START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;";
        assert_eq!(
            begin,
            [
                Change::TransactionState(b"T_R_____"),
                Change::TransactionCharacteristics(statements),
            ],
            "{product}"
        );
        let rows = session.changes("SELECT * FROM t LIMIT 1");
        assert_eq!(rows, [Change::TransactionState(b"T_R__sS_")], "{product}");
        assert_eq!(
            session.changes("ROLLBACK"),
            [
                Change::TransactionState(b"________"),
                Change::TransactionCharacteristics(b""),
            ],
            "{product}"
        );
    }
}

#[test]
fn the_info_text_is_read_with_and_without_changes() {
    for product in PRODUCTS {
        let session = Session::read(product);
        for (statement, info) in [
            (
                "UPDATE t SET s='x' WHERE i=1",
                &b"Rows matched: 1  Changed: 1  Warnings: 0"[..],
            ),
            ("PREPARE x FROM 'SELECT 1'", b"Statement prepared"),
        ] {
            let tail = OkTail::decode(session.payload(statement), session.capabilities).unwrap();
            assert_eq!(tail.info, info, "{product}");
        }
    }
}
