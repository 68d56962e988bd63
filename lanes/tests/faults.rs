//! Lanes that break, stall or are refused: which statements run elsewhere, and which must not run twice.

use std::time::Duration;

use dialogues::backends::backend;
use dialogues::peer::{OK, PeerEnd, err, packet};
use dialogues::pool_scene::result;
use dialogues::{play, settle};
use pilotfish_lanes::lane_request::LaneRequestEnd;
use route::{Backend, BackendId, Duty, Report, Role};

use crate::support::{Scene, USUAL, name};

#[test]
fn a_broken_lane_reroutes_statements_whose_clients_received_nothing() {
    play(async {
        let reply = result(1, 2);
        // The reply is cut in every place: after a header, after a payload, and within a packet.
        for cut in 0..reply.len() {
            let mut scene = Scene::plain();
            let (lane, mut db) = scene.lane().await;
            let (head, behind) = (scene.session(), scene.session());
            head.submit(&lane, "SELECT 1").unwrap();
            behind.submit(&lane, "SELECT 2").unwrap();
            db.receive_command().await;
            db.send(&reply[..cut]).await;
            settle().await;
            drop(db);
            let ended = head.end().await;
            let has_some = head.request.bytes() > 0;
            match &ended {
                LaneRequestEnd::Elsewhere => assert!(!has_some, "cut at {cut}"),
                LaneRequestEnd::Broken(..) => assert!(has_some, "cut at {cut}"),
                other => panic!("cut at {cut}: {}", name(other)),
            }
            assert_eq!(name(&behind.end().await), "elsewhere", "cut at {cut}");
            let reports = scene.pool.environment.reports();
            assert!(
                matches!(reports[..], [Report::SessionBroken { .. }]),
                "{reports:?}"
            );
        }
    });
}

#[test]
fn a_broken_lane_gives_the_sequence_id_for_an_error_after_a_partial_reply() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        // The column count and the definition, with ids 1 and 2.
        let reply = result(1, 1);
        let definitions = 4 + 1 + 4 + usize::from(reply[5]);
        db.send(&reply[..definitions]).await;
        settle().await;
        drop(db);
        let LaneRequestEnd::Broken(cause, sequence) = session.end().await else {
            panic!("its client has had some of it");
        };
        assert_eq!(sequence, Some(3));
        assert!(!cause.is_empty());
    });
}

#[test]
fn a_statement_refused_with_error_1053_runs_on_another_connection() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        db.send_payload(&err(1053, "Server shutdown in progress"))
            .await;
        assert_eq!(name(&session.end().await), "elsewhere");
        assert_eq!(session.request.bytes(), 0);
    });
}

#[test]
fn bytes_that_are_no_reply_break_the_lane_and_reach_no_client() {
    let cases: [Vec<u8>; 4] = [
        packet(2, OK),
        // A request for a file of the client; no statement on a lane names a file.
        packet(1, b"\xfb/etc/passwd"),
        packet(1, b""),
        [packet(1, b"\x01"), packet(3, b"\x03def")].concat(),
    ];
    for bytes in cases {
        play(async {
            let mut scene = Scene::plain();
            let (lane, mut db) = scene.lane().await;
            let session = scene.session();
            session.submit(&lane, "SELECT 1").unwrap();
            db.receive_command().await;
            db.send(&bytes).await;
            let ended = session.end().await;
            assert_eq!(name(&ended), "elsewhere", "{bytes:?}");
            assert_eq!(session.request.bytes(), 0, "{bytes:?}");
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
            assert_eq!(scene.pool.environment.reports().len(), 1);
        });
    }
}

#[test]
fn an_unrequested_reply_closes_the_lanes_connection() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        db.send(&[packet(1, OK), packet(1, OK)].concat()).await;
        assert_eq!(name(&session.end().await), "over");
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
    });
}

