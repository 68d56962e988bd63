//! Authentication dialogues between a scripted client and a scripted backend.
#![allow(clippy::unwrap_used)]

use tokio::io::{DuplexStream, duplex};

use super::*;

const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";
const PASSWORD: &[u8] = b"secret\0";

/// The next packet: its sender or receiver, and its bytes. `*` stands for bytes that another place checks.
enum Line<'a> {
    Client(&'a [u8]),
    ToClient(&'a [u8]),
    Backend(&'a [u8]),
    ToBackend(&'a [u8]),
}
use Line::{Backend, Client, ToBackend, ToClient};

/// Plays `lines` around a dialogue; returns whether it ended with OK.
fn play(legs: Legs, plugin: &[u8], lines: &[Line<'_>]) -> Result<bool, Failure> {
    let (near_client, far_client) = duplex(1 << 16);
    let (near_backend, far_backend) = duplex(1 << 16);
    let mut client = PacketStream::new(near_client, 0);
    let mut backend = PacketStream::new(near_backend, 0);
    let mut far = (
        PacketStream::new(far_client, 0),
        PacketStream::new(far_backend, 0),
    );
    let mut dialogue = Dialogue {
        client: &mut client,
        backend: &mut backend,
        backend_name: "db1",
        legs,
        own_key: &OwnKey::default(),
        server_key: ServerKey::Asked,
        plugin: plugin.to_vec(),
        scramble: SCRAMBLE.to_vec(),
        exchange: Exchange::None,
        observer: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let script = speak(&mut far, lines);
        let (end, ()) = tokio::join!(dialogue.run(), script);
        Ok(matches!(end?, AuthEnd::Ok(_)))
    })
}

async fn speak(
    (client, backend): &mut (PacketStream<DuplexStream>, PacketStream<DuplexStream>),
    lines: &[Line<'_>],
) {
    for line in lines {
        match line {
            Client(payload) => client.write(payload).await.unwrap(),
            Backend(payload) => backend.write(payload).await.unwrap(),
            ToClient(payload) => assert_eq!(&client.read().await.unwrap(), payload),
            ToBackend(payload) => assert_eq!(&backend.read().await.unwrap(), payload),
        }
    }
}

fn legs(client: Privacy, backend: Privacy) -> Legs {
    Legs { client, backend }
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

#[test]
fn unknown_plugins_speak_in_any_order() {
    let lines = [
        Backend(b"\xfeodd_plugin\0challenge"),
        ToClient(b"\xfeodd_plugin\0challenge"),
        Client(b"one"),
        ToBackend(b"one"),
        Backend(b"\x01two"),
        ToClient(b"\x01two"),
        Backend(b"\x01three"),
        ToClient(b"\x01three"),
        Client(b"four"),
        ToBackend(b"four"),
        Backend(OK),
        ToClient(OK),
    ];
    assert!(play(legs(Privacy::Tls, Privacy::Open), b"", &lines).unwrap());
}

#[test]
fn authentication_packets_pass_unchanged_if_both_sides_are_equally_private() {
    let lines = [
        Backend(b"\x01\x04"),
        ToClient(b"\x01\x04"),
        Client(b"\x02"),
        ToBackend(b"\x02"),
        Backend(b"\x01key"),
        ToClient(b"\x01key"),
        Client(b"encrypted"),
        ToBackend(b"encrypted"),
        Backend(OK),
        ToClient(OK),
    ];
    assert!(
        play(
            legs(Privacy::Open, Privacy::Open),
            CACHING_SHA2_PASSWORD,
            &lines
        )
        .unwrap()
    );
}

#[test]
fn a_password_in_clear_is_encrypted_for_an_open_backend() {
    let key = OwnKey::default();
    let mut offer = vec![MORE_DATA];
    offer.extend_from_slice(key.public_pem().unwrap());
    for (plugin, request, privacy) in [
        (
            CACHING_SHA2_PASSWORD,
            REQUEST_KEY_CACHING_SHA2,
            Privacy::Tls,
        ),
        (
            CACHING_SHA2_PASSWORD,
            REQUEST_KEY_CACHING_SHA2,
            Privacy::Local,
        ),
        (SHA256_PASSWORD, REQUEST_KEY_SHA256, Privacy::Tls),
    ] {
        let mut switch = vec![0xfe];
        switch.extend_from_slice(plugin);
        switch.push(0);
        switch.extend_from_slice(SCRAMBLE);
        switch.push(0);
        let (near_client, far_client) = duplex(1 << 16);
        let (near_backend, far_backend) = duplex(1 << 16);
        let (mut client, mut backend) = (
            PacketStream::new(near_client, 0),
            PacketStream::new(near_backend, 0),
        );
        let (mut far_client, mut far_backend) = (
            PacketStream::new(far_client, 0),
            PacketStream::new(far_backend, 0),
        );
        let own_key = OwnKey::default();
        let mut dialogue = Dialogue {
            client: &mut client,
            backend: &mut backend,
            backend_name: "db1",
            legs: legs(privacy, Privacy::Open),
            own_key: &own_key,
            server_key: ServerKey::Asked,
            plugin: Vec::new(),
            scramble: Vec::new(),
            exchange: Exchange::None,
            observer: None,
        };
        let script = async {
            far_backend.write(&switch).await.unwrap();
            assert_eq!(far_client.read().await.unwrap(), switch);
            if plugin == CACHING_SHA2_PASSWORD {
                far_client.write(b"fast path, which fails").await.unwrap();
                far_backend.read().await.unwrap();
                far_backend
                    .write(&[MORE_DATA, FULL_AUTHENTICATION])
                    .await
                    .unwrap();
                far_client.read().await.unwrap();
            }
            far_client.write(PASSWORD).await.unwrap();
            assert_eq!(far_backend.read().await.unwrap(), [request]);
            far_backend.write(&offer).await.unwrap();
            let encrypted = far_backend.read().await.unwrap();
            assert_eq!(
                key.decrypt(&encrypted, SCRAMBLE).unwrap().as_slice(),
                PASSWORD
            );
            far_backend.write(OK).await.unwrap();
            // The client does not see the exchange of the key.
            assert_eq!(far_client.read().await.unwrap(), OK);
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (end, ()) = runtime.block_on(async { tokio::join!(dialogue.run(), script) });
        assert!(matches!(end, Ok(AuthEnd::Ok(_))));
    }
}

#[test]
fn a_client_that_encrypts_for_another_key_gets_an_error() {
    let lines = [
        Backend(b"\x01\x04"),
        ToClient(b"\x01\x04"),
        Client(&[7; 256]),
    ];
    let failure = play(
        legs(Privacy::Open, Privacy::Tls),
        CACHING_SHA2_PASSWORD,
        &lines,
    )
    .unwrap_err();
    assert_eq!(failure.kind, FailureKind::KeyExchange);
    assert!(failure.cause.contains("TLS"), "{}", failure.cause);
}

#[test]
fn a_refusal_is_relayed() {
    let err = b"\xff\x15\x04#28000no";
    assert!(
        !play(
            legs(Privacy::Open, Privacy::Open),
            b"",
            &[Backend(err), ToClient(err)]
        )
        .unwrap()
    );
}

#[test]
fn a_local_socket_is_private_for_caching_sha2_but_not_for_sha256() {
    let local = legs(Privacy::Local, Privacy::Open);
    assert_eq!(local.bridge(CACHING_SHA2_PASSWORD), Bridge::ToOpenBackend);
    assert_eq!(local.bridge(SHA256_PASSWORD), Bridge::None);
    assert_eq!(
        legs(Privacy::Local, Privacy::Tls).bridge(SHA256_PASSWORD),
        Bridge::ToPrivateBackend
    );
    assert_eq!(
        legs(Privacy::Local, Privacy::Tls).bridge(CACHING_SHA2_PASSWORD),
        Bridge::None
    );
}

#[test]
fn a_password_is_not_sent_over_an_open_connection_under_an_unverified_key() {
    let (near_client, _far_client) = duplex(1 << 16);
    let (near_backend, far_backend) = duplex(1 << 16);
    let (mut client, mut backend) = (
        PacketStream::new(near_client, 0),
        PacketStream::new(near_backend, 0),
    );
    let mut dialogue = Dialogue {
        client: &mut client,
        backend: &mut backend,
        backend_name: "db1",
        legs: legs(Privacy::Tls, Privacy::Open),
        own_key: &OwnKey::default(),
        server_key: ServerKey::Refused,
        plugin: SHA256_PASSWORD.to_vec(),
        scramble: SCRAMBLE.to_vec(),
        exchange: Exchange::None,
        observer: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let failure = runtime
        .block_on(dialogue.first_answer(PASSWORD))
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::FullAuthentication);
    for way in ["mode", "server_public_key", "get_server_public_key"] {
        let name = format!("backend_tls.{way}");
        assert!(failure.cause.contains(&name), "{}", failure.cause);
    }
    assert!(matches!(dialogue.exchange, Exchange::Withheld { .. }));
    drop(dialogue);
    drop((client, backend));
    let mut far_backend = PacketStream::new(far_backend, 0);
    let heard = runtime.block_on(far_backend.read());
    assert!(matches!(heard, Err(PacketError::Closed)), "{heard:?}");
}
