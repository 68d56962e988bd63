//! Statements of relayed sessions in the statistics: by digest, prepared or not, and only if configured.

use auth::Accounts;
use config::Config;
use dialogues::peer::{OK, Peer, err, packet};
use dialogues::play;
use link::session_end::SessionEnd;
use wire::statement::PrepareOk;

use crate::support::{World, run};

fn world(transparent: bool) -> World {
    let mut config = Config::default();
    config.statement_stats.transparent = transparent;
    // An endpoint receives the metrics.
    config.tracing.metrics_endpoint = Some("http://127.0.0.1:4318".to_owned());
    World::new(config, Accounts::default())
}

/// Returns the digests with their number of executions and of errors.
fn counted(world: &World) -> Vec<(String, u64, u64)> {
    let digests = world.relay.recorder.stats.digests.borrow();
    let (rows, _) = digests.piece(0, usize::MAX >> 1);
    let mut counted: Vec<_> = rows
        .into_iter()
        .map(|row| (row.text.to_string(), row.counts.count, row.counts.errors))
        .collect();
    counted.sort();
    counted
}

/// Sends a command, to which the server gives this reply.
async fn exchange((app, db): (&mut Peer, &mut Peer), command: &[u8], reply: &[u8]) {
    app.begin_at(0);
    app.send_payload(command).await;
    assert_eq!(db.receive_command().await, command);
    db.send(&packet(1, reply)).await;
    assert_eq!(app.receive().await, reply);
}

/// Sends a command that has no reply.
async fn tell((app, db): (&mut Peer, &mut Peer), command: &[u8]) {
    app.begin_at(0);
    app.send_payload(command).await;
    assert_eq!(db.receive_command().await, command);
}

/// Runs a script with the client and the server of a session until the session ends.
async fn around(world: &World, script: impl AsyncFnOnce(&mut Peer, &mut Peer)) {
    let stage = world.stage();
    let (mut app, mut db) = (stage.app, stage.db);
    let plays = async {
        script(&mut app, &mut db).await;
        drop(app);
    };
    let (ended, ()) = tokio::join!(run(stage.session, world), plays);
    assert_eq!(ended.unwrap(), SessionEnd::ClientClosed);
}

fn prepared(statement_id: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    PrepareOk {
        statement_id,
        columns: 0,
        parameters: 0,
        warnings: 0,
        metadata: None,
    }
    .encode(&mut payload);
    payload
}

fn execute(statement_id: u32) -> Vec<u8> {
    let id = statement_id.to_le_bytes();
    [&[0x17][..], &id, &[0, 1, 0, 0, 0]].concat()
}

fn close(statement_id: u32) -> Vec<u8> {
    [&[0x19][..], &statement_id.to_le_bytes()].concat()
}

#[test]
fn statements_that_differ_in_values_only_are_counted_together() {
    play(async {
        let world = world(true);
        around(&world, async |app: &mut Peer, db: &mut Peer| {
            exchange((app, db), b"\x03DELETE FROM t WHERE id = 1", OK).await;
            exchange((app, db), b"\x03DELETE FROM t WHERE id = 27", OK).await;
            let failed = err(1146, "Table 't' doesn't exist");
            exchange((app, db), b"\x03DELETE FROM t WHERE id = 3", &failed).await;
        })
        .await;
        let counted = counted(&world);
        let [(text, 3, 1)] = &counted[..] else {
            panic!("{counted:?}");
        };
        assert!(text.ends_with("= ?"), "{text}");
    });
}

#[test]
fn executions_are_counted_under_the_text_that_was_prepared() {
    play(async {
        let world = world(true);
        around(&world, async |app: &mut Peer, db: &mut Peer| {
            exchange((app, db), b"\x16DELETE FROM t WHERE id = 1", &prepared(9)).await;
            exchange((app, db), &execute(9), OK).await;
            exchange((app, db), &execute(9), OK).await;
            tell((app, db), &close(9)).await;
            // The statement of this id is not known to the proxy.
            exchange((app, db), &execute(9), OK).await;
        })
        .await;
        let counted = counted(&world);
        assert!(matches!(counted[..], [(_, 2, 0)]), "{counted:?}");
    });
}

#[test]
fn a_session_that_prepares_without_an_end_is_remembered_up_to_a_bound() {
    play(async {
        let world = world(true);
        around(&world, async |app: &mut Peer, db: &mut Peer| {
            for id in 0..257 {
                exchange((app, db), b"\x16DELETE FROM t", &prepared(id)).await;
            }
            exchange((app, db), &execute(0), OK).await;
            exchange((app, db), &execute(256), OK).await;
        })
        .await;
        let counted = counted(&world);
        assert!(matches!(counted[..], [(_, 1, 0)]), "{counted:?}");
    });
}

#[test]
fn statements_of_relayed_sessions_are_counted_only_if_configured() {
    play(async {
        let world = world(false);
        around(&world, async |app: &mut Peer, db: &mut Peer| {
            exchange((app, db), b"\x03DELETE FROM t", OK).await;
        })
        .await;
        assert!(counted(&world).is_empty());
    });
}
