//! Changes of captured logs: each one comes in order, and again from each position. Columns by the schema history.

use std::path::Path;
use std::sync::Arc;

use binlog::{EventReader, GtidError, Limits};
use route::Family;
use serde_json::{Value, json};

use super::error::ChangeError;
use super::history::{DefinitionLookup, History, Moment};
use super::reader::{ChangeReader, ChangeStart, Progress};
use super::source::ChangeSource;
use super::translator::{self, Output};
use crate::change::Change;
use crate::follow::{Brought, Follower, Statements};
use crate::object::{ObjectKind, ObjectName};
use crate::position::{Gtid, Position};
use crate::relay::RelayWriter;
use crate::relay::tests::options;
use crate::status::StreamStatus;
use crate::store::{Definition, Observed, Store, StoredStream, StreamName};
use crate::tests::system;

const NAME: StreamName<'static> = StreamName {
    stream: "main",
    cluster: "main",
};

/// A relay with the events of a captured file, and an empty schema history.
pub struct Captured {
    pub source: ChangeSource,
    pub store: Store,
    pub family: Family,
    _relay: RelayWriter,
    _folder: tempfile::TempDir,
}

struct Unread;

impl Statements for Unread {
    fn statement(&mut self, _: &binlog::EventHeader, _: &binlog::Query<'_>) {}
}

impl Captured {
    pub fn new(server: &str, number: u32) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../binlog/tests/captures");
        let bytes = std::fs::read(root.join(format!("{server}/bin.{number:06}"))).unwrap();
        let family = match server.starts_with("mysql") {
            true => Family::MySql,
            false => Family::MariaDb,
        };
        let folder = tempfile::tempdir().unwrap();
        let nothing = Position::empty(family);
        let mut relay = RelayWriter::open(options(folder.path()), &nothing).unwrap();
        let mut follower = Follower::new(Limits::default());
        let mut events = EventReader::new(bytes.as_slice(), Limits::default());
        while let Some((_, raw)) = events.next_event().unwrap() {
            let brought = follower.take(&raw, &nothing, &mut Unread).unwrap();
            relay.take(&raw, &brought).unwrap();
            if matches!(brought, Brought::Transaction(_)) {
                relay.sync().unwrap();
            }
        }
        let settings = config::ReplicationConfig {
            name: "main".to_owned(),
            relay_folder: Some(folder.path().to_owned()),
            ..config::ReplicationConfig::default()
        };
        let status = Arc::new(StreamStatus::new(&settings));
        status.set_relay(relay.log());
        let store = Store::open(None, 1 << 30).unwrap();
        let source = ChangeSource::new(&status, &settings, store.source(), &system(7));
        Self {
            source,
            store,
            family,
            _relay: relay,
            _folder: folder,
        }
    }

    fn define(&mut self, table: &str, definition: &str) {
        let observed = Observed {
            object: object(table),
            definition: Definition::Is(definition.to_owned()),
            read_at: None,
        };
        self.store.note(NAME, &[observed], 0).unwrap();
    }

    /// All changes after a position, and the error that ends them.
    fn read(&self, start: &ChangeStart, tables: &[&str]) -> (Vec<Told>, Option<ChangeError>) {
        let tables: Vec<_> = tables.iter().map(|it| (*it).to_owned()).collect();
        let mut reader = ChangeReader::begin(&self.source, start, &tables).unwrap();
        let mut all = All(Vec::new());
        loop {
            match reader.step(&mut all) {
                Ok(Progress::Goes) => {}
                Ok(Progress::IsLive | Progress::IsLeft) => return (all.0, None),
                Err(error) => return (all.0, Some(error)),
            }
        }
    }
}

/// A change and its position.
type Told = (Value, String);

struct All(Vec<Told>);

impl Output for All {
    fn change(&mut self, change: &translator::ChangeRecord<'_>) -> Result<(), ChangeError> {
        let translator::ChangeRecord { json, position, .. } = change;
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["position"], *position, "{json}");
        self.0.push((value, (*position).to_owned()));
        Ok(())
    }

    fn end_of_transaction(&mut self, _: &str) -> Result<(), ChangeError> {
        Ok(())
    }

    fn is_closed(&self) -> bool {
        false
    }
}

fn object(name: &str) -> ObjectName {
    ObjectName {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        kind: ObjectKind::Table,
    }
}

fn of_table<'a>(told: &'a [Told], table: &str) -> Vec<&'a Value> {
    let values = told.iter().map(|it| &it.0);
    values
        .filter(|it| it["source"]["table"] == table && it["before"] != it["after"])
        .collect()
}

