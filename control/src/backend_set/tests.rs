//! The backend set's decisions. Time and randomness are arguments.

use config::BackendAddress;
use route::Health;

use super::*;

mod answers;

fn at(milliseconds: u64) -> Moment {
    Moment(Duration::from_millis(milliseconds))
}

const SECOND: u64 = 1000;

fn config(names: &[&str]) -> Config {
    let backend = |(index, name): (usize, &&str)| BackendConfig {
        name: (*name).to_owned(),
        address: BackendAddress::Tcp {
            host: format!("10.0.0.{index}"),
            port: 3306,
        },
        ..BackendConfig::default()
    };
    let mut config = Config {
        backends: names.iter().enumerate().map(backend).collect(),
        ..Config::default()
    };
    config.health.probe_interval = Duration::from_secs(1);
    config.health.probe_interval_max = Duration::from_secs(30);
    config
}

fn plan(config: &Config) -> Plan {
    let endpoint = |address: &BackendAddress| match address {
        BackendAddress::Tcp { host, port } => {
            let ip: std::net::IpAddr = host.parse().unwrap_or([10, 9, 9, 9].into());
            Endpoint::Tcp((ip, *port).into())
        }
        BackendAddress::Unix(path) => Endpoint::Unix(path.clone()),
    };
    let places = config.backends.iter().map(|backend| {
        let found = Ok(vec![endpoint(&backend.address)]);
        (backend.address.clone(), found)
    });
    Plan {
        resolved: places.collect(),
        config: Arc::new(config.clone()),
    }
}

/// A backend set whose backends have not been probed yet.
fn backend_set(config: &Config) -> BackendSet {
    let mut backend_set = BackendSet::new(1);
    backend_set.apply(&plan(config), at(0));
    backend_set.snapshot().unwrap();
    backend_set
}

/// Begins what is due at `now`; returns the tickets of the probes.
fn looks(backend_set: &mut BackendSet, now: Moment) -> Vec<Ticket> {
    let due = backend_set.begin_due(now).into_iter();
    due.filter(|(_, task)| matches!(task, Task::Look(_)))
        .map(|(ticket, _)| ticket)
        .collect()
}

/// A backend set with one backend, which a probe at time 0 has found up.
fn well(config: &Config) -> (BackendSet, Ticket) {
    let mut backend_set = backend_set(config);
    let ticket = looks(&mut backend_set, at(0))[0];
    backend_set.note_probe(ticket, Ok(ProbeResult::Well), at(0));
    assert!(matches!(health(&mut backend_set), Health::Up { .. }));
    (backend_set, ticket)
}

/// The first backend's health in the new snapshot. A snapshot must be pending.
fn health(backend_set: &mut BackendSet) -> Health {
    backend_set.snapshot().expect("there was a change").backends[0]
        .health
        .clone()
}

fn refused() -> Failure {
    Failure::Io("Connection refused".into())
}

fn connect_failed(ticket: Ticket) -> Report {
    Report::ConnectFailed {
        backend: ticket.backend,
        cause: "timed out".into(),
    }
}

fn session_broken(ticket: Ticket) -> Report {
    Report::SessionBroken {
        backend: ticket.backend,
        cause: "reset".into(),
    }
}

#[test]
fn every_backend_is_looked_at_once_at_the_start() {
    let mut backend_set = backend_set(&config(&["a", "b"]));
    assert_eq!(looks(&mut backend_set, at(0)).len(), 2);
    assert_eq!(looks(&mut backend_set, at(SECOND)), []);
    assert_eq!(backend_set.next_due(), None);
}

#[test]
fn without_a_monitor_account_a_backend_that_is_up_is_left_alone() {
    let (backend_set, _) = well(&config(&["a"]));
    assert_eq!(backend_set.next_due(), None);
}

#[test]
fn a_backend_with_a_monitor_account_is_probed_every_interval() {
    let mut config = config(&["a"]);
    config.health.monitor_user = Some("monitor".into());
    let (backend_set, _) = well(&config);
    assert_eq!(
        backend_set.next_due(),
        Some(Moment(config.health.monitor_interval))
    );
}

#[test]
fn a_session_that_connected_shows_an_unseen_backend_to_be_up() {
    let mut backend_set = backend_set(&config(&["a"]));
    let ticket = looks(&mut backend_set, at(0))[0];
    let connected = Report::Connected {
        backend: ticket.backend,
    };
    backend_set.report(&connected, at(1));
    assert_eq!(health(&mut backend_set), Health::Up { since: at(1) });
    backend_set.report(&connected, at(2));
    assert!(backend_set.snapshot().is_none(), "no news");
}

