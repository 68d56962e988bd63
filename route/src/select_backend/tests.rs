//! The choice of a backend for statements: fixed cases, many draws, and a naive model.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::{
    BackendLocation, Cluster, Duty, Family, Health, InFlight, LagLimit, Load, Monitored, Policy,
    Position, ReadPolicy, Server, Standing, UnknownLag, Writes,
};

const MAIN: ClusterId = ClusterId(0);

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn backend(id: u32, role: Role) -> Backend {
    Backend {
        id: BackendId(id),
        name: match role {
            Role::Primary => "primary".to_owned(),
            Role::Replica => format!("replica{id}"),
        },
        location: BackendLocation {
            host: None,
            endpoints: Vec::new(),
            zone: None,
            vicinity: Vicinity::Far,
        },
        cluster: MAIN,
        role: Some(role),
        tags: Vec::new(),
        weight: 1,
        sessions_max: None,
        duty: Duty::Serving,
        lag_limit: LagLimit {
            max: None,
            unknown: UnknownLag::Use,
        },
        health: Health::Up {
            since: Moment::START,
        },
        returned: None,
        monitored: Monitored {
            server: Some(Server {
                family: Family::MariaDb,
                version: "10.11".to_owned(),
            }),
            writes: Writes::Unknown,
            has_answered: false,
            complaint: None,
        },
        standing: Arc::default(),
        load: Arc::new(Load::default()),
    }
}

fn primary() -> Backend {
    backend(0, Role::Primary)
}

fn replica(id: u32) -> Backend {
    backend(id, Role::Replica)
}

fn down(backend: Backend) -> Backend {
    Backend {
        health: Health::Down {
            since: Moment::START,
            cause: "connection refused".to_owned(),
        },
        ..backend
    }
}

/// A backend with this replication position and lag.
fn standing(backend: Backend, position: &str, lag: Lag) -> Backend {
    let standing = Standing::default();
    standing.set_position(Position::parse_any(position.as_bytes()).ok());
    standing.set_lag(lag);
    Backend {
        standing: Arc::new(standing),
        ..backend
    }
}

fn topology(reads: ReadPolicy, backends: impl IntoIterator<Item = Backend>) -> Topology {
    Topology {
        generation: 1,
        default_cluster: None,
        backends: backends.into_iter().map(Arc::new).collect(),
        clusters: vec![Cluster {
            id: MAIN,
            name: "main".to_owned(),
            written: Arc::default(),
        }],
        policy: Policy::default(),
        reads,
        roles: Roles::Primary,
        slow_start: Duration::from_secs(10),
    }
}

fn fewest(backends: impl IntoIterator<Item = Backend>) -> Topology {
    topology(ReadPolicy::FewestInFlight, backends)
}

/// A read that prefers a replica.
fn read() -> Wish<'static> {
    Wish {
        fallback: Fallback::Primary,
        timeout_consistency: Duration::from_millis(500),
        ..Wish::to(MAIN, Roles::Replica)
    }
}

/// One worker.
struct Worker {
    loads: Loads,
    dice: Dice,
}

impl Worker {
    fn new() -> Worker {
        Worker {
            loads: Loads::default(),
            dice: Dice::new(42),
        }
    }

    fn select<'t>(
        &mut self,
        topology: &'t Topology,
        wish: &Wish<'_>,
    ) -> Result<Placed<'t>, NoBackend> {
        let dice = &mut self.dice;
        select_backend(topology, wish, &self.loads, at(110), dice, &mut ())
    }

    fn name(&mut self, topology: &Topology, wish: &Wish<'_>) -> String {
        self.select(topology, wish).unwrap().backend.name.clone()
    }

    /// For each backend, the number of `count` statements that go there; each statement ends immediately.
    fn shares(&mut self, topology: &Topology, wish: &Wish<'_>, count: usize) -> Vec<usize> {
        let mut shares = vec![0; topology.backends.len()];
        for _ in 0..count {
            let id = self.select(topology, wish).unwrap().backend.id;
            shares[id.0 as usize] += 1;
        }
        shares
    }

    /// For each backend, the number of `count` statements that go there; no statement ends.
    fn lasting(&mut self, topology: &Topology, wish: &Wish<'_>, count: usize) -> Vec<u32> {
        let in_flight: Vec<InFlight> = (0..count)
            .map(|_| {
                let id = self.select(topology, wish).unwrap().backend.id;
                self.loads.begin(id)
            })
            .collect();
        let all = topology.backends.iter();
        let counts = all.map(|b| self.loads.in_flight(b.id)).collect();
        drop(in_flight);
        counts
    }

    /// The verdict on each backend, in words.
    fn explained(&mut self, topology: &Topology, wish: &Wish<'_>) -> Vec<String> {
        let mut considered: Vec<Considered> = Vec::new();
        let dice = &mut self.dice;
        let _ = select_backend(topology, wish, &self.loads, at(110), dice, &mut considered);
        let texts = considered.iter();
        texts
            .map(|it| format!("{}: {}", it.backend, it.text))
            .collect()
    }
}