/// Captures with full metadata, and with compression.
const WHOLE: [(&str, u32); 6] = [
    ("mariadb-10.11", 1),
    ("mariadb-11.8", 1),
    ("mysql-9.7", 1),
    ("mariadb-10.11", 4),
    ("mariadb-11.8", 4),
    ("mysql-9.7", 4),
];

#[test]
fn a_reader_that_comes_again_at_any_position_gets_the_rest_in_order_and_nothing_is_missing() {
    for (server, number) in WHOLE {
        let captured = Captured::new(server, number);
        let (all, error) = captured.read(&ChangeStart::Oldest, &[]);
        assert!(error.is_none(), "{server} {number}: {error:?}");
        assert!(all.len() > 3, "{server} {number}: {}", all.len());
        for (index, (_, position)) in all.iter().enumerate() {
            let (rest, _) = captured.read(&ChangeStart::Behind(position.clone()), &[]);
            let first = all.len() - rest.len();
            assert!(first <= index + 1, "{server} {number}: {index}");
            // A transaction is repeated as a whole, or not at all.
            let has_ended = all.get(index + 1).is_none_or(|(next, _)| {
                next["transaction"]["id"] != all[index].0["transaction"]["id"]
            });
            assert_eq!(first == index + 1, has_ended, "{server} {number}: {index}");
            let order = &all.get(first).unwrap_or(&all[0]).0["transaction"]["total_order"];
            assert_eq!(*order, 1, "{server} {number}: {index}");
            assert_eq!(rest, all[first..], "{server} {number}: {index}");
        }
    }
}

#[test]
fn rows_have_the_shape_of_debezium_and_keep_their_values() {
    for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
        let captured = Captured::new(server, 1);
        let (all, _) = captured.read(&ChangeStart::Oldest, &["shop.numbers", "shop.texts"]);
        let numbers = of_table(&all, "numbers");
        let unsigned = numbers
            .iter()
            .find(|it| it["after"]["j"] == json!(u64::MAX));
        let first = unsigned.unwrap_or_else(|| panic!("{server}: {numbers:?}"));
        assert_eq!(first["op"], "c");
        assert_eq!(first["before"], Value::Null);
        assert!(first["after"]["m"].is_string(), "{first}");
        let source = &first["source"];
        let connector = match captured.family {
            Family::MySql => "mysql",
            Family::MariaDb => "mariadb",
        };
        assert_eq!(source["connector"], connector);
        assert_eq!(source["db"], "shop");
        assert_eq!(source["snapshot"], "false");
        assert_eq!(source["gtid"], first["transaction"]["id"]);
        assert_eq!(first["ts_ms"], 7000);
        assert!(all.iter().all(|(it, _)| it["source"]["table"] != "times"));
        let texts = of_table(&all, "texts");
        assert!(
            texts
                .iter()
                .any(|it| it["after"]["o"] == "green" && it["after"]["p"] == "a,c,i"),
            "{server}"
        );
    }
}

#[test]
fn statements_that_change_objects_are_sent_without_passwords() {
    for server in ["mariadb-11.8", "mysql-9.7"] {
        let captured = Captured::new(server, 1);
        let (all, _) = captured.read(&ChangeStart::Oldest, &[]);
        let ddl: Vec<_> = all.iter().filter(|(it, _)| it["op"] == "ddl").collect();
        let text: String = ddl.iter().map(|(it, _)| it["ddl"].to_string()).collect();
        assert!(
            text.contains("CREATE USER") && text.contains("<secret>"),
            "{text}"
        );
        let added = ddl
            .iter()
            .find(|(it, _)| it["ddl"] == "ALTER TABLE forms ADD COLUMN note INT");
        let added = &added.unwrap().0;
        assert_eq!(
            added["tableChanges"],
            json!([{"type": "ALTER TABLE", "id": "shop.forms"}])
        );
        assert!(
            all.iter()
                .any(|(it, _)| it["op"] == "t" && it["source"]["table"] == "shapes")
        );
        let (few, _) = captured.read(&ChangeStart::Oldest, &["shop.times"]);
        assert!(
            few.iter()
                .all(|(it, _)| it["op"] != "ddl" || !it.to_string().contains("forms"))
        );
    }
}

#[test]
fn statements_instead_of_rows_are_marked_as_such() {
    for server in ["mariadb-11.8", "mysql-9.7"] {
        let captured = Captured::new(server, 2);
        let (all, error) = captured.read(&ChangeStart::Oldest, &[]);
        assert!(error.is_none(), "{server}: {error:?}");
        let said: Vec<_> = all
            .iter()
            .filter(|(it, _)| it["op"] == "statement")
            .collect();
        assert!(said.len() > 2, "{server}: {all:?}");
        assert!(
            said.iter()
                .any(|(it, _)| it["statement"].to_string().contains("LOAD DATA"))
        );
    }
}

