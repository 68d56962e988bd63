//! Replies on a lane: each reply goes to its own client, in any pieces, and only as fast as the client reads.

use std::time::Duration;

use dialogues::peer::{OK, err, packet};
use dialogues::pool_scene::{POOLED, result};
use dialogues::{play, settle};
use link::leg::Leg;
use pilotfish_lanes::lane_request::LaneRequestEnd;
use session::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use wire::StatusFlags;
use wire::reply::{OkHeader, OkPacket};
use wire::session_track::{Change, put_ok};

use crate::support::{LaneSession, Scene, name};

#[test]
fn statements_of_several_sessions_are_under_way_together_and_each_gets_its_own_reply() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (mut one, mut other) = (scene.session(), scene.session());
        one.submit(&lane, "SELECT 1").unwrap();
        other.submit(&lane, "SELECT 2").unwrap();
        assert_eq!(lane.depth(), Some(2));
        assert_eq!(db.receive_command().await, b"\x03SELECT 1");
        assert_eq!(db.receive_command().await, b"\x03SELECT 2");
        db.send(&[packet(1, OK), packet(1, &err(1146, "no such table"))].concat())
            .await;
        let LaneRequestEnd::Over(done, plan) = one.end().await else {
            panic!("it has its reply");
        };
        assert_eq!(
            (done.outcome, plan.bytes),
            (Outcome::Ok, packet(1, OK).len() as u64)
        );
        assert_eq!(one.app.receive().await, OK);
        let LaneRequestEnd::Over(done, _) = other.end().await else {
            panic!("it has its reply");
        };
        assert_eq!(done.outcome, Outcome::Err(1146));
        assert_eq!(other.app.receive_err().await.0, 1146);
        assert_eq!(lane.depth(), Some(0));
    });
}

#[test]
fn replies_in_any_pieces_go_to_their_own_sessions() {
    play(async {
        let mut scene = Scene::plain();
        let (held, mut db) = scene.pool.open().await;
        scene.pool.pool.give_back(held);
        let replies = [result(1, 2), result(3, 1)];
        let all = replies.concat();
        for cut in 1..all.len() {
            settle().await;
            let held = scene.pool.take().await;
            let lane = scene.lanes.open(scene.pool.sub_pool.id, held);
            let (one, other) = (scene.session(), scene.session());
            one.submit(&lane, "SELECT 1").unwrap();
            other.submit(&lane, "SELECT 1, 2, 3").unwrap();
            db.receive_command().await;
            db.receive_command().await;
            db.send(&all[..cut]).await;
            settle().await;
            db.send(&all[cut..]).await;
            for (session, reply) in [one, other].into_iter().zip(&replies) {
                assert_eq!(name(&session.end().await), "over", "cut at {cut}");
                let mut heard = vec![0; reply.len()];
                let mut app = session.app.into_end();
                app.read_exact(&mut heard).await.unwrap();
                assert!(heard == *reply, "cut at {cut}");
            }
        }
    });
}

#[test]
fn replies_to_a_session_that_has_left_the_lane_are_discarded() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (head, behind, mut last) = (scene.session(), scene.session(), scene.session());
        let first = head.submit(&lane, "SELECT 1").unwrap();
        let second = behind.submit(&lane, "SELECT 2").unwrap();
        last.submit(&lane, "SELECT 3").unwrap();
        assert!(!lane.leave(second), "the server is not at it yet");
        assert!(lane.leave(first), "the server is at it, for nobody");
        assert!(!lane.leave(first), "it has left");
        for text in [b"\x03SELECT 1", b"\x03SELECT 2", b"\x03SELECT 3"] {
            assert_eq!(db.receive_command().await, text);
        }
        db.send(&[result(1, 1), result(2, 1), packet(1, OK)].concat())
            .await;
        assert_eq!(name(&last.end().await), "over");
        assert_eq!(last.app.receive().await, OK);
        for session in [head, behind] {
            assert!(!session.has_ended());
            assert_eq!(session.request.bytes(), 0);
        }
    });
}

#[test]
fn a_lane_without_statements_returns_its_connection_to_the_pool() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        db.send_payload(OK).await;
        session.end().await;
        settle().await;
        assert!(scene.session().submit(&lane, "SELECT 2").is_none());
        assert_eq!(scene.pool.take().await.conn.thread_id, 1);
    });
}

#[test]
fn a_client_that_does_not_read_keeps_no_more_than_a_bound_of_its_reply_in_memory() {
    play(async {
        const ROOM: usize = 4 << 10;
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session_with(ROOM);
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        let reply = result(1, 200_000);
        let mut db = db.into_end();
        let before = usize::try_from(db.taken()).unwrap();
        let mut rest = &reply[..];
        let stuck = timeout(Duration::from_secs(60), db.write_all_buf(&mut rest)).await;
        assert!(stuck.is_err(), "nobody has taken the reply");
        let kept = usize::try_from(db.taken()).unwrap() - before;
        assert!(kept <= (256 << 10) + (32 << 10), "{kept} bytes are kept");
        let LaneSession { request, app } = session;
        let mut app = app.into_end();
        let reads = async {
            let mut heard = vec![0; reply.len()];
            app.read_exact(&mut heard).await.unwrap();
            assert!(heard == reply);
        };
        // The session has its client connection back after the end of the reply, and sends the rest itself.
        let drains = async {
            while request.end.borrow().is_none() {
                settle().await;
            }
            let mut leg = request.client.replace(Leg::gone());
            leg.drained().await.unwrap();
        };
        let writes = async { db.write_all(rest).await.unwrap() };
        tokio::join!(reads, writes, drains);
    });
}

#[test]
fn statements_behind_one_that_changes_connection_state_leave_the_lane() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (head, behind) = (scene.session(), scene.session());
        head.submit(&lane, "SELECT a_function_that_says_use()")
            .unwrap();
        behind.submit(&lane, "SELECT * FROM t").unwrap();
        db.receive_command().await;
        let mut changed = Vec::new();
        let ok = OkPacket {
            status: StatusFlags::AUTOCOMMIT,
            ..OkPacket::default()
        };
        let changes = [Change::Schema(b"elsewhere")];
        put_ok(&mut changed, OkHeader::Ok, POOLED, &ok, b"", changes);
        db.send_payload(&changed).await;
        assert_eq!(name(&head.end().await), "over");
        assert_eq!(name(&behind.end().await), "elsewhere");
        assert!(scene.session().submit(&lane, "SELECT 1").is_none());
        // The statement was sent already; its reply is discarded.
        assert_eq!(db.receive_command().await, b"\x03SELECT * FROM t");
        db.send_payload(OK).await;
        settle().await;
        let held = scene.pool.take().await;
        assert!(
            held.conn.state.is_unknown(),
            "it has to be reset before anybody uses it"
        );
    });
}
