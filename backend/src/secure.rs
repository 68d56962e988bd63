//! A backend connection between greeting and login: TLS and compression, as configured.

use auth::Privacy;
use config::{BackendCompression, BackendTlsMode, CompressionConfig};
use net::tls::{self, ClientTls};
use route::Backend;
use wire::compression::{Algorithm, Codec, Remote};
use wire::handshake::HandshakeHead;
use wire::{Capabilities, Greeting, errors};

use crate::settings::Settings;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::transport::Transport;

/// Flags that belong to one connection and not to the session.
pub const LEG: Capabilities = Capabilities(
    Capabilities::SSL.0 | Capabilities::COMPRESS.0 | Capabilities::ZSTD_COMPRESSION_ALGORITHM.0,
);

/// The servers' own compression level (`net_serv.cc` uses zlib's default).
pub const ZLIB_LEVEL: u8 = 6;

/// Starts TLS on the connection to the backend, as configured.
pub async fn secure_backend(
    (settings, client_tls): (&Settings, Option<&ClientTls>),
    backend: &Backend,
    greeting: &Greeting,
    stream: &mut PacketStream,
    head: &HandshakeHead,
    leg: Capabilities,
) -> Result<(), Failure> {
    let Some(client_tls) = client_tls else {
        return Ok(());
    };
    let name = &backend.name;
    let backend_failed = |cause: String| {
        Failure::saying(
            FailureKind::BackendTls,
            errors::backend_tls_failed(name, cause),
        )
    };
    if !greeting.capabilities.contains(Capabilities::SSL) {
        // A connection over a Unix socket needs no TLS.
        return match settings.config.backend_tls.mode {
            BackendTlsMode::Off | BackendTlsMode::Preferred => Ok(()),
            _ if stream.privacy() == Privacy::Local => Ok(()),
            _ => Err(Failure::saying(
                FailureKind::BackendTls,
                errors::backend_tls_missing(name),
            )),
        };
    }
    let host = backend.location.host.as_deref().unwrap_or("localhost");
    let server_name = client_tls
        .server_name(host)
        .map_err(|error| backend_failed(error.to_string()))?;
    let capabilities = head.capabilities.with(LEG, false) | leg | Capabilities::SSL;
    let mut request = Vec::new();
    HandshakeHead {
        capabilities,
        ..*head
    }
    .encode(&mut request);
    let connector = client_tls.connector();
    let upgraded = match stream.write(&request).await {
        Ok(()) => {
            let connect = |transport: Transport, _| async move {
                transport.connect_tls(&connector, server_name).await
            };
            stream.upgrade(connect).await
        }
        Err(error) => Err(error),
    };
    upgraded.map_err(|error| backend_failed(tls::explain(&error).to_string()))
}

/// Returns the algorithm and the level with which the connection is compressed, if the backend offers it.
pub fn backend_compression(
    config: &CompressionConfig,
    greeting: &Greeting,
) -> Option<(Algorithm, u8)> {
    let (flag, algorithm, level) = match config.backend {
        BackendCompression::Off => return None,
        BackendCompression::Zlib => (Capabilities::COMPRESS, Algorithm::Zlib, ZLIB_LEVEL),
        BackendCompression::Zstd => (
            Capabilities::ZSTD_COMPRESSION_ALGORITHM,
            Algorithm::Zstd,
            config.zstd_level,
        ),
    };
    greeting
        .capabilities
        .contains(flag)
        .then_some((algorithm, level))
}

/// Returns the flags that belong to the connection, but for TLS.
pub fn backend_leg(compression: Option<(Algorithm, u8)>) -> Capabilities {
    match compression {
        None => Capabilities::default(),
        Some((Algorithm::Zlib, _)) => Capabilities::COMPRESS,
        Some((Algorithm::Zstd, _)) => Capabilities::ZSTD_COMPRESSION_ALGORITHM,
    }
}

/// Starts compression, which begins after the login's OK; bytes that were read ahead are compressed already.
pub fn compress(
    transport: Transport,
    ahead: Vec<u8>,
    agreed: Option<(wire::compression::Algorithm, u8)>,
    remote: Remote,
) -> (Transport, Vec<u8>) {
    match agreed {
        Some((algorithm, level)) => (
            transport.compress(Codec::new(algorithm, level, remote), &ahead),
            Vec::new(),
        ),
        None => (transport, ahead),
    }
}
