//! KILL in a session with a connection of its own. The proxy's own ids belong to sessions; all
//! other ids are the backend's, which knows who may kill.

use route::KillScope;
use wire::Command;
use wire::errors::{self, ProxyError};
use wire::query::Query;

use super::session::Scripted;
use backend::greeting::dialect_of;
use backend::greeting::server_of;
use backend::kill_thread::{let_kill_others, statement};
use command::kill::kill_target::KillTarget;
use link::client_command::Incoming;
use link::reply_observer::{Reports, Towards};
use registry::session_registry::{IdOwner, Kill, is_session_id};
use relay::outcome::SessionError;
use script_hooks::packets::incoming_of;
use script_hooks::waiting::query;
use script_host::server::Server;

impl Scripted {
    /// Returns the statement that replaces a KILL with an id of the proxy's own: the server's reply
    /// to that statement is the reply to the KILL.
    pub(super) async fn in_place_of_kill(
        &mut self,
        incoming: &Incoming,
        server: &mut Server,
    ) -> Result<Option<Incoming>, SessionError> {
        let Some(KillTarget { id, scope }) = self.kill_in(incoming, server) else {
            return Ok(None);
        };
        let session_registry = &self.env.login.session_registry;
        let here = server.backend.id;
        let user = match session_registry.find(id) {
            IdOwner::Passed(backend, thread_id) if backend == here => {
                return Ok(Some(statement_of(&statement(scope, thread_id), server)));
            }
            IdOwner::Passed(..) => session_registry.scripted_user(id),
            IdOwner::Session(user) | IdOwner::Alone(user) => Some(user),
            IdOwner::Nobody if is_session_id(id) => {
                let refusal = refusal(&errors::no_such_session(id));
                return Ok(Some(statement_of(&refusal, server)));
            }
            IdOwner::Nobody => None,
        };
        let Some(user) = user else {
            return Ok(None);
        };
        let is_own = self
            .control
            .info()
            .is_some_and(|info| info.user.as_bytes() == &*user);
        if !is_own && !self.may_kill_others(server).await? {
            let refusal = refusal(&errors::not_owner(id));
            return Ok(Some(statement_of(&refusal, server)));
        }
        self.env.login.session_registry.kill(Kill {
            id,
            scope,
            at: None,
            requested_at: self.env.pool.now().0,
        });
        Ok(Some(statement_of("DO 0", server)))
    }

    /// Returns the target of a command, if the command is a KILL.
    fn kill_in(&self, incoming: &Incoming, server: &Server) -> Option<KillTarget> {
        let argument = incoming.argument();
        match incoming.command {
            Command::QUERY => {
                let query = Query::decode(&argument, server.capabilities).ok()?;
                let flags = sql::Flags {
                    server: server_of(&server.greeting),
                    ..sql::Flags::default()
                };
                KillTarget::read(query.text, server.greeting.thread_id, flags)
            }
            // MySQL 9 no longer knows this command, and reports that itself.
            Command::PROCESS_KILL if dialect_of(&server.greeting) == auth::Dialect::MariaDb => {
                let id = argument
                    .first_chunk::<4>()
                    .map(|it| u32::from_le_bytes(*it))?;
                let scope = KillScope::Connection;
                Some(KillTarget { id, scope })
            }
            _ => None,
        }
    }

    /// Passes on that a client has killed a statement by the backend's id: the statement may belong to a hook that
    /// waits.
    pub(super) fn pass_kill_on(&self, incoming: &Incoming, server: &Server) {
        if let Some(KillTarget { id, scope }) = self.kill_in(incoming, server)
            && scope == KillScope::Statement
        {
            let session_registry = &self.env.login.session_registry;
            session_registry.end_hook_at(server.backend.id, id);
        }
    }

    /// Whether the session's user may kill sessions of other users, according to its grants.
    async fn may_kill_others(&mut self, server: &mut Server) -> Result<bool, SessionError> {
        let asking = statement_of("SHOW GRANTS", server);
        server.send(&asking.packets).await;
        let towards = Towards::Script {
            sequence: 1,
            bytes_max: GRANTS_BYTES_MAX,
            reports: Reports::Stay,
        };
        let observed = self.run_exchange(server, Command::QUERY, towards).await?;
        Ok(let_kill_others(&observed.kept))
    }
}

/// The most bytes of grants that are read; with more grants, a user may kill only its own sessions.
const GRANTS_BYTES_MAX: usize = 1 << 20;

/// Returns a statement that the server answers with this error.
fn refusal(ProxyError { code, text }: &ProxyError) -> String {
    let number = code.number;
    format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = '{text}'")
}

fn statement_of(text: &str, server: &Server) -> Incoming {
    incoming_of(Command::QUERY, &query(text.as_bytes(), server.capabilities))
}
