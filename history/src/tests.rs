#![allow(clippy::unwrap_used)]
use std::path::Path;
use std::thread;
use std::time::{Instant, SystemTime};

use config::StatementStatsConfig;
use route::BackendId;
use rusqlite::Connection;
use stats::{Attribution, Counts, DigestRow, StatementStatsView};
use system::{Clock, Entropy, System, Threads};

use super::digest_deltas::{Counted, Grown};
use super::facts::facts_of;
use super::load::LoadRow;
use super::span::Span;
use super::store::{Bounds, Store};
use super::*;

const BOUNDS: Bounds = Bounds {
    oldest: 0,
    bytes_max: 1 << 30,
};

fn row(digest: u64, account: &str, count: u64) -> DigestRow {
    let mut attribution = Attribution::default();
    account.clone_into(&mut attribution.account);
    let name = Arc::from("db1");
    let backend = BackendId(1);
    let mut counts = Counts::default();
    (counts.count, counts.backend_ns) = (count, count * 1_000_000);
    DigestRow {
        digest,
        text: format!("SELECT {digest}").into(),
        attribution: Arc::new(attribution),
        backend: Some(stats::Ran { backend, name }),
        counts,
        sample: None,
    }
}

fn looked(rows: Vec<(usize, DigestRow)>, remainder: u64) -> StatementStatsView {
    StatementStatsView {
        digests: rows,
        remainder: row(0, "", remainder).counts,
        ..StatementStatsView::default()
    }
}

fn counts_by_digest(grown: &Grown) -> Vec<(u64, u64)> {
    let rows = grown.rows.iter();
    rows.map(|row| (row.digest, row.counts.count)).collect()
}

#[test]
fn an_interval_sums_the_new_counts_of_all_workers() {
    let first = vec![
        (0, row(1, "a", 10)),
        (1, row(1, "a", 5)),
        (0, row(2, "a", 3)),
    ];
    let grown = Counted::default().grown(looked(first, 0), 10);
    assert_eq!(counts_by_digest(&grown), [(1, 15), (2, 3)]);
    assert_eq!(grown.other_digests.count, 0);
    let second = vec![
        (0, row(1, "a", 10)),
        (1, row(1, "a", 7)),
        (0, row(2, "a", 9)),
    ];
    let grown = grown.counted.grown(looked(second, 0), 1);
    assert_eq!(
        (counts_by_digest(&grown), grown.other_digests.count),
        (vec![(2, 6)], 2)
    );
}

#[test]
fn evicted_digests_count_as_others_and_reset_counters_count_whole() {
    let first = vec![(0, row(1, "a", 10)), (1, row(1, "a", 5))];
    let counted = Counted::default().grown(looked(first, 0), 10).counted;
    // The second worker evicted digest 1 after two more executions, and has counted from 0 again.
    let second = vec![(0, row(1, "a", 11)), (1, row(1, "a", 1))];
    let grown = counted.grown(looked(second, 7), 10);
    assert_eq!(
        (counts_by_digest(&grown), grown.other_digests.count),
        (vec![(1, 2)], 2)
    );
    // FLUSH STATUS has reset the counters.
    let grown = grown
        .counted
        .grown(looked(vec![(0, row(1, "a", 4))], 0), 10);
    assert_eq!(
        (counts_by_digest(&grown), grown.other_digests.count),
        (vec![(1, 4)], 0)
    );
}

fn grown(counts: &[(u64, u64)], other_digests: u64) -> Grown {
    Grown {
        rows: counts
            .iter()
            .map(|(it, count)| row(*it, "a", *count))
            .collect(),
        other_digests: row(0, "", other_digests).counts,
        counted: Counted::default(),
    }
}

fn span(start: i64) -> Span {
    Span { start, seconds: 60 }
}

