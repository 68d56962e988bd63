//! Sends one message to a collector, over a connection of its own.

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

/// Why the collector has not accepted a message.
#[derive(Debug)]
pub enum Failure {
    /// The collector did not answer, or asked to wait: the message may be sent again.
    Unreachable(String),
    /// The collector rejects the message.
    Refused(String),
}

/// The address for messages, and a header.
pub struct Destination<'a> {
    /// The collector.
    pub target: &'a HttpTarget,
    /// The authorities for its certificate; `None`: those that the system trusts.
    pub ca: Option<&'a Path>,
    /// The name and value of an additional header, if the collector wants one.
    pub header: Option<(&'a str, &'a str)>,
}

/// TLS with a collector whose certificate one of these authorities has signed.
///
/// # Errors
/// An error that names the faulty file.
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
    // The status says that the message was accepted, so a malformed answer does not matter.
    let answer = answer.body.and_then(|it| Response::decode(it).ok());
    let partial = answer.and_then(|it| it.partial_success);
    Ok(partial
        .filter(|it| it.rejected > 0)
        .map(|it| (it.rejected.unsigned_abs(), it.error_message)))
}

/// Whether the same message may be accepted later, by OTLP's rules.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
