//! A client that begins a transaction, writes, and then does nothing.

use std::time::Duration;

use tokio::time::sleep;

use crate::load::{Failure, Session, Target};

/// Between two statements in the transaction: much longer than the proxy lets others wait.
const IDLE: Duration = Duration::from_secs(10);

/// Keeps a transaction open until it is ended.
///
/// # Errors
/// The proxy ends the transaction, or the client is not let in.
pub async fn keep(target: &Target, number: u64) -> Result<(), Failure> {
    let mut session = Session::open(target).await?;
    session.look("BEGIN").await?;
    let id = 1_000_000 + number;
    let insert = format!("REPLACE INTO sbtest1 (id, k, c, pad) VALUES ({id}, 1, '', '')");
    session.look(&insert).await?;
    loop {
        sleep(IDLE).await;
        session.look("DO 1").await?;
    }
}
