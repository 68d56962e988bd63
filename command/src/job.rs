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
    /// The packets to send, with their headers.
    pub packets: &'a [u8],
    /// The sequence id that its reply begins with.
    pub sequence: u8,
    /// Whether the client sends more packets of this command.
    pub is_cut: bool,
    /// The parts of the session's state that the command needs.
    pub needs: Needs,
    /// Whether the command may be sent after the statements that restore state, before their results are known.
    pub haste: Haste,
    /// Which part of the client's command this is.
    pub command_part: CommandPart,
    /// The number of warnings that its reply has to count, if the connection would count others.
    pub warnings: Option<u16>,
    /// The command may change privileges or global variables.
    pub changes_server: bool,
    /// The error that the client does not get, because the command is sent again then.
    pub withholds: Withholds,
    /// The files of the client that the server may ask for.
    pub files: Files,
}

/// Whether a command may leave before the state is known to be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// The command reads. If the restored state is wrong, its reply is discarded.
    Read,
    /// The command writes. It leaves early only if the same statements have restored the state before.
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

    /// Whether clients would call the command a statement.
    #[inline]
    pub fn is_statement(&self) -> bool {
        self.command == Command::QUERY || self.names_statement()
    }

    /// Whether the command names a statement that is prepared on its connection.
    #[inline]
    pub fn names_statement(&self) -> bool {
        matches!(
            self.command,
            Command::STMT_EXECUTE | Command::STMT_BULK_EXECUTE
        )
    }
}

/// Whether a statement only reads. A statement that begins a transaction or assigns to a variable does not: it would
/// leave that on its connection.
#[inline]
pub fn haste_of(facts: &Facts) -> Haste {
    match facts.access {
        _ if matches!(facts.kind, sql::StatementKind::Begin(_)) => Haste::Write,
        sql::Access::Read if effect_of(facts) != Effect::Nothing => Haste::Write,
        sql::Access::Read | sql::Access::Session => Haste::Read,
        sql::Access::Unsure | sql::Access::Write => Haste::Write,
    }
}
