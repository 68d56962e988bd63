use super::*;
use binlog::MariadbGtid;

const NAME: StreamName<'static> = StreamName {
    stream: "main",
    cluster: "main",
};

fn object(name: &str) -> ObjectName {
    ObjectName {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        kind: ObjectKind::Table,
    }
}

fn change(time: i64, kind: &str, names: &[&str], statement: &str) -> Change {
    Change {
        time: time * 1_000_000,
        server_id: 1,
        thread_id: 7,
        kind: kind.to_owned(),
        objects: names.iter().map(|name| object(name)).collect(),
        is_of_rows: false,
        statement: statement.to_owned(),
        invoker: None,
        seconds: 0,
        error_code: 0,
    }
}

fn gtid(sequence: u64) -> Gtid {
    Gtid::Mariadb(MariadbGtid {
        domain: 0,
        server: 1,
        sequence,
    })
}

fn at(sequence: u64) -> StoredStream {
    let mut position = Position::empty(Family::MariaDb);
    position.add(&gtid(sequence));
    StoredStream {
        position,
        uuid: "u".to_owned(),
    }
}

fn is(name: &str, definition: &str) -> Observed {
    Observed {
        object: object(name),
        definition: Definition::Is(definition.to_owned()),
        read_at: None,
    }
}

fn gone(name: &str) -> Observed {
    Observed {
        object: object(name),
        definition: Definition::Gone,
        read_at: None,
    }
}

fn record(store: &mut Store, number: u64, change: &Change, observed: &[Observed]) {
    let changes = std::slice::from_ref(change);
    store
        .record(NAME, (&gtid(number), changes), observed, &at(number))
        .unwrap();
}

fn statements(store: &Store) -> Vec<(String, String)> {
    let text = "SELECT kind, statement FROM schema_changes ORDER BY id";
    let mut statement = store.database.prepare(text).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_position_and_its_change_are_there_after_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 1 << 30).unwrap();
    assert_eq!(store.stream("main").unwrap(), None);
    let made = change(10, "CREATE TABLE", &["t"], "CREATE TABLE t (a INT)");
    record(&mut store, 5, &made, &[is("t", "t1")]);
    drop(store);
    let store = Store::open(Some(&file), 1 << 30).unwrap();
    assert_eq!(store.stream("main").unwrap(), Some(at(5)));
    assert_eq!(statements(&store).len(), 1);
}

#[test]
fn the_schema_of_each_time_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 1 << 30).unwrap();
    store.note(NAME, &[is("old", "o1")], 1_000_000).unwrap();
    let made = change(10, "CREATE TABLE", &["t"], "");
    record(&mut store, 1, &made, &[is("t", "t1")]);
    let altered = change(20, "ALTER TABLE", &["t"], "");
    record(&mut store, 2, &altered, &[is("t", "t2")]);
    // The definition is unchanged, so its version stays the current one.
    record(
        &mut store,
        3,
        &change(25, "ALTER TABLE", &["t"], ""),
        &[is("t", "t2")],
    );
    let dropped = change(30, "DROP TABLE", &["t"], "");
    record(&mut store, 4, &dropped, &[gone("t")]);
    let told = |second: i64| {
        let versions = versions_at(
            &store.database,
            Some("main"),
            Some("shop"),
            second * 1_000_000,
        );
        let versions = versions.unwrap().into_iter();
        versions.filter_map(|it| it.definition).collect::<Vec<_>>()
    };
    assert_eq!(told(0), [""; 0]);
    assert_eq!(told(9), ["o1"]);
    assert_eq!(told(10), ["o1", "t1"]);
    assert_eq!(told(19), ["o1", "t1"]);
    assert_eq!(told(29), ["o1", "t2"]);
    assert_eq!(told(30), ["o1"]);
    let text = schema_at(store.source(), "shop", "1970-01-01 00:00:20").unwrap();
    assert_eq!(text.as_deref(), Some("o1;\nt2;\n"));
    assert_eq!(schema_at(store.source(), "shop", "soon").unwrap(), None);
}