#[track_caller]
fn assert_near(actual: usize, expected: usize, off_by: usize) {
    assert!(
        actual.abs_diff(expected) <= off_by,
        "{actual} is not within {off_by} of {expected}"
    );
}

#[test]
fn a_read_goes_to_a_replica_and_a_write_to_the_primary() {
    let all = fewest([primary(), replica(1), replica(2)]);
    let mut worker = Worker::new();
    assert_eq!(worker.shares(&all, &read(), 100), [0, 50, 50]);
    let write = Wish::to(MAIN, Roles::Primary);
    assert_eq!(worker.shares(&all, &write, 100), [100, 0, 0]);
    let either = Wish::to(MAIN, Roles::Any);
    assert_near(worker.shares(&all, &either, 300)[0], 100, 2);
}

#[test]
fn a_read_falls_back_to_the_primary_only_where_it_may() {
    let all = fewest([primary(), down(replica(1))]);
    let mut worker = Worker::new();
    let placed = worker.select(&all, &read()).unwrap();
    assert_eq!(
        (placed.backend.id, placed.outcome),
        (BackendId(0), PlacementOutcome::FellBack)
    );
    let strict = Wish {
        fallback: Fallback::Nobody,
        ..read()
    };
    assert_eq!(
        worker.select(&all, &strict).unwrap_err().to_string(),
        "Can't connect to MySQL server: all backends are down, tried replica1: connection refused"
    );
    let all = fewest([down(primary()), down(replica(1))]);
    let none = worker.select(&all, &read()).unwrap_err().to_string();
    assert!(none.contains("tried primary: connection refused"), "{none}");
}

#[test]
fn the_fewest_in_flight_for_its_weight_wins() {
    let heavy = Backend {
        weight: 3,
        ..replica(2)
    };
    let all = fewest([primary(), replica(1), heavy]);
    let mut worker = Worker::new();
    assert_eq!(worker.lasting(&all, &read(), 400), [0, 100, 300]);
    let one_by_one = worker.shares(&all, &read(), 400);
    assert_near(one_by_one[1], 100, 2);
    let busy = worker.loads.begin(BackendId(2));
    assert_eq!(worker.name(&all, &read()), "replica1");
    drop(busy);
}

#[test]
fn round_robin_and_weighted_give_each_replica_its_share() {
    let heavy = Backend {
        weight: 3,
        ..replica(2)
    };
    let mut worker = Worker::new();
    let in_turn = topology(
        ReadPolicy::RoundRobin,
        [primary(), replica(1), heavy.clone()],
    );
    assert_eq!(worker.shares(&in_turn, &read(), 400), [0, 200, 200]);
    // Writes in between do not change the turns of reads.
    let write = Wish::to(MAIN, Roles::Primary);
    let mut seen = [0; 3];
    for _ in 0..100 {
        seen[worker.select(&in_turn, &read()).unwrap().backend.id.0 as usize] += 1;
        seen[worker.select(&in_turn, &write).unwrap().backend.id.0 as usize] += 1;
    }
    assert_eq!(seen, [100, 50, 50]);
    let weighted = topology(ReadPolicy::Weighted, [primary(), replica(1), heavy]);
    assert_near(worker.shares(&weighted, &read(), 400)[1], 100, 2);
}

