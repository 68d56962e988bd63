//! The end of a login that the proxy answers: the client gets the OK.

use link::dialogue::client_broke;
use link::failure::Failure;
use link::packets::PacketStream;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::StatusFlags;

/// Sends `payload`, the last packet of the authentication if there is one, and `ok`.
///
/// # Errors
/// The client has disconnected.
pub async fn welcome<T>(
    client: &mut PacketStream<T>,
    payload: Option<Vec<u8>>,
    ok: &[u8],
) -> Result<(), Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    send_last_packet(client, payload).await?;
    let said = client.write(ok).await;
    said.map_err(|error| client_broke(error.into()))
}

/// Returns the payload of an OK with this status.
pub fn ok(status: StatusFlags) -> [u8; 7] {
    let [low, high] = status.0.to_le_bytes();
    [wire::reply::OK, 0, 0, low, high, 0, 0]
}

/// Sends the last packet of the authentication, if there is one.
///
/// # Errors
/// The client has disconnected.
pub async fn send_last_packet<T>(
    client: &mut PacketStream<T>,
    payload: Option<Vec<u8>>,
) -> Result<(), Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let Some(payload) = payload else {
        return Ok(());
    };
    let said = client.write(&payload).await;
    said.map_err(|error| client_broke(error.into()))
}
