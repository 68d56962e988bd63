//! The connection that a session holds, tested without a server.

use std::sync::Arc;

use route::BackendId;
use tokio::sync::oneshot;

use super::*;

/// A session whose statement runs on a backend.
fn running() -> Held {
    Held {
        running: Some(Running {
            backend: Arc::new(dialogues::backends::backend(0)),
            thread_id: 7,
        }),
        ..Held::default()
    }
}

#[tokio::test]
async fn a_kill_is_not_sent_again_before_the_last_one_has_arrived() {
    let mut held = running();
    let thread = held.statement_to_kill().map(|running| running.thread_id);
    assert_eq!(thread, Some(7));
    let (arrive, arrived) = oneshot::channel::<()>();
    held.note_kill(tokio::spawn(async move {
        let _ = arrived.await;
    }));
    assert!(held.statement_to_kill().is_none());
    drop(arrive);
    while held.statement_to_kill().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(held.take_kill().is_some());
}

#[test]
fn a_statement_that_has_ended_is_not_killed() {
    let mut held = running();
    held.end_statement();
    assert!(held.statement_to_kill().is_none());
}

#[test]
fn a_session_without_a_connection_releases_none() {
    let mut held = running();
    let control = SessionControl::default();
    control.settle_at(BackendId(0), 7);
    assert!(held.release(&control).is_none());
    // A command may have taken the connection; the statement still runs.
    assert!(held.statement_to_kill().is_some());
    assert_eq!(control.thread(), 7);
}
