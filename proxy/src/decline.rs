//! Leaving a backend that has greeted and that nobody logs in to.
//!
//! To hang up there would count as an aborted handshake, and MySQL blocks a host after
//! `max_connect_errors` of those; behind a proxy, one port scanner would lock everybody out. A
//! refused login does not count. So the login is completed, as an account that cannot exist.

use std::time::Duration;

use wire::handshake::HandshakeHead;
use wire::{Capabilities, HandshakeResponse};

use crate::packets::PacketStream;

/// How long the backend has to refuse.
const TIMEOUT_DECLINE: Duration = Duration::from_secs(2);

/// An account that no server has: names are 32 characters at most in MySQL, 80 in MariaDB.
const NOBODY: HandshakeResponse<'static> = HandshakeResponse {
    head: HandshakeHead {
        capabilities: Capabilities(
            Capabilities::PROTOCOL_41.0
                | Capabilities::LONG_PASSWORD.0
                | Capabilities::SECURE_CONNECTION.0,
        ),
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

/// Ends the login politely, in a task of its own. For backends that have had no answer yet.
pub(crate) fn decline(mut backend: PacketStream) {
    tokio::task::spawn_local(async move {
        let mut payload = Vec::new();
        NOBODY.encode(&mut payload);
        let refused = async {
            backend.write(&payload).await.ok()?;
            backend.read().await.ok()
        };
        // Whatever it says, or does not say, is fine.
        let _ = tokio::time::timeout(TIMEOUT_DECLINE, refused).await;
    });
}