#[test]
fn the_faster_of_two_gets_more_but_not_all() {
    let all = topology(ReadPolicy::Latency, [primary(), replica(1), replica(2)]);
    let mut worker = Worker::new();
    // There are no measurements yet.
    assert_near(worker.shares(&all, &read(), 4000)[1], 2000, 150);
    for (id, milliseconds) in [(1, 1), (2, 3)] {
        let answered = worker.loads.begin(BackendId(id));
        answered.answered_in(Duration::from_millis(milliseconds));
    }
    assert_near(worker.shares(&all, &read(), 4000)[1], 3000, 150);
    let queue: Vec<_> = (0..8).map(|_| worker.loads.begin(BackendId(1))).collect();
    assert_near(worker.shares(&all, &read(), 4000)[1], 1000, 150);
    drop(queue);
}

#[test]
fn probe_times_count_until_the_worker_has_measurements() {
    let all = topology(ReadPolicy::Latency, [primary(), replica(1), replica(2)]);
    all.backends[1]
        .standing
        .set_latency(Duration::from_millis(3));
    all.backends[2]
        .standing
        .set_latency(Duration::from_millis(1));
    let mut worker = Worker::new();
    assert_near(worker.shares(&all, &read(), 4000)[1], 1000, 150);
}

#[test]
fn a_session_keeps_its_replica_while_the_replica_is_usable() {
    let all = topology(ReadPolicy::Sticky, [primary(), replica(1), replica(2)]);
    let sticky = Wish {
        sticky: Some(BackendId(2)),
        ..read()
    };
    let mut worker = Worker::new();
    let busy = worker.loads.begin(BackendId(2));
    assert_eq!(worker.shares(&all, &sticky, 100), [0, 0, 100]);
    drop(busy);
    let fallen = topology(
        ReadPolicy::Sticky,
        [primary(), replica(1), down(replica(2))],
    );
    assert_eq!(worker.shares(&fallen, &sticky, 100), [0, 100, 0]);
}

#[test]
fn the_own_zone_comes_first_while_a_backend_there_is_usable() {
    let near = |backend: Backend| Backend {
        location: BackendLocation {
            vicinity: Vicinity::Near,
            ..backend.location
        },
        ..backend
    };
    let mut worker = Worker::new();
    let all = fewest([near(primary()), replica(1), near(replica(2))]);
    assert_eq!(worker.shares(&all, &read(), 10), [0, 0, 10]);
    let all = fewest([near(primary()), replica(1), near(down(replica(2)))]);
    assert_eq!(worker.shares(&all, &read(), 10), [0, 10, 0]);
}

#[test]
fn a_replica_that_lags_too_much_or_drains_gets_no_reads() {
    let limit = |backend: Backend| Backend {
        lag_limit: LagLimit {
            max: Some(Duration::from_secs(5)),
            ..backend.lag_limit
        },
        ..backend
    };
    let seconds = |seconds| Lag::Behind(Duration::from_secs(seconds));
    let lagging = |id, lag| limit(standing(replica(id), "", lag));
    let mut worker = Worker::new();
    let all = fewest([primary(), lagging(1, seconds(7)), lagging(2, seconds(5))]);
    assert_eq!(worker.shares(&all, &read(), 10), [0, 0, 10]);
    let all = fewest([
        primary(),
        lagging(1, Lag::Stopped),
        lagging(2, Lag::Unknown),
    ]);
    assert_eq!(worker.shares(&all, &read(), 10), [0, 0, 10]);
    let draining = Backend {
        duty: Duty::Draining,
        ..replica(2)
    };
    let all = fewest([primary(), lagging(1, seconds(7)), draining]);
    assert_eq!(
        worker.explained(&all, &read()),
        [
            "primary: is a primary",
            "replica1: lags 7s, 5s are allowed",
            "replica2: is draining",
            "replica1: is a replica",
            "replica2: is a replica",
            "primary: 0 in flight, weight 1",
            "primary: is chosen",
        ]
    );
    // The lag changes under the same snapshot.
    all.backends[1].standing.set_lag(seconds(1));
    assert_eq!(worker.name(&all, &read()), "replica1");
}

fn written(position: &str) -> Written {
    Written::UpTo(Position::parse_any(position.as_bytes()).unwrap())
}

