//! The client's connection, and the status that the client was told last.

use std::future::poll_fn;
use std::task::Poll;

use auth::{Origin, Privacy};
use dialogues::environment::client_address;
use dialogues::memory_network::{End, ROOM};
use dialogues::peer::{OK, Peer, packet, query};
use dialogues::play;
use link::leg::Leg;
use link::transport::Transport;
use net::Socket;
use net::proxy_protocol::Header;
use pilotfish_session_parts::client_side::ClientSide;
use wire::{Capabilities, StatusFlags};

const SESSION: Capabilities = Capabilities::SESSION_TRACK;

fn client() -> ClientSide {
    let login = SESSION.with(Capabilities::PLUGIN_AUTH, true);
    let origin = Origin::tcp([10, 0, 9, 9].into(), None);
    ClientSide::new(
        (Privacy::Open, None),
        (SESSION, login),
        StatusFlags::AUTOCOMMIT,
        (origin, Header::Own),
    )
}

fn ends() -> (Transport, Peer) {
    let (near, far) = End::pair(client_address(), client_address(), ROOM);
    (Transport::from(Socket::from(near)), Peer::new(far))
}

/// Sends as many of the bytes to the client as the client's buffer takes.
async fn push(client: &mut ClientSide, bytes: &[u8]) {
    let pushed = poll_fn(|context| Poll::Ready(client.leg_mut().push(bytes, context)));
    pushed.await.unwrap();
}

fn with(flags: &[StatusFlags]) -> StatusFlags {
    StatusFlags(flags.iter().fold(0, |all, flag| all | flag.0))
}

#[test]
fn status_flags_of_one_reply_are_not_kept_for_the_next() {
    let mut client = client();
    let lasting = with(&[StatusFlags::AUTOCOMMIT, StatusFlags::IN_TRANS]);
    let of_reply = with(&[
        lasting,
        StatusFlags::MORE_RESULTS_EXISTS,
        StatusFlags::SESSION_STATE_CHANGED,
    ]);
    client.note_status(of_reply);
    assert_eq!(client.status(), lasting);
}

#[test]
fn the_end_of_a_transaction_leaves_the_other_flags() {
    let mut client = client();
    let kept = with(&[StatusFlags::AUTOCOMMIT, StatusFlags::ANSI_QUOTES]);
    let open = [StatusFlags::IN_TRANS, StatusFlags::IN_TRANS_READONLY, kept];
    client.set_status(with(&open));
    client.end_transaction();
    assert_eq!(client.status(), kept);
}

#[test]
fn bytes_read_ahead_at_login_are_kept_as_the_first_command() {
    play(async {
        let (transport, _app) = ends();
        let mut client = client();
        assert!(
            client.leg().is_gone(),
            "the connection is still with the login"
        );
        client.join(transport, query("SELECT 1"));
        assert!(!client.is_at_rest());
        assert!(client.held_bytes() >= query("SELECT 1").len());
        let (leg, ahead) = client.take();
        assert!(!leg.is_gone());
        assert_eq!(ahead, query("SELECT 1"));
        assert!(client.leg().is_gone());
        assert_eq!(client.held_bytes(), 0, "it goes with the connection");
    });
}

#[test]
fn a_client_that_has_not_taken_its_reply_is_not_at_rest() {
    play(async {
        let (near, _far) = End::pair(client_address(), client_address(), 4);
        let mut client = client();
        client.join(Transport::from(Socket::from(near)), Vec::new());
        assert!(client.is_at_rest());
        push(&mut client, OK).await;
        assert!(!client.is_at_rest());
        assert_eq!(client.leg().unsent(), OK.len() - 4);
    });
}

#[test]
fn a_lane_gives_the_connection_back_that_it_took() {
    play(async {
        let (transport, mut app) = ends();
        let mut client = client();
        client.join(transport, Vec::new());
        let mut lane = Leg::gone();
        client.swap_leg(&mut lane);
        assert!(client.leg().is_gone() && !lane.is_gone());
        client.swap_leg(&mut lane);
        assert!(!client.leg().is_gone() && lane.is_gone());
        push(&mut client, &packet(0, OK)).await;
        assert_eq!(app.receive().await, OK);
    });
}

#[test]
fn a_session_beside_another_has_the_clients_facts_and_not_its_connection() {
    play(async {
        let (transport, _app) = ends();
        let mut client = client();
        client.join(transport, query("SELECT 1"));
        client.set_status(StatusFlags::IN_TRANS);
        client.set_capability(Capabilities::MULTI_STATEMENTS, true);
        let double = client.double();
        assert!(double.leg().is_gone());
        assert!(double.inbox().is_empty());
        assert_eq!(double.status(), StatusFlags::AUTOCOMMIT);
        assert_eq!(double.capabilities(), client.capabilities());
        assert!(
            double
                .capabilities()
                .contains(Capabilities::MULTI_STATEMENTS)
        );
        assert_eq!(double.login_capabilities(), client.login_capabilities());
        assert_eq!(double.origin(), client.origin());
        assert!(!client.leg().is_gone());
    });
}
