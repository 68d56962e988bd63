//! The choice of a backend: fixed cases, a naive model, and shares over many draws.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::{
    BackendLocation, Cluster, Duty, Health, Lag, LagLimit, Load, Monitored, ReadPolicy, Role,
    SessionSlot, Standing, UnknownLag, Writes,
};
use std::time::Duration;

const SLOW_START: Duration = Duration::from_secs(10);

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

/// A healthy primary, named `a` for id 0, `b` for id 1 and so on.
fn backend(id: u32) -> Backend {
    Backend {
        id: BackendId(id),
        name: char::from(b'a' + id as u8).to_string(),
        location: BackendLocation {
            host: None,
            endpoints: Vec::new(),
            zone: None,
            vicinity: Vicinity::Far,
        },
        cluster: ClusterId(0),
        role: Some(Role::Primary),
        tags: Vec::new(),
        weight: 1,
        sessions_max: None,
        duty: Duty::Serving,
        lag_limit: LagLimit {
            max: None,
            unknown: UnknownLag::Use,
        },
        monitored: Monitored {
            server: None,
            writes: Writes::Unknown,
            has_answered: false,
            complaint: None,
        },
        standing: Arc::default(),
        health: Health::Up {
            since: Moment::START,
        },
        returned: None,
        load: Arc::default(),
    }
}

fn weighing(id: u32, weight: u32) -> Backend {
    Backend {
        weight,
        ..backend(id)
    }
}

fn down(id: u32) -> Backend {
    Backend {
        health: Health::Down {
            since: Moment::START,
            cause: "connection refused".into(),
        },
        ..backend(id)
    }
}

/// A backend that returned at second 100.
fn returned(id: u32) -> Backend {
    Backend {
        health: Health::Up { since: at(100) },
        returned: Some(at(100)),
        ..backend(id)
    }
}

fn topology(policy: Policy, backends: impl IntoIterator<Item = Backend>) -> Topology {
    Topology {
        generation: 1,
        default_cluster: None,
        backends: backends.into_iter().map(Arc::new).collect(),
        clusters: vec![Cluster {
            id: ClusterId(0),
            name: "main".into(),
            written: Arc::default(),
        }],
        policy,
        reads: ReadPolicy::default(),
        roles: Roles::Any,
        slow_start: SLOW_START,
    }
}

/// A session of the topology's default cluster, with the roles that the topology sets for all sessions.
fn whole<'a>(topology: &Topology, tried: &'a [BackendId]) -> Whole<'a> {
    Whole {
        cluster: topology.default_cluster(),
        roles: topology.roles,
        tried,
        use_for: Use::Any,
    }
}

/// Begins `count` sessions on the backend with this id.
fn burden(topology: &Topology, id: u32, count: usize) -> Vec<SessionSlot> {
    let backend = topology.backend(BackendId(id)).unwrap();
    (0..count).map(|_| backend.begin().unwrap()).collect()
}

/// The names of the backends chosen for `count` sessions that each end immediately.
fn draws(topology: &Topology, count: usize, now: Moment) -> Vec<String> {
    let mut dice = Dice::new(42);
    (0..count)
        .map(|_| {
            choose(topology, &whole(topology, &[]), now, &mut dice)
                .unwrap()
                .name
                .clone()
        })
        .collect()
}

/// For each backend, the number of 10,000 sessions that go there; each session ends immediately.
fn shares(topology: &Topology, now: Moment) -> Vec<usize> {
    let drawn = draws(topology, 10_000, now);
    let count = |name: &str| drawn.iter().filter(|drawn| *drawn == name).count();
    topology.backends.iter().map(|b| count(&b.name)).collect()
}

/// For each backend, the number of `count` sessions that go there; no session ends.
fn lasting(topology: &Topology, count: usize, now: Moment) -> Vec<u32> {
    let mut dice = Dice::new(42);
    let slots: Vec<_> = (0..count)
        .map(|_| {
            choose(topology, &whole(topology, &[]), now, &mut dice)
                .unwrap()
                .begin()
        })
        .collect();
    let sessions = topology.backends.iter().map(|b| b.load.sessions());
    let sessions = sessions.collect();
    drop(slots);
    sessions
}

#[track_caller]
fn assert_near(actual: usize, expected: usize, off_by: usize) {
    assert!(
        actual.abs_diff(expected) <= off_by,
        "{actual} is not within {off_by} of {expected}"
    );
}

