//! A probe of one backend: does it answer?

use wire::{ErrPacket, reply};

use crate::failure::{Failure, printable};
use crate::login::{Access, Destination, Entry};

/// What a probe has found of a backend that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// It answers.
    Well,
    /// It answers that it has as many connections as it takes.
    Full,
    /// It answers, but will not have the monitor account; its words.
    AccountRefused(String),
}

/// Asked of a server with the monitor account: the cheapest statement that has to pass all that
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
        // A server with an anonymous account lets anybody in.
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
