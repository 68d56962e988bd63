//! Decisions of scripts about backends, and the bounds of a shadow session's queue.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::cell::Cell;
use std::rc::Rc;

use pilotfish_script_host::script_route::{Out, ScriptRoute, ScriptTarget};
use pilotfish_script_host::shadow_queue::{ShadowSession, ShadowStatement, Work};
use registry::session_control::{Ask, SessionControl};
use route::{BackendId, ClusterId};
use session::state::ValuesTable;
use system::Entropy;
use tokio::sync::mpsc;

const HERE: (BackendId, ClusterId) = (BackendId(3), ClusterId(0));

fn at_three() -> ScriptRoute {
    let mut route = ScriptRoute::default();
    route.choose(ScriptTarget::At(HERE.0, HERE.1));
    route
}

#[test]
fn a_backend_that_a_script_has_put_down_is_not_used_until_it_is_back() {
    let mut route = at_three();
    route.put_out(Out {
        ids: vec![BackendId(3)],
        are_all: false,
    });
    assert!(route.is_out(BackendId(3)) && !route.is_out(BackendId(4)));
    assert_eq!(route.backend(), None);
    assert_eq!(route.take(), None);
    route.put_out(Out::default());
    assert_eq!(route.backend(), Some(HERE), "the choice has stayed");
    assert!(route.out_ids().is_empty());
}

#[test]
fn a_backend_that_a_script_chooses_is_used_once() {
    let mut route = at_three();
    assert_eq!(route.take(), Some(HERE));
    assert_eq!(route.take(), None);
    assert_eq!(route.target, ScriptTarget::Any);
}

#[test]
fn a_script_may_leave_no_backend_at_all() {
    let mut route = at_three();
    assert!(!route.are_all_out());
    route.put_out(Out {
        ids: vec![BackendId(3)],
        are_all: true,
    });
    assert!(route.are_all_out());
    route.choose(ScriptTarget::Nowhere);
    assert_eq!((route.backend(), route.take()), (None, None));
    assert_eq!(
        route.target,
        ScriptTarget::Nowhere,
        "that is no choice to be given up"
    );
}

/// A shadow session whose queue holds up to `count_max` statements, and the receiving end of the queue.
fn shadow(count_max: usize) -> (ShadowSession, mpsc::Receiver<ShadowStatement>) {
    let (queue, statements) = mpsc::channel(count_max);
    let session = ShadowSession {
        cluster: ClusterId(0),
        queue,
        bytes: Rc::new(Cell::new(0)),
        control: Rc::new(SessionControl::default()),
    };
    (session, statements)
}

fn statement(bytes: usize) -> ShadowStatement {
    let keys = Entropy::seeded(7).hash_keys().unwrap();
    let values = ValuesTable::new(keys).fresh();
    ShadowStatement::of(&values, Work::Query(vec![b'x'; bytes]))
}

#[test]
fn a_mirror_that_is_too_slow_is_given_no_more_statements_than_a_bound() {
    let (session, mut statements) = shadow(2);
    assert!(session.send(statement(10)).is_ok());
    assert!(session.send(statement(10)).is_ok());
    assert!(session.send(statement(10)).is_err());
    assert_eq!(session.bytes.get(), 20, "what was refused does not count");
    let taken = statements.try_recv().unwrap();
    session.bytes.set(session.bytes.get() - taken.bytes);
    assert!(session.send(statement(10)).is_ok());
}

#[test]
fn a_mirror_that_is_too_slow_is_given_no_more_bytes_than_a_bound() {
    let (session, _statements) = shadow(1_000);
    for _ in 0..16 {
        assert!(session.send(statement(1 << 20)).is_ok());
    }
    assert!(session.send(statement(1)).is_err());
    assert!(session.send(statement(0)).is_ok());
}

#[test]
fn an_ended_mirror_session_receives_no_statements() {
    let (session, statements) = shadow(2);
    assert!(session.is_in(ClusterId(0)) && !session.is_in(ClusterId(1)));
    session.kill();
    assert!(session.control.is_asked(Ask::KillSession));
    drop(statements);
    assert!(!session.is_in(ClusterId(0)));
    assert!(session.send(statement(1)).is_err());
}