#[test]
fn a_read_goes_where_its_sessions_writes_are_known_to_be() {
    let written = written("0-1-100");
    let after = Wish {
        written: &written,
        ..read()
    };
    let mut worker = Worker::new();
    let all = fewest([
        primary(),
        standing(replica(1), "0-1-99", Lag::Behind(Duration::ZERO)),
        standing(replica(2), "0-1-100", Lag::Behind(Duration::ZERO)),
    ]);
    let placed = worker.select(&all, &after).unwrap();
    assert_eq!(
        (placed.backend.id, placed.arrival),
        (BackendId(2), Arrival::Now)
    );
    assert_eq!(worker.shares(&all, &after, 10), [0, 0, 10]);
    assert_near(worker.shares(&all, &read(), 100)[1], 50, 1);
    // Positions change under the same snapshot.
    let caught_up = Position::parse_any(b"0-1-120").ok();
    all.backends[1].standing.set_position(caught_up);
    assert_near(worker.shares(&all, &after, 100)[1], 50, 1);
}

#[test]
fn a_read_waits_for_a_replica_where_that_may_help() {
    let written = written("0-1-100");
    let after = Wish {
        written: &written,
        ..read()
    };
    let behind = |id, lag| standing(replica(id), "0-1-99", lag);
    let mut worker = Worker::new();
    let all = fewest([
        primary(),
        behind(1, Lag::Behind(Duration::ZERO)),
        behind(2, Lag::Behind(Duration::from_secs(7))),
    ]);
    let placed = worker.select(&all, &after).unwrap();
    assert_eq!(
        (placed.backend.id, placed.arrival),
        (BackendId(1), Arrival::AfterWait)
    );
    assert_eq!(
        worker.explained(&all, &after),
        [
            "primary: is a primary",
            "replica2: has not yet what was written, and lags 7s",
            "replica1: 0 in flight, weight 1",
            "replica1: is chosen",
        ]
    );
    let impatient = Wish {
        timeout_consistency: Duration::ZERO,
        ..after
    };
    let placed = worker.select(&all, &impatient).unwrap();
    assert_eq!(
        (placed.outcome, placed.arrival),
        (PlacementOutcome::FellBack, Arrival::Now)
    );
}

#[test]
fn a_wait_that_succeeded_is_remembered_until_the_backend_may_have_less() {
    let position = Position::parse_any(b"0-1-100").unwrap();
    let written = Written::UpTo(position.clone());
    let after = Wish {
        written: &written,
        ..read()
    };
    let all = fewest([primary(), standing(replica(1), "0-1-99", Lag::Unknown)]);
    let mut worker = Worker::new();
    let arrival = |worker: &mut Worker| worker.select(&all, &after).unwrap().arrival;
    assert_eq!(arrival(&mut worker), Arrival::AfterWait);
    worker.loads.reached(&all.backends[1], &position);
    assert_eq!(arrival(&mut worker), Arrival::Now);
    // The replica was restored from an older copy.
    all.backends[1]
        .standing
        .set_position(Position::parse_any(b"0-1-50").ok());
    assert_eq!(arrival(&mut worker), Arrival::AfterWait);
}

#[test]
fn a_write_of_unknown_position_is_seen_on_the_primary_only() {
    let unknown = Wish {
        written: &Written::Unknown,
        ..read()
    };
    let all = fewest([primary(), standing(replica(1), "0-1-99", Lag::Unknown)]);
    let mut worker = Worker::new();
    assert_eq!(worker.name(&all, &unknown), "primary");
    // Positions of another family cannot be compared.
    let mysql = written("3e11fa47-71ca-11e1-9e33-c80aa9429562:1");
    let foreign = Wish {
        written: &mysql,
        ..read()
    };
    assert_eq!(worker.name(&all, &foreign), "primary");
}

#[test]
fn a_named_backend_or_tag_is_the_only_one() {
    let tagged = Backend {
        tags: vec!["slow".to_owned(), "reports".to_owned()],
        ..replica(2)
    };
    let all = fewest([primary(), replica(1), tagged]);
    let mut worker = Worker::new();
    let named = Wish {
        backend: Some(BackendId(1)),
        ..read()
    };
    assert_eq!(worker.shares(&all, &named, 10), [0, 10, 0]);
    let tagged = Wish {
        tag: Some("reports"),
        ..read()
    };
    assert_eq!(worker.shares(&all, &tagged, 10), [0, 0, 10]);
    let tried = Wish {
        tried: &[BackendId(2)],
        ..tagged
    };
    assert_eq!(
        worker.select(&all, &tried).unwrap().outcome,
        PlacementOutcome::FellBack
    );
}

