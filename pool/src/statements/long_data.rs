//! Long data of one client, kept between COM_STMT_SEND_LONG_DATA and EXECUTE.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::ClientStatementId;

/// The data that COM_STMT_SEND_LONG_DATA has brought for one EXECUTE.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LongData {
    pieces: HashMap<u16, Vec<u8>>,
    fault: Option<LongDataFault>,
}

/// Why long data cannot be used. COM_STMT_SEND_LONG_DATA has no reply, so the EXECUTE fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LongDataFault {
    /// The server's error 1210 (ER_WRONG_ARGUMENTS).
    #[error("long data for parameter {0}, which the statement does not have")]
    NoSuchParameter(u16),
    /// The server's error 1105 (ER_UNKNOWN_ERROR), where the bound is `max_allowed_packet`.
    #[error("long data of more than {bytes_max} bytes")]
    TooLong {
        /// The bound over all statements of the client.
        bytes_max: usize,
    },
    /// There was no room for the data.
    #[error("no memory for long data")]
    NoMemory,
}

impl LongData {
    /// The bytes sent for a parameter. They may be empty, which is not NULL.
    pub fn of(&self, parameter: u16) -> Option<&[u8]> {
        self.pieces.get(&parameter).map(Vec::as_slice)
    }

    /// The parameters for which something was sent, in order.
    pub fn parameters(&self) -> Vec<u16> {
        let mut parameters: Vec<_> = self.pieces.keys().copied().collect();
        parameters.sort_unstable();
        parameters
    }

    /// Whether nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn bytes(&self) -> usize {
        self.pieces.values().map(Vec::len).sum()
    }
}

/// The long data of all statements of one client.
#[derive(Debug)]
pub(super) struct AllLongData {
    by_statement: FxHashMap<ClientStatementId, LongData>,
    /// The sum over all statements, changed when a piece comes or goes: clients may send very many.
    bytes: usize,
    bytes_max: usize,
}

impl AllLongData {
    pub(super) fn new(bytes_max: usize) -> Self {
        AllLongData {
            by_statement: FxHashMap::default(),
            bytes: 0,
            bytes_max,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a piece; after a fault nothing more is kept for this statement.
    pub(super) fn append(
        &mut self,
        id: ClientStatementId,
        parameter: u16,
        parameter_count: u16,
        piece: &[u8],
    ) {
        let data = self.by_statement.entry(id).or_default();
        if data.fault.is_some() {
            return;
        }
        let fault = if parameter >= parameter_count {
            LongDataFault::NoSuchParameter(parameter)
        } else if piece.len() > self.bytes_max - self.bytes {
            let bytes_max = self.bytes_max;
            LongDataFault::TooLong { bytes_max }
        } else {
            let pieces = data.pieces.entry(parameter).or_default();
            pieces.extend_from_slice(piece);
            self.bytes += piece.len();
            return;
        };
        self.bytes -= data.bytes();
        *data = LongData {
            pieces: HashMap::new(),
            fault: Some(fault),
        };
    }

    pub(super) fn take(&mut self, id: ClientStatementId) -> Result<LongData, LongDataFault> {
        if let Some(fault) = self.by_statement.get(&id).and_then(|data| data.fault) {
            return Err(fault);
        }
        let data = self.by_statement.remove(&id).unwrap_or_default();
        self.bytes -= data.bytes();
        Ok(data)
    }

    /// Discards a statement's long data, so that its EXECUTE fails.
    pub(super) fn refuse(&mut self, id: ClientStatementId) {
        let data = self.by_statement.entry(id).or_default();
        self.bytes -= data.bytes();
        *data = LongData {
            pieces: HashMap::new(),
            fault: Some(LongDataFault::NoMemory),
        };
    }

    pub(super) fn forget(&mut self, id: ClientStatementId) {
        if let Some(data) = self.by_statement.remove(&id) {
            self.bytes -= data.bytes();
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_statement.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ClientStatements;
    use super::*;

    fn two_of_two_parameters() -> (ClientStatements<()>, ClientStatementId, ClientStatementId) {
        let mut statements = ClientStatements::new(2, 10);
        let mut prepare = || statements.prepare((), 2, 0, [].into()).unwrap();
        let (one, two) = (prepare(), prepare());
        (statements, one, two)
    }

    #[test]
    fn long_data_above_the_limit_fails_the_execute_until_a_reset() {
        let (mut statements, id, other) = two_of_two_parameters();
        statements.send_long_data(id, 1, b"abc");
        statements.send_long_data(other, 1, b"de");
        statements.refuse_long_data(id);
        assert_eq!(statements.long_data_bytes(), 2);
        statements.send_long_data(id, 1, b"f");
        assert_eq!(statements.take_long_data(id), Err(LongDataFault::NoMemory));
        statements.reset(id);
        assert!(statements.take_long_data(id).unwrap().is_empty());
        assert!(statements.take_long_data(other).is_ok());
    }

    #[test]
    fn pieces_are_joined_and_used_once() {
        let (mut statements, id, _) = two_of_two_parameters();
        statements.send_long_data(id, 1, b"ab");
        statements.send_long_data(id, 0, b"");
        statements.send_long_data(id, 1, b"cd");
        let data = statements.take_long_data(id).unwrap();
        assert_eq!(data.parameters(), [0, 1]);
        assert_eq!(data.of(0), Some(&b""[..]));
        assert_eq!(data.of(1), Some(&b"abcd"[..]));
        assert!(statements.take_long_data(id).unwrap().is_empty());
    }

    #[test]
    fn the_bound_is_over_all_statements_and_fails_only_the_one_that_exceeds_it() {
        let (mut statements, one, two) = two_of_two_parameters();
        statements.send_long_data(one, 0, &[0; 6]);
        statements.send_long_data(two, 0, &[0; 4]);
        statements.send_long_data(two, 1, &[0; 1]);
        statements.send_long_data(two, 1, &[]);
        assert_eq!(statements.long_data_bytes(), 6);
        let fault = LongDataFault::TooLong { bytes_max: 10 };
        assert_eq!(statements.take_long_data(two), Err(fault));
        // As on the servers, the error stays until the statement is reset.
        assert_eq!(statements.take_long_data(two), Err(fault));
        statements.reset(two);
        assert_eq!(statements.take_long_data(two), Ok(LongData::default()));
        assert_eq!(
            statements.take_long_data(one).unwrap().of(0),
            Some(&[0; 6][..])
        );
    }

    #[test]
    fn data_for_no_parameter_fails_the_execute_unless_reset() {
        let (mut statements, id, _) = two_of_two_parameters();
        statements.send_long_data(id, 2, b"x");
        statements.reset(id);
        assert!(statements.take_long_data(id).unwrap().is_empty());
        statements.send_long_data(id, 2, b"x");
        let fault = LongDataFault::NoSuchParameter(2);
        assert_eq!(statements.take_long_data(id), Err(fault));
    }
}
