//! Read/write splitting without any rule: which role a statement wants, and why.
//!
//! Whatever is not known to be a read of data and nothing else wants the primary. A wrong guess in
//! that direction costs a little; in the other it loses a write or shows old rows.

use std::fmt;

use sql::{
    Access, AccessMode, Begin, Effects, Explain, Facts, Handler, Marks, Object, Role, Show,
    StatementFacts, StatementKind, Uses, Xa,
};

mod optimistic;
#[cfg(test)]
mod tests;
mod unclear;

pub use optimistic::{begins_on_replica, is_repeatable};
use unclear::UNCLEAR;

/// The transaction that a statement runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transaction {
    /// None, and none begins with the statement.
    #[default]
    None,
    /// None yet; the statement begins one, since autocommit is off.
    Implicit,
    /// It stays where that one is.
    Open,
    /// One that only reads; it may be on a replica.
    Reading,
    /// One that may write and has only read yet, on a replica.
    Optimistic,
}

/// What a statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A backend that takes writes.
    Primary(Why),
    /// Any replica that is fit for it.
    Replica(Why),
    /// The backend that ran the session's last statement, whichever role that has.
    Same(Why),
}

/// Why a statement wants what it wants. The text is for people: logs, EXPLAIN ROUTE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It reads, outside a transaction, and depends on nothing but data.
    Reads,
    /// A transaction that only reads begins.
    BeginsReading,
    /// A transaction that may write begins.
    BeginsWriting,
    /// One begins that may write, and may be on a replica until it does.
    BeginsOptimistic,
    /// It does more than a read that can be repeated: its transaction leaves its replica.
    EndsOptimism,
    /// It stays in its transaction.
    InTransaction,
    /// It ends a transaction that only reads, unasked, and goes on to write.
    EndsReading,
    /// Autocommit is off: it begins a transaction that may write.
    AutocommitOff,
    /// It writes, locks rows, or administers the server.
    Writes,
    /// It only plans a write or a locking read, which servers that are read-only refuse as well
    /// (error 1290, both families).
    PlansWrite,
    /// It calls a function or routine that may write.
    MayWrite,
    /// What it names does more than read, by its definition.
    NamesWriter,
    /// A replica has refused a statement with the same digest because it writes.
    Refused,
    /// Not all of it was understood.
    NotUnderstood,
    /// It leaves something in its session or on its connection.
    LeavesSomething,
    /// It asks what only one server knows: its variables, threads, files, locks, replication.
    AsksServer,
    /// It asks about the statement before.
    AsksLast,
    /// It is about the session or its transaction, and about no data.
    AboutSession,
    /// It is a prepared text's, or a handler's, which live where they were made.
    LivesThere,
    /// Several statements, not all of which read.
    Several,
}

impl Wanted {
    /// Why.
    pub fn why(self) -> Why {
        match self {
            Self::Primary(why) | Self::Replica(why) | Self::Same(why) => why,
        }
    }
}

/// What a statement's facts and its transaction say of where it wants to run.
pub fn wanted(facts: &Facts, transaction: Transaction) -> Wanted {
    match transaction {
        Transaction::Open => return Wanted::Same(Why::InTransaction),
        Transaction::Reading if !ends_reading(facts) => return Wanted::Same(Why::InTransaction),
        Transaction::Reading => return Wanted::Primary(Why::EndsReading),
        Transaction::Optimistic if optimistic::has_nothing_to_commit(facts) => {
            return Wanted::Same(Why::InTransaction);
        }
        Transaction::Optimistic => return Wanted::Primary(Why::EndsOptimism),
        Transaction::None | Transaction::Implicit => {}
    }
    if facts.marks.has(UNCLEAR) || facts.kind == StatementKind::Unknown {
        return Wanted::Primary(Why::NotUnderstood);
    }
    if let StatementKind::Begin(begin) = facts.kind {
        return match is_read_only(begin, facts.access) {
            true => Wanted::Replica(Why::BeginsReading),
            false => Wanted::Primary(Why::BeginsWriting),
        };
    }
    match facts.access {
        Access::Write => Wanted::Primary(of_write(facts)),
        Access::Unsure => Wanted::Primary(of_unsure(facts)),
        Access::Session => of_session(facts),
        Access::Read => of_read(facts, transaction),
    }
}