#[test]
fn the_fewest_sessions_win_and_the_first_wins_ties() {
    let all = topology(Policy::FewestSessions, [backend(0), backend(1), backend(2)]);
    assert_eq!(draws(&all, 1, at(0)), ["a"]);
    let _a = burden(&all, 0, 2);
    let _b = burden(&all, 1, 1);
    assert_eq!(draws(&all, 1, at(0)), ["c"]);
    let _c = burden(&all, 2, 1);
    assert_eq!(draws(&all, 1, at(0)), ["b"]);
}

#[test]
fn fewest_sessions_keeps_lasting_sessions_in_proportion_to_weights() {
    let all = topology(Policy::FewestSessions, [weighing(0, 1), weighing(1, 3)]);
    assert_eq!(lasting(&all, 400, at(0)), [100, 300]);
}

#[test]
fn round_robin_chooses_each_backend_in_turn() {
    let all = topology(Policy::RoundRobin, [backend(0), backend(1), backend(2)]);
    let drawn = draws(&all, 30, at(0)).concat();
    assert!("abc".repeat(11).contains(&drawn), "{drawn}");
}

#[test]
fn round_robin_does_not_give_the_share_of_a_fallen_backend_to_its_neighbour() {
    let all = topology(Policy::RoundRobin, [backend(0), down(1), backend(2)]);
    assert_eq!(shares(&all, at(0)), [5000, 0, 5000]);
}

#[test]
fn workers_with_other_seeds_begin_their_rounds_at_other_backends() {
    let all = topology(Policy::RoundRobin, [backend(0), backend(1), backend(2)]);
    let first = |seed| {
        choose(&all, &whole(&all, &[]), at(0), &mut Dice::new(seed))
            .unwrap()
            .id
    };
    let firsts: std::collections::BTreeSet<_> = (0..32).map(first).collect();
    assert_eq!(firsts.len(), 3);
}

#[test]
fn weighted_gives_sessions_in_proportion_to_weights() {
    let all = topology(
        Policy::Weighted,
        [weighing(0, 1), weighing(1, 2), weighing(2, 7)],
    );
    let shares = shares(&all, at(0));
    assert_near(shares[0], 1000, 10);
    assert_near(shares[1], 2000, 10);
    assert_near(shares[2], 7000, 10);
}

#[test]
fn weighted_is_even_already_over_a_few_sessions() {
    let all = topology(Policy::Weighted, [weighing(0, 2), weighing(1, 1)]);
    let drawn = draws(&all, 300, at(0));
    for few in drawn.chunks(30) {
        assert_near(few.iter().filter(|name| *name == "a").count(), 20, 2);
    }
}

#[test]
fn random_of_two_draws_backends_evenly_and_takes_the_less_loaded() {
    let all = topology(Policy::RandomOfTwo, [backend(0), backend(1), backend(2)]);
    for share in shares(&all, at(0)) {
        assert_near(share, 3333, 200);
    }
    // The busiest of three backends is never the less loaded one of two.
    let _a = burden(&all, 0, 9);
    let _b = burden(&all, 1, 1);
    let shares = shares(&all, at(0));
    assert_eq!(shares[0], 0);
    // b wins only if it is drawn together with a: one pair in three.
    assert_near(shares[1], 3333, 200);
}

#[test]
fn random_of_two_keeps_lasting_sessions_nearly_even() {
    let all = topology(Policy::RandomOfTwo, (0..8).map(backend));
    for sessions in lasting(&all, 800, at(0)) {
        assert_near(sessions as usize, 100, 5);
    }
}

#[test]
fn ordered_stays_with_the_first_that_is_healthy() {
    let all = topology(Policy::Ordered, [down(0), backend(1), backend(2)]);
    let _b = burden(&all, 1, 100);
    assert_eq!(shares(&all, at(0)), [0, 10_000, 0]);
}

#[test]
fn a_retry_goes_elsewhere_and_ends_when_all_are_tried() {
    for policy in POLICIES {
        let all = topology(policy, [backend(0), backend(1), backend(2)]);
        let mut dice = Dice::new(1);
        let mut tried = Vec::new();
        for _ in 0..3 {
            let chosen = choose(&all, &whole(&all, &tried), at(0), &mut dice).unwrap();
            assert!(!tried.contains(&chosen.id));
            tried.push(chosen.id);
        }
        let none = choose(&all, &whole(&all, &tried), at(0), &mut dice).unwrap_err();
        assert_eq!(none, NoBackend::AllTried);
    }
}

