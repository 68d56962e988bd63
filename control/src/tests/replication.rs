//! Scripted backends with answers about replication. The tests wait for events, and never for a fixed time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Config;
use net::watch;
use route::{Backend, Endpoint, Lag, Role, Topology, Writes};

use super::scripted_backend::{Answer, EOF, Met, Script, Scripted};
use super::{PATIENCE, monitored, start, system};
use crate::Control;
use crate::failure::Failure;
use crate::login::{Access, Destination};
use crate::monitor_connection::ask;

/// A configuration with questions every few milliseconds, and hardly any probes.
fn asking(scripted: &Scripted) -> Config {
    let mut config = monitored(scripted.address);
    config.backends[0].role = config::Role::Auto;
    config.health.monitor_interval = PATIENCE;
    config.health.replication_interval = Duration::from_millis(2);
    config
}

/// A MySQL server's answer about its variables.
fn particulars(read_only: &'static str) -> Answer {
    particulars_with(read_only, "1", "ON")
}

fn particulars_with(
    read_only: &'static str,
    log_bin: &'static str,
    gtid_mode: &'static str,
) -> Answer {
    Answer::Row(vec![
        ("@@global.read_only", Some(read_only)),
        ("@@global.innodb_read_only", Some("0")),
        ("CURRENT_USER()", Some("monitor@%")),
        ("@@global.log_bin", Some(log_bin)),
        ("@@global.gtid_executed", Some(GTIDS)),
        ("@@global.gtid_mode", Some(gtid_mode)),
        ("group_replication", Some("0")),
    ])
}

const GTIDS: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5";

/// A replica's answer about its replication.
fn replica(running: &'static str, behind: Option<&'static str>) -> Answer {
    Answer::Row(vec![
        ("Replica_IO_Running", Some("Yes")),
        ("Replica_SQL_Running", Some(running)),
        ("Seconds_Behind_Source", behind),
        ("Channel_Name", Some("")),
    ])
}

fn answers(particulars: Answer, status: Answer) -> Script {
    Script::Answers(vec![
        ("SELECT @@global.read_only", particulars),
        ("SHOW REPLICA STATUS", status),
    ])
}

/// The answer of a server that follows no source.
fn alone() -> Answer {
    Answer::Rows(4, Vec::new(), EOF.to_vec())
}

/// Starts the control plane on another thread, because the start waits for the answers of the backends.
async fn begun(config: &Config) -> (Control, watch::Receiver<Arc<Topology>>) {
    let config = config.clone();
    let starting = tokio::task::spawn_blocking(move || start(&config));
    starting.await.unwrap()
}

async fn seen(
    topology: &mut watch::Receiver<Arc<Topology>>,
    wanted: impl Fn(&Backend) -> bool,
) -> Backend {
    let waiting = topology.wait_for(|topology| wanted(&topology.backends[0]));
    let found = tokio::time::timeout(PATIENCE, waiting).await;
    Backend::clone(&found.expect("it never came to that").unwrap().backends[0])
}

fn is_statement(met: &Met, begin: &str) -> bool {
    matches!(met, Met::Statement(text) if text.starts_with(begin))
}

#[tokio::test]
async fn the_first_snapshot_has_roles_and_all_else_that_a_backend_tells() {
    let scripted = Scripted::start(answers(particulars("0"), alone())).await;
    let (_control, topology) = begun(&asking(&scripted)).await;
    let backend = Backend::clone(&topology.borrow().backends[0]);
    assert_eq!(backend.role, Some(Role::Primary));
    assert_eq!(backend.monitored.writes, Writes::Taken);
    assert_eq!(
        backend.monitored.server.as_ref().unwrap().version,
        "8.4.0-scripted"
    );
    assert_eq!(backend.standing.position().unwrap().to_string(), GTIDS);
    assert!(backend.standing.latency().is_some());
    assert_eq!(backend.standing.lag(), Lag::Unknown);
}

/// If this primary had a position, a session that wrote would count as a session without writes.
#[tokio::test]
async fn a_primary_whose_writes_have_no_gtids_has_no_position() {
    for (log_bin, gtid_mode) in [("0", "ON"), ("1", "OFF"), ("1", "OFF_PERMISSIVE")] {
        let primary = particulars_with("0", log_bin, gtid_mode);
        let scripted = Scripted::start(answers(primary, alone())).await;
        let (_control, topology) = begun(&asking(&scripted)).await;
        let backend = Backend::clone(&topology.borrow().backends[0]);
        assert_eq!(backend.role, Some(Role::Primary));
        assert!(backend.standing.position().is_none());
    }
}

#[tokio::test]
async fn replication_status_queries_of_a_backend_use_one_connection() {
    let mut scripted = Scripted::start(answers(particulars("1"), replica("Yes", Some("3")))).await;
    let (_control, topology) = begun(&asking(&scripted)).await;
    let backend = Backend::clone(&topology.borrow().backends[0]);
    assert_eq!(backend.role, Some(Role::Replica));
    assert_eq!(backend.standing.lag(), Lag::Behind(Duration::from_secs(3)));
    let mut logins = 0;
    let mut questions = 0;
    while questions < 20 {
        match scripted.meets(|_| true).await {
            Met::Login(_) => logins += 1,
            met if is_statement(&met, "SHOW REPLICA STATUS") => questions += 1,
            _ => (),
        }
    }
    assert_eq!(logins, 2, "one to look, one to ask");
}

