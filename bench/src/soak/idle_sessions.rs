//! Sessions that ask once at the begin and once at the end, and do nothing meanwhile.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::timeout;

use crate::load::reply::Reply;
use crate::load::{Errors, Failure, Session, Target};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The open sessions, each with the row that it asks for.
pub struct IdleSessions(Vec<(Session, u64)>);

impl IdleSessions {
    /// Opens sessions, each of which asks for one row.
    ///
    /// # Errors
    /// A session is not let in, or gets no answer.
    pub async fn open(target: &Target, count: usize) -> Result<Self> {
        let mut sessions = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let key = number % target.table_rows + 1;
            let opened = timeout(PATIENCE, open(target, key)).await;
            let session = opened.context("an idle session is not let in")??;
            sessions.push((session, key));
        }
        Ok(Self(sessions))
    }

    /// Has each of them ask for its row again.
    pub async fn ask_all(self) -> Errors {
        let mut errors = Errors::default();
        for (mut session, key) in self.0 {
            match timeout(PATIENCE, ask(&mut session, key)).await {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => errors.note(&failure),
                Err(_) => errors.give_up(1),
            }
        }
        errors
    }
}

async fn open(target: &Target, key: u64) -> Result<Session, Failure> {
    let mut session = Session::open(target).await?;
    ask(&mut session, key).await?;
    Ok(session)
}

async fn ask(session: &mut Session, key: u64) -> Result<(), Failure> {
    let expected = Reply {
        rows: 1,
        key: Some(key),
    };
    let text = format!("SELECT id, c FROM sbtest1 WHERE id = {key}");
    session.query(&text, expected).await
}
