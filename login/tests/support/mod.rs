//! Login packets of scripted clients, and the error that a failed login sends them.

use auth::{Challenge, Channel, Credential, Password, Privacy};
use dialogues::peer::{CAPABILITIES, Peer};
use link::failure::Failure;
use wire::auth::{AuthPacket, MYSQL_NATIVE_PASSWORD};
use wire::handshake::HandshakeHead;
use wire::{ErrPacket, Greeting, HandshakeResponse};

/// The answer of a client that knows the plugin `mysql_native_password`.
pub fn handshake<'a>(user: &'a [u8], proof: &'a [u8]) -> HandshakeResponse<'a> {
    HandshakeResponse {
        head: HandshakeHead {
            capabilities: CAPABILITIES,
            packet_bytes_max: 1 << 24,
            collation: 45,
        },
        user,
        auth_response: proof,
        schema: Some(b"shop"),
        plugin: Some(MYSQL_NATIVE_PASSWORD),
        attributes: None,
        zstd_level: None,
        trailing: b"",
    }
}

pub fn encoded(response: &HandshakeResponse<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    response.encode(&mut payload);
    payload
}

/// Returns the proof of a password for a greeting.
pub fn proof(greeting: &Greeting, password: &str) -> Vec<u8> {
    answer(&Challenge::greeted(greeting), password)
}

/// Returns the proof of a password for a request to switch the plugin.
pub fn switched_proof(request: &[u8], password: &str) -> Vec<u8> {
    let Ok(AuthPacket::Switch { plugin, data }) = AuthPacket::decode(request) else {
        panic!("no request to switch the plugin, but {request:?}");
    };
    answer(&Challenge::switched(plugin, data), password)
}

fn answer(challenge: &Challenge, password: &str) -> Vec<u8> {
    let credential = Credential::Password(Password::new(password));
    let channel = Channel::keyless(Privacy::Open);
    challenge.answer(&credential, channel).unwrap().to_vec()
}

/// Receives the greeting and logs in as a user with this password; empty means no password.
pub async fn claim(client: &mut Peer, user: &str, password: &str) {
    let greeting = client.receive_greeting().await;
    let proof = match password {
        "" => Vec::new(),
        password => proof(&greeting, password),
    };
    let response = encoded(&handshake(user.as_bytes(), &proof));
    client.send_payload(&response).await;
}

/// Returns the error number and text for a client that has sent its capabilities.
pub fn told(failure: &Failure) -> (u16, String) {
    let payload = failure.err_payload(true).unwrap();
    let err = ErrPacket::decode(&payload).unwrap();
    (err.number, String::from_utf8_lossy(err.text).into_owned())
}
