//! A plain BEGIN is answered by the proxy, and leaves with the transaction's first statement. `SET autocommit = 0` is
//! answered likewise; the session's next connection is set so with the other variables.
//!
//! ```text
//!   BEGIN ──► OK; no server has it ──┬─ COMMIT, ROLLBACK ──► OK: there was nothing to end
//!                ▲         │         ├─ a statement that reads ──► BEGIN in the same write, in front of it
//!                └─ BEGIN ─┘         └─ anything else ──► BEGIN; behind its OK the statement
//! ```
//!
//! As long as no server has it, the session holds no connection, and a connection that breaks costs it nothing. A
//! statement whose BEGIN fails is not executed, or its reply is thrown away, and its client gets the error of that
//! BEGIN. The BEGIN stays deferred then: whatever the client says next in its transaction is behind another one.

pub(crate) mod answer;
pub(crate) mod autocommit;
pub(crate) mod first_statement;
