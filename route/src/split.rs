//! Read/write splitting without any rule: which role a statement wants, and why.
//!
//! A statement goes to a replica only if it is known to read data and to do nothing else. A read that goes to
//! the primary by mistake costs a little; a statement on a replica by mistake loses a write or shows old rows.

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
    /// No transaction is open, and the statement begins none.
    #[default]
    None,
    /// No transaction is open, but the statement begins one because autocommit is off.
    Implicit,
    /// A transaction is open: the statement goes to the transaction's backend.
    Open,
    /// A read-only transaction is open, perhaps on a replica.
    Reading,
    /// A transaction that may write is open on a replica; it has only read so far.
    Optimistic,
}

/// The kind of backend that a statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A backend that accepts writes.
    Primary(Why),
    /// Any replica that is fit for it.
    Replica(Why),
    /// The backend that ran the session's last statement, whatever its role.
    Same(Why),
}

/// The reason for a [`Wanted`]. Logs and EXPLAIN ROUTE show it as text. "It" is the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It reads, outside a transaction, and depends on nothing but data.
    Reads,
    /// A transaction that only reads begins.
    BeginsReading,
    /// A transaction that may write begins.
    BeginsWriting,
    /// A transaction that may write begins; it may stay on a replica until its first write.
    BeginsOptimistic,
    /// It is more than a read that can be run again, so its optimistic transaction moves to the primary.
    EndsOptimism,
    /// It stays in its transaction.
    InTransaction,
    /// It commits a read-only transaction implicitly and then may write.
    EndsReading,
    /// Autocommit is off: it begins a transaction that may write.
    AutocommitOff,
    /// It writes, locks rows, or administers the server.
    Writes,
    /// It asks for the plan of a write or of a locking read. Read-only servers refuse that as well
    /// (error 1290, both families).
    PlansWrite,
    /// It calls a function or routine that may write.
    MayWrite,
    /// It names an object (such as a view) whose definition does more than read.
    NamesWriter,
    /// A replica has refused a statement with the same digest because it writes.
    Refused,
    /// Not all of it was understood.
    NotUnderstood,
    /// It changes state of its session or of its connection.
    LeavesSomething,
    /// Its result differs between servers: variables, threads, files, locks, replication.
    AsksServer,
    /// It asks about the session's previous statement.
    AsksLast,
    /// It concerns the session or its transaction, and no data.
    AboutSession,
    /// It uses a prepared statement or a HANDLER, which exist only on the connection that made them.
    LivesThere,
    /// It consists of several statements, not all of which only read.
    Several,
}

impl Wanted {
    /// Returns the reason.
    pub fn why(self) -> Why {
        match self {
            Self::Primary(why) | Self::Replica(why) | Self::Same(why) => why,
        }
    }
}

/// Returns the kind of backend that a statement wants, from its facts and its transaction.
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

/// Whether a statement outside a transaction waits while the primary is read-only. Writes wait, and so does the
/// begin of a transaction that may write. Statements that a read-only server runs too do not wait, nor does
/// the statement that makes the server writable again.
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

/// Whether read-only servers refuse statements of this kind.
fn writes(kind: StatementKind) -> bool {
    match kind {
        // Read-only servers accept temporary tables.
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

/// Effects that a read may have on a replica: a later question about them goes to the same backend.
const HARMLESS: Effects = Effects::DIAGNOSTICS.with(Effects::FOUND_ROWS);

/// Uses whose result differs between servers.
const OF_SERVER: Uses = Uses::VARIABLES
    .with(Uses::NAMED_LOCKS)
    .with(Uses::SEQUENCE)
    .with(Uses::REPLICATION)
    .with(Uses::STATISTICS)
    .with(Uses::SERVER_FILE)
    .with(Uses::THREADS)
    .with(Uses::SERVER);

/// Uses of what the last statement has left on its connection.
const OF_LAST: Uses = Uses::FOUND_ROWS
    .with(Uses::ROW_COUNT)
    .with(Uses::DIAGNOSTICS);

/// Whether a statement commits the read-only transaction and then does more than it may: DDL, BEGIN,
/// or several statements of which the first that does more than read ends the transaction.
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

/// Whether a transaction is read-only on every server. If only some servers read the statement that way,
/// its access is [`Access::Unsure`].
fn is_read_only(begin: Begin, access: Access) -> bool {
    begin.mode == Some(AccessMode::ReadOnly) && access == Access::Session
}

/// Returns the reason for a statement that counts as a write. Some of them only ask something that the
/// primary must answer.
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
    // Only an EXPLAIN can name a written table, or lock rows, and still count as a read.
    matches!(facts.kind, StatementKind::Explain(_) | StatementKind::Multi)
        && (facts.marks.has(Marks::LOCKING)
            || facts.mentions_of(Role::TableWritten).next().is_some())
}

fn reads_table(facts: &Facts) -> bool {
    facts.tables().next().is_some()
}

/// SET, USE, COMMIT, SHOW WARNINGS: they go to the session's last backend. They go to the primary if they
/// begin something that a write may follow, or if they pin the session to the backend.
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
        // SET @x = (SELECT …) reads rows that other sessions may have written meanwhile.
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