/// The rows that a second connection reads while the writer has the file open.
fn shown(store: &Store) -> Vec<(i64, Option<String>, i64)> {
    let reader = Connection::open(&store.source).unwrap();
    let text = "SELECT start, digest, count FROM digest_history ORDER BY start, digest";
    let mut statement = reader.prepare(text).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

fn digest(number: u64) -> Option<String> {
    Some(format!("0x{number:016X}"))
}

#[test]
fn written_rows_are_read_by_other_threads_and_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("with ?%# and ä.db");
    let files = [Some(file.as_path()), None];
    for file in files {
        let mut store = Store::open(file).unwrap();
        assert_eq!(
            store.write(span(60), &grown(&[(1, 4), (2, 5)], 6), BOUNDS),
            Ok(3)
        );
        assert_eq!(store.write(span(120), &grown(&[(1, 7)], 0), BOUNDS), Ok(1));
        let expected = [
            (60, None, 6),
            (60, digest(1), 4),
            (60, digest(2), 5),
            (120, digest(1), 7),
        ];
        assert_eq!(shown(&store), expected);
        if file.is_some() {
            drop(store);
            let mut store = Store::open(file).unwrap();
            assert_eq!(shown(&store), expected);
            // Writes the same interval again, as after a quick restart.
            store
                .write(span(120), &grown(&[(1, 1)], 0), BOUNDS)
                .unwrap();
            assert_eq!(shown(&store)[3], (120, digest(1), 8));
        }
    }
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_oldest_rows_go_by_age_and_for_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(&folder.path().join("h"))).unwrap();
    for start in 0..10 {
        let bounds = Bounds {
            oldest: start - 2,
            ..BOUNDS
        };
        store
            .write(span(start), &grown(&[(start as u64, 1)], 0), bounds)
            .unwrap();
    }
    let starts: Vec<_> = shown(&store).iter().map(|row| row.0).collect();
    assert_eq!(starts, [7, 8, 9]);
    let many: Vec<_> = (0..1000).map(|it| (it, 1)).collect();
    let bounds = Bounds {
        bytes_max: 1 << 20,
        ..BOUNDS
    };
    for start in 10..60 {
        store.write(span(start), &grown(&many, 1), bounds).unwrap();
    }
    let rows = shown(&store);
    assert_eq!(rows.last().unwrap().0, 59);
    assert!(
        rows[0].0 > 20 && rows.len() > 2000,
        "{} {}",
        rows[0].0,
        rows.len()
    );
}

#[test]
fn a_clock_jump_deletes_no_history_rows() {
    let config = config(None);
    let mut recorder = started_recorder();
    let ahead = |time: i64| Now {
        wall: time + 1_000_000,
        steady: time,
    };
    let note = |recorder: &mut HistoryRecorder, count: u64, now: Now| {
        recorder.note(&config, looked(vec![(0, row(1, "a", count))], 0), now);
        let rows = shown(recorder.store.as_ref().unwrap());
        rows.iter().map(|row| row.0).collect::<Vec<_>>()
    };
    assert_eq!(note(&mut recorder, 1, at(160)), [100]);
    assert_eq!(note(&mut recorder, 2, ahead(220)), [100, 160]);
    let reader = Connection::open(&recorder.store.as_ref().unwrap().source).unwrap();
    let seconds = "SELECT seconds FROM intervals WHERE start = 160";
    assert_eq!(reader.query_row(seconds, [], |row| row.get(0)), Ok(60));
    let starts = note(&mut recorder, 3, ahead(280));
    assert_eq!(starts, [100, 160, 1_000_220]);
    // Each interval is kept for the whole retention time.
    let starts = note(&mut recorder, 4, ahead(1110));
    assert_eq!(starts, [160, 1_000_220, 1_000_280]);
    let starts = note(&mut recorder, 5, ahead(1240));
    assert_eq!(starts, [1_000_280, 1_001_110]);
}

#[test]
fn the_oldest_rows_make_room_despite_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(&folder.path().join("h"))).unwrap();
    let many: Vec<_> = (0..1000).map(|it| (it, 1)).collect();
    for start in 0..10 {
        store.write(span(start), &grown(&many, 0), BOUNDS).unwrap();
    }
    let bounds = Bounds {
        bytes_max: u64::try_from(store.used_bytes().unwrap()).unwrap(),
        ..BOUNDS
    };
    store
        .write(span(1_000_000), &grown(&many, 0), bounds)
        .unwrap();
    let rows = shown(&store);
    let before = rows.iter().filter(|row| row.0 < 10).count();
    assert!(before >= 5000, "{before} of 10000");
}

