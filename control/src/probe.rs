//! A probe of one backend: does it answer?

use wire::{ErrPacket, reply};

use crate::failure::{Failure, printable};
use crate::login::{Access, Destination, Entry};

/// The result of a probe of a backend that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// The backend answers the statement.
    Well,
    /// The backend answers that it has reached its limit of connections.
    Full,
    /// The backend answers, but refuses the monitor account; the server's text.
    AccountRefused(String),
}

/// The statement of a probe with the monitor account: the cheapest one that passes all checks that
/// other statements pass. (A Galera node outside its cluster answers `SELECT 1`, but not this.)
const QUESTION: &str = "DO 1";

/// ER_MUST_CHANGE_PASSWORD: the account may log in and then do nothing else.
const MUST_CHANGE_PASSWORD: u16 = 1820;

/// Connects, reads the greeting, logs in, and with a monitor account runs a statement.
///
/// # Errors
/// Why the backend cannot be used.
pub(crate) async fn probe(
    access: &Access,
    destination: &Destination,
) -> Result<ProbeResult, Failure> {
    let entry = match access.log_in(destination).await {
        Err(failure) if failure.is_full() => return Ok(ProbeResult::Full),
        entry => entry?,
    };
    let mut connection = match entry {
        Entry::In(connection) => connection,
        Entry::Refused { text, .. } if access.account.is_some() => {
            return Ok(ProbeResult::AccountRefused(text));
        }
        Entry::Refused { .. } => return Ok(ProbeResult::Well),
    };
    if access.account.is_none() {
        // The login succeeded without an account: a server with an anonymous account accepts any user.
        connection.quit().await;
        return Ok(ProbeResult::Well);
    }
    let reply = access.in_time(connection.execute(QUESTION)).await?;
    connection.quit().await;
    probe_result(&reply)
}

fn probe_result(reply: &[u8]) -> Result<ProbeResult, Failure> {
    if reply.first() == Some(&reply::OK) {
        return Ok(ProbeResult::Well);
    }
    let err = ErrPacket::decode(reply)?;
    match err.number {
        MUST_CHANGE_PASSWORD => Ok(ProbeResult::AccountRefused(printable(err.text))),
        _ => Err(Failure::refused(&err)),
    }
}