#[test]
fn a_full_backend_stays_available_to_a_session_that_holds_a_slot_there() {
    let full = Backend {
        sessions_max: Some(1),
        ..primary()
    };
    let all = fewest([full]);
    let _slot = all.backends[0].begin();
    let write = Wish::to(MAIN, Roles::Primary);
    let mut worker = Worker::new();
    assert_eq!(worker.select(&all, &write).unwrap_err(), NoBackend::AllFull);
    let seated = Wish {
        seats: &[BackendId(0)],
        ..write
    };
    assert!(worker.select(&all, &seated).is_ok());
}

#[test]
fn a_returning_backends_share_of_statements_grows_linearly() {
    for reads in [
        ReadPolicy::FewestInFlight,
        ReadPolicy::Weighted,
        ReadPolicy::RoundRobin,
        ReadPolicy::Latency,
    ] {
        for (seconds, per_cent) in [(0, 0), (5, 33), (10, 50)] {
            let returned = Backend {
                returned: Some(at(110 - seconds)),
                ..replica(1)
            };
            let all = topology(reads, [primary(), returned, replica(2)]);
            for id in [1, 2] {
                all.backends[id]
                    .standing
                    .set_latency(Duration::from_millis(1));
            }
            let share = Worker::new().shares(&all, &read(), 4000)[1];
            assert_near(share, per_cent * 40, 160);
        }
    }
}

const READS: [ReadPolicy; 5] = [
    ReadPolicy::FewestInFlight,
    ReadPolicy::Latency,
    ReadPolicy::RoundRobin,
    ReadPolicy::Weighted,
    ReadPolicy::Sticky,
];

