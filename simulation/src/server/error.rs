//! Errors as the servers say them: number, SQLSTATE, text.

use std::rc::Rc;

use wire::ErrPacket;

use super::family::Family;

/// An error that a statement ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// Its number.
    pub number: u16,
    /// Its SQLSTATE.
    pub state: [u8; 5],
    /// Its text.
    pub text: Rc<str>,
}

impl SqlError {
    /// An error whose SQLSTATE follows from its number and the family.
    pub fn new(family: Family, number: u16, text: impl Into<Rc<str>>) -> Self {
        let state = wire::sqlstate::of_digits(number.to_string().as_bytes(), family.is_mariadb());
        Self {
            number,
            state,
            text: text.into(),
        }
    }

    /// A text that cannot be read on from this byte.
    pub fn syntax(family: Family, text: &[u8], start: usize) -> Self {
        let (read, rest) = text.split_at(start.min(text.len()));
        let near: String = String::from_utf8_lossy(rest).chars().take(80).collect();
        let line = read.iter().filter(|it| **it == b'\n').count() + 1;
        let text = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your {} server version for the \
             right syntax to use near '{near}' at line {line}",
            family.product()
        );
        Self::new(family, 1064, text)
    }

    /// Appends the payload of its packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let text = self.text.as_bytes();
        ErrPacket {
            number: self.number,
            sqlstate: Some(self.state),
            text: &text[..text.len().min(512)],
        }
        .encode(out);
    }
}

/// What a step of a statement comes to.
pub type SqlResult<T> = Result<T, SqlError>;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) = $number:literal $text:literal;)*) => {
        impl Family {
            $($(#[$doc])*
            pub fn $name(self, $($argument: impl std::fmt::Display),*) -> SqlError {
                SqlError::new(self, $number, format!($text))
            })*
        }
    };
}

errors! {
    /// ER_CON_COUNT_ERROR.
    too_many_connections() = 1040 "Too many connections";
    /// ER_BAD_DB_ERROR.
    unknown_schema(name) = 1049 "Unknown database '{name}'";
    /// ER_NO_DB_ERROR.
    no_schema() = 1046 "No database selected";
    /// ER_UNKNOWN_COM_ERROR.
    unknown_command() = 1047 "Unknown command";
    /// ER_BAD_NULL_ERROR.
    not_null(column) = 1048 "Column '{column}' cannot be null";
    /// ER_TABLE_EXISTS_ERROR.
    table_exists(name) = 1050 "Table '{name}' already exists";
    /// ER_BAD_TABLE_ERROR.
    unknown_table(name) = 1051 "Unknown table '{name}'";
    /// ER_BAD_FIELD_ERROR.
    unknown_column(name, place) = 1054 "Unknown column '{name}' in '{place}'";
    /// ER_DUP_FIELDNAME.
    same_column(name) = 1060 "Duplicate column name '{name}'";
    /// ER_DUP_ENTRY.
    duplicate(value, key) = 1062 "Duplicate entry '{value}' for key '{key}'";
    /// ER_EMPTY_QUERY.
    empty_query() = 1065 "Query was empty";
    /// ER_NO_SUCH_THREAD.
    no_such_thread(id) = 1094 "Unknown thread id: {id}";
    /// ER_KILL_DENIED_ERROR.
    kill_denied(id) = 1095 "You are not owner of thread {id}";
    /// ER_TABLE_NOT_LOCKED_FOR_WRITE.
    not_locked_for_write(name) = 1099 "Table '{name}' was locked with a READ lock and can't be updated";
    /// ER_TABLE_NOT_LOCKED.
    not_locked(name) = 1100 "Table '{name}' was not locked with LOCK TABLES";
    /// ER_UNKNOWN_CHARACTER_SET.
    unknown_charset(name) = 1115 "Unknown character set: '{name}'";
    /// ER_RECORD_FILE_FULL.
    table_full(name) = 1114 "The table '{name}' is full";
    /// ER_WRONG_VALUE_COUNT_ON_ROW.
    value_count(row) = 1136 "Column count doesn't match value count at row {row}";
    /// ER_NO_SUCH_TABLE.
    no_such_table(schema, name) = 1146 "Table '{schema}.{name}' doesn't exist";
    /// ER_UNKNOWN_SYSTEM_VARIABLE.
    unknown_variable(name) = 1193 "Unknown system variable '{name}'";
    /// ER_CANT_UPDATE_WITH_READLOCK.
    read_lock() = 1223 "Can't execute the query because you have a conflicting read lock";
    /// ER_LOCK_WAIT_TIMEOUT.
    lock_wait_timeout() = 1205 "Lock wait timeout exceeded; try restarting transaction";
    /// ER_WRONG_ARGUMENTS.
    wrong_arguments(of) = 1210 "Incorrect arguments to {of}";
    /// ER_LOCK_DEADLOCK.
    deadlock() = 1213 "Deadlock found when trying to get lock; try restarting transaction";
    /// ER_LOCAL_VARIABLE.
    local_variable(name) = 1228 "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    /// ER_GLOBAL_VARIABLE.
    global_variable(name) = 1229 "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    /// ER_WRONG_VALUE_FOR_VAR.
    wrong_value(name, value) = 1231 "Variable '{name}' can't be set to the value of '{value}'";
    /// ER_WRONG_TYPE_FOR_VAR.
    wrong_type(name) = 1232 "Incorrect argument type to variable '{name}'";
    /// ER_INCORRECT_GLOBAL_LOCAL_VAR.
    wrong_scope(name, kind) = 1238 "Variable '{name}' is a {kind} variable";
    /// ER_UNKNOWN_STMT_HANDLER.
    unknown_statement(name, of) = 1243 "Unknown prepared statement handler ({name}) given to {of}";
    /// ER_UNKNOWN_COLLATION.
    unknown_collation(name) = 1273 "Unknown collation: '{name}'";
    /// ER_OPTION_PREVENTS_STATEMENT.
    option_prevents(option, product) = 1290 "The {product} server is running with the {option} option so it cannot execute this statement";
    /// ER_SP_DOES_NOT_EXIST.
    no_such_savepoint(name) = 1305 "SAVEPOINT {name} does not exist";
    /// ER_QUERY_INTERRUPTED.
    interrupted() = 1317 "Query execution was interrupted";
    /// ER_NO_DEFAULT_FOR_FIELD.
    no_default(column) = 1364 "Field '{column}' doesn't have a default value";
    /// ER_DATA_TOO_LONG.
    too_long(column, row) = 1406 "Data too long for column '{column}' at row {row}";
    /// ER_STMT_HAS_NO_OPEN_CURSOR.
    no_open_cursor(id) = 1421 "The statement ({id}) has no open cursor";
    /// ER_CANT_CHANGE_TX_CHARACTERISTICS.
    transaction_in_progress() = 1568 "Transaction characteristics can't be changed while a transaction is in progress";
    /// ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
    read_only_transaction(point) = 1792 "Cannot execute statement in a READ ONLY transaction{point}";
    /// ER_MALFORMED_PACKET.
    malformed_packet() = 1835 "Malformed communication packet";
}
