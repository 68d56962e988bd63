//! One message to a collector, over a connection of its own.

use std::iter;
use std::path::Path;
use std::time::Duration;

use config::HttpTarget;
use hyper::StatusCode;
use hyper::body::Bytes;
use net::post::{self, Authorities, PostError};
use net::tls::{self, ClientTls};
use prost::Message;

use super::common::Response;

/// Why the collector has not taken a message.
#[derive(Debug)]
pub enum Failure {
    /// Nobody has answered, or asked for patience: it may be tried again.
    Unreachable(String),
    /// It is not wanted.
    Refused(String),
}

/// Where messages are sent, and with which header.
pub struct Destination<'a> {
    /// The collector.
    pub target: &'a HttpTarget,
    /// The authorities that sign its certificate; none: those that the system trusts.
    pub ca: Option<&'a Path>,
    /// The name and value of one header more, if it wants one.
    pub header: Option<(&'a str, &'a str)>,
}

/// TLS with a collector whose certificate one of these authorities has signed.
///
/// # Errors
/// One that names the faulty file.
pub fn secured(ca: Option<&Path>) -> Result<ClientTls, tls::Error> {
    post::secured(Authorities::of(ca))
}

/// Sends a message. Returns how many of its spans or points the collector has rejected, and why.
///
/// # Errors
/// See [`Failure`].
pub async fn post(
    way: &Destination<'_>,
    body: Bytes,
    limit: Duration,
) -> Result<Option<(u64, String)>, Failure> {
    let target = way.target;
    let content_type = ("content-type", "application/x-protobuf");
    let headers: Vec<_> = iter::once(content_type).chain(way.header).collect();
    let destination = post::Destination {
        host: &target.host,
        port: target.port,
        path: &target.path,
        tls: target.is_tls.then(|| Authorities::of(way.ca)),
        headers: &headers,
    };
    let answer = match post::post(destination, body, limit).await {
        Ok(answer) => answer,
        Err(PostError::Unreachable(text)) => return Err(Failure::Unreachable(text)),
        Err(PostError::Unfit(text)) => return Err(Failure::Refused(text)),
    };
    if !answer.status.is_success() {
        let text = format!("the collector answers {}", answer.status);
        return Err(match is_passing(answer.status) {
            true => Failure::Unreachable(text),
            false => Failure::Refused(text),
        });
    }
    // It has been taken, whatever the rest says.
    let answer = answer.body.and_then(|it| Response::decode(it).ok());
    let partial = answer.and_then(|it| it.partial_success);
    Ok(partial
        .filter(|it| it.rejected > 0)
        .map(|it| (it.rejected.unsigned_abs(), it.error_message)))
}

/// Whether the same may be taken later, as OTLP has it.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
