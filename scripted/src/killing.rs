//! KILL in a session with a connection of its own. Ids that the proxy gives out lead to sessions; all others
//! are the backend's, which knows who may.

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
    /// What is sent instead of a KILL that names an id of the proxy's: the server's answer to it is the answer
    /// to that.
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

    /// Whom a command kills, if it kills anybody.
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
            // MySQL 9 knows it no more: it says so itself.
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

    /// A client has killed a statement by the backend's id: that may be a hook that waits.
    pub(super) fn pass_kill_on(&self, incoming: &Incoming, server: &Server) {
        if let Some(KillTarget { id, scope }) = self.kill_in(incoming, server)
            && scope == KillScope::Statement
        {
            let session_registry = &self.env.login.session_registry;
            session_registry.end_hook_at(server.backend.id, id);
        }
    }

    /// Whether its user may kill sessions of others, by the grants.
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

/// Whoever has more may kill none but their own.
const GRANTS_BYTES_MAX: usize = 1 << 20;

/// A statement that the server answers with this error.
fn refusal(ProxyError { code, text }: &ProxyError) -> String {
    let number = code.number;
    format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = '{text}'")
}

fn statement_of(text: &str, server: &Server) -> Incoming {
    incoming_of(Command::QUERY, &query(text.as_bytes(), server.capabilities))
}
