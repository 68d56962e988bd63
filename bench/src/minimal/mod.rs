//! The minimal backend: a MySQL server that answers at once with canned results, so that what stands
//! between it and the load generator is the only thing measured. It accepts every login, runs on one
//! thread, and answers all the commands of one read, in order, with one write. What a pool asks when it
//! opens a connection it answers as MySQL 8.0 does; of a session nothing ever changes but whether a
//! transaction is open, so that it has no change to tell.

mod canned;
mod variables;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task;

use crate::protocol::{EofStyle, capability, first_packet, frame};
use canned::{Answer, Canned, Style};

const CAPABILITIES: u32 = capability::LONG_PASSWORD
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_STATEMENTS
    | capability::MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::CONNECT_ATTRS
    | capability::SESSION_TRACK
    | capability::DEPRECATE_EOF;

/// Serves until the process ends; prints the address it listens on first.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(listen: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    println!("listening on {}", listener.local_addr()?);
    let canned = Rc::new(Canned::default());
    task::LocalSet::new()
        .run_until(async move {
            loop {
                let (stream, _) = listener.accept().await?;
                let canned = Rc::clone(&canned);
                // An early disconnect of a client is no fault of the backend, so it is not reported.
                task::spawn_local(async move { converse(stream, &canned).await });
            }
        })
        .await
}

async fn converse(mut stream: TcpStream, canned: &Canned) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&greeting()).await?;
    let mut input = Vec::with_capacity(2048);
    let mut output = Vec::with_capacity(2048);
    let mut style = Style::new(login(&mut stream, &mut input, &mut output).await?);
    while stream.read_buf(&mut input).await? > 0 {
        let mut answered = 0;
        while let Some(packet) = first_packet(&input[answered..]) {
            match canned.answer(packet.payload, &mut style, &mut output) {
                Answer::Written => {}
                Answer::Continued(tail) => {
                    stream.write_all(&output).await?;
                    output.clear();
                    stream.write_all(&tail).await?;
                }
                Answer::Goodbye => return Ok(()),
            }
            answered += packet.wire_bytes();
        }
        stream.write_all(&output).await?;
        output.clear();
        input.drain(..answered);
    }
    Ok(())
}

/// Accepts every login, and learns how the client wants result sets to end.
async fn login(
    stream: &mut TcpStream,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> io::Result<EofStyle> {
    let (eof, sequence, bytes) = loop {
        if stream.read_buf(input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(packet) = first_packet(input) {
            let flags = packet
                .payload
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
            break (
                EofStyle::negotiated(flags),
                packet.sequence,
                packet.wire_bytes(),
            );
        }
    };
    input.drain(..bytes);
    canned::put_ok(output, sequence.wrapping_add(1), canned::AUTOCOMMIT);
    stream.write_all(output).await?;
    output.clear();
    Ok(eof)
}

fn greeting() -> Vec<u8> {
    let [low_0, low_1, high_0, high_1] = CAPABILITIES.to_le_bytes();
    let mut out = Vec::with_capacity(128);
    frame(&mut out, 0, |out| {
        out.push(10);
        out.extend_from_slice(b"8.0.99-pilotfish-bench\0");
        out.extend_from_slice(&1_u32.to_le_bytes());
        out.extend_from_slice(b"saltsalt\0");
        out.extend_from_slice(&[low_0, low_1, 45]);
        out.extend_from_slice(&canned::AUTOCOMMIT);
        out.extend_from_slice(&[high_0, high_1, 21]);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(b"saltsaltsalt\0mysql_native_password\0");
    });
    out
}
