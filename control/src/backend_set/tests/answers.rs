//! The backends' answers about replication, and the roles and lags that follow from them.

use route::{Backend, Family, Lag, Position, Server, Writes};

use super::*;
use crate::question::{Following, Group, Thread};

const LAG_MAX: Duration = Duration::from_secs(5);

/// Backends with `role = "auto"` and a limit of lag.
fn open(names: &[&str]) -> Config {
    let mut config = config(names);
    config.health.monitor_user = Some("monitor".into());
    config.balance.lag_max = LAG_MAX;
    for backend in &mut config.backends {
        backend.role = config::Role::Auto;
    }
    config
}

/// A configured primary and a configured replica with the same limit of lag.
fn configured() -> Config {
    let mut config = open(&["a", "b"]);
    config.backends[0].role = config::Role::Primary;
    config.backends[1].role = config::Role::Replica;
    config
}

/// A backend set whose backends are all up, and which has asked each of them about replication.
struct Stage {
    backend_set: BackendSet,
    now: Moment,
    /// Questions without an answer yet.
    under_way: Vec<Ticket>,
}

impl Stage {
    fn new(config: &Config) -> Stage {
        let mut stage = Stage {
            backend_set: backend_set(config),
            now: at(0),
            under_way: Vec::new(),
        };
        stage.step();
        stage
    }

    /// Begins all due tasks. Each probe finds its backend up.
    fn step(&mut self) {
        for (ticket, task) in self.backend_set.begin_due(self.now) {
            match task {
                Task::Look(_) => {
                    self.backend_set
                        .note_probe(ticket, Ok(ProbeResult::Well), self.now)
                }
                Task::Ask(..) => self.under_way.push(ticket),
                Task::LookUp(_) => (),
            }
        }
    }

    /// Lets time pass until a question to this backend is pending.
    fn asked(&mut self, backend: u32) -> Ticket {
        for _ in 0..1000 {
            let mut asked = self.under_way.iter();
            if let Some(ticket) = asked.find(|it| it.backend == BackendId(backend)) {
                return *ticket;
            }
            self.now = self.now.max(self.backend_set.next_due().unwrap());
            self.step();
        }
        unreachable!("it is not asked any more");
    }

    /// Handles this answer of the backend.
    fn hear(&mut self, backend: u32, answer: Result<Answer, Failure>) {
        let known = self.backend_set.monitor(BackendId(backend)).unwrap();
        let ticket = Ticket {
            backend: known.id,
            epoch: known.epoch(),
        };
        self.under_way.retain(|it| *it != ticket);
        self.backend_set.answered(ticket, answer, self.now);
    }

    fn backend(&self, index: u32) -> Backend {
        self.backend_set
            .monitor(BackendId(index))
            .unwrap()
            .backend()
    }

    fn roles(&self) -> Vec<Option<Role>> {
        self.backend_set.monitors.iter().map(|w| w.role).collect()
    }
}

fn answer(writes: Writes, following: Following) -> Result<Answer, Failure> {
    let position = |text: &str| Position::parse(Family::MariaDb, text.as_bytes()).ok();
    Ok(Answer {
        server: Server {
            family: Family::MariaDb,
            version: "10.11.6-MariaDB".to_owned(),
        },
        writes,
        following,
        executed: position("0-1-7,5-5-5"),
        applied: position("0-1-7"),
        latency: Duration::from_millis(1),
        group: Group::None,
    })
}

fn leads() -> Result<Answer, Failure> {
    answer(Writes::Taken, Following::Nobody)
}

fn somebody(applier: Thread, receiver: Thread, behind: Option<u64>) -> Result<Answer, Failure> {
    let behind = behind.map(Duration::from_secs);
    answer(
        Writes::Refused,
        Following::Somebody {
            applier,
            receiver,
            behind,
        },
    )
}

fn lags(seconds: u64) -> Result<Answer, Failure> {
    somebody(Thread::Running, Thread::Running, Some(seconds))
}

fn cut_off() -> Result<Answer, Failure> {
    somebody(Thread::Running, Thread::Connecting, None)
}

fn silent() -> Result<Answer, Failure> {
    Err(Failure::NoAnswer(Duration::from_secs(2)))
}

fn not_allowed() -> Result<Answer, Failure> {
    Err(Failure::AccountRefused("Access denied".into()))
}

const PRIMARY: Option<Role> = Some(Role::Primary);
const REPLICA: Option<Role> = Some(Role::Replica);

fn behind(seconds: u64) -> Lag {
    Lag::Behind(Duration::from_secs(seconds))
}

