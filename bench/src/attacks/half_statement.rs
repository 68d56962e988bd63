//! A client that compresses, and sends a statement without its end.

use std::io::Write;
use std::sync::LazyLock;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::load::Target;
use crate::protocol::{capability, command, first_packet, frame};

/// What the statement has, and what of it is sent.
const STATEMENT_BYTES: usize = (16 << 20) - 1;
const SENT_BYTES: usize = 15 << 20;

/// The compressed frame: 16 KB.
static FRAME: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut statement = STATEMENT_BYTES.to_le_bytes()[..3].to_vec();
    statement.extend_from_slice(&[0, command::QUERY]);
    statement.resize(SENT_BYTES, b' ');
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let packed = encoder
        .write_all(&statement)
        .and_then(|()| encoder.finish());
    let packed = packed.unwrap_or_default();
    let three = |number: usize| number.to_le_bytes()[..3].to_vec();
    [three(packed.len()), vec![0], three(statement.len()), packed].concat()
});

/// Logs in, sends the half statement, and waits until the proxy closes the connection.
///
/// # Errors
/// The connection breaks, or the client is not let in.
pub async fn keep(target: &Target) -> Result<()> {
    let mut stream = TcpStream::connect(target.address).await?;
    let mut input = Vec::new();
    read_packet(&mut stream, &mut input).await?;
    let capabilities = capability::LONG_PASSWORD
        | capability::COMPRESS
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION;
    let mut login = Vec::new();
    frame(&mut login, 1, |out| {
        out.extend_from_slice(&capabilities.to_le_bytes());
        out.extend_from_slice(&(16_u32 << 20).to_le_bytes());
        out.push(45); // utf8mb4_general_ci
        out.extend_from_slice(&[0; 23]);
        out.extend_from_slice(target.user.as_bytes());
        out.extend_from_slice(&[0, 0]); // end of the name, no password
    });
    stream.write_all(&login).await?;
    while read_packet(&mut stream, &mut input).await? != 0 {
        // Another method: without a password its answer is empty.
        frame(&mut login, 3, |_| {});
        stream.write_all(&login[login.len() - 4..]).await?;
    }
    stream.write_all(&FRAME).await?;
    input.clear();
    stream.read_to_end(&mut input).await?;
    Ok(())
}

/// Reads one packet; its payload's first byte. An ERR is an error.
async fn read_packet(stream: &mut TcpStream, input: &mut Vec<u8>) -> Result<u8> {
    loop {
        if let Some(packet) = first_packet(input) {
            let first = packet.payload.first().copied().unwrap_or_default();
            let bytes = packet.wire_bytes();
            input.drain(..bytes);
            ensure!(first != 0xff, "refused");
            return Ok(first);
        }
        ensure!(stream.read_buf(input).await? > 0, "closed");
    }
}
