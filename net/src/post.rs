//! One HTTP POST request, over a new connection.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::tls::{self, ClientTls, ClientTlsSettings, Verification};

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Where a request goes, and its headers.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The path, with its query.
    pub path: &'a str,
    /// The authorities that sign the server's certificate, if it is `https`.
    pub tls: Option<Authorities<'a>>,
    /// The names and values of headers, besides those that each request has.
    pub headers: &'a [(&'a str, &'a str)],
}

/// The authorities whose certificates are trusted.
#[derive(Clone, Copy)]
pub enum Authorities<'a> {
    /// The authorities that the system trusts.
    System,
    /// The authorities in this PEM file.
    File(&'a Path),
}

impl<'a> Authorities<'a> {
    /// The authorities of a file if one is given, else the system's.
    pub fn of(file: Option<&'a Path>) -> Self {
        file.map_or(Self::System, Self::File)
    }
}

/// The server's answer.
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body; none if it was truncated, or is too long.
    pub body: Option<Bytes>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum PostError {
    /// The server has not answered. It may answer a later request.
    Unreachable(String),
    /// The request cannot be made.
    Unfit(String),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unreachable(text) | Self::Unfit(text)) = self;
        f.write_str(text)
    }
}

/// Settings for TLS with a server whose certificate one of these authorities has signed.
///
/// # Errors
/// One that names the faulty file.
pub fn secured(authorities: Authorities<'_>) -> Result<ClientTls, tls::Error> {
    ClientTls::new(ClientTlsSettings {
        verification: Verification::Identity,
        ca: match authorities {
            Authorities::System => None,
            Authorities::File(file) => Some(file.to_path_buf()),
        },
        identity: None,
    })
}

/// Sends a body, and waits for the answer.
///
/// # Errors
/// See [`PostError`].
pub async fn post(way: Destination<'_>, body: Bytes, limit: Duration) -> Result<Answer, PostError> {
    match timeout(limit, deliver(way, body)).await {
        Ok(delivered) => delivered,
        Err(_) => Err(PostError::Unreachable("no answer in time".to_owned())),
    }
}

async fn deliver(way: Destination<'_>, body: Bytes) -> Result<Answer, PostError> {
    let unreachable = |error: io::Error| PostError::Unreachable(error.to_string());
    let stream = TcpStream::connect((way.host, way.port))
        .await
        .map_err(unreachable)?;
    let Some(authorities) = way.tls else {
        return exchange(stream, way, body).await;
    };
    let tls = secured(authorities).map_err(|error| PostError::Unfit(error.to_string()))?;
    let name = tls.server_name(way.host);
    let name = name.map_err(|error| PostError::Unfit(error.to_string()))?;
    let stream = tls.connector().connect(name, stream).await;
    let insecure = |error| {
        let place = format!("{}:{}", way.host, way.port);
        PostError::Unreachable(format!("TLS with {place}: {}", tls::explain(&error)))
    };
    exchange(stream.map_err(insecure)?, way, body).await
}

async fn exchange<S>(stream: S, way: Destination<'_>, body: Bytes) -> Result<Answer, PostError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let broken = |error: hyper::Error| PostError::Unreachable(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    // The task ends when the last sender is dropped.
    tokio::spawn(connection);
    let host = match way.host.contains(':') {
        true => format!("[{}]:{}", way.host, way.port),
        false => format!("{}:{}", way.host, way.port),
    };
    let mut request = Request::post(way.path).header("host", host).header(
        "user-agent",
        concat!("pilotfish/", env!("CARGO_PKG_VERSION")),
    );
    for (name, value) in way.headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(body))
        .map_err(|error| PostError::Unfit(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    let body = body.collect().await;
    Ok(Answer {
        status,
        body: body.map(http_body_util::Collected::to_bytes).ok(),
    })
}
