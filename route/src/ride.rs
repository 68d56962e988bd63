//! Who may ride a shared lane: a statement that depends on nothing but data and on what all sessions
//! there have in common, in a session that has nothing of its own, and whose like are known to be
//! short. Pure, and with a reason for each no.

mod habits;
#[cfg(test)]
mod tests;

use std::fmt;

use sql::{Access, Facts, Kind, Marks, Role, Server, Uses};

use crate::Transaction;
pub use habits::{Habit, Habits, LONG, REPLY_BYTES_MAX, Seen};

/// Why a statement does not ride. The text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stays {
    /// The configuration has no lanes for it.
    Off,
    /// It is no single SELECT, or was not understood.
    NoSelect,
    /// It writes, locks, or may.
    MayWrite,
    /// It leaves something in its session.
    LeavesSomething,
    /// It asks for what is its session's or its server's own.
    AsksOwn,
    /// It may wait for as long as it likes: SLEEP, BENCHMARK, locks.
    TakesTime,
    /// It reads no table, and MariaDB's list of warnings would stay the one before's.
    NoTable,
    /// It is in a transaction, or begins one.
    Transaction,
    /// Its session is pinned, or owes or is owed answers.
    Session,
    /// Its packets are compressed, on one side or the other.
    Compressed,
    /// It is too long to be sent twice.
    TooLong,
    /// A rule says that it is never sent again.
    Once,
    /// A rule has statements sent before or behind it.
    Injected,
    /// It waits for what it must see.
    Waits,
    /// Nobody knows yet how long its like take there.
    Unknown,
    /// Its like take long.
    Slow,
    /// The replies to its like are large.
    Large,
    /// Its like end with warnings or errors.
    Warns,
    /// No connection that is like its session is free, or the lanes are full.
    NoLane,
    /// It is alone there: no lane would gather anything.
    Alone,
    /// It is an execution whose statement is not prepared on the lane, or for others' parameters.
    Unprepared,
    /// It is an execution with long data, a cursor, or for another state than its session's.
    Execution,
}

impl Stays {
    /// All of them.
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

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "lanes are off for it",
            Self::NoSelect => "it is no single SELECT",
            Self::MayWrite => "it writes, locks, or may",
            Self::LeavesSomething => "it leaves something in its session",
            Self::AsksOwn => "it asks for what is its session's or its server's own",
            Self::TakesTime => "it may take as long as it likes",
            Self::NoTable => "it reads no table",
            Self::Transaction => "it is in a transaction, or begins one",
            Self::Session => "its session is pinned, or what it may still ask lies on a connection",
            Self::Compressed => "its connection is compressed",
            Self::TooLong => "it is too long",
            Self::Once => "a rule says that it is never sent again",
            Self::Injected => "a rule has statements sent before or behind it",
            Self::Waits => "it waits for what it must see",
            Self::Unknown => "nobody knows yet how long its like take there",
            Self::Slow => "its like take long",
            Self::Large => "the replies to its like are large",
            Self::Warns => "its like end with warnings or errors",
            Self::NoLane => "no lane has room for it",
            Self::Alone => "it is alone there",
            Self::Unprepared => "it is not prepared there yet",
            Self::Execution => "it has long data, a cursor, or a state of its own",
        })
    }
}

/// What a reply may depend on besides data and still be the same for all who are alike: the account,
/// the schema, the clock.
const COMMON: Uses = Uses::IDENTITY.with(Uses::VOLATILE);

/// What keeps a SELECT from being a read of data and nothing else, or from being understood.
const UNFIT: Marks = Marks::LOCKING
    .with(Marks::SKIP_LOCKED)
    .with(Marks::NOWAIT)
    .with(Marks::INTO_FILE)
    .with(Marks::INTO_VARIABLES)
    .with(Marks::UNKNOWN_FUNCTION);

/// Marks of statements that not all is known of.
const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED).with(Marks::CONDITIONAL);

/// Whether a statement may share a connection with others at the same time, by its facts alone.
///
/// # Errors
/// Why it may not.
pub fn may_ride(facts: &Facts, server: Server, transaction: Transaction) -> Result<(), Stays> {
    let is_mariadb = !matches!(server, Server::MySql(_));
    let stays = match () {
        () if transaction != Transaction::None => Stays::Transaction,
        () if facts.kind != Kind::Select || facts.marks.has(UNCLEAR) => Stays::NoSelect,
        () if facts.access != Access::Read || facts.marks.has(UNFIT) => Stays::MayWrite,
        () if facts.mentions_of(Role::Function).next().is_some() => Stays::AsksOwn,
        () if !facts.effects.is_empty() || !facts.assignments.is_empty() => Stays::LeavesSomething,
        () if facts.uses.has(Uses::TIME.with(Uses::NAMED_LOCKS)) => Stays::TakesTime,
        () if !facts.uses.without(COMMON).is_empty() => Stays::AsksOwn,
        () if is_mariadb && facts.tables().next().is_none() => Stays::NoTable,
        () => return Ok(()),
    };
    Err(stays)
}
