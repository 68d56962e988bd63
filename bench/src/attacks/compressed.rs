//! Clients that compress: their login, and a statement as a compressed frame.

use std::io::Write;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::load::Target;
use crate::protocol::{capability, command, first_packet, frame};

/// The payload of one statement: with the packet's header it is as long as one frame can be.
pub const STATEMENT_BYTES: usize = (16 << 20) - 1 - 4;

/// A frame with the begin of a COM_QUERY of `payload_bytes`, of which `text` is sent.
pub fn query_frame(payload_bytes: usize, text: &[u8]) -> Vec<u8> {
    let three = |number: usize| number.to_le_bytes()[..3].to_vec();
    let head = [&three(payload_bytes)[..], &[0, command::QUERY]].concat();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let packed = [&head[..], text]
        .into_iter()
        .try_for_each(|part| encoder.write_all(part))
        .and_then(|()| encoder.finish());
    let packed = packed.unwrap_or_default();
    let unpacked_bytes = head.len() + text.len();
    [three(packed.len()), vec![0], three(unpacked_bytes), packed].concat()
}

/// Logs in without a password. From then on all packets travel in compressed frames.
///
/// # Errors
/// The connection breaks, or the client is not let in.
pub async fn log_in(target: &Target) -> Result<TcpStream> {
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
    Ok(stream)
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
