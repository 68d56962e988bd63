//! A statement's packets, as the connection that the session holds needs them.

use std::borrow::Cow;

use pool::{BackendStatementId, Binding, LongData};
use session::state::Needs;
use wire::Command;
use wire::execute::Execute;
use wire::statement::LongData as Piece;

use super::prepared::with_id;
use crate::session::PooledSession;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::OwnReply;
use command::statement::{Executing, Statement};
use link::query_command::QueryCommand;

/// A statement's packets, as its connection gets them.
pub(super) struct Encoded<'a> {
    pub(super) packets: Cow<'a, [u8]>,
    /// The sequence id that its reply begins with.
    pub(super) sequence: u8,
}

impl<'a> Encoded<'a> {
    /// A text goes to the backend unchanged.
    pub(super) fn of_text(query: &'a QueryCommand) -> Self {
        let incoming = query.incoming();
        Self {
            packets: Cow::Borrowed(&incoming.packets),
            sequence: incoming.sequence,
        }
    }
}

/// The server's reply that refuses to prepare what a statement needs.
pub(super) type Refused = Box<OwnReply>;

impl PooledSession {
    /// Makes the connection ready for a statement, and writes its packets.
    pub(super) async fn encode<'s>(
        &mut self,
        statement: &'s Statement<'_>,
        needs: &Needs,
    ) -> Result<Result<Encoded<'s>, Refused>, ExchangeError> {
        if let Statement::Text(query) = statement {
            let refused = Box::pin(self.make_texts_for(&query.facts, needs)).await?;
            return Ok(match refused {
                Some(own) => Err(Box::new(own)),
                None => Ok(Encoded::of_text(query)),
            });
        }
        // A procedure may run statements that were prepared from text.
        self.make_texts(needs).await?;
        let id = match self.prepared_id(statement, needs).await? {
            Ok(id) => id,
            Err(refused) => return Ok(Err(Box::new(refused))),
        };
        match statement {
            Statement::Execution(executing) => self.encode_execution(executing, id).map(Ok),
            Statement::Bulk(bulk) => Ok(Ok(Encoded {
                packets: Cow::Owned(with_id(Command::STMT_BULK_EXECUTE, bulk.argument, id)),
                sequence: bulk.incoming.sequence,
            })),
            Statement::Text(_) | Statement::Command(_) => Err(ExchangeError::no_connection()),
        }
    }

    /// The id of a prepared statement on the session's connection.
    async fn prepared_id(
        &mut self,
        statement: &Statement<'_>,
        needs: &Needs,
    ) -> Result<Result<BackendStatementId, OwnReply>, ExchangeError> {
        if let Statement::Execution(executing) = statement
            && self.is_mysql()
        {
            self.forget_others_types(executing);
        }
        match statement.prepared() {
            Some((_, key)) => self.backend_statement(key, needs).await,
            None => Err(ExchangeError::no_connection()),
        }
    }

    /// Encodes an EXECUTE with the backend's id, after its long data. The types are sent along if the server may have
    /// other types.
    fn encode_execution<'s>(
        &mut self,
        executing: &Executing<'_>,
        id: BackendStatementId,
    ) -> Result<Encoded<'s>, ExchangeError> {
        let execute = &executing.execute;
        let Some(conn) = self.held.connection_mut() else {
            return Err(ExchangeError::no_connection());
        };
        let types = match &executing.types {
            Some(types) => match conn.prepared.bind(&executing.key, types) {
                Binding::Seen => execute.types.and(Some(types)),
                Binding::Send => Some(types),
            },
            None => None,
        };
        let mut packets = self.env.pool_env.store.take_bytes();
        put_long_data(id, &executing.long_data, &mut packets);
        let mut payload = self.env.pool_env.store.take_bytes();
        Execute {
            statement_id: id.0,
            types: types.map(|types| &**types),
            ..*execute
        }
        .encode(self.client.capabilities(), &mut payload);
        let next = wire::write::put_packets(&mut packets, 0, &payload);
        self.env.pool_env.store.return_bytes(payload);
        Ok(Encoded {
            packets: Cow::Owned(packets),
            sequence: next.max(executing.incoming.sequence),
        })
    }

    /// Notes that a statement was not sent: the server has not seen its types, and it is not in use.
    pub(super) fn was_not_sent(&mut self, statement: &Statement<'_>) {
        if let Some((_, key)) = statement.prepared() {
            self.held.unbind(key);
            self.held.finish_prepared(key);
        }
    }

    /// MySQL treats parameters, and above all long data, according to the types that the statement had before: it
    /// converts some values, and prepares the statement again for others. So a statement that other sessions have
    /// executed with types that this client has never used is closed, and prepared anew. With long data the same holds
    /// for a statement whose last types are another session's.
    fn forget_others_types(&mut self, executing: &Executing<'_>) {
        let statement = self.sql_state.statements().statement(executing.id);
        let (Some(statement), Some(conn)) = (statement, self.held.connection()) else {
            return;
        };
        let (key, prepared) = (&executing.key, &conn.prepared);
        let will_do = prepared.has_seen_only(key, &statement.types_seen)
            && (executing.long_data.is_empty()
                || prepared.has_types(key, statement.former_types.as_ref()));
        if !will_do {
            self.held.close_prepared(key);
        }
    }
}

/// Appends the COM_STMT_SEND_LONG_DATA that the server has to get before the EXECUTE.
fn put_long_data(statement: BackendStatementId, long_data: &LongData, packets: &mut Vec<u8>) {
    for parameter in long_data.parameters() {
        let data = long_data.of(parameter).unwrap_or_default();
        let mut payload = Vec::new();
        Piece {
            statement_id: statement.0,
            parameter,
            data,
        }
        .encode(&mut payload);
        wire::write::put_packets(packets, 0, &payload);
    }
}
