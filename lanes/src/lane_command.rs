//! The commands on a lane, and the statements that lanes were asked for and had not prepared.

use std::cell::RefCell;
use std::collections::HashSet;

use backend::ask::PREPARED_BYTES_MAX;
use backend::connection_error::ConnectionError;
use backend::prepared_statement::StatementKey;

/// The most statements that are remembered as wanted once.
const WANTED_MAX: usize = 1024;

/// The command on a lane that a reply belongs to.
pub(crate) enum LaneCommand {
    /// COM_QUERY.
    Query,
    /// COM_STMT_EXECUTE of this statement.
    Execute(StatementKey),
    /// A PREPARE of the lane itself. No client waits for it.
    Prepare(Box<Preparation>),
}

/// A statement that is being prepared, and the reply so far.
pub(crate) struct Preparation {
    pub key: StatementKey,
    pub packets: Vec<u8>,
}

/// Statements that were requested on a lane that had not prepared them. The lane prepares a statement at the
/// second request, because a statement that is executed once does not repay it.
#[derive(Default)]
pub struct WantedStatements(RefCell<HashSet<StatementKey>>);

impl WantedStatements {
    /// Whether the statement was wanted before.
    #[inline]
    pub fn again(&self, key: &StatementKey) -> bool {
        let mut wanted = self.0.borrow_mut();
        if wanted.contains(key) {
            return true;
        }
        if wanted.len() >= WANTED_MAX {
            wanted.clear();
        }
        wanted.insert(key.clone());
        false
    }
}

impl LaneCommand {
    /// Notes a part of the reply, if the command is the lane's own.
    pub(crate) fn note(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        let Self::Prepare(preparation) = self else {
            return Ok(());
        };
        if preparation.packets.len() + bytes.len() > PREPARED_BYTES_MAX {
            return Err(ConnectionError::Unexpected("an endless reply"));
        }
        preparation.packets.extend_from_slice(bytes);
        Ok(())
    }
}
