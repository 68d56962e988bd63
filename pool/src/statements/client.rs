//! The statements that one client has prepared, by the client's ids.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::long_data::{AllLongData, LongData, LongDataFault};
use super::types::TypesSeen;

/// A statement's id as its client knows it. Never on the wire to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientStatementId(u32);

/// With this id in a command, MariaDB's clients mean the statement prepared last.
const LAST: u32 = 0xFFFF_FFFF;

impl ClientStatementId {
    /// As it goes on the wire.
    pub fn number(self) -> u32 {
        self.0
    }

    fn next(self) -> Self {
        match self.0.wrapping_add(1) {
            0 | LAST => ClientStatementId(1),
            number => ClientStatementId(number),
        }
    }
}

/// The statements of one client. `S` is the form in which backends prepare them.
#[derive(Debug)]
pub struct ClientStatements<S> {
    known: FxHashMap<ClientStatementId, ClientStatement<S>>,
    last: ClientStatementId,
    /// The statement of the latest PREPARE, if that has succeeded.
    latest: Option<ClientStatementId>,
    count_max: usize,
    long_data: AllLongData,
}

/// One statement of one client.
#[derive(Debug)]
pub struct ClientStatement<S> {
    /// The form in which backends prepare it.
    pub statement: S,
    /// The number of parameters.
    pub parameter_count: u16,
    /// The number of columns of its result; 0 if it has no result.
    pub column_count: u16,
    /// The definitions of its parameters and columns as the client was told them: the payloads
    /// behind the PREPARE's OK, in the caller's own form.
    pub definitions: Rc<[u8]>,
    /// The parameter types of its last EXECUTE, two bytes each. If the client leaves the types out
    /// and the backend has not seen them, they are sent from here.
    pub types: Option<Rc<[u8]>>,
    /// The types of the EXECUTE before that.
    pub former_types: Option<Rc<[u8]>>,
    /// The types of all its EXECUTEs.
    pub types_seen: TypesSeen,
}

/// The client has as many statements as it may: the server's error 1461.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {count_max} prepared statements")]
pub struct TooManyStatements {
    /// The bound.
    pub count_max: usize,
}

impl<S> ClientStatements<S> {
    /// At most `count_max` statements, and for all of them together at most `long_data_bytes_max`
    /// of long data.
    pub fn new(count_max: usize, long_data_bytes_max: usize) -> Self {
        ClientStatements {
            known: FxHashMap::default(),
            last: ClientStatementId(0),
            latest: None,
            count_max,
            long_data: AllLongData::new(long_data_bytes_max),
        }
    }

    /// A PREPARE begins; its outcome is not known yet.
    pub fn begin_prepare(&mut self) {
        self.latest = None;
    }

    /// Whether the client may prepare one more statement; to be asked before a backend prepares it.
    ///
    /// # Errors
    /// The bound is reached.
    pub fn has_room(&self) -> Result<(), TooManyStatements> {
        let count_max = self.count_max;
        if self.known.len() < count_max {
            Ok(())
        } else {
            Err(TooManyStatements { count_max })
        }
    }

    /// Adds a statement under the next id, counted as the servers do: from 1 upwards, never 0 nor
    /// 0xffffffff. After the last id it begins with 1 again, and skips ids in use.
    ///
    /// # Errors
    /// The bound is reached.
    pub fn prepare(
        &mut self,
        statement: S,
        parameter_count: u16,
        column_count: u16,
        definitions: Rc<[u8]>,
    ) -> Result<ClientStatementId, TooManyStatements> {
        self.has_room()?;
        let mut id = self.last.next();
        while self.known.contains_key(&id) {
            id = id.next();
        }
        self.last = id;
        self.latest = Some(id);
        let statement = ClientStatement {
            statement,
            parameter_count,
            column_count,
            definitions,
            types: None,
            former_types: None,
            types_seen: TypesSeen::default(),
        };
        self.known.insert(id, statement);
        Ok(id)
    }

    /// Returns the id in a command, if that statement exists (else the server's error 1243). 0xffffffff is the
    /// statement of the latest PREPARE, as in MariaDB: none if that has failed. Clients send an EXECUTE with this
    /// id behind the PREPARE, before they know its outcome.
    pub fn resolve(&self, number: u32) -> Option<ClientStatementId> {
        let id = match number {
            LAST => self.latest?,
            number => ClientStatementId(number),
        };
        self.known.contains_key(&id).then_some(id)
    }

    /// A statement.
    pub fn statement(&self, id: ClientStatementId) -> Option<&ClientStatement<S>> {
        self.known.get(&id)
    }

    /// A statement, to be changed.
    pub fn statement_mut(&mut self, id: ClientStatementId) -> Option<&mut ClientStatement<S>> {
        self.known.get_mut(&id)
    }