#[tokio::test]
async fn a_later_answer_of_a_backend_replaces_the_earlier_one() {
    let mut scripted = Scripted::start(answers(particulars("0"), alone())).await;
    let config = asking(&scripted);
    let (control, mut topology) = begun(&config).await;
    scripted.play(answers(particulars("1"), replica("No", None)));
    scripted.meets(|met| is_statement(met, "SHOW")).await;
    // The new configuration makes the proxy log in again.
    control.reconfigure(Arc::new(config)).unwrap();
    let backend = seen(&mut topology, |b| b.role == Some(Role::Replica)).await;
    assert_eq!(backend.monitored.writes, Writes::Refused);
    assert_eq!(backend.standing.lag(), Lag::Stopped);
}

#[tokio::test]
async fn a_privilege_that_is_missing_keeps_only_lag_from_being_known() {
    let denied = Answer::Err(1227, "Access denied; you need (at least one of) …");
    let scripted = Scripted::start(answers(particulars("1"), denied)).await;
    let (_control, topology) = begun(&asking(&scripted)).await;
    let backend = Backend::clone(&topology.borrow().backends[0]);
    assert_eq!(backend.role, Some(Role::Replica));
    assert_eq!(backend.standing.lag(), Lag::Unknown);
    assert_eq!(backend.standing.position().unwrap().to_string(), GTIDS);
}

#[tokio::test]
async fn a_server_that_hangs_is_not_asked_over_more_and_more_connections() {
    let mut scripted = Scripted::start(answers(particulars("1"), Answer::Silence)).await;
    let mut config = asking(&scripted);
    config.health.timeout_connect = Duration::from_millis(200);
    let access = Arc::new(Access::new(&config, system().entropy));
    let destination = Destination {
        host: None,
        endpoints: vec![Endpoint::Tcp(scripted.address)],
    };
    let (mut line, up_since) = (None, Instant::now());
    // A busy machine may need several attempts to log in.
    for _ in 0..50 {
        if line.is_none() {
            line = ask(&access, &destination, line, up_since.into()).await.1;
        }
    }
    for _ in 0..3 {
        let (answer, kept) = ask(&access, &destination, line, up_since.into()).await;
        assert!(matches!(answer, Err(Failure::NoAnswer(_))), "{answer:?}");
        line = kept;
    }
    let met = std::iter::from_fn(|| scripted.met.try_recv().ok());
    let questions = met.filter(|met| is_statement(met, "SELECT @@global.read_only"));
    assert_eq!(questions.count(), 1);
}

/// Invalid rows and other bytes from a server. The proxy must survive each of these answers, and must not
/// believe any of them.
fn hostile() -> Vec<Answer> {
    let packets = |payloads: &[&[u8]]| {
        let mut bytes = Vec::new();
        let mut sequence = 1;
        for payload in payloads {
            sequence = wire::write::put_packets(&mut bytes, sequence, payload);
        }
        Answer::Bytes(bytes)
    };
    vec![
        packets(&[&[0, 0, 0, 2, 0, 0, 0]]),
        packets(&[&[]]),
        packets(&[b"\xfb/etc/passwd"]),
        packets(&[&[0xfc, 0xff, 0xff]]),
        packets(&[&[0]]),
        packets(&[&[1], b"\xff\xff", EOF]),
        packets(&[&[1], b"\x03def\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff"]),
        packets(&[&[1], b"\x03def\0\0\0\x01n", b"no end"]),
        packets(&[&[1], b"\x03def\0\0\0\x01n", EOF, b"\xfc\xff\xff"]),
        packets(&[&[1], b"\x03def\0\0\0\x01n", EOF, b"\x01ab"]),
        Answer::Bytes(b"\xff\xff\xff\x01".to_vec()),
        Answer::Bytes(b"\x01\0\0\x07\x01".to_vec()),
        Answer::Err(1064, "You have an error in your SQL syntax"),
    ]
}

#[tokio::test]
async fn invalid_replication_answers_are_ignored_until_a_valid_one_arrives() {
    for hostile in hostile() {
        let scripted = Scripted::start(answers(hostile.clone(), alone())).await;
        let mut config = asking(&scripted);
        config.health.timeout_connect = Duration::from_millis(100);
        let (_control, mut topology) = begun(&config).await;
        let backend = Backend::clone(&topology.borrow().backends[0]);
        assert_eq!(backend.role, None, "{hostile:?}");
        assert!(backend.standing.position().is_none());
        scripted.play(answers(particulars("0"), alone()));
        seen(&mut topology, |b| b.role == Some(Role::Primary)).await;
    }
}

#[tokio::test]
async fn invalid_replication_values_give_no_position() {
    let odd = Answer::Row(vec![
        ("", None),
        ("", Some("")),
        ("", Some("\u{7}'@'@")),
        ("", Some("0-1-1,")),
    ]);
    let status = Answer::Row(vec![
        ("Seconds_Behind_Source", Some("-1")),
        ("Replica_SQL_Running", Some("")),
        ("Seconds_Behind_Master", Some("99999999999999999999999")),
    ]);
    let scripted = Scripted::start(answers(odd, status)).await;
    let (_control, topology) = begun(&asking(&scripted)).await;
    let backend = Backend::clone(&topology.borrow().backends[0]);
    assert!(backend.standing.position().is_none());
    assert_eq!(backend.standing.lag(), Lag::Stopped);
}