#[test]
fn a_backend_of_weight_zero_is_chosen_only_when_there_is_no_other() {
    for policy in POLICIES {
        let all = topology(policy, [weighing(0, 0), backend(1)]);
        let mut dice = Dice::new(1);
        for _ in 0..100 {
            assert_eq!(
                choose(&all, &whole(&all, &[]), at(0), &mut dice)
                    .unwrap()
                    .name,
                "b"
            );
        }
        let last = choose(&all, &whole(&all, &[BackendId(1)]), at(0), &mut dice);
        assert_eq!(last.unwrap().name, "a");
    }
}

#[test]
fn a_returning_backends_share_grows_linearly() {
    for policy in [Policy::Weighted, Policy::RoundRobin, Policy::Ordered] {
        let all = topology(policy, [returned(0), backend(1)]);
        let full = shares(&all, at(110))[0];
        for seconds in [0, 2, 5, 8] {
            let share = shares(&all, at(100 + seconds))[0];
            let expected = match policy {
                // The reduced weight against the full weight of the other backend.
                Policy::Weighted => 10_000 * seconds / (seconds + 10),
                // The backend is skipped in proportion to its missing share; its next turn then comes sooner.
                Policy::RoundRobin => 10_000 * seconds / (seconds + 10),
                _ => 10_000 * seconds / 10,
            };
            assert_near(share, expected as usize, 200);
            assert!(share < full);
        }
        assert_eq!(
            full,
            if policy == Policy::Ordered {
                10_000
            } else {
                5000
            }
        );
    }
}

#[test]
fn a_returning_backend_is_not_flooded_because_it_is_empty() {
    for policy in [Policy::FewestSessions, Policy::RandomOfTwo] {
        let all = topology(policy, [returned(0), backend(1)]);
        let _b = burden(&all, 1, 100);
        let gained = |seconds: u64| lasting(&all, 20, at(100 + seconds))[0];
        assert_eq!(gained(0), 0, "at its return it has no share yet");
        // A tenth of the more than one hundred sessions of the other backend.
        assert_near(gained(1) as usize, 11, 2);
        assert_eq!(gained(10), 20, "with a full share it catches up");
    }
}

#[test]
fn a_returning_backend_takes_all_when_it_is_alone() {
    for policy in POLICIES {
        let all = topology(policy, [returned(0), down(1)]);
        assert_eq!(shares(&all, at(100)), [10_000, 0]);
    }
}

#[test]
fn without_slow_start_a_returning_backend_has_its_share_at_once() {
    let all = Topology {
        slow_start: Duration::ZERO,
        ..topology(Policy::RoundRobin, [returned(0), backend(1)])
    };
    assert_eq!(shares(&all, at(100)), [5000, 5000]);
}

#[test]
fn the_error_names_each_backend_that_is_down_and_the_reason() {
    let all = topology(Policy::FewestSessions, [down(0), down(1)]);
    let none = choose(&all, &whole(&all, &[]), at(0), &mut Dice::new(1)).unwrap_err();
    assert_eq!(
        none.to_string(),
        "Can't connect to MySQL server: all backends are down, tried a: connection refused; b: connection refused"
    );
}

#[test]
fn a_full_backend_counts_more_than_one_that_is_down() {
    let full = Backend {
        sessions_max: Some(1),
        ..backend(0)
    };
    let all = topology(Policy::FewestSessions, [full, down(1)]);
    let _slot = burden(&all, 0, 1);
    let none = choose(&all, &whole(&all, &[]), at(0), &mut Dice::new(1)).unwrap_err();
    assert_eq!(none, NoBackend::AllFull);
}

#[test]
fn without_a_backend_of_an_allowed_role_none_is_configured() {
    let all = Topology {
        roles: Roles::Replica,
        ..topology(Policy::FewestSessions, [backend(0)])
    };
    let none = choose(&all, &whole(&all, &[]), at(0), &mut Dice::new(1)).unwrap_err();
    assert_eq!(none, NoBackend::NoneConfigured);
}

#[test]
fn the_error_names_backends_of_unknown_role_if_a_role_is_required() {
    let nameless = |backend| Backend {
        role: None,
        ..backend
    };
    let all = Topology {
        roles: Roles::Primary,
        ..topology(
            Policy::FewestSessions,
            [nameless(backend(0)), nameless(down(1))],
        )
    };
    let none = choose(&all, &whole(&all, &[]), at(0), &mut Dice::new(1)).unwrap_err();
    let told = none.to_string();
    assert!(
        told.contains("a has no role that is known yet") && told.contains("b is down"),
        "{told}"
    );
}

