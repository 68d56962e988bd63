//! A command on its way to a backend: what is sent, and what its reply may do.

use session::state::Needs;
use session::{Files, Withholds};
use sql::Facts;
use wire::Command;

use link::client_command::Incoming;
use link::query_command::CommandPart;
use session::effect::{Effect, effect_of};

/// A command on its way to a backend.
pub struct Job<'a> {
    /// Which command it is.
    pub command: Command,
    /// As they are sent, headers and all.
    pub packets: &'a [u8],
    /// The sequence id that its reply begins with.
    pub sequence: u8,
    /// Whether more packets follow from the client.
    pub is_cut: bool,
    /// What it needs of the session's state.
    pub needs: Needs,
    /// Whether it may be sent behind what restores the state before that is known to have worked.
    pub haste: Haste,
    /// Which part of what the client has asked it is.
    pub command_part: CommandPart,
    /// How many warnings its reply is to count, where the connection would count others.
    pub warnings: Option<u16>,
    /// It may change privileges or global variables.
    pub changes_server: bool,
    /// Which error the client does not hear, because the command is sent again.
    pub withholds: Withholds,
    /// Which files of the client its server may ask for.
    pub files: Files,
}

/// Whether a command may leave before the state is known to be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// It reads: should the state be wrong, its reply is thrown away.
    Read,
    /// It writes: only behind what has worked before.
    Write,
}

impl Job<'_> {
    /// A client's command, as it came.
    #[inline]
    pub fn of(incoming: &Incoming, needs: Needs, haste: Haste) -> Job<'_> {
        Job {
            command: incoming.command,
            packets: &incoming.packets,
            sequence: incoming.sequence,
            is_cut: incoming.is_cut,
            needs,
            haste,
            command_part: CommandPart::Whole,
            warnings: None,
            changes_server: false,
            withholds: Withholds::Nothing,
            files: Files::NONE,
        }
    }

    /// Whether it is what clients call a statement.
    #[inline]
    pub fn is_statement(&self) -> bool {
        self.command == Command::QUERY || self.names_statement()
    }

    /// Whether it names what was prepared on its connection.
    #[inline]
    pub fn names_statement(&self) -> bool {
        matches!(
            self.command,
            Command::STMT_EXECUTE | Command::STMT_BULK_EXECUTE
        )
    }
}

/// Whether a statement reads only. What begins a transaction leaves it open on its connection, and what
/// assigns to a variable leaves that there.
#[inline]
pub fn haste_of(facts: &Facts) -> Haste {
    match facts.access {
        _ if matches!(facts.kind, sql::StatementKind::Begin(_)) => Haste::Write,
        sql::Access::Read if effect_of(facts) != Effect::Nothing => Haste::Write,
        sql::Access::Read | sql::Access::Session => Haste::Read,
        sql::Access::Unsure | sql::Access::Write => Haste::Write,
    }
}