#[test]
fn probes_come_after_waits_that_double_up_to_their_bound() {
    let config = config(&["a"]);
    let (mut backend_set, ticket) = well(&config);
    backend_set.report(&connect_failed(ticket), at(0));
    assert!(matches!(health(&mut backend_set), Health::Down { .. }));
    let mut now = at(0);
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
        let due = backend_set.next_due().unwrap();
        let wait = due.since(now);
        let whole = Duration::from_secs(seconds);
        assert!(
            wait <= whole && wait >= whole * 4 / 5,
            "{wait:?} of {whole:?}"
        );
        now = due;
        assert_eq!(looks(&mut backend_set, now), [ticket]);
        backend_set.note_probe(ticket, Err(Failure::Io("timed out".into())), now);
        assert!(backend_set.snapshot().is_none(), "nothing new to be told");
    }
}

#[test]
fn a_backend_that_falls_again_soon_keeps_its_long_waits() {
    let config = config(&["a"]);
    let (mut backend_set, ticket) = well(&config);
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..4 {
        backend_set.report(&connect_failed(ticket), now);
        let due = backend_set.next_due().unwrap();
        waits.push(due.since(now));
        now = due;
        assert_eq!(looks(&mut backend_set, now), [ticket]);
        backend_set.note_probe(ticket, Ok(ProbeResult::Well), now);
    }
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
    // After a long time without faults, the backend starts with the shortest wait again.
    let later = now + config.health.probe_interval_max;
    backend_set.report(&connect_failed(ticket), later);
    assert!(backend_set.next_due().unwrap().since(later) <= config.health.probe_interval);
}

#[test]
fn a_look_begun_before_the_fall_does_not_raise_the_backend() {
    let mut backend_set = backend_set(&config(&["a"]));
    let ticket = looks(&mut backend_set, at(0))[0];
    backend_set.report(&connect_failed(ticket), at(10));
    backend_set.note_probe(ticket, Ok(ProbeResult::Well), at(20));
    assert!(matches!(health(&mut backend_set), Health::Down { since, .. } if since == at(10)));
    let due = backend_set.next_due().unwrap();
    assert_eq!(looks(&mut backend_set, due), [ticket]);
    backend_set.note_probe(ticket, Ok(ProbeResult::Well), due);
    let backend = backend_set.snapshot().unwrap().backends[0].clone();
    assert_eq!(backend.health, Health::Up { since: due });
    assert_eq!(backend.returned, Some(due));
}

#[test]
fn many_broken_sessions_cause_one_probe_per_interval() {
    let (mut backend_set, ticket) = well(&config(&["a"]));
    let mut count = 0;
    for millisecond in 0..3 * SECOND {
        backend_set.report(&session_broken(ticket), at(5 * SECOND + millisecond));
        for ticket in looks(&mut backend_set, at(5 * SECOND + millisecond)) {
            count += 1;
            backend_set.note_probe(ticket, Ok(ProbeResult::Well), at(5 * SECOND + millisecond));
        }
    }
    assert_eq!(count, 3, "one at once, then one per probe interval");
}

#[test]
fn a_backend_that_does_not_answer_a_hints_look_is_down() {
    let (mut backend_set, ticket) = well(&config(&["a"]));
    backend_set.report(&session_broken(ticket), at(5 * SECOND));
    assert!(
        backend_set.snapshot().is_none(),
        "a hint alone changes nothing"
    );
    assert_eq!(looks(&mut backend_set, at(5 * SECOND)), [ticket]);
    backend_set.note_probe(ticket, Err(refused()), at(5 * SECOND));
    assert!(
        matches!(health(&mut backend_set), Health::Down { cause, .. } if cause == "Connection refused")
    );
}

/// A configuration with one backend whose host is a name. Tests resolve the name to 10.9.9.9.
fn by_name() -> Config {
    let mut config = config(&["a"]);
    config.backends[0].address = BackendAddress::Tcp {
        host: "db.example".into(),
        port: 3306,
    };
    config
}

/// Ends the due name resolution with this result.
fn resolve_address(backend_set: &mut BackendSet, found: Result<Vec<Endpoint>, Failure>) {
    let due = backend_set.next_due().unwrap();
    let tasks = backend_set.begin_due(due);
    let asked = tasks
        .iter()
        .find(|(_, task)| matches!(task, Task::LookUp(_)));
    let (ticket, _) = asked.expect("a look-up is due");
    backend_set.note_addresses(*ticket, found, due);
}

