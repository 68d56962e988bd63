//! Connections that break, of the backend or the client, at any byte, and the error for the other side.

use config::Config;
use dialogues::backends::address;
use dialogues::peer::{OK, Peer, PeerEnd, err, greeting, packet, query};
use dialogues::{play, settle};
use link::failure::FailureKind;
use link::session_end::SessionEnd;
use registry::session_control::Ask;
use route::{BackendId, KillReason, Report};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire::Header;

use crate::support::{OK_IN_TRANSACTION, THREAD_ID, World, result, run};

/// Returns the sequence id of the packet that starts after `length` bytes; none within a packet.
fn sequence_behind(packets: &[u8], length: usize) -> Option<u8> {
    let (mut at, mut sequence) = (0, 1);
    while at < length {
        let header = Header::decode(*packets[at..].first_chunk().unwrap());
        at += 4 + header.length;
        sequence = header.sequence + 1;
    }
    (at == length).then_some(sequence)
}

#[test]
fn a_lost_backend_gives_the_client_an_error_at_every_packet_boundary() {
    play(async {
        let world = World::plain();
        let reply = result(2, b"value");
        for cut in 0..reply.len() {
            let stage = world.stage();
            let script = async {
                let (mut app, mut db) = (stage.app.into_end(), stage.db);
                app.write_all(&query("SELECT it")).await.unwrap();
                db.receive_command().await;
                db.send(&reply[..cut]).await;
                drop(db);
                let mut heard = Vec::new();
                app.read_to_end(&mut heard).await.unwrap();
                heard
            };
            let (ended, heard) = tokio::join!(run(stage.session, &world), script);
            assert_eq!(ended.err().unwrap().kind, FailureKind::BackendLost);
            let (passed, told) = heard.split_at(cut);
            assert!(passed == &reply[..cut], "cut at {cut}");
            match sequence_behind(&reply, cut) {
                None => assert!(told.is_empty(), "cut at {cut}: {told:?}"),
                Some(sequence) => {
                    let header = Header::decode(*told.first_chunk().unwrap());
                    assert_eq!(header.sequence, sequence, "cut at {cut}");
                    assert_eq!(told.len(), 4 + header.length);
                    // ERR 1158.
                    assert_eq!(told[4..7], [0xff, 0x86, 0x04], "cut at {cut}");
                    let text = String::from_utf8_lossy(&told[13..]);
                    assert!(text.contains("db1 during COM_QUERY"), "{text}");
                }
            }
            let reports = world.environment.reports();
            let [Report::SessionBroken { backend, .. }] = reports[..] else {
                panic!("cut at {cut}: {reports:?}");
            };
            assert_eq!(backend, BackendId(1));
        }
    });
}

#[test]
fn a_client_whose_backend_thread_was_killed_is_closed_without_an_error() {
    play(async {
        let world = World::plain();
        let mut server = world.environment.serve(1);
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send(&query("SELECT it")).await;
            db.receive_command().await;
            drop(db);
            let mut asked = server.accept().await;
            asked.send_greeting(&greeting(18)).await;
            app.begin_at(1);
            // A server itself closes a killed connection in this way.
            assert_eq!(app.receive_end().await, PeerEnd::Closed);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::BackendLost);
    });
}

#[test]
fn a_backend_that_closes_between_two_commands_ends_the_session_without_an_error() {
    // With an ERR from the backend before it closes, or without one.
    for farewell in [
        Vec::new(),
        packet(0, &err(1053, "Server shutdown in progress")),
    ] {
        play(async {
            let world = World::plain();
            let stage = world.stage();
            let (mut app, mut db) = (stage.app, stage.db);
            let script = async {
                app.send(&query("DO 1")).await;
                db.receive_command().await;
                db.send_payload(OK).await;
                app.begin_at(1);
                assert_eq!(app.receive().await, OK);
                db.send(&farewell).await;
                drop(db);
                app.begin_at(0);
                if !farewell.is_empty() {
                    assert_eq!(app.receive_err().await.0, 1053);
                }
                assert_eq!(app.receive_end().await, PeerEnd::Closed);
            };
            let (ended, ()) = tokio::join!(run(stage.session, &world), script);
            assert_eq!(ended.unwrap(), SessionEnd::BackendClosed);
            assert!(world.environment.reports().is_empty());
        });
    }
}

