//! Relayed bytes: they pass in any pieces, and only as fast as the other side takes them.

use std::time::Duration;

use dialogues::peer::{OK, PeerEnd, packet, query};
use dialogues::{play, settle};
use link::session_end::SessionEnd;
use pilotfish_relay::joined_counts::JoinObstacle;
use pilotfish_relay::joined_session::KernelSession;
use pilotfish_relay::relay_env::SessionContext;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::{QUIT, World, agreement, greeted, result, run};

#[test]
fn a_statement_and_its_reply_pass_unchanged() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let reply = result(3, b"value");
        let script = async {
            let (mut app, mut db) = (stage.app.into_end(), stage.db.into_end());
            app.write_all(&query("SELECT it")).await.unwrap();
            let mut heard = vec![0; query("SELECT it").len()];
            db.read_exact(&mut heard).await.unwrap();
            assert_eq!(heard, query("SELECT it"));
            db.write_all(&reply).await.unwrap();
            let mut heard = vec![0; reply.len()];
            app.read_exact(&mut heard).await.unwrap();
            assert!(heard == reply);
            app.write_all(&packet(0, QUIT)).await.unwrap();
            let mut heard = vec![0; 5];
            db.read_exact(&mut heard).await.unwrap();
            assert_eq!(heard, packet(0, QUIT));
            drop((app, db));
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::Quit);
    });
}

#[test]
fn a_command_and_a_reply_pass_in_whatever_pieces_they_come() {
    play(async {
        let world = World::plain();
        let (command, reply) = (query("SELECT it"), result(1, b"value"));
        for cut in 1..command.len().max(reply.len()) {
            let stage = world.stage();
            let script = async {
                let (mut app, mut db) = (stage.app.into_end(), stage.db.into_end());
                let (first, rest) = command.split_at(cut.min(command.len()));
                app.write_all(first).await.unwrap();
                settle().await;
                app.write_all(rest).await.unwrap();
                let mut heard = vec![0; command.len()];
                db.read_exact(&mut heard).await.unwrap();
                assert_eq!(heard, command);
                let (first, rest) = reply.split_at(cut.min(reply.len()));
                db.write_all(first).await.unwrap();
                settle().await;
                db.write_all(rest).await.unwrap();
                let mut heard = vec![0; reply.len()];
                app.read_exact(&mut heard).await.unwrap();
                assert!(heard == reply, "cut at {cut}");
                drop(app);
                settle().await;
            };
            let (ended, ()) = tokio::join!(run(stage.session, &world), script);
            assert_eq!(ended.unwrap(), SessionEnd::ClientClosed, "cut at {cut}");
        }
    });
}

#[test]
fn commands_that_are_sent_ahead_pass_at_once_and_their_replies_in_order() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            let both = [query("SELECT 1"), query("SELECT 2")].concat();
            app.send(&both).await;
            assert_eq!(db.receive_command().await, b"\x03SELECT 1");
            assert_eq!(db.receive_command().await, b"\x03SELECT 2");
            let (first, second) = (result(1, b"one"), result(2, b"two"));
            db.send(&[first.clone(), second.clone()].concat()).await;
            let mut app = app.into_end();
            let mut heard = vec![0; first.len() + second.len()];
            app.read_exact(&mut heard).await.unwrap();
            assert!(heard == [first, second].concat());
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
    });
}

#[test]
fn a_client_that_does_not_read_keeps_the_backend_waiting_and_not_the_memory_growing() {
    play(async {
        const ROOM: usize = 4 << 10;
        const SCRATCH: usize = 16 << 10;
        let world = World::plain();
        let stage = world.stage_with(dialogues::peer::greeting(17), ROOM);
        let reply = result(1_000, &[b'x'; 1_000]);
        let script = async {
            let (mut app, mut db) = (stage.app.into_end(), stage.db.into_end());
            app.write_all(&query("SELECT it")).await.unwrap();
            db.read_exact(&mut [0; 14]).await.unwrap();
            let mut rest = &reply[..];
            let stuck = timeout(Duration::from_secs(60), db.write_all_buf(&mut rest)).await;
            assert!(stuck.is_err(), "nobody has taken the reply");
            let kept = usize::try_from(db.taken()).unwrap() - ROOM;
            assert!(kept <= 2 * SCRATCH, "{kept} bytes are kept");
            let reads = async {
                let mut heard = vec![0; reply.len()];
                app.read_exact(&mut heard).await.unwrap();
                assert!(heard == reply);
            };
            let writes = async { db.write_all(rest).await.unwrap() };
            tokio::join!(reads, writes);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert!(ended.is_ok());
    });
}

#[test]
fn a_client_that_has_closed_its_sending_side_still_gets_its_whole_reply() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (app, mut db) = (stage.app, stage.db);
        let reply = result(2, b"value");
        let script = async {
            let mut app = app;
            app.send(&query("SELECT it")).await;
            let mut app = app.shut_down().await;
            db.receive_command().await;
            settle().await;
            db.send(&reply).await;
            let mut heard = vec![0; reply.len()];
            app.read_exact(&mut heard).await.unwrap();
            assert!(heard == reply);
            assert_eq!(app.read(&mut [0; 8]).await.unwrap(), 0);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
        assert!(world.environment.reports().is_empty(), "nothing is killed");
    });
}

#[test]
fn bytes_read_ahead_during_the_login_are_relayed_first() {
    play(async {
        let world = World::plain();
        let registered = world.register();
        let (near_app, app) = world.environment.client_ends(1 << 16);
        let (near_db, db) = world.environment.client_ends(1 << 16);
        let settings = world.environment.current();
        let context = SessionContext {
            env: &world.relay,
            control: &registered.control,
            settings: &settings,
        };
        let stream = |end| {
            let socket = net::Socket::from(end);
            link::packets::PacketStream::new(link::transport::Transport::from(socket), 0)
        };
        let client = stream(near_app).with_ahead(query("SELECT 1"));
        let permit = world.relay.login.shared.enter(1).unwrap();
        let greeted = greeted(&world, stream(near_db), dialogues::peer::greeting(17));
        // Without the kernel's help, a session that should be joined is relayed like any other.
        let begun = KernelSession::begin(context, client, greeted, agreement(), permit);
        let KernelSession::Relayed(session) = begun.unwrap() else {
            panic!("two ends in memory cannot be joined");
        };
        let views = world.relay.joins.counts.views();
        let obstacles: Vec<_> = views.iter().map(|it| it.obstacle).collect();
        assert_eq!(obstacles, [Some(JoinObstacle::Socket)]);
        let script = async {
            let mut db = dialogues::peer::Peer::new(db);
            assert_eq!(db.receive_command().await, b"\x03SELECT 1");
            let mut app = dialogues::peer::Peer::new(app);
            app.begin_at(1);
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
            drop(app);
            assert_eq!(db.receive_end().await, PeerEnd::Closed);
        };
        let (ended, ()) = tokio::join!(run(session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
    });
}
