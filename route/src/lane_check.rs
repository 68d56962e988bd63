//! Which statements may use a shared lane: statements that depend only on data and on state that all sessions of the
//! lane have in common, in a session without state of its own, if statements with the same digest are known to be
//! short. Pure functions, with a reason for each refusal.

mod digest_stats;
#[cfg(test)]
mod tests;

use std::fmt;

use sql::{Access, Facts, Marks, Role, Server, StatementKind, Uses};

use crate::Transaction;
pub use digest_stats::{DigestStats, KnownDigests, LONG, Observed, REPLY_BYTES_MAX};

/// Why a statement uses no lane. "It" is the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotLaneable {
    /// The configuration has no lanes for it.
    Off,
    /// It is not a single SELECT, or the proxy does not understand it.
    NoSelect,
    /// It writes or locks, or may do so.
    MayWrite,
    /// It changes the state of its session.
    LeavesSomething,
    /// It depends on state of its session or of its server.
    AsksOwn,
    /// It can wait without a limit: SLEEP, BENCHMARK, locks.
    TakesTime,
    /// It reads no table: MariaDB would keep the warning list of the previous statement.
    NoTable,
    /// It is in a transaction, or begins one.
    Transaction,
    /// Its session is pinned, or has pending answers.
    Session,
    /// Its packets are compressed, on one side or the other.
    Compressed,
    /// It is too long to be sent twice.
    TooLong,
    /// A rule says that it is never sent again.
    Once,
    /// A rule injects statements before or after it.
    Injected,
    /// It has to wait until a replica has caught up.
    Waits,
    /// Too few statements with its digest have run on the backend.
    Unknown,
    /// Statements with its digest take long.
    Slow,
    /// Replies to statements with its digest are large.
    Large,
    /// A statement with its digest ended with a warning or an error.
    Warns,
    /// No connection in the state of its session is free, or the lanes are full.
    NoLane,
    /// No other statement is in flight on the backend, so a lane would save nothing.
    Alone,
    /// It executes a statement that is not prepared on the lane, or is prepared for other parameters.
    Unprepared,
    /// It executes a prepared statement with long data, with a cursor, or for another state than its session's.
    Execution,
}

impl NotLaneable {
    /// All reasons.
    pub const ALL: [Self; 22] = [
        Self::Off,
        Self::NoSelect,
        Self::MayWrite,
        Self::LeavesSomething,
        Self::AsksOwn,
        Self::TakesTime,
        Self::NoTable,
        Self::Transaction,
        Self::Session,
        Self::Compressed,
        Self::TooLong,
        Self::Once,
        Self::Injected,
        Self::Waits,
        Self::Unknown,
        Self::Slow,
        Self::Large,
        Self::Warns,
        Self::NoLane,
        Self::Alone,
        Self::Unprepared,
        Self::Execution,
    ];
}

impl fmt::Display for NotLaneable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "lanes are off for it",
            Self::NoSelect => "it is not a single SELECT",
            Self::MayWrite => "it writes or locks, or may do so",
            Self::LeavesSomething => "it changes the state of its session",
            Self::AsksOwn => "it depends on its session or on the server",
            Self::TakesTime => "it can wait without a limit",
            Self::NoTable => "it reads no table",
            Self::Transaction => "it is in a transaction, or begins one",
            Self::Session => {
                "its session is pinned, or a connection holds what the session may still ask for"
            }
            Self::Compressed => "its connection is compressed",
            Self::TooLong => "it is too long",
            Self::Once => "a rule says that it is never sent again",
            Self::Injected => "a rule has statements sent before or behind it",
            Self::Waits => "it waits until a replica has caught up",
            Self::Unknown => "too few statements with its digest have run there",
            Self::Slow => "statements with its digest take too long",
            Self::Large => "replies to statements with its digest are too large",
            Self::Warns => "a statement with its digest ended with a warning or an error",
            Self::NoLane => "no lane has room for it",
            Self::Alone => "no other statement is under way there",
            Self::Unprepared => "it is not prepared on the lane yet",
            Self::Execution => "it has long data, a cursor, or a state of its own",
        })
    }
}

/// Uses on which a reply may depend, because they are the same for all sessions of a lane: the account,
/// the schema, the clock.
const COMMON: Uses = Uses::IDENTITY.with(Uses::VOLATILE);

/// Marks of a SELECT that does more than read data, or may do more.
const UNFIT: Marks = Marks::LOCKING
    .with(Marks::SKIP_LOCKED)
    .with(Marks::NOWAIT)
    .with(Marks::INTO_FILE)
    .with(Marks::INTO_VARIABLES)
    .with(Marks::UNKNOWN_FUNCTION);

/// Marks of statements that the proxy does not fully understand.
const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED).with(Marks::CONDITIONAL);

/// Whether, by its facts alone, a statement may share a connection with other statements at the same time.
///
/// # Errors
/// Why it may not.
pub fn may_use_lane(
    facts: &Facts,
    server: Server,
    transaction: Transaction,
) -> Result<(), NotLaneable> {
    let is_mariadb = !matches!(server, Server::MySql(_));
    let why = match () {
        () if transaction != Transaction::None => NotLaneable::Transaction,
        () if facts.kind != StatementKind::Select || facts.marks.has(UNCLEAR) => {
            NotLaneable::NoSelect
        }
        () if facts.access != Access::Read || facts.marks.has(UNFIT) => NotLaneable::MayWrite,
        () if facts.mentions_of(Role::Function).next().is_some() => NotLaneable::AsksOwn,
        () if !facts.effects.is_empty() || !facts.assignments.is_empty() => {
            NotLaneable::LeavesSomething
        }
        () if facts.uses.has(Uses::TIME.with(Uses::NAMED_LOCKS)) => NotLaneable::TakesTime,
        () if !facts.uses.without(COMMON).is_empty() => NotLaneable::AsksOwn,
        () if is_mariadb && facts.tables().next().is_none() => NotLaneable::NoTable,
        () => return Ok(()),
    };
    Err(why)
}
