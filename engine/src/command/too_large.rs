//! Commands that are longer than the server's `max_allowed_packet`. A server answers with error 1153 and closes the
//! connection while the client still sends, so that the client may lose the answer. The proxy reads the command to its
//! end, keeps none of it, and answers then.

use route::BackendId;
use session::Violation;
use wire::Command;

use crate::session::PooledSession;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use link::client_command::{EndOf, Passage};
use link::failure::{Failure, FailureKind};
use relay::outcome::SessionError;

/// Shorter commands are left to the server: they fit in the buffers of any socket, and so does the server's answer.
const LOOKED_AT_BYTES: usize = 16 << 10;

impl PooledSession {
    /// The longest payload that the next command may have: the configured limit, or the server's if that is lower.
    pub(crate) fn payload_bytes_max(&self) -> u64 {
        let configured = self.settings.config.limits.packet_bytes_max;
        match self.client.inbox().packet_bytes() {
            Some(length) if length > LOOKED_AT_BYTES => {
                self.server_bytes_max().unwrap_or(u64::MAX).min(configured)
            }
            _ => configured,
        }
    }

    /// `max_allowed_packet` of the session's backend, as far as it is known.
    fn server_bytes_max(&self) -> Option<u64> {
        let held = self.held.backend().map(|backend| backend.id);
        let home = self.routing.home().map(|home| home.id);
        let backend: BackendId = held.or(home).or(self.routing.state().last())?;
        let globals = &self.env.pool_env.shared.globals;
        let value = globals.value(backend, "max_allowed_packet")?;
        std::str::from_utf8(&value).ok()?.parse().ok()
    }

    /// Returns the end of a session whose command broke the protocol, or is too long.
    pub(crate) async fn violated(&mut self, violation: Violation) -> SessionError {
        let configured = self.settings.config.limits.packet_bytes_max;
        match violation {
            Violation::PayloadTooLarge { limit } if limit < configured => {
                match self.swallow(Passage::of(EndOf::Payload, 0)).await {
                    Ok(passage) => too_large(Some(passage.sequence)),
                    Err(_) => too_large(None),
                }
            }
            _ => SessionError::new(relay::relay::client_violation(violation), Some(1)),
        }
    }

    /// Returns the end of a session whose command was passed on unread and is too long for the server. Its length was
    /// not known at first. The server closes the connection, with or without an answer.
    pub(crate) fn passed_too_large(&self, cut: &ExchangeError) -> Option<SessionError> {
        let (bytes, sequence) = self.command.passed?;
        let limit = self.server_bytes_max()?;
        let is_unanswered = cut.reached != Reached::Client || cut.sequence == Some(sequence);
        let is_it = matches!(cut.cut, Cut::Backend(_)) && is_unanswered && bytes > limit;
        is_it.then(|| too_large(Some(sequence)))
    }
}

/// Returns the end of a session whose client has had the server's own error. Servers close the connection after it.
pub(crate) fn answered_too_large(command: Command, done: &Done) -> Option<SessionError> {
    let number = wire::ErrorCode::PACKET_TOO_LARGE.number;
    let is_it = done.outcome == session::Outcome::Err(number);
    (is_it && command == Command::QUERY).then(|| too_large(None))
}

fn too_large(sequence: Option<u8>) -> SessionError {
    let error = wire::errors::packet_too_large();
    SessionError::new(
        Failure::saying(FailureKind::PayloadTooLarge, error),
        sequence,
    )
}
