//! A pooled session. It reads one command, and answers it if no backend is needed. Otherwise it acquires a connection,
//! gives it the session's state, passes on the command and the reply, notes what changed, and gives the connection
//! back.

pub(crate) mod hand_over;
pub(crate) mod idle;
pub(crate) mod own_answers;
pub(crate) mod recorded_statements;
pub mod session_start;

use std::rc::Rc;
use std::sync::Arc;

use config::SessionMode;
use pool::CloseReason;
use sql::ProxyExplain;
use wire::Command;

use crate::engine_env::EngineEnv;
use crate::routing::session_routing::Routing;
use backend::settings::Settings;
use command::current_command::CurrentCommand;
use command::statement::Statement;
use command::text_table::TextTable;
use link::client_command::Incoming;
use link::query_command::Arrived;
use link::session_end::SessionEnd;
use registry::last_word::takes_the_reason;
use registry::session_control::SessionControl;
use relay::outcome::{After, SessionError};
use session_parts::client_side::ClientSide;
use session_parts::held::Held;
use session_parts::identity::Identity;
use session_parts::sql_state::SqlState;
use session_parts::tracking::Tracking;
use stats::statement_stats::Subject;

/// One pooled session. Its fields are dropped in this order: the connection before the session's places.
pub struct PooledSession {
    /// The client.
    pub client: ClientSide,
    /// The backend connection that the session holds.
    pub held: Held,
    /// The worker's environment.
    pub env: Rc<EngineEnv>,
    /// The session's cells that other parts of the proxy read, and through which they make requests.
    pub control: Rc<SessionControl>,
    /// The settings at the session's login.
    pub settings: Arc<Settings>,
    /// How long the session keeps a connection.
    pub mode: SessionMode,
    /// The state that the client's statements have made.
    pub sql_state: SqlState,
    pub(crate) tracking: Tracking,
    /// Where the session's commands go.
    pub routing: Routing,
    /// The command that runs.
    pub command: CurrentCommand,
    pub(crate) explainer: &'static dyn Explainer,
    /// The session's account and user.
    pub identity: Identity,
}

/// A script that sees each command of a session before the session acts on it.
pub trait CommandScript: Sized {
    /// Runs a command as the script wants it, up to the end of its reply.
    fn act(
        &mut self,
        session: &mut PooledSession,
        incoming: Incoming,
    ) -> impl Future<Output = Result<After, SessionError>>;

    /// Returns the script that sees the session's commands after COM_CHANGE_USER, which may have changed the account.
    ///
    /// # Errors
    /// The account's scripts cannot be run.
    fn follow_account(
        script: Option<Box<Self>>,
        session: &PooledSession,
    ) -> Result<Option<Box<Self>>, SessionError>;
}

/// Explains sessions to their clients, and has the plans of statements read.
pub trait Explainer {
    /// Answers a question that the client of a session asks about the proxy.
    fn answer(&self, session: &mut PooledSession, question: ProxyExplain, text: &[u8])
    -> TextTable;

    /// Has the plan read of a statement that has ended, if the plan is needed.
    fn plan_later(&self, session: &PooledSession, due: &Subject, statement: &Statement<'_>);
}

impl PooledSession {
    /// Whether scripts see the session's commands.
    pub(crate) fn has_scripts(&self) -> bool {
        let files = self.identity.account().script.as_deref();
        !files
            .unwrap_or_else(|| self.settings.config.scripts_of(self.identity.listener()))
            .is_empty()
    }

    /// The client's user, as the server's USER() would name it.
    pub fn user(&self) -> &[u8] {
        &self.identity.key().user
    }

    /// Runs command after command, until the session ends. A script, if there is one, sees each command first.
    ///
    /// # Errors
    /// The session cannot go on.
    pub async fn run<S: CommandScript>(
        &mut self,
        script: &mut Option<Box<S>>,
    ) -> Result<After, SessionError> {
        loop {
            // Scripts see commands whole.
            let held_max = match script {
                None => self.settings.config.pool.statement_bytes_max,
                Some(_) => u64::MAX,
            };
            let Some(incoming) = self.next_command(held_max).await? else {
                return Ok(After::Ended(SessionEnd::ClientClosed));
            };
            let is_change = incoming.command == Command::CHANGE_USER;
            let after = match script {
                None => self.act(incoming).await?,
                Some(script) => Box::pin(script.act(self, incoming)).await?,
            };
            match after {
                After::Next => self.rest().await?,
                ended => return Ok(ended),
            }
            if is_change && self.settings.config.accounts_run_scripts() {
                *script = S::follow_account(script.take(), self)?;
            }
        }
    }

