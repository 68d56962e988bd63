//! Leaves a backend that has sent its greeting, without a login.
//!
//! To close the connection at this point would count as an aborted handshake, and MySQL blocks a host
//! after `max_connect_errors` of them. Behind a proxy, one port scanner would lock out every client. A
//! refused login does not count. So the proxy completes the login, with an account that cannot exist.

use std::time::Duration;

use auth::Dialect;
use wire::auth::CACHING_SHA2_PASSWORD;
use wire::handshake::HandshakeHead;
use wire::{Capabilities, HandshakeResponse, reply};

use crate::packets::PacketStream;

/// How long the backend may take to refuse.
const TIMEOUT_DECLINE: Duration = Duration::from_secs(2);

/// The most packets of a backend that are read before it is given up.
const PACKETS_MAX: usize = 4;

/// Flags of a login that names no plugin. MariaDB refuses it at once, and MySQL says that the client is too old.
const PLAIN: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0 | Capabilities::LONG_PASSWORD.0 | Capabilities::SECURE_CONNECTION.0,
);

/// An account that no server has: names are 32 characters at most in MySQL, 80 in MariaDB.
const NOBODY: HandshakeResponse<'static> = HandshakeResponse {
    head: HandshakeHead {
        capabilities: PLAIN,
        packet_bytes_max: 1 << 24,
        collation: 45, // utf8mb4_general_ci: every server knows it
    },
    user: b"pilotfish says goodbye",
    auth_response: b"",
    schema: None,
    plugin: None,
    attributes: None,
    zstd_level: None,
    trailing: b"",
};

/// Ends the login properly, in a task of its own. For backends that have received no answer yet.
pub fn decline(mut backend: PacketStream) {
    tokio::task::spawn_local(async move {
        let mut payload = Vec::new();
        NOBODY.encode(&mut payload);
        let refused = async {
            backend.write(&payload).await.ok()?;
            backend.read().await.ok()
        };
        // The backend's answer does not matter.
        let _ = tokio::time::timeout(TIMEOUT_DECLINE, refused).await;
    });
}

/// Returns the ERR with which a backend that has received no answer yet refuses the login.
pub async fn refusal(mut backend: PacketStream, family: Dialect) -> Option<Vec<u8>> {
    let mut nobody = NOBODY;
    // MySQL names the client's host only to clients that know plugins. Some MariaDB plugins take an
    // empty answer for a broken handshake, so for MariaDB the login names no plugin.
    if family != Dialect::MariaDb {
        nobody.head.capabilities = PLAIN.with(Capabilities::PLUGIN_AUTH, true);
        nobody.plugin = Some(CACHING_SHA2_PASSWORD);
    }
    let mut payload = Vec::new();
    nobody.encode(&mut payload);
    let refused = async {
        for _ in 0..PACKETS_MAX {
            backend.write(&payload).await.ok()?;
            let said = backend.read().await.ok()?;
            if said.first() == Some(&reply::ERR) {
                return Some(said);
            }
            payload.clear();
        }
        None
    };
    let refused = tokio::time::timeout(TIMEOUT_DECLINE, refused).await;
    refused.ok().flatten()
}
