//! COM_CHANGE_USER in a relayed session: the backend decides whether the session continues.

use std::time::Duration;

use auth::{Account, Accounts, Learned};
use config::Config;
use dialogues::environment::{account, directory};
use dialogues::peer::{CAPABILITIES, OK, PeerEnd, err, packet};
use dialogues::{play, settle};
use link::failure::FailureKind;
use link::session_end::SessionEnd;
use registry::session_control::Ask;
use tokio::time::timeout;
use wire::auth::put_auth_switch;
use wire::change_user::ChangeUser;

use crate::support::{World, run};

fn change_to(user: &[u8]) -> Vec<u8> {
    let mut payload = vec![0x11];
    ChangeUser {
        user,
        auth_response: b"stale",
        schema: Some(b"shop"),
        collation: Some(45),
        plugin: Some(b"mysql_native_password"),
        attributes: None,
    }
    .encode(CAPABILITIES, &mut payload);
    payload
}

#[test]
fn a_session_goes_on_behind_a_change_of_the_user_whatever_the_backend_says() {
    let refusal = err(1045, "Access denied");
    for end in [OK, &refusal[..]] {
        play(async {
            let world = World::plain();
            let stage = world.stage();
            let (mut app, mut db) = (stage.app, stage.db);
            let mut request = Vec::new();
            put_auth_switch(
                &mut request,
                b"mysql_native_password",
                b"fresh scramble bytes",
            );
            let script = async {
                app.send_payload(&change_to(b"other")).await;
                assert_eq!(db.receive_command().await, change_to(b"other"));
                db.send_payload(&request).await;
                assert_eq!(app.receive().await, request);
                app.send_payload(b"answer").await;
                assert_eq!(db.receive().await, b"answer");
                db.send_payload(end).await;
                assert_eq!(app.receive().await, end);
                app.begin_at(0);
                app.send_payload(b"\x03DO 1").await;
                assert_eq!(db.receive_command().await, b"\x03DO 1");
                db.send_payload(OK).await;
                assert_eq!(app.receive().await, OK);
                drop(app);
            };
            let (ended, ()) = tokio::join!(run(stage.session, &world), script);
            assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
        });
    }
}

#[test]
fn a_change_of_the_user_waits_for_the_replies_to_what_was_sent_before() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            let both = [packet(0, b"\x03DO 1"), packet(0, &change_to(b"other"))].concat();
            app.send(&both).await;
            assert_eq!(db.receive_command().await, b"\x03DO 1");
            let early = timeout(Duration::from_secs(1), db.try_hear()).await;
            assert!(early.is_err(), "its reply would be taken for that to DO 1");
            db.begin_at(1);
            db.send_payload(OK).await;
            app.begin_at(1);
            assert_eq!(app.receive().await, OK);
            assert_eq!(db.receive_command().await, change_to(b"other"));
            app.begin_at(1);
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
            drop(app);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
    });
}

#[test]
fn a_change_to_an_account_whose_script_would_see_nothing_is_refused_unsent() {
    play(async {
        let scripted = Account {
            script: Some(vec!["audit.lua".into()]),
            ..account("audited")
        };
        let accounts = Accounts::new(directory([scripted]), Learned::Off);
        let world = World::new(Config::default(), accounts);
        let whole = packet(0, &change_to(b"audited"));
        for cut in 1..whole.len() {
            let stage = world.stage();
            let (mut app, mut db) = (stage.app, stage.db);
            let script = async {
                app.send(&whole[..cut]).await;
                settle().await;
                app.send(&whole[cut..]).await;
                app.begin_at(1);
                let (number, _) = app.receive_err().await;
                assert_eq!(number, 1105);
                assert_eq!(
                    db.receive_end().await,
                    PeerEnd::Reset,
                    "nothing has come before"
                );
            };
            let (ended, ()) = tokio::join!(run(stage.session, &world), script);
            assert_eq!(
                ended.err().unwrap().kind,
                FailureKind::ScriptFailed,
                "{cut}"
            );
        }
    });
}

#[test]
fn a_change_of_the_user_of_absurd_length_is_not_kept() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            // A header that announces 1 MiB, and the command byte.
            app.send(&[0, 0, 0x10, 0, 0x11]).await;
            app.begin_at(1);
            let _ = app.try_hear().await;
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::PayloadTooLarge);
    });
}

#[test]
fn a_session_that_is_killed_within_a_change_of_the_user_ends() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let control = &stage.registered.control;
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send_payload(&change_to(b"other")).await;
            db.receive_command().await;
            settle().await;
            control.ask(Ask::KillSession);
            assert_eq!(db.receive_end().await, PeerEnd::Reset);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::Killed);
    });
}

#[test]
fn a_backend_that_breaks_off_a_change_of_the_user_is_named_to_the_client() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send_payload(&change_to(b"other")).await;
            db.receive_command().await;
            db.send(&[7, 0, 0, 1, 0]).await;
            drop(db);
            let (number, text) = app.receive_err().await;
            assert_eq!(number, 1429);
            assert!(text.contains("closed within a packet"), "{text}");
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.err().unwrap().kind, FailureKind::BackendLogin);
    });
}

#[test]
fn a_session_that_quits_behind_a_change_of_the_user_has_quit() {
    play(async {
        let world = World::plain();
        let stage = world.stage();
        let (mut app, mut db) = (stage.app, stage.db);
        let script = async {
            app.send_payload(&change_to(b"other")).await;
            db.receive_command().await;
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
            app.begin_at(0);
            app.send_payload(&[1]).await;
            assert_eq!(db.receive_command().await, [1]);
            drop(db);
        };
        let (ended, ()) = tokio::join!(run(stage.session, &world), script);
        assert_eq!(ended.unwrap(), SessionEnd::Quit);
    });
}
