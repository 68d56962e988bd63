//! The state of a session, the state of a backend connection, and how a connection gets a session's
//! state: values, without a socket and without a clock.
//!
//! ```text
//!   SessionState ──┐                      ┌── restoration ──► SET …   before the statement
//!                  ├── distance: which ───┤
//!   ConnectionState┘    connection        └── observe     ◄── trackers, facts, status   after it
//!                                               │
//!                                               ├─ known:     Values, user variables, StatementDiagnostics
//!                                               ├─ doubtful:  StateQuery, to the same connection
//!                                               └─ held:      Pins, by name
//! ```
//!
//! The server's report comes first: system variables, schema and transaction are what its OK
//! packets say. For the rest, the proxy reads the statement's text. If neither tells, the proxy
//! asks ([`SessionState::state_query`]) or keeps the session where it is ([`Pin`]).

//!
//! State that the server does not report and the text does not show, and that the proxy does not follow:
//!
//! - user variables that a function sets with SELECT … INTO where a view or a trigger calls it, or that
//!   a trigger sets behind a statement or a procedure that sets others itself, or among several statements;
//! - the type and the collation of a user variable that was never set, on a connection where another
//!   session has set one of its name: MySQL infers a prepared statement's types from them;
//! - a SAVEPOINT outside of a transaction, with autocommit on;
//! - SET STATEMENT in a text that EXECUTE is given (MariaDB), unless it was seen.

mod baseline;
mod calls;
mod changes;
mod connection;
mod definition;
mod held;
mod inherited;
mod literal;
mod lookalikes;
mod needs;
mod observe;
mod pins;
mod restoration;
mod routine;
mod saved;
mod session;
mod state_query;
mod statement_diagnostics;
mod text_statement;
mod texts;
mod tracked;
mod user_variables;
mod values;
mod variables;

pub use baseline::Baseline;
pub use changes::{Changes, Gtids};
pub use connection::ConnectionState;
pub use definition::{Expression, Named, Use, of_expression, of_routine};
pub use held::Held;
pub use inherited::{Former, Heir};
pub use needs::Needs;
pub use observe::{Ran, Seen};
pub use pins::{Pin, Pins};
pub use restoration::{ANOTHER_SCHEMA, Mismatch, Restoration, distance, restoration, restored};
pub use saved::Answered;
pub use session::{Hold, Rules, SessionState};
pub use state_query::{Answer, Column, StateQuery};
pub use statement_diagnostics::{LastInsertId, List, StatementDiagnostics};
pub use text_statement::TextStatement;
pub use texts::drop_text;
pub use values::{Values, ValuesTable};
