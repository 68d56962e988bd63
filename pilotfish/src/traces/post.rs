//! One batch to a collector, over a connection of its own.

use std::path::Path;
use std::time::Duration;

use config::TraceTarget;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use net::tls::{self, ClientTls, ClientTlsSettings, Verification};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::otlp::Response;

/// No more of an answer is read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Why a batch was not taken.
#[derive(Debug)]
pub enum Failure {
    /// Nobody has answered, or asked for patience: it may be tried again.
    Unreachable(String),
    /// It is not wanted.
    Refused(String),
}

/// Where batches of spans are sent, and with which header.
pub struct Destination<'a> {
    /// The collector.
    pub target: &'a TraceTarget,
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
    ClientTls::new(ClientTlsSettings {
        verification: Verification::Identity,
        ca: ca.map(Path::to_path_buf),
        identity: None,
    })
}

/// Sends a batch. Returns how many spans of it the collector has thrown away, and why.
///
/// # Errors
/// See [`Failure`].
pub async fn post(
    way: &Destination<'_>,
    body: Bytes,
    limit: Duration,
) -> Result<Option<(u64, String)>, Failure> {
    match timeout(limit, deliver(way, body)).await {
        Ok(delivered) => delivered,
        Err(_) => Err(Failure::Unreachable("no answer in time".to_owned())),
    }
}

async fn deliver(way: &Destination<'_>, body: Bytes) -> Result<Option<(u64, String)>, Failure> {
    let target = way.target;
    let unreachable = |error: std::io::Error| Failure::Unreachable(error.to_string());
    let stream = TcpStream::connect((&*target.host, target.port))
        .await
        .map_err(unreachable)?;
    if !target.is_tls {
        return exchange(stream, way, body).await;
    }
    let tls = secured(way.ca).map_err(|error| Failure::Refused(error.to_string()))?;
    let name = tls.server_name(&target.host);
    let name = name.map_err(|error| Failure::Refused(error.to_string()))?;
    let stream = tls.connector().connect(name, stream).await;
    let insecure =
        |error| Failure::Unreachable(format!("TLS with the collector: {}", tls::explain(&error)));
    exchange(stream.map_err(insecure)?, way, body).await
}

async fn exchange<S>(
    stream: S,
    way: &Destination<'_>,
    body: Bytes,
) -> Result<Option<(u64, String)>, Failure>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let target = way.target;
    let broken = |error: hyper::Error| Failure::Unreachable(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    // It ends with the last of the sender.
    tokio::spawn(connection);
    let host = match target.host.contains(':') {
        true => format!("[{}]:{}", target.host, target.port),
        false => format!("{}:{}", target.host, target.port),
    };
    let mut request = Request::post(&target.path)
        .header("host", host)
        .header("content-type", "application/x-protobuf")
        .header(
            "user-agent",
            concat!("pilotfish/", env!("CARGO_PKG_VERSION")),
        );
    if let Some((name, value)) = way.header {
        request = request.header(name, value);
    }
    let request = request
        .body(Full::new(body))
        .map_err(|error| Failure::Refused(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status();
    if !status.is_success() {
        let text = format!("the collector answers {status}");
        return Err(match is_passing(status) {
            true => Failure::Unreachable(text),
            false => Failure::Refused(text),
        });
    }
    let answer = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    let answer = answer
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    // It has been taken, whatever the rest says.
    let answer = answer.ok().and_then(|it| Response::decode(it).ok());
    let partial = answer.and_then(|it| it.partial_success);
    Ok(partial
        .filter(|it| it.rejected_spans > 0)
        .map(|it| (it.rejected_spans.unsigned_abs(), it.error_message)))
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
