//! Long texts: the worker's reader of long texts reads them, while other sessions are served.
//!
//! Each error is that of a wait: the session ends, or its statement is killed. The text is lost then.

use std::rc::Rc;
use std::sync::Arc;

use sql::{Analysis, Facts};

use crate::session::PooledSession;
use backend::prepared_statement::StatementKey;
use link::client_command::Incoming;
use link::failure::Failure;
use link::query_command::{CommandPart, QueryCommand};
use link::text_reader::READ_HERE_BYTES_MAX;
use registry::memory_bound::memory_full;

impl PooledSession {
    /// Has the facts and the digest of a query read before the query runs.
    pub(crate) async fn read_ahead(&mut self, query: &mut QueryCommand) -> Result<(), Failure> {
        let is_whole = query.command_part == CommandPart::Whole;
        if is_whole && !self.has_memory_for_bytes(query.held_bytes()) {
            return Err(memory_full("the statement"));
        }
        let (env, memory) = (Rc::clone(&self.env), Arc::clone(&self.control.memory));
        let flags = self.sql_state.session().flags();
        self.wait_unless_killed(query.read_ahead(&env.text_reader, flags, &memory))
            .await
    }

    /// Replaces the text of a query.
    pub(crate) async fn replace_text(&self, query: &mut QueryCommand, text: &[u8]) {
        let flags = self.sql_state.session().flags();
        let reader = (&self.env.text_reader, &self.control.memory);
        query.replace_text(text, flags, reader).await;
    }

    /// Has the text of a COM_STMT_PREPARE read, if it is long.
    pub(crate) async fn read_prepare(
        &mut self,
        incoming: &mut Incoming,
    ) -> Result<Option<Analysis>, Failure> {
        if incoming.packets.len() <= READ_HERE_BYTES_MAX {
            return Ok(None);
        }
        let (env, memory) = (Rc::clone(&self.env), Arc::clone(&self.control.memory));
        let flags = self.sql_state.session().flags();
        let read = Box::pin(incoming.read_ahead(&env.text_reader, flags, &memory));
        self.wait_unless_killed(read).await.map(Some)
    }

    /// Has a text read, if it is long.
    pub(crate) async fn read_if_long(
        &mut self,
        text: &mut Vec<u8>,
    ) -> Result<Option<Analysis>, Failure> {
        if text.len() <= READ_HERE_BYTES_MAX {
            return Ok(None);
        }
        let (env, memory) = (Rc::clone(&self.env), Arc::clone(&self.control.memory));
        let flags = self.sql_state.session().flags();
        let read = Box::pin(env.text_reader.read(text, 0, flags, &memory));
        self.wait_unless_killed(read).await.map(Some)
    }

    /// Reads the facts of a text, however long it is.
    pub(crate) async fn facts_of(&mut self, text: &mut Vec<u8>) -> Result<Facts, Failure> {
        let long = self.read_if_long(text).await?;
        let flags = self.sql_state.session().flags();
        Ok(long.map_or_else(|| sql::facts(text, flags), |long| long.facts))
    }

    /// Has the text of a prepared statement's digest read, if the statement is long and the text is not known.
    pub(crate) async fn read_digest_text(&mut self, key: &StatementKey) -> Result<(), Failure> {
        let env = Rc::clone(&self.env);
        let stats = &env.relay.recorder.stats;
        if stats.is_wanted() && stats.known_text(key.digest).is_none() {
            let mut text = key.text.bytes().to_vec();
            if let Some(long) = self.read_if_long(&mut text).await? {
                stats.intern(key.digest, &long.digest);
            }
        }
        Ok(())
    }
}
