//! The lane that a statement uses, when another lane is opened, and the statistics about statements and depth.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use backend::worker_pool::HeldConnection;
use dialogues::peer::{OK, Peer, packet};
use dialogues::{play, settle};
use pilotfish_lanes::lane::SharedLane;
use route::BackendId;
use route::lane_check::{NotLaneable, Observed};
use session::state::{Rules, SessionState};
use sql::Flags;

use crate::support::{LaneSession, Scene};

/// The wanted depth of a lane before there are measurements.
const DEEP: usize = 8;

/// The maximum depth of a lane.
const DEPTH_MAX: usize = 128;

/// The maximum number of lanes to one backend.
const LANES_MAX: usize = 4;

fn fresh(scene: &Scene) -> SessionState {
    let values = scene.pool.environment.pool.store.values.fresh();
    SessionState::new(Rules::default(), values, Flags::default())
}

/// The lane that a statement gets if the pool can lease this connection.
fn lane_with(
    scene: &Scene,
    state: &SessionState,
    held: Option<HeldConnection>,
) -> Result<Rc<SharedLane>, NotLaneable> {
    scene.lanes.lane(scene.pool.sub_pool.id, state, || held)
}

/// Submits this number of statements that get no answer.
fn fill(scene: &Scene, lane: &SharedLane, count: usize) -> Vec<LaneSession> {
    let sessions = (0..count).map(|_| {
        let session = scene.session();
        session.submit(lane, "SELECT 1").unwrap();
        session
    });
    sessions.collect()
}

#[test]
fn a_lane_that_is_not_deep_is_shared_and_no_other_opened() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        let (held, _db) = scene.pool.open().await;
        let lane = lane_with(&scene, &state, Some(held)).unwrap();
        let _sessions = fill(&scene, &lane, DEEP - 1);
        let has_asked = Cell::new(false);
        let again = scene.lanes.lane(scene.pool.sub_pool.id, &state, || {
            has_asked.set(true);
            None
        });
        assert!(Rc::ptr_eq(&again.unwrap(), &lane));
        assert!(!has_asked.get(), "another connection would serve worse");
    });
}

#[test]
fn a_deep_lane_gets_a_neighbour_and_statements_go_to_the_one_with_fewer() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        let (held, _db) = scene.pool.open().await;
        let first = lane_with(&scene, &state, Some(held)).unwrap();
        let _sessions = fill(&scene, &first, DEEP);
        let none = lane_with(&scene, &state, None).unwrap();
        assert!(
            Rc::ptr_eq(&none, &first),
            "no connection is free for a second one"
        );
        let (held, _other_db) = scene.pool.open().await;
        let second = lane_with(&scene, &state, Some(held)).unwrap();
        assert!(!Rc::ptr_eq(&second, &first));
        let _more = fill(&scene, &second, 1);
        let next = lane_with(&scene, &state, None).unwrap();
        assert!(Rc::ptr_eq(&next, &second));
    });
}

#[test]
fn the_number_of_lanes_is_bounded_and_full_lanes_take_no_statement() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        let mut all: Vec<(Rc<SharedLane>, Peer, Vec<LaneSession>)> = Vec::new();
        for _ in 0..LANES_MAX {
            assert!(scene.lanes.has_room(scene.pool.sub_pool.id));
            let (held, db) = scene.pool.open().await;
            let lane = lane_with(&scene, &state, Some(held)).unwrap();
            let sessions = fill(&scene, &lane, DEEP);
            all.push((lane, db, sessions));
        }
        assert!(!scene.lanes.has_room(scene.pool.sub_pool.id));
        let has_asked = Cell::new(false);
        let take = || {
            has_asked.set(true);
            None
        };
        assert!(
            scene
                .lanes
                .lane(scene.pool.sub_pool.id, &state, take)
                .is_ok()
        );
        assert!(!has_asked.get(), "there are as many as there may be");
        for (lane, _, sessions) in &mut all {
            sessions.extend(fill(&scene, lane, DEPTH_MAX - DEEP));
        }
        let full = lane_with(&scene, &state, None);
        assert_eq!(full.err(), Some(NotLaneable::NoLane));
    });
}