/// Whether a statement outside a transaction waits while the primary is read-only: a write, and a transaction
/// that may write. What a server that is read-only does as well, and what makes it take writes again, does not.
pub fn needs_writable(facts: &Facts) -> bool {
    match facts.kind {
        StatementKind::Begin(begin) => !is_read_only(begin, facts.access),
        StatementKind::Multi => facts.statements.iter().any(|part| match part.kind {
            StatementKind::Begin(begin) => !is_read_only(begin, part.access),
            kind => writes(kind),
        }),
        kind => writes(kind),
    }
}

/// Whether servers that are read-only refuse it.
fn writes(kind: StatementKind) -> bool {
    match kind {
        // Servers that are read-only take temporary tables.
        StatementKind::Create(object) | StatementKind::Drop(object) => {
            object != Object::TemporaryTable
        }
        StatementKind::Insert
        | StatementKind::Replace
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Load
        | StatementKind::Call
        | StatementKind::Compound
        | StatementKind::Alter(_)
        | StatementKind::Truncate
        | StatementKind::Rename(_)
        | StatementKind::Grant
        | StatementKind::Revoke
        | StatementKind::Import
        | StatementKind::Xa(Xa::Start) => true,
        _ => false,
    }
}

/// What a read may leave without harm: it is asked for, where it was left.
const HARMLESS: Effects = Effects::DIAGNOSTICS.with(Effects::FOUND_ROWS);

/// What is different on each server.
const OF_SERVER: Uses = Uses::VARIABLES
    .with(Uses::NAMED_LOCKS)
    .with(Uses::SEQUENCE)
    .with(Uses::REPLICATION)
    .with(Uses::STATISTICS)
    .with(Uses::SERVER_FILE)
    .with(Uses::THREADS)
    .with(Uses::SERVER);

/// What the last statement has left on its connection.
const OF_LAST: Uses = Uses::FOUND_ROWS
    .with(Uses::ROW_COUNT)
    .with(Uses::DIAGNOSTICS);

/// Whether a statement commits a transaction that only reads and then does what that may not: DDL,
/// BEGIN, and several statements of which the first to do more than read is such a one.
fn ends_reading(facts: &Facts) -> bool {
    let ends = |part: &StatementFacts| match part.kind {
        StatementKind::Begin(begin) => !is_read_only(begin, part.access),
        _ => part.effects.has(Effects::TRANSACTION_ENDED),
    };
    let goes_on = |part: &StatementFacts| match part.kind {
        StatementKind::Begin(_) => ends(part),
        _ => part.access > Access::Read,
    };
    let mut parts = facts.statements.iter();
    let first = parts.clone().find(|part| ends(part) || goes_on(part));
    let is_clear = !facts.marks.has(UNCLEAR);
    is_clear && first.is_some_and(ends) && parts.any(goes_on)
}

/// Whether a transaction will only read. Where only some servers may hear that it is to, its access is
/// [`Access::Unsure`].
fn is_read_only(begin: Begin, access: Access) -> bool {
    begin.mode == Some(AccessMode::ReadOnly) && access == Access::Session
}

/// Some that count as writes only ask, and must be asked where writes are.
fn of_write(facts: &Facts) -> Why {
    let does = Marks::LOCKING.with(Marks::INTO_FILE);
    match facts.kind {
        StatementKind::Show(_)
        | StatementKind::Explain(Explain::Connection)
        | StatementKind::Xa(Xa::Recover) => Why::AsksServer,
        StatementKind::Select | StatementKind::Do
            if facts.uses.has(OF_SERVER) && !leaves(facts) && !facts.marks.has(does) =>
        {
            Why::AsksServer
        }
        _ => Why::Writes,
    }
}

fn of_unsure(facts: &Facts) -> Why {
    match facts.kind {
        StatementKind::Handler(Handler::Open) => Why::LeavesSomething,
        StatementKind::Handler(_) | StatementKind::Execute => Why::LivesThere,
        StatementKind::Multi
            if facts
                .statements
                .iter()
                .any(|part| part.kind == StatementKind::Unknown) =>
        {
            Why::NotUnderstood
        }
        _ if facts.marks.has(Marks::REFUSED) => Why::Refused,
        _ if facts.marks.has(Marks::NAMES_WRITER) => Why::NamesWriter,
        _ if facts.uses.has(Uses::SERVER_FILE) && !facts.effects.has(Effects::ANYTHING) => {
            Why::AsksServer
        }
        _ => Why::MayWrite,
    }
}