#[test]
fn a_file_of_something_else_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "precious ".repeat(1000)).unwrap();
    assert!(Store::open(Some(&text)).is_err());
    assert_eq!(std::fs::read(&text).unwrap().len(), 9000);
    let other = folder.path().join("other");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let error = Store::open(Some(&other)).map(|_| ()).unwrap_err();
    assert!(error.contains("something else"), "{error}");
}

fn recorder_in(folder: StateFolder) -> HistoryRecorder {
    let events = Arc::new(Events::new(clock()));
    HistoryRecorder::new(Facts::default(), events, folder, clock())
}

fn started_recorder() -> HistoryRecorder {
    let mut recorder = recorder_in(StateFolder::default());
    (recorder.start, recorder.steady, recorder.tried) = (100, 100, 100);
    recorder
}

/// A clock that shows the machine's time.
fn clock() -> Clock {
    Clock::new(Instant::now, SystemTime::now)
}

/// A moment by a clock that was not set meanwhile.
fn at(time: i64) -> Now {
    Now {
        wall: time,
        steady: time,
    }
}

fn config(file: Option<&Path>) -> StatementStatsConfig {
    StatementStatsConfig {
        history_file: file.map(Path::to_owned),
        history_retention: Duration::from_secs(1000),
        ..StatementStatsConfig::default()
    }
}

#[test]
fn a_failed_write_is_reported_once_and_repeated_with_the_next_interval() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let config = config(Some(&missing.join("history.db")));
    let mut recorder = started_recorder();
    recorder.note(&config, looked(vec![(0, row(1, "a", 3))], 0), at(120));
    assert!(!recorder.is_due(&config, 150) && recorder.is_due(&config, 180));
    recorder.note(&config, looked(vec![(0, row(1, "a", 4))], 0), at(180));
    let facts = facts_of(&recorder.facts);
    assert_eq!((facts.failed, facts.written, &facts.source), (2, 0, &None));
    assert!(facts.trouble.is_some());
    assert_eq!(recorder.events.all().len(), 1);

    std::fs::create_dir(&missing).unwrap();
    recorder.note(&config, looked(vec![(0, row(1, "a", 9))], 0), at(240));
    let facts = facts_of(&recorder.facts);
    assert_eq!((facts.failed, facts.written, facts.trouble), (2, 1, None));
    assert_eq!(recorder.events.all().len(), 2);
    assert_eq!(
        shown(recorder.store.as_ref().unwrap()),
        [(100, digest(1), 9)]
    );

    // The folder is deleted while the store has it open.
    std::fs::remove_dir_all(&missing).unwrap();
    recorder.note(&config, looked(vec![(0, row(1, "a", 10))], 0), at(300));
    assert!(facts_of(&recorder.facts).trouble.is_some());
    std::fs::create_dir(&missing).unwrap();
    recorder.note(&config, looked(vec![(0, row(1, "a", 12))], 0), at(360));
    assert_eq!(
        shown(recorder.store.as_ref().unwrap()),
        [(240, digest(1), 3)]
    );
}

#[test]
fn a_disk_that_is_full_costs_nothing_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(&folder.path().join("h"))).unwrap();
    store.write(span(60), &grown(&[(1, 4)], 0), BOUNDS).unwrap();
    store.limit_pages();
    let many: Vec<_> = (0..10_000).map(|it| (it, 1)).collect();
    let error = store
        .write(span(120), &grown(&many, 0), BOUNDS)
        .unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(shown(&store), [(60, digest(1), 4)]);
}

fn load_row(backend: Option<&str>, statements: u64) -> LoadRow {
    LoadRow {
        backend: backend.map(str::to_owned),
        statements,
        ..LoadRow::default()
    }
}