#[test]
fn a_client_that_leaves_within_a_command_has_nothing_left_running() {
    play(async {
        let world = World::plain();
        let command = query("SELECT SLEEP(10)");
        for cut in 0..=command.len() {
            let stage = world.stage();
            let control = &stage.registered.control;
            let script = async {
                let (mut app, mut db) = (stage.app, stage.db.into_end());
                app.send(&command[..cut]).await;
                settle().await;
                drop(app);
                settle().await;
                // The worker's sweep requests this after limits.timeout_half_closed.
                control.ask(Ask::ClientGone);
                let mut heard = Vec::new();
                let end = db.read_to_end(&mut heard).await;
                (heard, end)
            };
            let (ended, (heard, end)) = tokio::join!(run(stage.session, &world), script);
            let reports = world.environment.reports();
            // The first byte of a command decides whether it may pass.
            if cut <= 4 {
                assert_eq!(ended.unwrap(), SessionEnd::ClientClosed, "cut at {cut}");
                assert!(heard.is_empty() && end.is_ok(), "cut at {cut}");
                assert!(reports.is_empty());
                continue;
            }
            assert_eq!(ended.err().unwrap().kind, FailureKind::ClientLeft, "{cut}");
            assert!(
                end.is_err(),
                "the backend must not take it for an orderly end"
            );
            let kill = Report::KillStatement {
                backend: BackendId(1),
                thread_id: THREAD_ID,
                why: KillReason::ClientGone,
            };
            // The server runs a command only after it has received all of it.
            match cut == command.len() {
                true => assert_eq!(reports, [kill]),
                false => assert!(reports.is_empty() || reports == [kill], "cut at {cut}"),
            }
        }
    });
}

#[test]
fn a_statement_of_a_client_that_is_gone_ends_at_once_if_configured() {
    play(async {
        let mut config = Config::default();
        config.limits.timeout_half_closed = std::time::Duration::ZERO;
        let world = World::new(config, auth::Accounts::default());
        let stage = world.stage();
        let script = async {
            let (mut app, mut db) = (stage.app, stage.db);
            app.send(&query("SELECT SLEEP(10)")).await;
            db.receive_command().await;
            drop(app);
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::ClientLeft);
        assert!(matches!(
            world.environment.reports()[..],
            [Report::KillStatement { .. }]
        ));
    });
}

#[test]
fn statements_before_a_quit_are_carried_out_for_a_client_that_has_gone() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            let both = [query("COMMIT"), packet(0, &[1])].concat();
            app.send(&both).await;
            drop(app);
            assert_eq!(db.receive_command().await, b"\x03COMMIT");
            assert_eq!(db.receive_command().await, [1]);
            settle().await;
            db.begin_at(1);
            db.send_payload(OK).await;
            drop(db);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::Quit);
        assert!(world.environment.reports().is_empty(), "nothing is killed");
    });
}

#[test]
fn a_place_at_the_backend_is_free_when_its_session_has_ended() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        assert_eq!(world.backend().load.sessions(), 1);
        let ended = run(stage.session, &world);
        let script = async { drop(stage.app) };
        let (ended, ()) = tokio::join!(ended, script);
        assert!(ended.is_ok());
        assert_eq!(world.backend().load.sessions(), 0);
    });
}

/// A client that opens a transaction at the backend.
pub async fn begin(app: &mut Peer, db: &mut Peer) {
    app.begin_at(0);
    app.send_payload(b"\x03BEGIN").await;
    assert_eq!(db.receive_command().await, b"\x03BEGIN");
    db.send_payload(OK_IN_TRANSACTION).await;
    assert_eq!(app.receive().await, OK_IN_TRANSACTION);
}

#[test]
fn a_hanging_server_ends_a_session_only_while_a_statement_runs() {
    play(async {
        let world = World::plain();
        world.environment.network.fall_silent(address(1).into());
        let stage = world.stage();
        let control = &stage.registered.control;
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            begin(&mut app, &mut db).await;
            control.ask(Ask::BackendDown);
            settle().await;
            assert!(!control.is_asked(Ask::BackendDown), "nothing waits for it");
            app.begin_at(0);
            app.send_payload(b"\x03COMMIT").await;
            db.receive_command().await;
            control.ask(Ask::BackendDown);
            let (number, text) = app.receive_err().await;
            assert_eq!(number, 1158);
            assert!(text.contains("health.timeout_down"), "{text}");
            assert!(
                text.ends_with("the statement may have been executed"),
                "{text}"
            );
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::BackendLost);
    });
}