#[test]
fn a_session_in_another_schema_uses_no_lane_of_sessions_without_one() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        let (held, _db) = scene.pool.open().await;
        let lane = lane_with(&scene, &state, Some(held)).unwrap();
        let _sessions = fill(&scene, &lane, 1);
        let values = scene.pool.environment.pool.store.values.in_schema(b"shop");
        let other = SessionState::new(Rules::default(), values, Flags::default());
        let refused = lane_with(&scene, &other, None);
        assert_eq!(refused.err(), Some(NotLaneable::NoLane));
    });
}

#[test]
fn no_statement_uses_a_lane_that_logged_in_before_a_grant() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        let (held, _db) = scene.pool.open().await;
        let lane = lane_with(&scene, &state, Some(held)).unwrap();
        let _sessions = fill(&scene, &lane, 1);
        let shared = &scene.pool.environment.pool.shared;
        shared.privileges_changed(backend::privilege_changes::AffectedUsers::All);
        assert_eq!(
            lane_with(&scene, &state, None).err(),
            Some(NotLaneable::NoLane)
        );
    });
}

#[test]
fn a_second_lane_is_wanted_from_the_depth_at_which_statements_are_as_cheap_as_ever() {
    play(async {
        let mut scene = Scene::plain();
        let state = fresh(&scene);
        // Two statements at once take as long as one; with more, the time grows with their number.
        for (depth, took) in [(1, 2), (2, 2), (4, 4), (8, 8)] {
            let (lane, mut db) = scene.lane().await;
            let sessions = fill(&scene, &lane, depth);
            tokio::time::sleep(Duration::from_millis(took)).await;
            for _ in 0..depth {
                db.receive_command().await;
            }
            db.send(&packet(1, OK).repeat(depth)).await;
            for session in sessions {
                session.end().await;
            }
            settle().await;
            let held = scene.pool.take().await;
            scene.pool.pool.forget(held, pool::CloseReason::Ended);
        }
        let (lane, _db) = scene.lane().await;
        let wants_another = || {
            let has_asked = Cell::new(false);
            let take = || {
                has_asked.set(true);
                None
            };
            assert!(
                scene
                    .lanes
                    .lane(scene.pool.sub_pool.id, &state, take)
                    .is_ok()
            );
            has_asked.get()
        };
        let _three = fill(&scene, &lane, 3);
        assert!(!wants_another(), "deeper may be cheaper still");
        let _fourth = fill(&scene, &lane, 1);
        assert!(wants_another());
    });
}

#[test]
fn digest_stats_are_shared_by_all_values_and_kept_per_backend() {
    play(async {
        let scene = Scene::plain();
        let digest = |text: &str| scene.lanes.digest(text.as_bytes(), Flags::default());
        let one = digest("SELECT a FROM t WHERE id = 1");
        assert_eq!(one, digest("select a from t where id = 27"));
        assert_ne!(one, digest("SELECT b FROM t WHERE id = 1"));
        let short = Observed {
            took: Duration::from_micros(100),
            bytes: 100,
            has_warned: false,
        };
        let is_short = |backend| scene.lanes.stats(BackendId(backend), one).is_short();
        for _ in 0..2 {
            scene.lanes.learn(BackendId(1), one, &short);
        }
        assert_eq!(is_short(1), Err(NotLaneable::Unknown));
        scene.lanes.learn(BackendId(1), one, &short);
        assert_eq!(is_short(1), Ok(()));
        assert_eq!(is_short(2), Err(NotLaneable::Unknown));
        let warns = Observed {
            has_warned: true,
            ..short
        };
        scene.lanes.learn(BackendId(1), one, &warns);
        assert_eq!(is_short(1), Err(NotLaneable::Warns));
    });
}