#[test]
fn statements_queued_behind_a_slow_one_leave_the_lane() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (head, behind) = (scene.session(), scene.session());
        head.submit(&lane, "SELECT SLEEP(1)").unwrap();
        behind.submit(&lane, "SELECT 2").unwrap();
        db.receive_command().await;
        tokio::time::sleep(10 * USUAL).await;
        assert!(
            !behind.has_ended(),
            "it may take sixteen times as long as usual"
        );
        assert_eq!(name(&behind.end().await), "elsewhere");
        assert_eq!(scene.stalled(), 1);
        assert!(scene.session().submit(&lane, "SELECT 3").is_none());
        assert!(!head.has_ended());
        db.begin_at(1);
        db.send_payload(OK).await;
        assert_eq!(name(&head.end().await), "over");
        // The connection is usable again when all sent statements are answered.
        db.receive_command().await;
        db.send_payload(OK).await;
        settle().await;
        assert_eq!(scene.pool.take().await.conn.thread_id, 1);
    });
}

#[test]
fn a_slow_statement_alone_on_a_lane_is_not_killed() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        session.submit(&lane, "SELECT SLEEP(1)").unwrap();
        db.receive_command().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!session.has_ended());
        assert_eq!(scene.stalled(), 0);
        db.send_payload(OK).await;
        assert_eq!(name(&session.end().await), "over");
    });
}

#[test]
fn a_slow_statement_whose_session_left_is_killed_and_its_connection_closed() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        let id = session.submit(&lane, "SELECT SLEEP(1000)").unwrap();
        db.receive_command().await;
        lane.leave(id);
        let mut killer = scene.pool.serve_until("KILL QUERY 1").await;
        killer.send_payload(OK).await;
        db.send_payload(&err(1317, "Query execution was interrupted"))
            .await;
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        assert!(!session.has_ended());
    });
}

#[test]
fn a_write_that_a_replica_refuses_is_told_to_its_session_and_not_to_its_client() {
    play(async {
        let replica = Backend {
            role: Some(Role::Replica),
            ..backend(1)
        };
        let mut scene = Scene::before(replica);
        let (lane, mut db) = scene.lane().await;
        let (head, behind) = (scene.session(), scene.session());
        head.submit(&lane, "SELECT a_function_that_writes()")
            .unwrap();
        behind.submit(&lane, "SELECT 2").unwrap();
        db.receive_command().await;
        let refusal = "The MariaDB server is running with the --read-only option";
        db.send_payload(&err(1290, refusal)).await;
        assert_eq!(name(&head.end().await), "refused");
        assert_eq!(head.request.bytes(), 0);
        assert_eq!(name(&behind.end().await), "elsewhere");
        db.receive_command().await;
        db.send_payload(OK).await;
        // The statement may have left state on the connection.
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
    });
}

#[test]
fn a_lane_to_a_backend_that_is_disabled_ends_at_once_and_its_statement_is_killed() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (head, behind) = (scene.session(), scene.session());
        head.submit(&lane, "SELECT SLEEP(1000)").unwrap();
        behind.submit(&lane, "SELECT 2").unwrap();
        db.receive_command().await;
        db.receive_command().await;
        scene.lanes.clear(&[BackendId(2)]);
        settle().await;
        assert!(!head.has_ended(), "another one was disabled");
        let disabled = Backend {
            duty: Duty::Disabled,
            ..backend(1)
        };
        scene.pool.environment.publish(vec![disabled]);
        scene.lanes.clear(&[BackendId(1)]);
        assert_eq!(name(&head.end().await), "elsewhere");
        assert_eq!(name(&behind.end().await), "elsewhere");
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        scene.pool.serve_until("KILL QUERY 1").await;
    });
}

#[test]
fn an_isolated_lane_returns_its_thread_and_sends_its_queue_elsewhere() {
    play(async {
        let mut scene = Scene::plain();
        let (lane, mut db) = scene.lane().await;
        let (head, behind) = (scene.session(), scene.session());
        let id = head.submit(&lane, "SELECT SLEEP(1)").unwrap();
        behind.submit(&lane, "SELECT 2").unwrap();
        db.receive_command().await;
        assert!(lane.leave(id));
        let running = lane.isolate().unwrap();
        assert_eq!((running.backend.id, running.thread_id), (BackendId(1), 1));
        assert_eq!(name(&behind.end().await), "elsewhere");
        assert_eq!(lane.depth(), None);
    });
}