#[test]
fn unnamed_columns_get_names_from_the_history_or_are_left_out() {
    let mut captured = Captured::new("mariadb-11.8", 3);
    let wanted = &["shop.numbers"];
    let (told, error) = captured.read(&ChangeStart::Oldest, wanted);
    assert!(
        matches!(error, Some(ChangeError::UnknownColumns(_))),
        "{error:?}"
    );
    assert!(of_table(&told, "numbers").is_empty());
    let columns = [
        "a` tinyint(4)",
        "b` tinyint(3) unsigned",
        "c` smallint(6)",
        "d` smallint(5) unsigned",
        "e` mediumint(9)",
        "f` mediumint(8) unsigned",
        "g` int(11)",
        "h` int(10) unsigned",
        "i` bigint(20)",
        "j` bigint(20) unsigned",
        "k` float",
        "l` double",
        "m` decimal(10,3)",
        "n` decimal(65,30)",
        "o` decimal(5,0)",
        "p` bit(1)",
        "q` bit(12)",
        "r` bit(64)",
        "s` year(4)",
        "t` tinyint(1)",
    ];
    let columns: String = columns
        .iter()
        .map(|it| format!(",\n `{it} DEFAULT NULL"))
        .collect();
    let definition =
        format!("CREATE TABLE `numbers` (\n `id` int(11) NOT NULL{columns}\n) ENGINE=InnoDB");
    // A definition whose columns do not fit the event is not used.
    captured.define("numbers", &definition.replace("year(4)", "date"));
    let (_, error) = captured.read(&ChangeStart::Oldest, wanted);
    assert!(
        matches!(error, Some(ChangeError::UnknownColumns(_))),
        "{error:?}"
    );
    captured.define("numbers", &definition);
    let (told, error) = captured.read(&ChangeStart::Oldest, wanted);
    assert!(error.is_none(), "{error:?}");
    let rows = of_table(&told, "numbers");
    let before = &rows[0]["before"];
    let unsigned = ["b", "d", "f", "h", "j"].map(|it| before[it].as_u64().unwrap());
    assert_eq!(unsigned, [255, 65_535, 16_777_215, 4_294_967_295, u64::MAX]);
    let signed = ["a", "c", "e", "g", "i"].map(|it| before[it].as_i64().unwrap());
    assert_eq!(
        signed,
        [-128, -32_768, -8_388_608, -2_147_483_648, i64::MIN]
    );
    // A minimal image has the key before the change, and the changed columns after it.
    assert_eq!(rows[1]["before"], json!({"id": 1}));
    assert_eq!(rows[1]["after"], json!({"id": 1, "a": -1, "b": 255}));
}

fn gtid(sequence: u64) -> Gtid {
    Gtid::Mariadb(binlog::MariadbGtid {
        domain: 0,
        server: 1,
        sequence,
    })
}

fn position(sequence: u64) -> Result<Position, GtidError> {
    Position::parse(Family::MariaDb, &format!("0-1-{sequence}"))
}

#[test]
fn a_definition_is_that_of_the_position() {
    let mut store = Store::open(None, 1 << 30).unwrap();
    let is = |definition| Observed {
        object: object("a"),
        definition,
        read_at: None,
    };
    let text = |text: &str| Definition::Is(text.to_owned());
    store.note(NAME, &[is(text("first"))], 50).unwrap();
    for (sequence, definition, statement) in [
        (5, text("second"), "ALTER TABLE a ADD b INT"),
        (9, Definition::Gone, "DROP TABLE a"),
        (12, text("third"), "CREATE TABLE a (b INT)"),
        // The server gave the third definition after this change had taken place, too.
        (15, text("third"), "ALTER TABLE a CHANGE b c INT"),
        (17, text("third"), "ALTER TABLE a FORCE"),
    ] {
        let change = Change {
            time: 40,
            server_id: 1,
            thread_id: 1,
            kind: "ALTER TABLE".to_owned(),
            objects: vec![object("a")],
            is_of_rows: false,
            statement: statement.to_owned(),
            invoker: None,
            seconds: 0,
            error_code: 0,
        };
        let stored = StoredStream {
            position: position(sequence).unwrap(),
            uuid: "u".to_owned(),
        };
        let changed = (&gtid(sequence), &[change][..]);
        store
            .record(NAME, changed, &[is(definition)], &stored)
            .unwrap();
    }
    let history = History::open(store.source(), "main", Family::MariaDb).unwrap();
    for (sequence, expected) in [
        (4, Some("first")),
        (5, Some("second")),
        (8, Some("second")),
        (9, None),
        (11, None),
        (12, None),
        (14, None),
        (15, Some("third")),
        (16, Some("third")),
        (17, Some("third")),
    ] {
        let had = position(sequence).unwrap();
        let moment = Moment {
            had: &had,
            gtid: None,
            time: 45,
            has_changes: false,
        };
        let found = history.definition_at(("shop", "a"), moment, None).unwrap();
        let expected = expected.map(|it| DefinitionLookup::Is(it.to_owned()));
        let expected = expected.unwrap_or(DefinitionLookup::Unknown);
        assert_eq!(found, expected, "{sequence}");
    }
    assert_eq!(history.position().unwrap(), position(17).ok());
}

