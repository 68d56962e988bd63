//! The proxy's own exchanges on a backend connection: it sends a command and reads the whole reply.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use session::state::Changes;
use session::{Outcome, Piece, Progress, Reply, Tally};
use wire::Command;
use wire::query::Query;

use crate::connection::BackendConn;
use crate::connection_error::ConnectionError;
use crate::own_reply::{OwnReply, note_changes, own_command};
use crate::pool_env::PoolEnv;

/// How long a backend may take to answer a statement of the proxy's own.
const TIMEOUT_OWN: Duration = Duration::from_secs(30);

/// The most that the reply to COM_STMT_PREPARE may have, in bytes: 65,535 parameters and 4,096 columns with long names.
pub const PREPARED_BYTES_MAX: usize = 32 << 20;

/// The most that the reply to a statement of the proxy's own may have, in bytes.
const OWN_REPLY_BYTES_MAX: usize = 1 << 20;

/// What happens if a reply is longer than this number of bytes.
#[derive(Clone, Copy)]
enum Limit {
    /// The connection is given up.
    Breaks(usize),
    /// The reply is read to its end and dropped.
    Drops(usize),
}

impl BackendConn {
    /// Sends commands of the proxy's own and waits for the reply to the last one.
    pub async fn ask(
        &mut self,
        env: &PoolEnv,
        command: Command,
        argument: &[u8],
    ) -> Result<OwnReply, ConnectionError> {
        let packets = own_command(command, argument);
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        self.read_reply(env, command).await
    }

    /// Asks several questions, in one write if possible.
    pub async fn ask_all(
        &mut self,
        env: &PoolEnv,
        statements: &[String],
    ) -> Result<Vec<OwnReply>, ConnectionError> {
        let mut replies = Vec::with_capacity(statements.len());
        if self.is_compressed() {
            for statement in statements {
                let argument = text(self, statement);
                replies.push(self.ask(env, Command::QUERY, &argument).await?);
            }
            return Ok(replies);
        }
        let mut packets = Vec::new();
        for statement in statements {
            let argument = text(self, statement);
            packets.extend(own_command(Command::QUERY, &argument));
        }
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        for _ in statements {
            replies.push(self.read_reply(env, Command::QUERY).await?);
        }
        Ok(replies)
    }

    /// Reads the reply to a command that the proxy has sent for itself.
    pub async fn read_reply(
        &mut self,
        env: &PoolEnv,
        command: Command,
    ) -> Result<OwnReply, ConnectionError> {
        // A PREPARE may wait for a table that is being altered; every other command is answered at once.
        if command == Command::STMT_PREPARE {
            let limit = Limit::Breaks(PREPARED_BYTES_MAX);
            return self.read_whole_reply(env, command, limit).await;
        }
        self.read_reply_within(env, command, Duration::ZERO).await
    }

    /// Reads the reply to a command that may take `wait` longer than others.
    pub async fn read_reply_within(
        &mut self,
        env: &PoolEnv,
        command: Command,
        wait: Duration,
    ) -> Result<OwnReply, ConnectionError> {
        let read = self.read_whole_reply(env, command, Limit::Breaks(OWN_REPLY_BYTES_MAX));
        let read = tokio::time::timeout(TIMEOUT_OWN + wait, read).await;
        read.unwrap_or(Err(ConnectionError::Unexpected("no answer in time")))
    }

    /// Asks for one row. If the reply is longer than `OWN_REPLY_BYTES_MAX`, none of it is kept.
    pub async fn ask_short(
        &mut self,
        env: &PoolEnv,
        argument: &[u8],
    ) -> Result<OwnReply, ConnectionError> {
        let asked = self.ask_in_part(env, argument, OWN_REPLY_BYTES_MAX);
        let asked = tokio::time::timeout(TIMEOUT_OWN, asked).await;
        asked.unwrap_or(Err(ConnectionError::Unexpected("no answer in time")))
    }

    /// Sends a statement that does not come from the proxy itself, and waits for its reply without
    /// a time limit. If the reply is longer than `bytes_max`, none of it is kept.
    pub async fn ask_in_part(
        &mut self,
        env: &PoolEnv,
        argument: &[u8],
        bytes_max: usize,
    ) -> Result<OwnReply, ConnectionError> {
        let packets = own_command(Command::QUERY, argument);
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        self.read_whole_reply(env, Command::QUERY, Limit::Drops(bytes_max))
            .await
    }

    async fn read_whole_reply(
        &mut self,
        env: &PoolEnv,
        command: Command,
        limit: Limit,
    ) -> Result<OwnReply, ConnectionError> {
        let mut reply = Reply::to(command, self.capabilities, self.sequences(), 1)
            .ok_or(ConnectionError::Unexpected("a command without a reply"))?;
        let mut own = OwnReply {
            bytes: Vec::new(),
            outcome: Outcome::Ok,
            tally: Tally::default(),
            changes: Changes::default(),
            is_cut: false,
        };
        let capabilities = self.capabilities;
        loop {
            match reply.progress() {
                Progress::More => {}
                Progress::Over(outcome) => {
                    own.outcome = outcome;
                    own.tally = *reply.tally();
                    return Ok(own);
                }
                Progress::File { .. } => {
                    return Err(ConnectionError::Unexpected("it wants a file"));
                }
            }
            poll_fn(|context| {
                self.poll_feed(env, &mut reply, context, |piece| match piece {
                    Piece::Pass(bytes) => own.bytes.extend_from_slice(bytes),
                    Piece::Changes(packet, result) => {
                        own.bytes.extend_from_slice(packet);
                        own.changes.ends(result);
                        note_changes(packet, capabilities, &mut own.changes);
                    }
                })
            })
            .await?;
            match limit {
                Limit::Breaks(bytes_max) if own.bytes.len() > bytes_max => {
                    return Err(ConnectionError::Unexpected("an endless reply"));
                }
                Limit::Drops(bytes_max) if own.is_cut || own.bytes.len() > bytes_max => {
                    own.is_cut = true;
                    own.bytes.clear();
                }
                Limit::Breaks(_) | Limit::Drops(_) => {}
            }
        }
    }
}

/// Encodes a statement's text, after the bytes that the capabilities require in front of it.
pub fn text(conn: &BackendConn, statement: impl AsRef<[u8]>) -> Vec<u8> {
    let mut argument = Vec::new();
    let query = Query {
        attributes: b"",
        text: statement.as_ref(),
    };
    query.encode(conn.capabilities, &mut argument);
    // The caller puts the command byte in front.
    argument.split_off(1)
}
