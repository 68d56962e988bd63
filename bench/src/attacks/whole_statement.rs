//! A client that compresses, and sends long statements, one behind the reply to the other.

use std::sync::LazyLock;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::compressed::{STATEMENT_BYTES, log_in, query_frame};
use crate::load::Target;

/// Frames of 16 KB that are 16 MiB: one string, and many numbers and many names behind an error of syntax, so that the server has
/// little to do.
static FRAMES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let text = |begin: &str, repeated: &str, end: &str| {
        let mut text = begin.to_owned();
        let room = STATEMENT_BYTES - 1 - begin.len() - end.len();
        text.push_str(&repeated.repeat(room / repeated.len()));
        text.push_str(&" ".repeat(room % repeated.len()));
        text.push_str(end);
        query_frame(STATEMENT_BYTES, text.as_bytes())
    };
    [
        text("SELECT LENGTH('", "x", "')"),
        text("SELECT FROM a WHERE ", "1,", "1"),
        text("SELECT FROM a WHERE ", "a.b,", "1"),
    ]
});

/// Logs in, and sends statements as long as the proxy answers them.
///
/// # Errors
/// The connection breaks, or the client is not let in.
pub async fn send(target: &Target, number: u64) -> Result<()> {
    let mut stream = log_in(target).await?;
    let frame = &FRAMES[number as usize % FRAMES.len()];
    let mut reply = Vec::new();
    loop {
        stream.write_all(frame).await?;
        reply.clear();
        while !is_whole(&reply) {
            ensure!(stream.read_buf(&mut reply).await? > 0, "closed");
        }
    }
}

/// Whether the reply has come: all replies here are so short that they are sent in one piece.
fn is_whole(reply: &[u8]) -> bool {
    let mut rest = reply;
    while let [a, b, c, _, _, _, _, more @ ..] = rest {
        let bytes = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        match more.get(bytes..) {
            Some([]) => return true,
            Some(next) => rest = next,
            None => return false,
        }
    }
    false
}