#[test]
fn a_session_goes_to_its_own_cluster() {
    let other = Backend {
        cluster: ClusterId(1),
        ..backend(1)
    };
    let all = topology(Policy::FewestSessions, [backend(0), other]);
    let whole = |cluster| Whole {
        cluster: ClusterId(cluster),
        ..whole(&all, &[])
    };
    let mut dice = Dice::new(1);
    let mut name =
        |cluster| choose(&all, &whole(cluster), at(0), &mut dice).map(|b| b.name.clone());
    assert_eq!(name(0), Ok("a".to_owned()));
    assert_eq!(name(1), Ok("b".to_owned()));
    assert_eq!(name(2), Err(NoBackend::NoneConfigured));
}

#[test]
fn the_proxys_own_zone_comes_first_while_a_backend_there_is_up() {
    let near = |backend: Backend| Backend {
        location: BackendLocation {
            vicinity: Vicinity::Near,
            ..backend.location
        },
        ..backend
    };
    let all = topology(
        Policy::RoundRobin,
        [backend(0), near(backend(1)), near(backend(2))],
    );
    assert_eq!(shares(&all, at(0)), [0, 5000, 5000]);
    let all = topology(Policy::RoundRobin, [backend(0), near(down(1)), backend(2)]);
    assert_eq!(shares(&all, at(0)), [5000, 0, 5000]);
}

#[test]
fn a_disabled_backend_gets_no_session_and_is_shown_as_disabled_even_if_down() {
    let disabled = Backend {
        duty: Duty::Disabled,
        ..down(0)
    };
    let mut dice = Dice::new(1);
    let mut chosen = |backends: &[Backend]| {
        let all = topology(Policy::FewestSessions, backends.iter().cloned());
        let chosen = choose(&all, &whole(&all, &[]), at(0), &mut dice);
        chosen
            .map(|it| it.name.clone())
            .map_err(|none| none.to_string())
    };
    assert_eq!(chosen(&[disabled.clone(), backend(1)]), Ok("b".to_owned()));
    let none = chosen(&[disabled]).unwrap_err();
    assert!(none.contains("a is disabled"), "{none}");
}

#[test]
fn a_backend_that_drains_or_lags_or_has_no_role_gets_no_session() {
    let draining = Backend {
        duty: Duty::Draining,
        ..backend(0)
    };
    let lagging = Backend {
        role: Some(Role::Replica),
        lag_limit: LagLimit {
            max: Some(Duration::from_secs(5)),
            unknown: UnknownLag::Use,
        },
        standing: Arc::new(Standing::default()),
        ..backend(1)
    };
    lagging
        .standing
        .set_lag(Lag::Behind(Duration::from_secs(7)));
    let unknown = Backend {
        role: None,
        ..backend(2)
    };
    let roles = |roles, backends: [Backend; 3]| Topology {
        roles,
        ..topology(Policy::FewestSessions, backends)
    };
    let backends = [draining, lagging, unknown];
    let mut dice = Dice::new(1);
    let all = roles(Roles::Primary, backends.clone());
    let none = choose(&all, &whole(&all, &[]), at(0), &mut dice).unwrap_err();
    assert_eq!(
        none.to_string(),
        "No backend can take this session or statement now: a is draining"
    );
    let all = roles(Roles::Replica, backends.clone());
    let none = choose(&all, &whole(&all, &[]), at(0), &mut dice).unwrap_err();
    assert_eq!(
        none.to_string(),
        "No backend can take this session or statement now: b lags 7s, 5s are allowed"
    );
    // A session for any role also takes a backend of unknown role.
    let all = roles(Roles::Any, backends);
    assert_eq!(
        choose(&all, &whole(&all, &[]), at(0), &mut dice)
            .unwrap()
            .name,
        "c"
    );
}

#[test]
fn round_robin_turns_are_kept_separately_for_each_cluster() {
    let other = |id| Backend {
        cluster: ClusterId(1),
        ..backend(id)
    };
    let all = topology(
        Policy::RoundRobin,
        [backend(0), backend(1), other(2), other(3)],
    );
    let mut dice = Dice::new(1);
    let mut seen = [0; 4];
    for _ in 0..100 {
        for cluster in 0..2 {
            let whole = Whole {
                cluster: ClusterId(cluster),
                ..whole(&all, &[])
            };
            seen[choose(&all, &whole, at(0), &mut dice).unwrap().id.0 as usize] += 1;
        }
    }
    assert_eq!(seen, [50; 4]);
}

const POLICIES: [Policy; 5] = [
    Policy::FewestSessions,
    Policy::RoundRobin,
    Policy::Weighted,
    Policy::RandomOfTwo,
    Policy::Ordered,
];