    /// The forms in which backends prepare all statements, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.known.values_mut().map(|it| &mut it.statement)
    }

    /// Keeps long data until the EXECUTE. Skips an unknown statement, as the servers do: no reply
    /// could report it.
    pub fn send_long_data(&mut self, id: ClientStatementId, parameter: u16, bytes: &[u8]) {
        if let Some(statement) = self.known.get(&id) {
            self.long_data
                .append(id, parameter, statement.parameter_count, bytes);
        }
    }

    /// Records that there is no room for a statement's long data: its EXECUTE fails.
    pub fn refuse_long_data(&mut self, id: ClientStatementId) {
        if self.known.contains_key(&id) {
            self.long_data.refuse(id);
        }
    }

    /// Takes the long data for an EXECUTE, which uses it up whatever its outcome is.
    ///
    /// # Errors
    /// The fault of the long data.
    pub fn take_long_data(&mut self, id: ClientStatementId) -> Result<LongData, LongDataFault> {
        self.long_data.take(id)
    }

    /// COM_STMT_RESET: forgets long data, and its fault.
    pub fn reset(&mut self, id: ClientStatementId) {
        self.long_data.forget(id);
    }

    /// COM_STMT_CLOSE.
    pub fn close(&mut self, id: ClientStatementId) -> Option<ClientStatement<S>> {
        self.long_data.forget(id);
        self.known.remove(&id)
    }

    /// Forgets all statements: COM_RESET_CONNECTION and COM_CHANGE_USER. Ids continue, as in the servers.
    pub fn clear(&mut self) {
        self.known.clear();
        self.long_data.clear();
    }

    /// How many statements there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Long data held, in bytes.
    pub fn long_data_bytes(&self) -> usize {
        self.long_data.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements() -> ClientStatements<&'static str> {
        ClientStatements::new(3, 10)
    }

    fn prepare(statements: &mut ClientStatements<&'static str>) -> ClientStatementId {
        statements.prepare("?", 2, 0, [].into()).unwrap()
    }

    #[test]
    fn ids_count_from_one_and_are_not_reused_at_once() {
        let mut statements = statements();
        let one = prepare(&mut statements);
        statements.close(one);
        let two = prepare(&mut statements);
        assert_eq!((one.number(), two.number()), (1, 2));
    }

    #[test]
    fn statement_ids_wrap_around_and_skip_reserved_and_used_ids() {
        let mut statements = statements();
        let one = prepare(&mut statements);
        statements.last = ClientStatementId(0xFFFF_FFFD);
        assert_eq!(prepare(&mut statements).number(), 0xFFFF_FFFE);
        assert_eq!(prepare(&mut statements).number(), 2);
        assert_eq!(one.number(), 1);
    }

    #[test]
    fn the_id_of_all_ones_is_the_statement_prepared_last() {
        let mut statements = statements();
        assert_eq!(statements.resolve(LAST), None);
        prepare(&mut statements);
        let last = prepare(&mut statements);
        assert_eq!(statements.resolve(LAST), Some(last));
        statements.begin_prepare();
        assert_eq!(statements.resolve(LAST), None, "it may fail");
        let last = prepare(&mut statements);
        assert_eq!(statements.resolve(LAST), Some(last));
        statements.close(last);
        assert_eq!(statements.resolve(LAST), None);
    }

    #[test]
    fn an_id_that_was_never_given_is_unknown() {
        let mut statements = statements();
        let id = prepare(&mut statements);
        assert_eq!(statements.resolve(1), Some(id));
        assert_eq!(statements.resolve(0), None);
        assert_eq!(statements.resolve(2), None);
    }

    #[test]
    fn prepare_is_refused_above_the_statement_limit() {
        let mut statements = statements();
        for _ in 0..3 {
            prepare(&mut statements);
        }
        let refused = statements.prepare("?", 0, 0, [].into());
        assert_eq!(refused, Err(TooManyStatements { count_max: 3 }));
        statements.clear();
        assert_eq!(prepare(&mut statements).number(), 4);
    }

    #[test]
    fn long_data_goes_with_its_statement() {
        let mut statements = ClientStatements::new(9, 10);
        let ends: [fn(&mut ClientStatements<&'static str>, ClientStatementId); 4] = [
            |statements, id| drop(statements.close(id)),
            |statements, id| statements.reset(id),
            |statements, id| drop(statements.take_long_data(id)),
            |statements, _| statements.clear(),
        ];
        for end in ends {
            let id = prepare(&mut statements);
            statements.send_long_data(id, 1, b"1234567890");
            assert_eq!(statements.long_data_bytes(), 10);
            end(&mut statements, id);
            assert_eq!(statements.long_data_bytes(), 0);
        }
    }

    #[test]
    fn long_data_for_an_unknown_statement_is_passed_over() {
        let mut statements = statements();
        let id = prepare(&mut statements);
        statements.close(id);
        statements.send_long_data(id, 0, b"x");
        assert_eq!(statements.long_data_bytes(), 0);
    }
}