#[test]
fn roles_follow_the_answers_of_the_backends() {
    let mut stage = Stage::new(&open(&["a", "b"]));
    assert!(stage.backend_set.awaits_roles());
    assert_eq!(stage.roles(), [None, None]);
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    assert!(!stage.backend_set.awaits_roles());
    assert_eq!(stage.roles(), [PRIMARY, REPLICA]);
    // The backends exchange their roles.
    stage.hear(0, lags(0));
    stage.hear(1, leads());
    assert_eq!(stage.roles(), [REPLICA, PRIMARY]);
    let topology = stage.backend_set.snapshot().expect("workers hear of it");
    assert_eq!(topology.backends[1].role, PRIMARY);
    // An answer equal to the last one makes no new snapshot.
    stage.hear(1, leads());
    assert!(stage.backend_set.snapshot().is_none());
}

#[test]
fn a_primary_that_falls_stays_it_unless_another_takes_over() {
    let mut stage = Stage::new(&open(&["a", "b"]));
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    let ticket = stage.asked(0);
    stage.backend_set.report(&connect_failed(ticket), stage.now);
    assert_eq!(stage.roles(), [PRIMARY, REPLICA]);
    stage.hear(1, leads());
    assert_eq!(stage.roles(), [None, PRIMARY]);
    // An answer to a question from before the fall is ignored: the backend that comes back may be another server.
    stage.hear(0, lags(0));
    assert_eq!(stage.roles(), [None, PRIMARY]);
    stage.asked(0);
    assert_eq!(stage.roles(), [None, PRIMARY]);
    stage.hear(0, lags(0));
    assert_eq!(stage.roles(), [REPLICA, PRIMARY]);
}

#[test]
fn configured_roles_ignore_the_answers_of_the_backends() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, lags(0));
    stage.hear(1, leads());
    assert_eq!(stage.roles(), [PRIMARY, REPLICA]);
}

#[test]
fn a_replica_that_lags_more_than_it_may_is_left_out_until_it_lags_clearly_less() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    for (seconds, is_left_out) in [
        (0, false),
        (5, false),
        (6, true),
        (5, true),
        (6, true),
        (4, false),
        (5, false),
    ] {
        stage.hear(1, lags(seconds));
        let replica = stage.backend(1);
        assert_eq!(replica.standing.lag(), behind(seconds));
        assert_eq!(replica.is_left_out(), is_left_out);
    }
}

#[test]
fn a_replica_whose_replication_is_stopped_lags_without_end() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.hear(1, somebody(Thread::Stopped, Thread::Running, None));
    assert_eq!(stage.backend(1).standing.lag(), Lag::Stopped);
    assert!(stage.backend(1).is_left_out());
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn a_replica_that_returns_is_left_out_until_its_lag_is_known() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    let fallen = |stage: &mut Stage| {
        let ticket = stage.asked(1);
        stage.backend_set.report(&connect_failed(ticket), stage.now);
        stage.hear(1, silent());
        stage.asked(1);
        assert!(stage.backend(1).is_usable() && stage.backend(1).is_left_out());
    };
    fallen(&mut stage);
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).is_left_out());
    // The monitor account may have lost its privilege meanwhile; the backend must not be left out for ever.
    fallen(&mut stage);
    stage.hear(1, not_allowed());
    assert!(!stage.backend(1).is_left_out());
    // The primary is down too, so the replica has no source that it could lag behind.
    let ticket = stage.asked(0);
    stage.backend_set.report(&connect_failed(ticket), stage.now);
    fallen(&mut stage);
    stage.hear(1, cut_off());
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn a_replica_without_its_primary_keeps_its_lag_where_that_is_down() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.hear(1, lags(2));
    stage.hear(1, cut_off());
    assert_eq!(
        stage.backend(1).standing.lag(),
        behind(2),
        "for one answer it may be so"
    );
    let ticket = stage.asked(0);
    stage.backend_set.report(&connect_failed(ticket), stage.now);
    stage.hear(1, cut_off());
    assert_eq!(stage.backend(1).standing.lag(), behind(2));
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn a_replica_that_cannot_reach_a_primary_that_is_up_lags_without_end() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    stage.hear(1, cut_off());
    stage.hear(1, cut_off());
    assert_eq!(stage.backend(1).standing.lag(), Lag::Stopped);
}

