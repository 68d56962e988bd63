//! Tests of the model that a dialogue cannot express: crashes, pauses, replicas, time.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::dialogue::{ModelPlace, play};
use super::*;

/// Runs a future on one thread, on a clock that stands still while a task can run.
fn run<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    tokio::task::LocalSet::new().block_on(&runtime, what)
}

/// Plays a dialogue, and returns its transcript without the end of each result.
async fn said(place: &ModelPlace, text: &str) -> String {
    let said = play(place, text).await;
    let lines = said.lines().map(str::trim);
    let lines = lines.filter(|it| !it.starts_with("rows ") && !it.starts_with("end "));
    lines.collect::<Vec<_>>().join("\n")
}

const TABLE: &str =
    "a> CREATE TABLE t (id INT PRIMARY KEY, n INT)\na> INSERT INTO t VALUES (1, 1)\n";

#[test]
fn a_crash_loses_only_uncommitted_changes() {
    run(async {
        for family in [Family::MariaDb, Family::MySql] {
            let place = ModelPlace::new(family);
            said(&place, TABLE).await;
            let before =
                "a> BEGIN\na> UPDATE d.t SET n = 2\nb> SELECT 1\na>> SELECT SLEEP(9)\na~\n";
            let (near, far) = tokio::io::duplex(1 << 16);
            let served = tokio::task::spawn_local(Rc::clone(&place.server).serve(far));
            played_on(&place, before).await;
            assert!(place.server.connections() > 1);
            place.server.crash();
            assert!(!place.server.is_up());
            served.await.expect("it ends");
            drop(near);
            tokio::task::yield_now().await;
            assert_eq!(place.server.connections(), 0);
            place.server.start();
            let log = place.server.log();
            assert_eq!(log.last().map(|it| it.statements.len()), Some(1));
        }
    });
}

/// Plays a dialogue without creating the schema again.
async fn played_on(place: &ModelPlace, text: &str) -> String {
    super::dialogue::play_on(place, text).await
}

#[test]
fn a_replica_applies_a_group_after_its_delay() {
    run(async {
        for family in [Family::MariaDb, Family::MySql] {
            let source = ModelPlace::new(family);
            let replica = ModelPlace::new(family);
            let delay = Duration::from_secs(3);
            replica.server.follow(Some(&source.server), delay);
            said(&source, TABLE).await;
            let began = Instant::now();
            while replica.server.executed() != source.server.executed() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let took = began.elapsed();
            assert!(took >= delay && took < delay * 2, "{took:?}");
            let seen = played_on(&replica, "a> SELECT n FROM d.t WHERE id = 1\n").await;
            assert!(seen.contains("| 1\n"), "{seen}");
            assert_eq!(replica.server.log().len(), source.server.log().len());
            replica.server.stop_replica();
            played_on(&source, "a> UPDATE t SET n = 5\n").await;
            tokio::time::sleep(delay * 2).await;
            assert_ne!(replica.server.executed(), source.server.executed());
            replica.server.start_replica();
            tokio::time::sleep(delay * 2).await;
            assert_eq!(replica.server.executed(), source.server.executed());
        }
    });
}

#[test]
fn a_wait_for_a_group_ends_when_it_is_applied() {
    run(async {
        let source = ModelPlace::new(Family::MySql);
        let replica = ModelPlace::new(Family::MySql);
        replica
            .server
            .follow(Some(&source.server), Duration::from_secs(2));
        said(&source, TABLE).await;
        let executed = source.server.executed();
        let began = Instant::now();
        let wait =
            format!("a+ app schema=\na> SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)\n");
        let seen = played_on(&replica, &wait).await;
        assert!(seen.contains("| 0\n"), "{seen}");
        assert!(began.elapsed() >= Duration::from_secs(1));
    });
}

#[test]
fn a_frozen_server_says_nothing_until_it_is_thawed() {
    run(async {
        let place = ModelPlace::new(Family::MariaDb);
        said(&place, TABLE).await;
        place.server.freeze();
        let server = Rc::clone(&place.server);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            server.thaw();
        });
        let began = Instant::now();
        let seen = played_on(&place, "z> SELECT 7\n").await;
        assert!(seen.contains("| 7\n"), "{seen}");
        assert!(began.elapsed() >= Duration::from_secs(5));
    });
}