fn any_backend(id: u32) -> impl Strategy<Value = Backend> {
    let role = prop_oneof![
        Just(None),
        Just(Some(Role::Primary)),
        Just(Some(Role::Replica))
    ];
    let lag = prop_oneof![
        Just(Lag::Unknown),
        Just(Lag::Stopped),
        (0u64..4).prop_map(|it| Lag::Behind(Duration::from_secs(it)))
    ];
    let lag_max = proptest::option::of((0u64..4).prop_map(Duration::from_secs));
    let state = (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..3);
    (role, lag, lag_max, 0u64..4, state, 0u32..2).prop_map(
        move |(role, lag, lag_max, position, (is_down, drains, is_near, weight), cluster)| {
            let backend = standing(replica(id), &format!("0-1-{position}"), lag);
            let backend = Backend {
                role,
                lag_limit: LagLimit {
                    max: lag_max,
                    ..backend.lag_limit
                },
                weight,
                cluster: ClusterId(cluster),
                location: BackendLocation {
                    vicinity: if is_near {
                        Vicinity::Near
                    } else {
                        Vicinity::Far
                    },
                    ..backend.location
                },
                duty: if drains {
                    Duty::Draining
                } else {
                    Duty::Serving
                },
                ..backend
            };
            if is_down { down(backend) } else { backend }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An unusable backend is never chosen, and a usable one is always found. A primary replaces a replica
    /// only if no replica is left. Without a wait, a replica that lacks the session's writes is never chosen.
    #[test]
    fn the_choice_agrees_with_a_naive_model(
        backends in (any_backend(0), any_backend(1), any_backend(2), any_backend(3)),
        reads in proptest::sample::select(READS.to_vec()),
        roles in prop_oneof![Just(Roles::Primary), Just(Roles::Any), Just(Roles::Replica)],
        may_fall_back: bool,
        wanted in proptest::option::of(0u64..4),
        sticky in proptest::option::of((0u32..4).prop_map(BackendId)),
        tried in proptest::collection::vec((0u32..4).prop_map(BackendId), 0..2),
        patience in 0u64..3,
        seed: u64,
    ) {
        let all = topology(reads, [backends.0, backends.1, backends.2, backends.3]);
        let position = wanted.map(|it| Position::parse_any(format!("0-1-{it}").as_bytes()).unwrap());
        let written = position.clone().map_or(Written::Nothing, Written::UpTo);
        let wish = Wish {
            fallback: if may_fall_back { Fallback::Primary } else { Fallback::Nobody },
            written: &written,
            timeout_consistency: Duration::from_secs(patience),
            sticky,
            tried: &tried,
            ..Wish::to(MAIN, roles)
        };
        let has = |b: &Backend| {
            b.role == Some(Role::Primary) || position.as_ref().is_none_or(|it| b.standing.has(it))
        };
        let will_do = |b: &Backend, roles: Roles| {
            let wait = match b.standing.lag() {
                Lag::Unknown => patience > 0,
                Lag::Behind(lag) => patience > 0 && lag <= Duration::from_secs(patience),
                Lag::Stopped => false,
            };
            b.cluster == MAIN && roles.allow(b.role) && !tried.contains(&b.id) && b.is_usable()
                && !b.is_left_out() && (has(b) || wait)
        };
        let ids = |roles: Roles| -> Vec<BackendId> {
            all.backends.iter().filter(|b| will_do(b, roles)).map(|b| b.id).collect()
        };
        let (wished, primaries) = (ids(roles), ids(Roles::Primary));
        let falls_back = roles == Roles::Replica && may_fall_back;
        let mut dice = Dice::new(seed);
        let mut considered: Vec<Considered> = Vec::new();
        let loads = Loads::default();
        match select_backend(&all, &wish, &loads, at(110), &mut dice, &mut considered) {
            Ok(placed) => {
                let id = placed.backend.id;
                match placed.outcome {
                    PlacementOutcome::AsWished => prop_assert!(wished.contains(&id)),
                    PlacementOutcome::FellBack => {
                        prop_assert!(wished.is_empty() && falls_back && primaries.contains(&id));
                    }
                }
                prop_assert_eq!(placed.arrival == Arrival::Now, has(placed.backend));
                prop_assert_eq!(considered.last().map(|it| (it.id, it.verdict)), Some((id, BackendVerdict::Chosen)));
                if sticky.is_some_and(|it| wished.contains(&it)) {
                    prop_assert_eq!(Some(id), sticky);
                }
            }
            Err(_) => prop_assert!(wished.is_empty() && (!falls_back || primaries.is_empty())),
        }
    }
}

#[test]
fn a_write_does_not_go_to_a_primary_that_is_read_only() {
    let read_only = Backend {
        monitored: Monitored {
            writes: Writes::Refused,
            ..primary().monitored
        },
        ..primary()
    };
    let all = fewest([read_only.clone()]);
    let mut worker = Worker::new();
    let wish = |use_for| Wish {
        use_for,
        ..Wish::to(MAIN, Roles::Primary)
    };
    let placed = worker
        .select(&all, &wish(Use::Any))
        .map(|placed| placed.backend.id);
    assert_eq!(placed, Ok(BackendId(0)));
    let refused = worker.select(&all, &wish(Use::Writes)).unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    // Another primary takes the write.
    let all = fewest([read_only, backend(1, Role::Primary)]);
    let placed = worker
        .select(&all, &wish(Use::Writes))
        .map(|placed| placed.backend.id);
    assert_eq!(placed, Ok(BackendId(1)));
}

#[test]
fn a_replica_that_does_not_replicate_is_left_out_without_any_limit() {
    let replica = backend(1, Role::Replica);
    let all = fewest([backend(0, Role::Primary), replica.clone()]);
    let mut worker = Worker::new();
    let mut goes_to = |all: &Topology| worker.select(all, &read()).unwrap().backend.id;
    assert_eq!(goes_to(&all), BackendId(1));
    replica.standing.set_lag(Lag::Stopped);
    assert_eq!(goes_to(&all), BackendId(0));
    assert_eq!(replica.replica_fault(), Some(Rejection::NotReplicating));
    // If the lag of a replica is unknown, the configuration decides.
    replica.standing.set_lag(Lag::Unknown);
    assert_eq!(goes_to(&all), BackendId(1));
    let strict = Backend {
        lag_limit: LagLimit {
            unknown: UnknownLag::LeaveOut,
            ..replica.lag_limit
        },
        ..replica
    };
    let all = fewest([backend(0, Role::Primary), strict]);
    assert_eq!(goes_to(&all), BackendId(0));
}