#[test]
fn a_replica_has_its_lag_back_when_the_primary_that_it_cannot_reach_is_found_to_be_down() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.asked(1);
    stage.hear(1, lags(2));
    stage.asked(1);
    stage.hear(1, cut_off());
    let since = stage.now;
    for _ in 0..3 {
        stage.asked(1);
        stage.hear(1, cut_off());
        assert_eq!(stage.backend(1).standing.lag(), Lag::Stopped);
    }
    let cut_off_for = stage.now.since(since);
    let ticket = stage.asked(0);
    stage.backend_set.report(&connect_failed(ticket), stage.now);
    for _ in 0..2 {
        stage.hear(1, cut_off());
        let lag = Lag::Behind(Duration::from_secs(2) + cut_off_for);
        assert_eq!(stage.backend(1).standing.lag(), lag);
    }
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn a_replica_that_gives_no_answer_lags_by_as_much_more_as_it_is_silent() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.asked(1);
    stage.hear(1, lags(0));
    let heard = stage.now;
    while stage.now.since(heard) <= LAG_MAX {
        assert!(!stage.backend(1).is_left_out());
        stage.asked(1);
        stage.hear(1, silent());
    }
    assert!(stage.backend(1).is_left_out());
    assert_eq!(stage.roles(), [PRIMARY, REPLICA]);
    stage.asked(1);
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn where_the_account_is_refused_no_lag_is_known_and_none_is_limited() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.asked(1);
    stage.hear(1, lags(9));
    assert!(stage.backend(1).is_left_out());
    stage.asked(1);
    stage.hear(1, not_allowed());
    assert_eq!(stage.backend(1).standing.lag(), Lag::Unknown);
    let told = stage.backend(1).monitored.complaint.unwrap();
    assert!(
        told.ends_with("refuses the monitor account: Access denied"),
        "{told}"
    );
    let asked = stage.now;
    stage.asked(1);
    let health = HealthConfig::default();
    assert!(
        stage.now.since(asked) >= health.monitor_interval,
        "logins that are refused are rare"
    );
}

#[test]
fn where_lag_may_not_be_asked_the_role_is_found_out_all_the_same() {
    let mut stage = Stage::new(&open(&["a", "b"]));
    let untold = |writes| {
        let missing = Some("GRANT …".to_owned());
        answer(writes, Following::Untold { missing })
    };
    stage.hear(0, untold(Writes::Taken));
    stage.hear(1, untold(Writes::Refused));
    assert_eq!(stage.roles(), [PRIMARY, REPLICA]);
    assert_eq!(stage.backend(1).standing.lag(), Lag::Unknown);
    let told = stage.backend(1).monitored.complaint.unwrap();
    assert!(told.ends_with("what helps is GRANT …"), "{told}");
    stage.hear(1, lags(0));
    let topology = stage.backend_set.snapshot().expect("workers hear of it");
    assert_eq!(topology.backends[1].monitored.complaint, None);
}

#[test]
fn a_primary_has_all_that_it_executed_and_a_replica_what_it_has_from_others() {
    let mut stage = Stage::new(&configured());
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    let own = Position::parse(Family::MariaDb, b"5-5-5").unwrap();
    let common = Position::parse(Family::MariaDb, b"0-1-7").unwrap();
    assert!(stage.backend(0).standing.has(&own) && stage.backend(0).standing.has(&common));
    assert!(!stage.backend(1).standing.has(&own) && stage.backend(1).standing.has(&common));
}

#[test]
fn a_name_that_leads_elsewhere_leaves_nothing_known_of_the_backend() {
    let mut config = configured();
    config.backends[1].address = by_name().backends[0].address.clone();
    let mut stage = Stage::new(&config);
    stage.hear(1, lags(0));
    let common = Position::parse(Family::MariaDb, b"0-1-7").unwrap();
    assert!(stage.backend(1).standing.has(&common));
    let ticket = stage.asked(1);
    let moved = Ok(vec![endpoint(1)]);
    stage.now = stage.now + Duration::from_millis(1);
    stage.backend_set.note_addresses(ticket, moved, stage.now);
    assert!(!stage.backend(1).standing.has(&common));
    // The answer belongs to a question to the former address.
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).standing.has(&common));
    stage.asked(1);
    stage.hear(1, lags(0));
    assert!(stage.backend(1).standing.has(&common));
}

#[test]
fn a_single_backend_is_asked_whether_it_is_read_only() {
    let asks = |config: &Config| {
        let mut backend_set = backend_set(config);
        let due = backend_set.begin_due(at(0)).into_iter();
        due.filter(|(_, task)| matches!(task, Task::Ask(..)))
            .count()
    };
    assert_eq!(asks(&open(&["a"])), 1);
    let mut alone = open(&["a"]);
    alone.backends[0].role = config::Role::Primary;
    assert_eq!(asks(&alone), 1);
    assert_eq!(asks(&configured()), 2);
    let mut unmonitored = configured();
    unmonitored.health.monitor_user = None;
    assert_eq!(asks(&unmonitored), 0);
}