/// The changes of a table, each with the definition that the server gave, and the log's end at that time.
fn history_of(changes: &[(u64, &str, &str, &str, u64)]) -> (Store, History) {
    let mut store = Store::open(None, 1 << 30).unwrap();
    for (sequence, kind, statement, definition, read_at) in changes {
        let change = Change {
            time: 40,
            server_id: 1,
            thread_id: 1,
            kind: (*kind).to_owned(),
            objects: vec![object("a")],
            is_of_rows: false,
            statement: (*statement).to_owned(),
            invoker: None,
            seconds: 0,
            error_code: 0,
        };
        let stored = StoredStream {
            position: position(*sequence).unwrap(),
            uuid: "u".to_owned(),
        };
        let observed = Observed {
            object: object("a"),
            definition: match *definition {
                "" => Definition::Gone,
                text => Definition::Is(text.to_owned()),
            },
            read_at: Some(format!("0-1-{read_at}").into()),
        };
        let changed = (&gtid(*sequence), &[change][..]);
        store.record(NAME, changed, &[observed], &stored).unwrap();
    }
    let history = History::open(store.source(), "main", Family::MariaDb).unwrap();
    (store, history)
}

fn told_at(history: &History, sequence: u64) -> DefinitionLookup {
    let had = position(sequence).unwrap();
    let moment = Moment {
        had: &had,
        gtid: None,
        time: 45,
        has_changes: false,
    };
    let known = history.position().unwrap();
    let told = history.definition_at(("shop", "a"), moment, known.as_ref());
    told.unwrap()
}

#[test]
fn a_definition_read_after_a_later_change_is_not_used_between_the_two() {
    for (kind, statement) in [
        (
            "ALTER TABLE",
            "ALTER TABLE a CHANGE b c INT, CHANGE c b INT",
        ),
        ("DROP TABLE", "DROP TABLE a"),
        ("RENAME TABLE", "RENAME TABLE a TO x, y TO a"),
    ] {
        // The server gave the definition for change 5 after change 9 had taken place.
        let changes = [
            (
                5,
                "CREATE TABLE",
                "CREATE TABLE a (b INT, c INT)",
                "late",
                9,
            ),
            (9, kind, statement, "late", 9),
            (12, "ALTER TABLE", "ALTER TABLE a ADD d INT", "last", 12),
        ];
        let (_store, history) = history_of(&changes);
        assert_eq!(told_at(&history, 5), DefinitionLookup::Unknown, "{kind}");
        assert_eq!(told_at(&history, 8), DefinitionLookup::Unknown, "{kind}");
        let late = DefinitionLookup::Is("late".to_owned());
        assert_eq!(told_at(&history, 9), late, "{kind}");
        assert_eq!(told_at(&history, 11), late, "{kind}");
    }
}

#[test]
fn a_definition_read_before_a_later_change_is_used_up_to_it() {
    // Change 9 has left the definition unchanged.
    let changes = [
        (5, "CREATE TABLE", "CREATE TABLE a (b INT)", "first", 8),
        (9, "ALTER TABLE", "ALTER TABLE a MODIFY b INT", "first", 9),
    ];
    let (_store, history) = history_of(&changes);
    let first = DefinitionLookup::Is("first".to_owned());
    assert_eq!(told_at(&history, 5), first);
    assert_eq!(told_at(&history, 8), first);
}

#[test]
fn a_definition_waits_until_the_history_has_all_changes_that_it_may_have_in_it() {
    // The events that the stream has not read yet may hold another change of the table.
    let (_store, history) = history_of(&[(5, "CREATE TABLE", "CREATE TABLE a (b INT)", "late", 9)]);
    assert_eq!(told_at(&history, 5), DefinitionLookup::NotYet);
}