fn of_read(facts: &Facts, transaction: Transaction) -> Wanted {
    let is_implicit = transaction == Transaction::Implicit;
    let why = match () {
        () if facts.kind == StatementKind::Multi && leaves(facts) => Why::Several,
        () if leaves(facts) => Why::LeavesSomething,
        () if facts.uses.has(Uses::PREPARED | Uses::HANDLER) => Why::LivesThere,
        () if facts.uses.has(OF_SERVER) => Why::AsksServer,
        () if plans_write(facts) => Why::PlansWrite,
        () if is_implicit && (!facts.uses.has(OF_LAST) || reads_table(facts)) => Why::AutocommitOff,
        () if facts.uses.has(OF_LAST) => return Wanted::Same(Why::AsksLast),
        () => return Wanted::Replica(Why::Reads),
    };
    Wanted::Primary(why)
}

fn leaves(facts: &Facts) -> bool {
    !facts.effects.without(HARMLESS).is_empty()
}

fn plans_write(facts: &Facts) -> bool {
    // Nothing but a plan names a table that is written, or locks, and still counts as a read.
    matches!(facts.kind, StatementKind::Explain(_) | StatementKind::Multi)
        && (facts.marks.has(Marks::LOCKING)
            || facts.mentions_of(Role::TableWritten).next().is_some())
}

fn reads_table(facts: &Facts) -> bool {
    facts.tables().next().is_some()
}

/// SET, USE, COMMIT, SHOW WARNINGS: where the session was last, or at the primary where they begin
/// something that a write may follow, or hold the session where they run.
fn of_session(facts: &Facts) -> Wanted {
    let holds = Effects::TRANSACTION_BEGUN
        .with(Effects::NEXT_TRANSACTION)
        .with(Effects::SAVEPOINT)
        .with(Effects::PREPARED)
        .with(Effects::GLOBAL_VARIABLES)
        .with(Effects::BOUND_VARIABLES)
        .with(Effects::ROLE)
        .with(Effects::RESOURCE_GROUP)
        .with(Effects::OPAQUE)
        .with(Effects::ANYTHING);
    match facts.kind {
        _ if facts.effects.has(holds) => Wanted::Primary(Why::LeavesSomething),
        // SET @x = (SELECT …) reads what others may have written meanwhile.
        _ if reads_table(facts) => Wanted::Primary(Why::LeavesSomething),
        _ if facts.uses.has(Uses::PREPARED | Uses::HANDLER) => Wanted::Primary(Why::LivesThere),
        StatementKind::Show(Show::Profiles) => Wanted::Same(Why::AsksLast),
        _ if facts.uses.has(OF_LAST) => Wanted::Same(Why::AsksLast),
        _ if facts.uses.has(OF_SERVER) => Wanted::Primary(Why::AsksServer),
        _ => Wanted::Same(Why::AboutSession),
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reads => "it reads, outside a transaction",
            Self::BeginsReading => "a transaction that only reads begins",
            Self::BeginsWriting => "a transaction that may write begins",
            Self::BeginsOptimistic => {
                "a transaction begins, which goes to the primary with its first write"
            }
            Self::EndsOptimism => {
                "it does more than read: its transaction goes to the primary, where it reads again \
                 what it has read"
            }
            Self::InTransaction => "it stays in its transaction",
            Self::EndsReading => "it ends a transaction that only reads, and may write",
            Self::AutocommitOff => "autocommit is off, so that it begins a transaction",
            Self::Writes => "it writes, locks or administers",
            Self::PlansWrite => "it plans a write, which a read-only server refuses",
            Self::MayWrite => "it may write: a routine, or a function that is not built in",
            Self::NamesWriter => {
                "what it names does more than read (the admin table `definitions` says what)"
            }
            Self::Refused => "a replica has refused a statement with this digest because it writes",
            Self::NotUnderstood => "not all of it was understood",
            Self::LeavesSomething => "it leaves something in its session",
            Self::AsksServer => "it asks what differs between servers",
            Self::AsksLast => "it asks about the statement before",
            Self::AboutSession => "it is about the session",
            Self::LivesThere => "what it uses lives on one connection",
            Self::Several => "several statements, not all of which only read",
        })
    }
}