/// Start, backend and number of statements of all rows of the load.
fn shown_load(store: &Store) -> Vec<(i64, Option<String>, i64)> {
    let reader = Connection::open(&store.source).unwrap();
    let text = "SELECT start, backend, statements FROM load_history ORDER BY start, backend";
    let mut reading = reader.prepare(text).unwrap();
    let rows = reading.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_file_of_an_earlier_version_gets_the_load_and_keeps_its_digests() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.db");
    let mut store = Store::open(Some(&file)).unwrap();
    store.write(span(60), &grown(&[(1, 4)], 0), BOUNDS).unwrap();
    drop(store);
    let earlier = "DROP VIEW load_history; DROP TABLE load";
    Connection::open(&file)
        .unwrap()
        .execute_batch(earlier)
        .unwrap();
    let mut store = Store::open(Some(&file)).unwrap();
    assert_eq!(shown(&store), [(60, digest(1), 4)]);
    let rows = [load_row(None, 7), load_row(Some("db1"), 7)];
    store.write_load(span(70), &rows, BOUNDS).unwrap();
    let one = |backend: Option<&str>, count| (70, backend.map(str::to_owned), count);
    assert_eq!(shown_load(&store), [one(None, 7), one(Some("db1"), 7)]);
    // Writes the same interval again, as after a quick restart.
    store.write_load(span(70), &rows[..1], BOUNDS).unwrap();
    assert_eq!(shown_load(&store), [one(None, 14), one(Some("db1"), 7)]);
    let bounds = Bounds {
        oldest: 71,
        ..BOUNDS
    };
    store.write_load(span(80), &[], bounds).unwrap();
    assert_eq!(shown_load(&store), []);
}

#[test]
fn load_makes_room_as_digests_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(&folder.path().join("h"))).unwrap();
    let bounds = Bounds {
        bytes_max: 1 << 18,
        ..BOUNDS
    };
    let names: Vec<_> = (0..100).map(|it| format!("db{it}")).collect();
    let rows: Vec<_> = names.iter().map(|it| load_row(Some(it), 1)).collect();
    for start in 0..100 {
        store.write_load(span(start), &rows, bounds).unwrap();
    }
    let starts: Vec<_> = shown_load(&store).iter().map(|row| row.0).collect();
    assert_eq!(starts.last(), Some(&99));
    assert!(starts[0] > 10 && starts.len() > 1000, "{}", starts.len());
    assert!(store.used_bytes().unwrap() <= 1 << 18);
}

#[test]
fn a_state_directory_that_cannot_be_written_leaves_the_history_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let unset = config(None);
    let mut recorder = recorder_in(StateFolder::first_of(missing.to_str().unwrap()));
    recorder.begin(&unset);
    let facts = facts_of(&recorder.facts);
    assert_eq!((facts.file, facts.trouble), (None, None));
    assert!(facts.source.is_some_and(|it| it.contains("memdb")));
    let state = StateFolder::first_of(folder.path().to_str().unwrap());
    let mut recorder = recorder_in(state);
    recorder.begin(&unset);
    let file = facts_of(&recorder.facts).file;
    assert_eq!(file, Some(folder.path().join("history.db")));
}

/// A data plane in which five statements have ended, and whose workers report no sessions.
struct OneDigest(Arc<Config>);

impl Observed for OneDigest {
    fn system(&self) -> System {
        System {
            clock: clock(),
            entropy: Entropy::seeded(1),
            threads: Threads::new(|name, work| thread::Builder::new().name(name).spawn(work)),
        }
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.0)
    }

    async fn statements(&self) -> Option<StatementStatsView> {
        Some(looked(vec![(0, row(1, "a", 5))], 0))
    }

    fn times(&self) -> Vec<TimesView> {
        Vec::new()
    }

    async fn workers(&self) -> Option<Vec<WorkerView>> {
        None
    }

    fn usage(&self) -> Option<(Duration, u64)> {
        None
    }
}

#[test]
fn the_thread_writes_its_observations_before_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.db");
    let mut config = Config::default();
    config.admin.username = Some("root".to_owned());
    config.statement_stats.history_file = Some(file.clone());
    let observed = OneDigest(Arc::new(config));
    let events = Arc::new(Events::new(clock()));
    let mut history = History::start(observed, &events, StateFolder::default()).unwrap();
    history.end();
    assert_eq!(facts_of(history.facts()).trouble, None);
    let store = Store::open(Some(&file)).unwrap();
    let counts: Vec<_> = shown(&store)
        .into_iter()
        .map(|(_, digest, count)| (digest, count))
        .collect();
    assert_eq!(counts, [(digest(1), 5)]);
}