#[test]
fn a_shutdown_ends_connections_as_each_family_does() {
    for (family, expected) in [
        (Family::MariaDb, "b<\nclosed"),
        (
            Family::MySql,
            "b<\nerror 1053 (08S01) Server shutdown in progress",
        ),
    ] {
        run(async {
            let place = ModelPlace::new(family);
            let server = Rc::clone(&place.server);
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                server.shut_down();
            });
            let text =
                format!("{TABLE}a> BEGIN\na> UPDATE t SET n = 2\nb>> UPDATE t SET n = 3\nb<\na<\n");
            let seen = said(&place, &text).await;
            assert!(seen.contains(expected), "{seen}");
            assert!(seen.ends_with("a<\nclosed"), "{seen}");
        });
    }
}

#[test]
fn a_slow_server_takes_its_time_and_a_full_disk_takes_no_row() {
    run(async {
        let place = ModelPlace::new(Family::MySql);
        said(&place, TABLE).await;
        place.server.set_slow(Duration::from_secs(2));
        let began = Instant::now();
        played_on(&place, "a> SELECT 1\n").await;
        assert!(began.elapsed() >= Duration::from_secs(2));
        place.server.set_slow(Duration::ZERO);
        place.server.fill_disk(true);
        let seen = played_on(
            &place,
            "a> INSERT INTO t VALUES (2, 2)\na> SELECT n FROM t\na> UPDATE t SET n = 3 WHERE id = 99\n",
        )
        .await;
        assert!(
            seen.contains("error 1114 (HY000) The table 't' is full"),
            "{seen}"
        );
        assert!(seen.contains("ok affected=0"), "{seen}");
    });
}

#[test]
fn a_commit_waits_for_disk_space_and_is_not_reported_before() {
    run(async {
        let place = ModelPlace::new(Family::MySql);
        said(&place, TABLE).await;
        place.server.fill_disk(true);
        let server = Rc::clone(&place.server);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            server.fill_disk(false);
        });
        let began = Instant::now();
        let seen = played_on(
            &place,
            "b>> UPDATE t SET n = 2\nb~\na> SELECT n FROM t\nb<\na> SELECT n FROM t\n",
        );
        let seen = seen.await;
        // The server checks once a minute whether the disk has room.
        assert_eq!(began.elapsed().as_secs(), 60, "{seen}");
        assert!(seen.contains("b<\n    ok affected=1"), "{seen}");
        let values: Vec<_> = seen.lines().filter(|it| it.starts_with("    |")).collect();
        assert_eq!(values.len(), 2, "{seen}");
        assert_ne!(values[0], values[1], "{seen}");
    });
}

#[test]
fn an_observer_gets_each_event() {
    run(async {
        let seen: Rc<RefCell<Vec<String>>> = Rc::default();
        let place = ModelPlace::new(Family::MariaDb);
        let options = Options {
            observer: Some({
                let seen = Rc::clone(&seen);
                Rc::new(move |event| seen.borrow_mut().push(format!("{event:?}")))
            }),
            accounts: place.server.options().accounts.clone(),
            ..Options::new(Family::MariaDb, 7)
        };
        let place = ModelPlace::of(Server::new(options));
        said(&place, TABLE).await;
        let seen = seen.borrow();
        let has = |part: &str| seen.iter().any(|it| it.contains(part));
        assert!(
            has("Connected") && has("CREATE TABLE t") && has("gtid: \"0-7-3\""),
            "{seen:?}"
        );
    });
}

#[test]
fn the_same_seed_gives_the_same_greetings() {
    let greeting = || {
        run(async {
            let place = ModelPlace::new(Family::MySql);
            let (mut near, far) = tokio::io::duplex(1 << 16);
            tokio::task::spawn_local(Rc::clone(&place.server).serve(far));
            let mut bytes = vec![0; 60];
            tokio::io::AsyncReadExt::read_exact(&mut near, &mut bytes)
                .await
                .map(|_| bytes)
        })
    };
    assert_eq!(greeting().ok(), greeting().ok());
}
