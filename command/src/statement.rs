//! A client's statement on its way to a backend: a text, an execution of a prepared statement, or an execution with
//! many rows of parameters. The steps of the pipeline (crate `engine`) ask it for its properties.

use std::borrow::Cow;
use std::rc::Rc;

use pool::{ClientStatementId, LongData};
use session::state::Needs;
use sql::{Facts, Marks};
use wire::Command;
use wire::attribute::QueryAttribute;
use wire::execute::Execute;

use crate::job::Haste;
use backend::prepared_statement::StatementKey;
use backend::recorded_reads::Execution;
use link::client_command::Incoming;
use link::query_command::CommandPart;
use link::query_command::QueryCommand;

/// A statement, with the data that its command has brought.
pub enum Statement<'a> {
    /// COM_QUERY.
    Text(&'a mut QueryCommand),
    /// COM_STMT_EXECUTE.
    Execution(Executing<'a>),
    /// COM_STMT_BULK_EXECUTE.
    Bulk(BulkExecution<'a>),
    /// A command that runs no statement.
    Command(BackendCommand<'a>),
}

/// A prepared statement, and the parameters that it is executed with.
pub struct Executing<'a> {
    /// The command, as it came.
    pub incoming: &'a Incoming,
    /// The client's id of the statement.
    pub id: ClientStatementId,
    /// The prepared statement.
    pub key: StatementKey,
    /// The execution, decoded.
    pub execute: Execute<'a>,
    /// The query's attributes.
    pub attributes: Vec<QueryAttribute<'a>>,
    /// The types of the parameters, from this EXECUTE or an earlier one.
    pub types: Option<Rc<[u8]>>,
    /// How many parameters the statement has.
    pub parameter_count: u16,
    /// Parameters that came in packets of their own.
    pub long_data: LongData,
    /// Another statement has taken the place of the client's.
    pub is_replaced: bool,
}

/// A prepared statement, and many rows of parameters.
pub struct BulkExecution<'a> {
    /// The command, as it came.
    pub incoming: &'a Incoming,
    /// The bytes after the command's byte. The parameters' types are among them.
    pub argument: &'a [u8],
    /// The client's id of the statement.
    pub id: ClientStatementId,
    /// The prepared statement.
    pub key: StatementKey,
    /// How many parameters the statement has.
    pub parameter_count: u16,
}

/// A command that runs no statement. Rules, lanes and diagnostics do not concern it.
pub struct BackendCommand<'a> {
    /// The command, as it came.
    pub incoming: &'a Incoming,
    /// The bytes after the command's byte, or the text that is to be prepared.
    pub argument: Cow<'a, [u8]>,
    /// The facts of the command's text, if it has one.
    pub facts: Rc<Facts>,
    /// The task for the backend.
    pub task: CommandTask,
}

/// The task of a backend for a command that runs no statement.
pub enum CommandTask {
    /// COM_STMT_PREPARE.
    Prepare(StatementKey),
    /// COM_STMT_FETCH: the cursor's statement, and the packets to send.
    Fetch(ClientStatementId, Vec<u8>),
    /// Other commands, of which only the reply matters.
    Reply(Haste),
}

impl Statement<'_> {
    /// The command that the statement came with.
    #[inline]
    pub fn command(&self) -> Command {
        self.incoming().command
    }

    /// The command, as it came.
    #[inline]
    pub fn incoming(&self) -> &Incoming {
        match self {
            Self::Text(query) => query.incoming(),
            Self::Execution(executing) => executing.incoming,
            Self::Bulk(bulk) => bulk.incoming,
            Self::Command(command) => command.incoming,
        }
    }

    /// The sequence id that the statement's reply begins with.
    #[inline]
    pub fn sequence(&self) -> u8 {
        self.incoming().sequence
    }

    /// Which part of the client's command the statement is.
    #[inline]
    pub fn command_part(&self) -> CommandPart {
        match self {
            Self::Text(query) => query.command_part,
            Self::Execution(_) | Self::Bulk(_) | Self::Command(_) => CommandPart::Whole,
        }
    }

    /// The statement's text, without the values of parameters.
    #[inline]
    pub fn text(&self) -> &[u8] {
        match self {
            Self::Text(query) => query.text(),
            Self::Execution(executing) => executing.key.text.bytes(),
            Self::Bulk(bulk) => bulk.key.text.bytes(),
            Self::Command(command) => &command.argument,
        }
    }

    /// The facts of the statement's text.
    #[inline]
    pub fn facts(&self) -> &Facts {
        match self {
            Self::Text(query) => &query.facts,
            Self::Execution(executing) => &executing.key.facts,
            Self::Bulk(bulk) => &bulk.key.facts,
            Self::Command(command) => &command.facts,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub fn facts_mut(&mut self) -> &mut Facts {
        match self {
            Self::Text(query) => &mut query.facts,
            Self::Execution(executing) => Rc::make_mut(&mut executing.key.facts),
            Self::Bulk(bulk) => Rc::make_mut(&mut bulk.key.facts),
            Self::Command(command) => Rc::make_mut(&mut command.facts),
        }
    }

    /// Marks the statement as one that may do anything: see [`Facts::doubt`].
    #[inline]
    pub fn doubt(&mut self, why: Marks) {
        self.facts_mut().doubt(why);
    }

    /// The hash of the statement's digest, if that is known.
    #[inline]
    pub fn digest(&self) -> Option<u64> {
        match self {
            Self::Text(query) => query.digest,
            Self::Execution(executing) => Some(executing.key.digest),
            Self::Bulk(bulk) => Some(bulk.key.digest),
            Self::Command(_) => None,
        }
    }

    /// The prepared statement that is executed, and the client's id of it.
    #[inline]
    pub fn prepared(&self) -> Option<(ClientStatementId, &StatementKey)> {
        match self {
            Self::Text(_) | Self::Command(_) => None,
            Self::Execution(executing) => Some((executing.id, &executing.key)),
            Self::Bulk(bulk) => Some((bulk.id, &bulk.key)),
        }
    }

    /// Whether the statement is a text, and the client's whole command.
    #[inline]
    pub fn is_text_alone(&self) -> bool {
        matches!(self, Self::Text(query) if query.command_part == CommandPart::Whole)
    }

    /// Returns the parts of the session's state that the statement needs.
    #[inline]
    pub fn needs(&self) -> Needs {
        Needs::of(self.facts(), self.text())
    }
}

impl BackendCommand<'_> {
    /// Whether the command is a COM_STMT_PREPARE.
    #[inline]
    pub fn prepares(&self) -> bool {
        matches!(self.task, CommandTask::Prepare(_))
    }
}

impl Executing<'_> {
    /// The execution, in a form that can be sent again.
    #[inline]
    pub fn execution(&self) -> Execution {
        Execution {
            key: self.key.clone(),
            argument: self.incoming.argument().into_owned(),
            parameter_count: self.parameter_count,
            types: self.types.clone(),
            sequence: self.incoming.sequence,
        }
    }
}