#[test]
fn a_dropped_schema_ends_the_history_of_its_objects() {
    let mut store = Store::open(None, 0).unwrap();
    store.note(NAME, &[is("a", "a"), is("b", "b")], 1).unwrap();
    let schema = Observed {
        object: ObjectName {
            kind: ObjectKind::Schema,
            name: "shop".to_owned(),
            schema: "shop".to_owned(),
        },
        definition: Definition::Gone,
        read_at: None,
    };
    let dropped = change(30, "DROP DATABASE", &[], "");
    record(&mut store, 4, &dropped, &[schema]);
    assert_eq!(store.present("main", None).unwrap(), []);
}

#[test]
fn an_online_schema_change_is_stored_as_one_change() {
    let mut store = Store::open(None, 0).unwrap();
    let steps = [
        change(1, "CREATE TABLE", &["_t_gho"], "create gho"),
        change(2, "ALTER TABLE", &["_t_gho"], "alter gho"),
        change(3, "CREATE TABLE", &["_t_del"], "create del"),
        change(4, "CREATE TABLE", &["other"], "create other"),
        change(5, "RENAME TABLE", &["t", "_t_del", "_t_gho"], "rename"),
        change(6, "DROP TABLE", &["_t_del"], "drop del"),
        change(7, "DROP TABLE", &["other"], "drop other"),
    ];
    for (number, step) in (1..).zip(&steps) {
        record(&mut store, number, step, &[]);
    }
    let told = statements(&store);
    let told: Vec<(&str, &str)> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        told,
        [
            ("CREATE TABLE", "create other"),
            (
                "ALTER TABLE",
                "create gho;\nalter gho;\ncreate del;\nrename;\ndrop del"
            ),
            ("DROP TABLE", "drop other"),
        ]
    );
}

#[test]
fn the_oldest_versions_make_room_and_current_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 200_000).unwrap();
    let long = "x".repeat(1000);
    for number in 1..500 {
        let altered = change(number as i64, "ALTER TABLE", &["t"], &long);
        let version = format!("{long}{number}");
        record(&mut store, number, &altered, &[is("t", &version)]);
    }
    assert!(store.used_bytes().unwrap() <= 200_000);
    let left = statements(&store).len();
    assert!(left > 10 && left < 200, "{left}");
    assert_eq!(store.present("main", None).unwrap(), [object("t")]);
    assert_eq!(store.stream("main").unwrap(), Some(at(499)));
}

#[test]
fn the_views_have_the_columns_that_are_shown() {
    let store = Store::open(None, 0).unwrap();
    for (view, columns) in [CHANGES, VERSIONS] {
        let text = format!("SELECT * FROM {view}");
        let statement = store.database.prepare(&text).unwrap();
        let names: Vec<&str> = statement.column_names().collect();
        assert_eq!(names, columns);
    }
}

#[test]
fn a_hook_gets_each_change_once_after_it_is_set() {
    const HOOK: &str = "hook";
    let mut store = Store::open(None, 0).unwrap();
    record(
        &mut store,
        1,
        &change(1, "CREATE TABLE", &["t"], "CREATE TABLE t (a INT)"),
        &[],
    );
    assert_eq!(store.next_undelivered(HOOK).unwrap(), None);
    record(
        &mut store,
        2,
        &change(2, "ALTER TABLE", &["t"], "ALTER TABLE t ADD b INT"),
        &[],
    );
    record(
        &mut store,
        3,
        &change(3, "DROP TABLE", &["t"], "DROP TABLE t"),
        &[],
    );
    let first = store.next_undelivered(HOOK).unwrap().unwrap();
    assert!(
        first
            .json
            .contains(r#""statement":"ALTER TABLE t ADD b INT""#),
        "{}",
        first.json
    );
    assert!(
        first.json.contains(r#""time":"1970-01-01T00:00:02Z""#),
        "{}",
        first.json
    );
    // The change was not marked as delivered, so it comes again.
    assert_eq!(store.next_undelivered(HOOK).unwrap().as_ref(), Some(&first));
    store.mark_delivered(HOOK, first.id).unwrap();
    // Another receiver starts after this change.
    assert_eq!(store.next_undelivered("webhook").unwrap(), None);
    let second = store.next_undelivered(HOOK).unwrap().unwrap();
    assert!(second.id > first.id);
    store.mark_delivered(HOOK, second.id).unwrap();
    assert_eq!(store.next_undelivered(HOOK).unwrap(), None);
    // After the hook is removed, changes are not kept for a later hook.
    store.forget_receiver(HOOK).unwrap();
    record(
        &mut store,
        4,
        &change(4, "CREATE TABLE", &["u"], "CREATE TABLE u (a INT)"),
        &[],
    );
    assert_eq!(store.next_undelivered(HOOK).unwrap(), None);
}

#[test]
fn a_file_of_a_proxy_with_one_receiver_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 1 << 30).unwrap();
    record(
        &mut store,
        1,
        &change(1, "CREATE TABLE", &["t"], "one"),
        &[],
    );
    record(&mut store, 2, &change(2, "ALTER TABLE", &["t"], "two"), &[]);
    let text = "CREATE TABLE told (id INTEGER NOT NULL); INSERT INTO told VALUES (1);";
    store.database.execute_batch(text).unwrap();
    drop(store);
    let store = Store::open(Some(&file), 1 << 30).unwrap();
    let next = store.next_undelivered("hook").unwrap().unwrap();
    assert_eq!(next.id, 2);
    assert_eq!(store.next_undelivered("script").unwrap(), None);
}