#[test]
fn observations_are_dropped_when_monitoring_ends() {
    let mut stage = Stage::new(&configured());
    stage.hear(1, lags(9));
    assert!(stage.backend(1).is_left_out());
    let mut alone = configured();
    alone.backends.remove(0);
    stage.backend_set.apply(&plan(&alone), stage.now);
    assert_eq!(stage.backend(1).standing.lag(), Lag::Unknown);
}

#[test]
fn a_replica_that_was_seen_to_follow_and_does_not_now_is_left_out() {
    let mut stage = Stage::new(&unlimited());
    stage.hear(0, leads());
    // The replica may be a backend that never follows a source.
    stage.hear(1, answer(Writes::Refused, Following::Nobody));
    assert!(!stage.backend(1).is_left_out());
    stage.hear(1, lags(0));
    stage.hear(1, answer(Writes::Refused, Following::Nobody));
    assert!(stage.backend(1).is_left_out());
    assert!(stage.backend(1).monitored.complaint.is_some());
    stage.hear(1, lags(100));
    assert!(!stage.backend(1).is_left_out());
    // A primary without a source is not left out.
    stage.hear(0, answer(Writes::Taken, Following::Nobody));
    assert!(!stage.backend(0).is_left_out());
}

#[test]
fn a_replica_whose_replication_is_stopped_is_left_out_without_any_limit() {
    let mut stage = Stage::new(&unlimited());
    stage.hear(0, leads());
    stage.hear(1, lags(0));
    stage.hear(1, somebody(Thread::Stopped, Thread::Running, None));
    assert!(stage.backend(1).is_left_out());
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn a_member_that_is_out_of_step_with_its_group_is_left_out() {
    let mut stage = Stage::new(&unlimited());
    let member = |group| {
        let told = answer(Writes::Taken, Following::Nobody);
        told.map(|told| Answer { group, ..told })
    };
    stage.hear(0, member(Group::InStep));
    stage.hear(1, member(Group::InStep));
    assert!(!stage.backend(1).is_left_out());
    stage.hear(1, member(Group::OutOfStep("Donor/Desynced".to_owned())));
    assert!(stage.backend(1).is_left_out());
    assert!(
        stage
            .backend(1)
            .monitored
            .complaint
            .unwrap()
            .contains("Donor")
    );
    stage.hear(1, member(Group::InStep));
    assert!(!stage.backend(1).is_left_out());
}

#[test]
fn lag_unknown_decides_about_replicas_of_unknown_lag() {
    let mut config = unlimited();
    config.balance.lag_unknown = config::LagUnknown::LeaveOut;
    let mut stage = Stage::new(&config);
    stage.hear(0, leads());
    stage.hear(1, not_allowed());
    assert!(stage.backend(1).is_left_out());
    stage.hear(1, lags(0));
    assert!(!stage.backend(1).is_left_out());
    assert!(!stage.backend(0).is_left_out());
}

#[test]
fn a_refused_write_makes_a_primary_read_only_until_it_is_asked() {
    let mut config = unlimited();
    config.backends.truncate(1);
    let mut stage = Stage::new(&config);
    stage.hear(0, leads());
    assert!(!stage.backend(0).is_read_only_primary());
    let id = stage.backend(0).id;
    stage
        .backend_set
        .report(&Report::WritesRefused { backend: id }, stage.now);
    assert!(stage.backend(0).is_read_only_primary());
    let now = stage.now;
    stage.asked(0);
    assert_eq!(stage.now, now, "it is asked at once");
    stage.hear(0, leads());
    assert!(!stage.backend(0).is_read_only_primary());
    // A single backend is asked only whether it takes writes.
    assert!(stage.backend(0).standing.position().is_none());
}

#[test]
fn several_writable_primaries_give_a_warning_unless_independent() {
    let mut config = unlimited();
    config.backends[1].role = config::Role::Primary;
    let complaint = |config: &Config, second: Result<Answer, Failure>| {
        let mut stage = Stage::new(config);
        stage.hear(0, leads());
        stage.hear(1, second);
        stage.backend(0).monitored.complaint
    };
    let told = complaint(&config, leads()).unwrap();
    assert!(told.contains("backend.independent"), "{told}");
    // The second primary takes no writes.
    assert_eq!(complaint(&config, lags(0)), None);
    let member = leads().map(|told| Answer {
        group: Group::InStep,
        ..told
    });
    assert!(complaint(&config, member).is_some(), "the other is none");
    config.backends[0].independent = true;
    assert_eq!(complaint(&config, leads()), None);
}

/// A configured primary and a configured replica, without a limit of lag.
fn unlimited() -> Config {
    let mut config = configured();
    config.balance.lag_max = Duration::ZERO;
    config
}
