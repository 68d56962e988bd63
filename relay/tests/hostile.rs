//! Bytes that violate the protocol: the session ends, the other side gets no more than was sent, and nothing panics.

use std::time::Duration;

use config::Config;
use dialogues::peer::{OK, PeerEnd, packet, query};
use dialogues::play;
use link::failure::FailureKind;
use proptest::prelude::*;
use route::Report;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::{World, result, run};

#[test]
fn a_command_out_of_order_is_not_passed_on() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send(&packet(3, b"\x03DO 1")).await;
            app.begin_at(1);
            let (number, text) = app.receive_err().await;
            assert_eq!(number, 1156);
            assert!(text.contains("sequence id 3 where 0 belongs"), "{text}");
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::ClientProtocol);
    });
}

#[test]
fn a_reply_out_of_order_ends_the_session_and_is_told_to_the_control_plane() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send_payload(b"\x03DO 1").await;
            db.receive_command().await;
            db.send(&packet(7, OK)).await;
            let (number, text) = app.receive_err().await;
            assert_eq!(number, 1158);
            assert!(text.starts_with("Backend db1 broke the protocol"), "{text}");
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::BackendProtocol);
        let reports = world.environment.reports();
        assert!(
            matches!(reports[..], [Report::SessionBroken { .. }]),
            "{reports:?}"
        );
    });
}

#[test]
fn a_statement_over_the_limit_is_refused_by_its_header() {
    play(async {
        let mut config = Config::default();
        config.limits.packet_bytes_max = 1024;
        let world = World::new(config, auth::Accounts::default());
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            let mut long = query(&"x".repeat(1024));
            long.truncate(5);
            app.send(&long).await;
            app.begin_at(1);
            let (number, text) = app.receive_err().await;
            assert_eq!(number, 1153);
            assert!(text.contains("limits.packet_bytes_max"), "{text}");
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::PayloadTooLarge);
    });
}

/// A time in the test's virtual clock.
const A_WHILE: Duration = Duration::from_secs(60);

/// Packets of which most are valid and some are not.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        2 => Just(b"\x03SELECT 1".to_vec()),
        1 => Just(b"\x16SELECT ?".to_vec()),
        1 => Just(OK.to_vec()),
        1 => Just(b"\xff\x10\x04#HY000no".to_vec()),
        1 => Just(b"\xfe\0\0\x02\0".to_vec()),
        1 => Just(b"\x01".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    let one = prop_oneof![
        6 => (0..4_u8, payload).prop_map(|(sequence, payload)| packet(sequence, &payload)),
        1 => prop::collection::vec(any::<u8>(), 0..9),
        1 => Just(result(1, b"value")),
    ];
    prop::collection::vec(one, 0..5).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_backend_receives_only_bytes_that_the_client_sent(sent in packets()) {
        play(async {
            let world = World::plain();
            let stage = world.stage();
            let script = async {
                let (mut app, mut db) = (stage.app, stage.db.into_end());
                app.send(&sent).await;
                dialogues::settle().await;
                drop(app);
                stage.registered.control.ask(registry::session_control::Ask::ClientGone);
                let mut heard = Vec::new();
                let mut piece = [0; 64];
                // After COM_QUIT a session waits until its backend closes, because servers do that.
                while let Ok(Ok(count @ 1..)) = timeout(A_WHILE, db.read(&mut piece)).await {
                    heard.extend_from_slice(&piece[..count]);
                }
                heard
            };
            let (_, heard) = tokio::join!(run(stage.session, &world), script);
            assert!(sent.starts_with(&heard), "{sent:?} {heard:?}");
        });
    }

    #[test]
    fn the_client_receives_only_the_backends_bytes_and_at_most_one_error(sent in packets()) {
        play(async {
            let world = World::plain();
            let stage = world.stage();
            let script = async {
                let (mut app, mut db) = (stage.app.into_end(), stage.db);
                app.write_all(&query("SELECT 1")).await.unwrap();
                db.receive_command().await;
                db.try_send(&sent).await.ok();
                dialogues::settle().await;
                drop(db);
                let mut heard = Vec::new();
                app.read_to_end(&mut heard).await.unwrap();
                heard
            };
            let (_, heard) = tokio::join!(run(stage.session, &world), script);
            let passed = sent.iter().zip(&heard).take_while(|(one, other)| one == other);
            let passed = passed.count();
            // The bytes of the error's header may equal the next bytes of the backend.
            let is_error = |at: usize| heard.get(at + 4) == Some(&0xff);
            let errors = (0..=passed).filter(|at| is_error(*at));
            assert!(heard.len() == passed || errors.count() > 0, "{sent:?} {heard:?}");
        });
    }
}
