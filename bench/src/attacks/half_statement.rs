//! A client that compresses, and sends a statement without its end.

use std::sync::LazyLock;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::compressed::{STATEMENT_BYTES, log_in, query_frame};
use crate::load::Target;

/// The number of bytes of the statement that the client sends.
const SENT_BYTES: usize = 15 << 20;

/// The compressed frame: 16 KB.
static FRAME: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = vec![b' '; SENT_BYTES];
    query_frame(STATEMENT_BYTES, &text)
});

/// Logs in, sends the half statement, and waits until the proxy closes the connection.
///
/// # Errors
/// The connection breaks, or the client is not let in.
pub async fn keep(target: &Target) -> Result<()> {
    let mut stream = log_in(target).await?;
    stream.write_all(&FRAME).await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}
