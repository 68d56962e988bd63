//! Prepared statements on a lane: prepared once, after the statements in flight, and executed by the server's id.

use std::rc::Rc;

use dialogues::peer::{OK, PeerEnd, err, packet};
use dialogues::pool_scene::POOLED;
use dialogues::{play, settle};
use pilotfish_lanes::lane::Load;
use pool::TypesSeen;
use route::ClusterId;
use sql::{Facts, Flags};
use wire::execute::Execute;
use wire::statement::PrepareOk;

use backend::prepared_statement::StatementKey;

use crate::support::{Scene, name};

fn key(scene: &Scene, text: &str) -> StatementKey {
    let store = &scene.pool.environment.pool.store;
    let mut facts = Facts::default();
    facts.read(text.as_bytes(), Flags::default());
    StatementKey {
        text: store.texts.borrow_mut().intern(text.as_bytes()),
        values: store.values.fresh(),
        kind: Rc::clone(&scene.pool.sub_pool.kind),
        cursor: None,
        cluster: ClusterId(0),
        facts: Rc::new(facts),
        digest: 7,
        original: None,
    }
}

/// The reply to COM_STMT_PREPARE of a statement without parameters and columns.
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

const EXECUTE: Execute<'static> = Execute {
    statement_id: 3,
    flags: 0,
    iterations: 1,
    parameter_count: 0,
    null_bitmap: b"",
    types: None,
    values: b"",
};

fn execution(key: &StatementKey) -> Load<'_> {
    Load::Execute {
        key,
        execute: &EXECUTE,
        types: None,
        capabilities: POOLED,
    }
}

#[test]
fn a_statement_is_prepared_once_and_executed_by_the_servers_id() {
    play(async {
        let mut scene = Scene::plain();
        let key = key(&scene, "DO 1");
        let (lane, mut db) = scene.lane().await;
        let (keeper, mut session) = (scene.session(), scene.session());
        keeper.submit(&lane, "SELECT 1").unwrap();
        assert!(
            session.load(&lane, execution(&key)).is_none(),
            "it is not prepared"
        );
        lane.prepare(&key);
        lane.prepare(&key);
        db.receive_command().await;
        assert_eq!(db.receive_command().await, b"\x16DO 1");
        db.begin_at(1);
        db.send_payload(OK).await;
        db.begin_at(1);
        db.send_payload(&prepared(77)).await;
        settle().await;
        // The lane ends with the last reply; the connection keeps its prepared statements.
        let held = scene.pool.take().await;
        let lane = scene.lanes.open(scene.pool.sub_pool.id, held);
        assert!(lane.has(&key, &TypesSeen::default()));
        session.load(&lane, execution(&key)).unwrap();
        let executed = db.receive_command().await;
        assert_eq!(
            executed[..5],
            [0x17, 77, 0, 0, 0],
            "the second PREPARE was none"
        );
        db.send_payload(OK).await;
        assert_eq!(name(&session.end().await), "over");
        assert_eq!(session.app.receive().await, OK);
    });
}

#[test]
fn a_statement_that_cannot_be_prepared_may_be_tried_again() {
    play(async {
        let mut scene = Scene::plain();
        let key = key(&scene, "DO nonsense(");
        let (lane, mut db) = scene.lane().await;
        let keeper = scene.session();
        lane.prepare(&key);
        keeper.submit(&lane, "SELECT 1").unwrap();
        assert_eq!(db.receive_command().await[0], 0x16);
        db.send_payload(&err(1064, "You have an error in your SQL syntax"))
            .await;
        db.receive_command().await;
        settle().await;
        assert!(!lane.has(&key, &TypesSeen::default()));
        lane.prepare(&key);
        assert_eq!(db.receive_command().await, b"\x16DO nonsense(");
        assert!(!keeper.has_ended());
    });
}

#[test]
fn an_endless_reply_to_a_preparation_breaks_the_lane() {
    play(async {
        let mut scene = Scene::plain();
        let key = key(&scene, "SELECT ?");
        let (lane, mut db) = scene.lane().await;
        let session = scene.session();
        lane.prepare(&key);
        session.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        db.receive_command().await;
        let mut first = Vec::new();
        PrepareOk {
            statement_id: 1,
            columns: 0,
            parameters: u16::MAX,
            warnings: 0,
            metadata: None,
        }
        .encode(&mut first);
        let mut sequence = 1;
        let mut sent = db.try_send(&packet(sequence, &first)).await;
        let definition = vec![b'x'; 60_000];
        while sent.is_ok() {
            sequence = u8::wrapping_add(sequence, 1);
            sent = db.try_send(&packet(sequence, &definition)).await;
        }
        assert_eq!(name(&session.end().await), "elsewhere");
    });
}

#[test]
fn a_statement_that_the_server_has_forgotten_is_forgotten_here() {
    play(async {
        let mut scene = Scene::plain();
        let key = key(&scene, "DO 1");
        let (lane, mut db) = scene.lane().await;
        lane.prepare(&key);
        db.receive_command().await;
        db.send_payload(&prepared(77)).await;
        settle().await;
        let held = scene.pool.take().await;
        let lane = scene.lanes.open(scene.pool.sub_pool.id, held);
        let (session, keeper) = (scene.session(), scene.session());
        let shared = &scene.pool.environment.pool.shared;
        let before = shared.definitions_epoch();
        session.load(&lane, execution(&key)).unwrap();
        keeper.submit(&lane, "SELECT 1").unwrap();
        db.receive_command().await;
        db.send_payload(&err(1243, "Unknown prepared statement handler"))
            .await;
        assert_eq!(
            name(&session.end().await),
            "over",
            "its session decides what it is told"
        );
        assert!(!lane.has(&key, &TypesSeen::default()));
        assert!(shared.definitions_epoch() > before);
    });
}

#[test]
fn what_lanes_were_asked_for_once_is_remembered_up_to_a_bound() {
    play(async {
        let scene = Scene::plain();
        let wanted = &scene.lanes.wanted;
        let first = key(&scene, "SELECT 0");
        assert!(!wanted.again(&first));
        assert!(wanted.again(&first), "the second time it is prepared");
        for number in 1..1024 {
            assert!(!wanted.again(&key(&scene, &format!("SELECT {number}"))));
        }
        assert!(wanted.again(&first));
        assert!(
            !wanted.again(&key(&scene, "SELECT 1024")),
            "all are forgotten"
        );
        assert!(!wanted.again(&first));
    });
}

#[test]
fn a_connection_that_answers_a_preparation_with_nonsense_is_closed() {
    play(async {
        let mut scene = Scene::plain();
        let key = key(&scene, "DO 1");
        let (lane, mut db) = scene.lane().await;
        lane.prepare(&key);
        db.receive_command().await;
        db.send(&packet(1, &prepared(77)[..6])).await;
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
    });
}