/// A backend and its number of sessions.
fn any_backend() -> impl Strategy<Value = (Backend, u32)> {
    let health = prop_oneof![
        Just(Health::Unknown),
        Just(Health::Up { since: at(100) }),
        Just(Health::Down {
            since: at(100),
            cause: "timed out".into()
        }),
    ];
    let role = prop_oneof![
        Just(None),
        Just(Some(Role::Primary)),
        Just(Some(Role::Replica))
    ];
    let max = proptest::option::of(0u32..4);
    let returned = proptest::option::of((90u64..120).prop_map(at));
    (health, role, 0u32..5, max, returned, 0u32..4).prop_map(
        |(health, role, weight, sessions_max, returned, sessions)| {
            let backend = Backend {
                health,
                role,
                weight,
                sessions_max,
                returned,
                ..backend(0)
            };
            (backend, sessions.min(sessions_max.unwrap_or(sessions)))
        },
    )
}

fn any_topology() -> impl Strategy<Value = (Topology, Vec<SessionSlot>)> {
    let roles = prop_oneof![Just(Roles::Primary), Just(Roles::Any), Just(Roles::Replica)];
    let policy = proptest::sample::select(POLICIES.to_vec());
    (
        proptest::collection::vec(any_backend(), 0..6),
        roles,
        policy,
    )
        .prop_map(|(backends, roles, policy)| {
            let numbered = backends.into_iter().zip(0..);
            let (backends, slots): (Vec<_>, Vec<_>) = numbered
                .map(|((backend, sessions), id)| {
                    let load = Arc::new(Load::default());
                    let slots: Vec<_> = (0..sessions).filter_map(|_| load.begin(None)).collect();
                    let id = BackendId(id);
                    (
                        Backend {
                            id,
                            load,
                            ..backend
                        },
                        slots,
                    )
                })
                .unzip();
            let topology = Topology {
                roles,
                ..topology(policy, backends)
            };
            (topology, slots.into_iter().flatten().collect())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A backend that is down, full, tried or of another role is never chosen. A usable backend is always
    /// found if there is one; otherwise the error equals that of the naive model.
    #[test]
    fn the_choice_agrees_with_a_naive_model(
        (topology, _slots) in any_topology(),
        tried in proptest::collection::vec((0u32..6).prop_map(BackendId), 0..4),
        seed: u64,
        rounds in 1usize..8,
    ) {
        let allowed: Vec<_> =
            topology.backends.iter().filter(|b| topology.roles.allow(b.role)).collect();
        // The error names them if no backend has the role.
        let nameless: Vec<_> = topology.backends.iter().filter(|b| b.role.is_none()).collect();
        let is_down = |b: &&Arc<Backend>| matches!(b.health, Health::Down { .. });
        let fresh: Vec<_> = allowed.iter().filter(|b| !tried.contains(&b.id)).collect();
        let usable: Vec<_> =
            fresh.iter().filter(|b| !matches!(b.health, Health::Down { .. })).collect();
        let free: Vec<_> = usable
            .iter()
            .filter(|b| b.sessions_max.is_none_or(|max| b.load.sessions() < max))
            .map(|b| b.id)
            .collect();
        let mut dice = Dice::new(seed);
        for _ in 0..rounds {
            match choose(&topology, &whole(&topology, &tried), at(110), &mut dice) {
                Ok(chosen) => prop_assert!(free.contains(&chosen.id)),
                Err(none) => {
                    prop_assert!(free.is_empty());
                    match none {
                        NoBackend::NoneConfigured => {
                            prop_assert!(allowed.is_empty() && nameless.is_empty());
                        }
                        NoBackend::AllFull => prop_assert!(!usable.is_empty()),
                        NoBackend::AllTried => {
                            prop_assert!(usable.is_empty() && fresh.len() < allowed.len());
                        }
                        NoBackend::NoneUsable(told) => {
                            prop_assert!(allowed.is_empty() && !nameless.iter().all(is_down));
                            prop_assert_eq!(told.len(), nameless.len());
                        }
                        NoBackend::AllDown(fallen) if allowed.is_empty() => {
                            prop_assert!(nameless.iter().all(is_down));
                            prop_assert_eq!(fallen.len(), nameless.len());
                        }
                        NoBackend::AllDown(fallen) => {
                            prop_assert!(usable.is_empty() && !allowed.is_empty());
                            prop_assert_eq!(fallen.len(), allowed.len());
                        }
                    }
                }
            }
        }
    }
}
