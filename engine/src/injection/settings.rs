//! Variables that a rule sets around a client's statement are set back. Injected statements leave nothing else behind
//! either: no transaction, and no warnings.

use session::Outcome;

use super::bounded_queries::{Side, failure_of};
use crate::exchange::preamble::empty_list;
use crate::session::PooledSession;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::injected_results::Finding;
use backend::own_reply::table;
use command::injecting::Injecting;

/// The most bytes that the values of variables may have.
const OWN_BYTES_MAX: usize = 64 << 10;

impl PooledSession {
    /// Asks for the values of variables that are about to be set, so that they can be set back.
    pub(super) async fn remember(
        &mut self,
        injecting: &mut Injecting,
        names: &[Box<str>],
        side: Side,
    ) -> Result<Option<Finding>, Cut> {
        let known = &injecting.undo;
        let is_new = |name: &str| known.iter().all(|(known, _)| **known != *name);
        let names: Vec<Box<str>> = (names.iter().filter(|it| is_new(it)).cloned()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let asked: Vec<_> = names.iter().map(|it| format!("@@session.{it}")).collect();
        let question = format!("SELECT {} LIMIT 1", asked.join(","));
        let own = self
            .send_injected(injecting, question.as_bytes(), OWN_BYTES_MAX, side)
            .await?;
        if let Some(error) = failure_of(&own) {
            return Ok(Some(Finding::Failed(error)));
        }
        let capabilities = self.conn_capabilities();
        let table = table(&own, capabilities).map_err(Cut::Backend)?;
        for ((name, column), value) in names.into_iter().zip(&table.columns).zip(&table.row) {
            match value
                .as_deref()
                .and_then(|it| literal(column.type_code, it))
            {
                Some(literal) => injecting.undo.push((name, literal)),
                None => {
                    let text = format!("{name} has a value that cannot be set back");
                    return Ok(Some(Finding::Failed(text)));
                }
            }
        }
        Ok(None)
    }

    /// Sets the variables back.
    pub(super) async fn set_back(&mut self, injecting: &mut Injecting) -> Result<(), Cut> {
        // Variables that the client's statement has set keep their values.
        let changes = self.tracking.changes();
        let is_own = |name: &str| changes.value_of(name.as_bytes()).is_none();
        injecting.undo.retain(|(name, _)| is_own(name));
        if injecting.undo.is_empty() {
            return Ok(());
        }
        let undo = injecting.undo.drain(..);
        let set = undo.map(|(name, to)| [b"SESSION ", name.as_bytes(), b"=", &to].concat());
        let set: Vec<Vec<u8>> = set.collect();
        let statement = [b"SET ".as_slice(), &set.join(&b',')].concat();
        injecting.sent += 1;
        let own = self.ask_own(&statement).await?;
        if let Some(error) = failure_of(&own) {
            let shown = String::from_utf8_lossy(&statement).into_owned();
            self.injected_failed(injecting, &shown, &error);
            self.held.spoil();
        }
        Ok(())
    }

    /// Ends a transaction, and empties a warning list, that injected statements have made.
    pub(super) async fn leave_no_trace(&mut self, injecting: &mut Injecting) -> Result<(), Cut> {
        if std::mem::take(&mut injecting.has_started_transaction) {
            injecting.sent += 1;
            let own = self.ask_own(b"COMMIT AND NO CHAIN NO RELEASE").await?;
            if own.outcome != Outcome::Ok {
                let text = "it does not end a transaction that has only read";
                return Err(ConnectionError::Unexpected(text).into());
            }
        }
        if std::mem::take(&mut injecting.has_warned) {
            injecting.sent += 1;
            let server = self.sql_state.session().flags().server;
            self.ask_own(empty_list(server).as_bytes()).await?;
        }
        if self.held.has_connection() {
            self.sql_state.pending_answers().is_disturbed_now();
        }
        Ok(())
    }
}

/// A variable's value as SET takes it. `None`: a text has a quote, a backslash, or anything but printable ASCII.
fn literal(type_code: u8, value: &[u8]) -> Option<Vec<u8>> {
    use wire::column::ColumnType;
    let is_number = matches!(
        ColumnType(type_code),
        ColumnType::TINY
            | ColumnType::SHORT
            | ColumnType::LONG
            | ColumnType::INT24
            | ColumnType::LONGLONG
            | ColumnType::FLOAT
            | ColumnType::DOUBLE
            | ColumnType::DECIMAL
            | ColumnType::NEWDECIMAL
    );
    if is_number {
        return Some(value.to_vec());
    }
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
    value
        .iter()
        .all(is_plain)
        .then(|| [b"'", value, b"'"].concat())
}