    /// Begins a command. Others see no statement of the session until its text is read.
    pub fn begin_command(&mut self, command: CurrentCommand) {
        self.command = command;
        self.control.set_digest(0);
    }

    /// Runs one command, up to the end of its reply.
    pub async fn act(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        self.keep_inherited();
        let mut arrived = self.arrived(incoming);
        let read = match &mut arrived {
            Arrived::Query(query) if query.awaits_reader() => {
                Box::pin(self.read_ahead(query)).await
            }
            _ => Ok(()),
        };
        let after = match arrived {
            arrived if let Err(failure) = &read => {
                self.refuse(failure, arrived.incoming().sequence)
            }
            arrived if self.routing.cut_transaction().is_some() => {
                Box::pin(self.after_cut(arrived)).await
            }
            arrived if self.routing.optimistic().is_some() => {
                Box::pin(self.optimistic(arrived)).await
            }
            // This is boxed, because an idle session needs no memory for a statement.
            Arrived::Query(query) => Box::pin(self.query(query)).await,
            Arrived::Other(incoming)
                if incoming.command == Command::STMT_EXECUTE && !incoming.is_cut =>
            {
                Box::pin(self.execute(incoming)).await
            }
            Arrived::Other(incoming) => Box::pin(self.perform(Arrived::Other(incoming))).await,
        };
        match &after {
            Ok(_) => {
                self.end_policy();
                self.note_answered();
                self.command.end();
            }
            Err(cut) => self.note_cut_off(&cut.failure),
        }
        after
    }

    pub(crate) async fn perform(&mut self, arrived: Arrived) -> Result<After, SessionError> {
        let incoming = match arrived {
            Arrived::Query(query) => return self.query(query).await,
            Arrived::Other(incoming) => incoming,
        };
        if let Some(refused) = self.rule_command(&incoming) {
            return Ok(refused);
        }
        match incoming.command {
            Command::QUIT => return Ok(After::Ended(SessionEnd::Quit)),
            _ if incoming.is_cut => return self.large(incoming).await,
            Command::QUERY => return self.malformed(incoming.sequence),
            Command::PING => {
                self.learn_count().await;
                self.learn_status().await;
                self.reply_ok(incoming.sequence);
                self.sql_state
                    .session_mut()
                    .answered(session::state::Answered::Ok);
            }
            Command::RESET_CONNECTION => return self.reset(incoming).await,
            Command::CHANGE_USER => return self.change_user(incoming).await,
            Command::INIT_DB => return self.init_db(incoming).await,
            Command::SET_OPTION => return self.set_option(incoming).await,
            Command::PROCESS_KILL => return self.process_kill(incoming).await,
            Command::STMT_PREPARE => return self.prepare(incoming).await,
            Command::STMT_EXECUTE => return self.execute(incoming).await,
            Command::STMT_BULK_EXECUTE => return self.bulk_execute(incoming).await,
            Command::STMT_FETCH => return self.fetch(incoming).await,
            Command::STMT_RESET => return self.reset_statement(incoming).await,
            Command::STMT_CLOSE => self.close_statement(&incoming).await,
            Command::STMT_SEND_LONG_DATA => self.send_long_data(&incoming),
            Command::STATISTICS
            | Command::DEBUG
            | Command::REFRESH
            | Command::PROCESS_INFO
            | Command::FIELD_LIST
            | Command::SHUTDOWN
            | Command::CREATE_DB
            | Command::DROP_DB => return self.plain(incoming).await,
            _ => return self.other_command(incoming).await,
        }
        Ok(After::Next)
    }

    /// Ends a session without an error: ends its state on the connection, and gives the connection back.
    pub async fn leave(&mut self) {
        if self.held.has_connection() {
            self.begin_anew().await;
        }
        self.give_back();
    }

    /// Ends a session that cannot go on: tells the client what it can still be told.
    pub async fn break_off(&mut self, cut: &SessionError) {
        // Closing the connection rolls back what is open there.
        self.drop_lease(CloseReason::Broken);
        let (client, scratch) = (self.client.leg_mut(), &self.env.pool_env.scratch);
        if !takes_the_reason(&self.control, client, scratch, &cut.failure).await {
            return;
        }
        if let (Some(sequence), Some(payload)) = (cut.sequence, cut.failure.err_payload(true)) {
            let told = self.client.leg_mut().finish_with(sequence, &payload);
            let _ = tokio::time::timeout(link::session_end::TIMEOUT_TELL, told).await;
        }
    }

    /// The name of the backend whose connection is held, or else of the session's own backend.
    pub fn backend_name(&self) -> Option<String> {
        let at_home = || self.routing.home().map(|home| home.name.clone());
        let held = self.held.backend().map(|backend| backend.name.clone());
        held.or_else(at_home)
    }
}
