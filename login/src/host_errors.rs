//! Hosts whose logins failed too often in a row, by `limits.connect_errors_max`: which failures
//! count, and the error for a blocked host.

use std::net::IpAddr;

use net::Endpoint;
use wire::{ErrPacket, errors};

use crate::login_env::LoginEnv;
use backend::settings::Settings;
use link::failure::{ClientMessage, Failure, FailureKind};

/// ER_ACCESS_DENIED_ERROR, and ER_ACCESS_DENIED_NO_PASSWORD_ERROR of MariaDB.
const ACCESS_DENIED: [u16; 2] = [1045, 1698];

/// Refuses a client of a blocked host.
///
/// # Errors
/// The host is blocked.
pub fn check(env: &LoginEnv, settings: &Settings, client: &Endpoint) -> Result<(), Failure> {
    let (Some(max), Some(host)) = (settings.config.limits.connect_errors_max, host_of(client))
    else {
        return Ok(());
    };
    if env.shared.host_errors.errors(host) < max {
        return Ok(());
    }
    let error = errors::host_blocked(host);
    Err(Failure::saying(FailureKind::HostBlocked, error))
}

/// Records how a login ended.
pub fn note(env: &LoginEnv, client: &Endpoint, failure: Option<&Failure>) {
    let max = env.pool.settings.borrow().config.limits.connect_errors_max;
    let (Some(max), Some(host)) = (max, host_of(client)) else {
        return;
    };
    match failure {
        None => env.shared.host_errors.succeeded(host),
        Some(failure) if counts(failure) && env.shared.host_errors.failed(host) == max => {
            tracing::warn!(
                kind = "host_blocked",
                client = %host,
                errors = max,
                "logins from a host have failed too often in a row; the proxy refuses its logins until FLUSH HOSTS on the admin port"
            );
        }
        Some(_) => {}
    }
}

/// Whether the client's host is to blame for a failure. Limits and schemas that do not exist say nothing about the
/// host.
fn counts(failure: &Failure) -> bool {
    match (failure.kind, &failure.client_error) {
        (FailureKind::LoginDenied, ClientMessage::Relayed(payload)) => {
            ErrPacket::decode(payload).is_ok_and(|it| ACCESS_DENIED.contains(&it.number))
        }
        (FailureKind::LoginRefused, _) => is_access_denied(&failure.cause),
        (
            FailureKind::LoginDenied
            | FailureKind::LoginAbandoned
            | FailureKind::LoginMalformed
            | FailureKind::LoginTimeout
            | FailureKind::KeyExchange
            | FailureKind::ClientTls,
            _,
        ) => true,
        _ => false,
    }
}

/// Whether a relayed refusal is an access denial: the cause begins with its number.
fn is_access_denied(cause: &str) -> bool {
    let numbers = ACCESS_DENIED.iter();
    let mut prefixes = numbers.map(|number| format!("error {number}:"));
    prefixes.any(|prefix| cause.starts_with(&prefix))
}

fn host_of(client: &Endpoint) -> Option<IpAddr> {
    match client {
        Endpoint::Tcp(address) => Some(address.ip().to_canonical()),
        Endpoint::Unix(_) => None,
    }
}