fn endpoint(last: u8) -> Endpoint {
    Endpoint::Tcp(([10, 9, 9, last], 3306).into())
}

#[test]
fn a_lost_name_keeps_its_addresses() {
    let (mut backend_set, _) = well(&by_name());
    let lost = Failure::Unresolved {
        host: "db.example".into(),
        reason: "no such name".into(),
    };
    for _ in 0..3 {
        resolve_address(&mut backend_set, Err(lost.clone()));
        assert!(backend_set.snapshot().is_none());
    }
    resolve_address(&mut backend_set, Ok(vec![endpoint(9)]));
    assert!(backend_set.snapshot().is_none(), "found again where it was");
}

#[test]
fn other_addresses_make_a_snapshot_and_a_look_but_another_order_does_not() {
    let (mut backend_set, ticket) = well(&by_name());
    resolve_address(&mut backend_set, Ok(vec![endpoint(1), endpoint(2)]));
    let backend = backend_set.snapshot().unwrap().backends[0].clone();
    assert_eq!(backend.location.endpoints, [endpoint(1), endpoint(2)]);
    assert!(backend.is_usable());
    let due = backend_set.next_due().unwrap();
    assert_eq!(looks(&mut backend_set, due), [ticket]);
    resolve_address(&mut backend_set, Ok(vec![endpoint(2), endpoint(1)]));
    assert!(backend_set.snapshot().is_none());
}

#[test]
fn a_look_at_former_addresses_says_nothing_about_the_new_ones() {
    let (mut backend_set, ticket) = well(&by_name());
    backend_set.report(&session_broken(ticket), at(SECOND));
    assert_eq!(looks(&mut backend_set, at(SECOND)), [ticket]);
    resolve_address(&mut backend_set, Ok(vec![endpoint(1)]));
    backend_set.snapshot().unwrap();
    let later = at(60 * SECOND);
    backend_set.note_probe(ticket, Err(refused()), later);
    assert!(backend_set.snapshot().is_none());
    assert_eq!(looks(&mut backend_set, later), [ticket]);
}

#[test]
fn a_reload_keeps_id_load_and_health_of_a_backend_that_stays() {
    let (mut backend_set, ticket) = well(&config(&["a"]));
    backend_set.report(&connect_failed(ticket), at(SECOND));
    let before = backend_set.snapshot().unwrap().backends[0].clone();
    let _slot = before.begin().unwrap();
    let mut config = config(&["a", "b"]);
    config.backends[0].weight = 5;
    config.limits.backend_sessions_max = Some(100);
    backend_set.apply(&plan(&config), at(2 * SECOND));
    let topology = backend_set.snapshot().unwrap();
    let after = &topology.backends[0];
    assert_eq!((after.id, &after.health), (before.id, &before.health));
    assert_eq!((after.weight, after.sessions_max), (5, Some(100)));
    assert_eq!(after.load.sessions(), 1);
    assert_ne!(topology.backends[1].id, before.id);
}

#[test]
fn a_backend_with_a_new_address_is_probed_again_and_pending_answers_are_ignored() {
    let (mut backend_set, _) = well(&config(&["a"]));
    let mut moved = config(&["a"]);
    moved.backends[0].address = BackendAddress::Unix("/run/a.sock".into());
    backend_set.report(
        &session_broken(Ticket {
            backend: BackendId(0),
            epoch: 0,
        }),
        at(SECOND),
    );
    let asked_before = looks(&mut backend_set, at(SECOND))[0];
    backend_set.apply(&plan(&moved), at(SECOND));
    let backend = backend_set.snapshot().unwrap().backends[0].clone();
    assert_eq!(
        (backend.id, &backend.health),
        (asked_before.backend, &Health::Unknown)
    );
    backend_set.note_probe(asked_before, Err(refused()), at(SECOND));
    assert!(backend_set.snapshot().is_none());
    assert_eq!(looks(&mut backend_set, at(SECOND)).len(), 1);
}

#[test]
fn a_backend_that_was_removed_and_comes_back_has_its_sessions_counted() {
    let (mut backend_set, _) = well(&config(&["a"]));
    backend_set.apply(&plan(&config(&["a", "b"])), at(0));
    let slot = backend_set.snapshot().unwrap().backends[1].begin();
    backend_set.apply(&plan(&config(&["a"])), at(0));
    assert_eq!(backend_set.snapshot().unwrap().backends.len(), 1);
    backend_set.apply(&plan(&config(&["a", "b"])), at(0));
    assert_eq!(
        backend_set.snapshot().unwrap().backends[1].load.sessions(),
        1
    );
    drop(slot);
}
