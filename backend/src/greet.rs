//! Connecting to a backend, up to its greeting.

use std::time::Duration;

use config::{Config, ProxyProtocolSend};
use net::{Endpoint, Socket, proxy_protocol};
use route::Backend;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use wire::{ErrPacket, ErrorCode, Greeting};

use link::packets::{PacketError, PacketStream};
use link::transport::Transport;

/// Why a backend has not greeted.
pub enum Refusal {
    /// The backend cannot be reached or breaks the protocol: it counts as down.
    Unusable(String),
    /// The backend is up and has no connection left (error 1040).
    Full {
        /// The error text, for the log.
        cause: String,
        /// The backend's ERR, for the client.
        payload: Vec<u8>,
    },
    /// The backend is up and refuses, with an ERR packet (too many connections, host blocked).
    Err {
        /// The error text, for the log.
        cause: String,
        /// The backend's ERR, for the client.
        payload: Vec<u8>,
    },
}

/// Connects to one backend's addresses in turn, within the connect time-out in all.
pub async fn greet(
    config: &Config,
    header: &proxy_protocol::Header,
    backend: &Backend,
) -> Result<(PacketStream, Greeting, Vec<u8>), Refusal> {
    let limit = config.health.timeout_connect;
    let all = async {
        let mut last = Refusal::Unusable("its name is not resolved".to_owned());
        for endpoint in &backend.location.endpoints {
            match greet_at(config, header, &endpoint_of(endpoint), limit).await {
                Ok(greeted) => return Ok(greeted),
                Err(refusal) => last = refusal,
            }
        }
        Err(last)
    };
    match timeout(limit, all).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Refusal::Unusable(format!("no greeting within {limit:?}"))),
    }
}

async fn greet_at(
    config: &Config,
    header: &proxy_protocol::Header,
    endpoint: &Endpoint,
    limit: Duration,
) -> Result<(PacketStream, Greeting, Vec<u8>), Refusal> {
    let unusable = |cause: String| Refusal::Unusable(cause);
    let mut socket = Socket::connect(endpoint, limit)
        .await
        .map_err(|error| unusable(error.to_string()))?;
    if config.proxy_protocol.send == ProxyProtocolSend::V2 {
        let mut bytes = Vec::new();
        proxy_protocol::encode_v2(header, &mut bytes);
        socket
            .write_all(&bytes)
            .await
            .map_err(|error| unusable(error.to_string()))?;
    }
    let mut stream = PacketStream::new(Transport::from(socket), 0);
    let payload = stream.read().await.map_err(|error| match error {
        PacketError::Closed => unusable("it closed without a greeting".to_owned()),
        PacketError::Io(error) => unusable(error.to_string()),
        error => unusable(format!(
            "it greeted with something that is not MySQL: {error}"
        )),
    })?;
    if let Ok(err) = ErrPacket::decode(&payload) {
        let cause = format!(
            "it refused with error {}: {}",
            err.number,
            String::from_utf8_lossy(err.text)
        );
        return Err(match err.number == ErrorCode::CON_COUNT.number {
            true => Refusal::Full { cause, payload },
            false => Refusal::Err { cause, payload },
        });
    }
    let greeting = Greeting::decode(&payload).map_err(|error| {
        unusable(format!(
            "it greeted with something that is not MySQL: {error}"
        ))
    })?;
    Ok((stream, greeting, payload))
}

fn endpoint_of(endpoint: &route::Endpoint) -> Endpoint {
    match endpoint {
        route::Endpoint::Tcp(address) => Endpoint::Tcp(*address),
        route::Endpoint::Unix(path) => Endpoint::Unix(path.clone()),
    }
}
