//! Prepared statements of a [`BackendClient`] (protocol pages "COM_STMT_PREPARE", "COM_STMT_EXECUTE" and
//! "COM_STMT_CLOSE").

use wire::bound_values::{BoundValue, BoundValues};
use wire::statement::{PrepareOk, put_close};
use wire::{Command, ErrPacket, reply};

use crate::client::{BackendClient, ClientError, ResultBounds, StatementResult};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::rows::{RowFormat, is_eof};

/// A statement that the server has prepared. Only the connection that prepared it can use it. The server keeps it until
/// the statement or the connection is closed.
#[derive(Debug)]
pub struct PreparedStatement {
    id: u32,
    placeholders: u16,
}

impl BackendClient {
    /// Prepares a statement.
    ///
    /// # Errors
    /// The server's, or the connection is broken.
    pub async fn prepare(&mut self, text: &str) -> Result<PreparedStatement, ClientError> {
        let mut payload = vec![Command::STMT_PREPARE.0];
        payload.extend_from_slice(text.as_bytes());
        self.connection.send_command(&payload).await?;
        Ok(self.connection.prepared().await?)
    }

    /// Executes a prepared statement with a value for each of its placeholders.
    ///
    /// # Errors
    /// As [`BackendClient::query`]. If the number of values differs from the number of placeholders, nothing is sent.
    pub async fn execute(
        &mut self,
        statement: &PreparedStatement,
        values: &[BoundValue<'_>],
        bounds: ResultBounds,
    ) -> Result<StatementResult, ClientError> {
        let payload = statement.execution(values)?;
        self.connection.send_command(&payload).await?;
        let head = self.connection.read("a reply").await?;
        self.result(&head, bounds, RowFormat::Binary).await
    }

    /// Closes a prepared statement. The server sends no answer to that.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn close(&mut self, statement: PreparedStatement) -> Result<(), ClientError> {
        let mut payload = Vec::new();
        put_close(&mut payload, statement.id);
        Ok(self.connection.send_command(&payload).await?)
    }
}

impl PreparedStatement {
    /// The payload that executes the statement.
    fn execution(&self, values: &[BoundValue<'_>]) -> Result<Vec<u8>, ClientError> {
        let bound = BoundValues::of(values);
        match bound.filter(|bound| bound.count() == self.placeholders) {
            Some(bound) => Ok(bound.execute(self.id)),
            None => {
                let (wanted, given) = (self.placeholders, values.len());
                let text = format!("the statement has {wanted} placeholders, and {given} values");
                Err(ClientError::without_answer(text))
            }
        }
    }
}

impl Connection {
    /// Reads the reply to COM_STMT_PREPARE. The definitions in it are not kept: those of columns come again with each
    /// result.
    async fn prepared(&mut self) -> Result<PreparedStatement, Failure> {
        let head = self
            .read("an answer to a statement that is prepared")
            .await?;
        if head.first() == Some(&reply::ERR) {
            return Err(Failure::refused(&ErrPacket::decode(&head)?));
        }
        let prepared = PrepareOk::decode(&head)?;
        self.skip_definitions(prepared.parameters).await?;
        self.skip_definitions(prepared.columns).await?;
        Ok(PreparedStatement {
            id: prepared.statement_id,
            placeholders: prepared.parameters,
        })
    }

    async fn skip_definitions(&mut self, count: u16) -> Result<(), Failure> {
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            self.read("a definition").await?;
        }
        match is_eof(&self.read("the end of definitions").await?) {
            true => Ok(()),
            false => Err(Failure::NotMysql("its definitions have no end".to_owned())),
        }
    }
}
