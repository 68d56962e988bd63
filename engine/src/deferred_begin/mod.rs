//! The proxy answers a plain BEGIN, and sends it with the transaction's first statement. It answers `SET autocommit =
//! 0` likewise, and sets that on the session's next connection with the other variables.
//!
//! ```text
//!   BEGIN ──► OK; no server has it ──┬─ COMMIT, ROLLBACK ──► OK: there was nothing to end
//!                ▲         │         ├─ a statement that reads ──► BEGIN in the same write, in front of it
//!                └─ BEGIN ─┘         └─ anything else ──► BEGIN; behind its OK the statement
//! ```
//!
//! As long as no server has the BEGIN, the session holds no connection, and loses nothing if a connection breaks. If
//! the BEGIN fails, its statement is not executed, or the reply is discarded, and the client gets the error of the
//! BEGIN. The BEGIN stays deferred then: the client's next statement is sent after another one.

pub(crate) mod answer;
pub(crate) mod autocommit;
pub(crate) mod first_statement;