#[test]
fn the_history_is_a_sequence_of_revisions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 1 << 30).unwrap();
    store
        .note(NAME, &[is("t", "old"), is("u", "same")], 1_000_000)
        .unwrap();
    record(
        &mut store,
        1,
        &change(2, "ALTER TABLE", &["t"], "ALTER TABLE t …"),
        &[is("t", "new")],
    );
    record(
        &mut store,
        2,
        &change(3, "TRUNCATE", &["t"], "TRUNCATE t"),
        &[],
    );
    record(
        &mut store,
        3,
        &change(4, "DROP TABLE", &["t"], "DROP TABLE t"),
        &[gone("t")],
    );
    let history = SavedHistory::open(&file).unwrap();
    let marks = history.revision_marks("main", None, None).unwrap();
    let revisions: Vec<_> = marks
        .iter()
        .map(|mark| history.revision("main", None, *mark).unwrap())
        .map(|it| {
            (
                it.change.map(|it| it.kind),
                it.ended.len(),
                it.created.len(),
                it.time / 1_000_000,
            )
        })
        .collect();
    let kind = |text: &str| Some(text.to_owned());
    assert_eq!(
        revisions,
        [
            (None, 0, 2, 1),
            (kind("ALTER TABLE"), 1, 1, 2),
            (kind("TRUNCATE"), 0, 0, 3),
            (kind("DROP TABLE"), 1, 0, 4)
        ]
    );
    let later = history
        .revision_marks("main", Some("shop"), Some(marks[1]))
        .unwrap();
    assert_eq!(later, marks[2..]);
    assert_eq!(
        history.revision_marks("main", Some("other"), None).unwrap(),
        []
    );
}

#[test]
fn an_online_schema_change_is_one_revision() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let mut store = Store::open(Some(&file), 1 << 30).unwrap();
    store.note(NAME, &[is("t", "old")], 1_000_000).unwrap();
    let work = [
        (
            change(2, "CREATE TABLE", &["_t_gho"], "create gho"),
            vec![is("_t_gho", "old")],
        ),
        (
            change(3, "ALTER TABLE", &["_t_gho"], "alter gho"),
            vec![is("_t_gho", "new")],
        ),
        (
            change(4, "RENAME TABLE", &["t", "_t_del", "_t_gho"], "rename"),
            vec![is("t", "new"), is("_t_del", "old"), gone("_t_gho")],
        ),
        (
            change(5, "DROP TABLE", &["_t_del"], "drop del"),
            vec![gone("_t_del")],
        ),
    ];
    for (number, (step, observed)) in (1..).zip(&work) {
        record(&mut store, number, step, observed);
        // Before the tool's change takes effect, there is no new revision.
        let history = SavedHistory::open(&file).unwrap();
        let marks = history.revision_marks("main", None, None).unwrap();
        assert_eq!(marks.len(), if number < 3 { 1 } else { 2 }, "{number}");
    }
    let history = SavedHistory::open(&file).unwrap();
    let marks = history.revision_marks("main", None, None).unwrap();
    let revision = history.revision("main", None, marks[1]).unwrap();
    let names = |all: &[ObjectVersion]| all.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&revision.ended), ["t"]);
    assert_eq!(names(&revision.created), ["t"]);
}
