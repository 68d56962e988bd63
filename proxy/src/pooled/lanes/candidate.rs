//! A statement that might ride a shared lane: a query, or the execution of what is prepared.

use std::borrow::Cow;
use std::rc::Rc;

use pool::ClientStatementId;
use sql::Facts;
use wire::execute::Execute;
use wire::query::Query;
use wire::{Capabilities, Command};

use super::lane::Load;
use crate::pooled::command::prepared_statement::StatementKey;
use crate::pooled::exchange::Part;
use crate::pooled::optimistic::transaction::Execution;
use link::client_command::Incoming;

/// A statement that might ride.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub incoming: &'a Incoming,
    pub facts: &'a Facts,
    pub part: Part,
    /// The hash of its digest, where that is known.
    pub digest: Option<u64>,
    /// None: it is a text.
    pub execution: Option<&'a Executing<'a>>,
}

/// An execution: the statement, and what comes with it.
pub(crate) struct Executing<'a> {
    pub id: ClientStatementId,
    pub key: &'a StatementKey,
    pub execute: &'a Execute<'a>,
    /// What its parameters are, by this EXECUTE or one before.
    pub types: Option<Rc<[u8]>>,
    pub parameter_count: u16,
    /// It has long data, or another statement in its place.
    pub is_special: bool,
}

impl<'a> Candidate<'a> {
    /// A text that the client has said.
    pub(crate) fn of_text(
        incoming: &'a Incoming,
        facts: &'a Facts,
        part: Part,
        digest: Option<u64>,
    ) -> Self {
        Self {
            incoming,
            facts,
            part,
            digest,
            execution: None,
        }
    }

    pub(crate) fn command(&self) -> Command {
        match self.execution {
            Some(_) => Command::STMT_EXECUTE,
            None => Command::QUERY,
        }
    }

    /// Its text, as the client has said or prepared it.
    pub(crate) fn text(&self, capabilities: Capabilities) -> Cow<'a, [u8]> {
        if let Some(execution) = self.execution {
            return Cow::Borrowed(execution.key.text.bytes());
        }
        match self.incoming.argument() {
            Cow::Borrowed(argument) => {
                let query = Query::decode(argument, capabilities);
                Cow::Borrowed(query.map(|query| query.text).unwrap_or_default())
            }
            Cow::Owned(argument) => {
                let query = Query::decode(&argument, capabilities);
                Cow::Owned(query.map(|query| query.text.to_vec()).unwrap_or_default())
            }
        }
    }

    /// How it boards.
    pub(crate) fn load(&self, capabilities: Capabilities) -> Load<'a> {
        match self.execution {
            None => Load::Query(&self.incoming.packets),
            Some(execution) => Load::Execute {
                key: execution.key,
                execute: execution.execute,
                types: execution.types.clone(),
                capabilities,
            },
        }
    }
}

impl Executing<'_> {
    /// As it would be said again.
    pub(crate) fn execution(&self, incoming: &Incoming) -> Execution {
        Execution {
            key: self.key.clone(),
            argument: incoming.argument().into_owned(),
            parameter_count: self.parameter_count,
            types: self.types.clone(),
            sequence: incoming.sequence,
        }
    }
}
