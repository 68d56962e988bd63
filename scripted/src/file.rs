//! A client's file (LOAD DATA LOCAL) in a scripted session: it goes to the backend that has asked for it, or is
//! dropped.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use sql::StatementKind;
use wire::query::Query;
use wire::{Capabilities, Command};

use super::exchange::Passing;
use super::session::Scripted;
use link::client_command::{EndOf, Incoming, Passage};
use link::failure::{Failure, FailureKind};
use link::reply_observer::{Towards, renumbered};
use relay::outcome::SessionError;
use script_host::server::Server;

/// The maximum number of file names from prepared texts that a session keeps.
const NAMES_MAX: usize = 256;

impl Scripted {
    /// Notes the client's files that a backend may ask for in its reply to a command: those that the
    /// command's text names or, for an EXECUTE, those that the texts of prepared statements have named.
    pub(super) fn note_files(&mut self, incoming: &Incoming, capabilities: Capabilities) {
        self.files.named.clear();
        let argument = incoming.argument();
        let text = match incoming.command {
            Command::QUERY => Query::decode(&argument, capabilities).map(|query| query.text),
            Command::STMT_PREPARE => Ok(&*argument),
            Command::STMT_EXECUTE => {
                self.files.named.clone_from(&self.files.prepared);
                return;
            }
            _ => return,
        };
        // The session's sql_mode is not known here. In most modes a name has the same bytes.
        let text = text.unwrap_or_default();
        let named = sql::local_files(text, sql::Flags::default());
        let facts = match named.is_empty() {
            true if self.files.prepared.is_empty() => return,
            _ => sql::facts(text, sql::Flags::default()),
        };
        let prepares =
            incoming.command == Command::STMT_PREPARE || facts.kind == StatementKind::Prepare;
        if prepares {
            let room = NAMES_MAX.saturating_sub(self.files.prepared.len());
            self.files.prepared.extend(named.into_iter().take(room));
        } else if facts.kind == StatementKind::Execute {
            self.files.named.clone_from(&self.files.prepared);
        } else {
            self.files.named = named;
        }
    }

    /// Passes the client's file to the backend, up to an empty packet. The client must first receive the request for
    /// it.
    pub(super) async fn pass_file(
        &mut self,
        server: &mut Server,
        passing: &mut Passing,
        sequence: u8,
    ) -> Result<u8, SessionError> {
        let kept = std::mem::take(&mut passing.observed.kept);
        match self.client.leg.transport.frame_sequence() {
            Some(next) => self.client.leg.append(&renumbered(kept, next)),
            None => self.client.leg.append(&kept),
        }
        if !matches!(passing.towards, Towards::Nobody) {
            passing.observed.has_passed |= !passing.towards.is_client();
            passing.towards = Towards::Client { sequence };
        }
        let mut passage = Passage::of(EndOf::File, sequence);
        let passed = poll_fn(
            |context| match self.poll_file(server, &mut passage, context) {
                Poll::Pending => self.poll_meanwhile(server, context),
                passed => passed,
            },
        );
        passed.await.map_err(|failure| passing.cut(failure))?;
        Ok(passage.sequence)
    }

    fn poll_file(
        &mut self,
        server: &mut Server,
        passage: &mut Passage,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let left = |how: &str| {
            Failure::new(
                FailureKind::ClientLeft,
                format!("the client has left while it was sending a file: {how}"),
            )
        };
        loop {
            ready!(server.leg.poll_drain_or_break(context));
            if let Err(error) = ready!(self.client.leg.poll_drain(context)) {
                return Poll::Ready(Err(left(&error.to_string())));
            }
            if passage.is_over {
                return Poll::Ready(Ok(()));
            }
            if !self.client.inbox.is_empty() {
                let mut bytes = self.client.inbox.take_all();
                let taken = passage.pass(&bytes);
                let rest = bytes.split_off(taken);
                self.client.inbox.put(&rest);
                server.leg.send_or_break(&bytes, context);
                continue;
            }
            match ready!(self.poll_client(context)) {
                Ok(0) => return Poll::Ready(Err(left("it closed the connection"))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(left(&error.to_string()))),
            }
        }
    }

    /// Reads a file to its end and drops it.
    pub(crate) fn poll_swallow(
        &mut self,
        passage: &mut Passage,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let left = |how: &str| {
            Failure::new(
                FailureKind::ClientLeft,
                format!("the client has left while it was sending a file: {how}"),
            )
        };
        loop {
            if let Err(error) = ready!(self.client.leg.poll_drain(context)) {
                return Poll::Ready(Err(left(&error.to_string())));
            }
            let bytes = self.client.inbox.take_all();
            let taken = passage.pass(&bytes);
            self.client.inbox.put(&bytes[taken..]);
            if passage.is_over {
                return Poll::Ready(Ok(()));
            }
            match ready!(self.poll_client(context)) {
                Ok(0) => return Poll::Ready(Err(left("it closed the connection"))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(left(&error.to_string()))),
            }
        }
    }
}
