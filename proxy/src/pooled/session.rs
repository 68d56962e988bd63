//! A pooled session: read one command; what needs no backend is answered here; for the rest take a
//! connection, make its state the session's, pass the command and its reply, note what changed, give
//! the connection back; again.

pub(crate) mod client_side;
pub(crate) mod hand_over;
pub(crate) mod identity;
pub(crate) mod idle;
pub(crate) mod own_answers;
pub(crate) mod recorded_statements;
pub(crate) mod session_start;
pub(crate) mod sql_state;
pub(crate) mod tracking;

use std::rc::Rc;
use std::sync::Arc;

use config::SessionMode;
use pool::CloseReason;
use route::Use;
use wire::Command;

use crate::pooled::backend::held::Held;
use crate::pooled::command::current_command::CurrentCommand;
use crate::pooled::routing::session_routing::Routing;
use crate::pooled::session::client_side::ClientSide;
use crate::pooled::session::identity::Identity;
use crate::pooled::session::sql_state::SqlState;
use crate::pooled::session::tracking::Tracking;
use crate::scripted::session_script::Scripting;
use crate::worker::Worker;
use backend::settings::Settings;
use link::client_command::Incoming;
use link::query_command::Arrived;
use link::session_end::SessionEnd;
use registry::last_word::comes_to_be_told;
use registry::session_control::SessionControl;
use relay::outcome::{After, CutOff};

/// One session. Fields are dropped in this order: the connection goes before the session's places.
pub(crate) struct PooledSession {
    pub client: ClientSide,
    pub held: Held,
    pub worker: Rc<Worker>,
    pub watch: Rc<SessionControl>,
    pub settings: Arc<Settings>,
    pub mode: SessionMode,
    pub sql_state: SqlState,
    pub tracking: Tracking,
    pub routing: Routing,
    pub command: CurrentCommand,
    /// The script that sees its commands.
    pub scripting: Option<Box<Scripting>>,
    pub identity: Identity,
}

impl PooledSession {
    /// The user that the client is, as its server would say in USER().
    pub(crate) fn user(&self) -> &[u8] {
        &self.identity.key.user
    }

    /// Command after command, until the end.
    pub(crate) async fn run(&mut self) -> Result<After, CutOff> {
        loop {
            let Some(incoming) = self.next_command().await? else {
                return Ok(After::Ended(SessionEnd::ClientClosed));
            };
            let is_change = incoming.command == Command::CHANGE_USER;
            let after = match self.scripting {
                None => self.act(incoming).await?,
                Some(_) => {
                    let worker = Rc::clone(&self.worker);
                    worker.blocks.hold(|| self.act_by_script(incoming)).await?
                }
            };
            match after {
                After::Next => self.rest().await?,
                ended => return Ok(ended),
            }
            if is_change && self.settings.config.accounts_run_scripts() {
                self.follow_account()?;
            }
        }
    }

    /// One command, up to the end of its reply.
    pub(crate) async fn act(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let worker = Rc::clone(&self.worker);
        let blocks = &worker.blocks;
        self.routing.course.use_for.set(Use::Any);
        self.watch.says(0);
        self.keep_inherited();
        let after = match self.arrived(incoming) {
            arrived if self.routing.cut_transaction.is_some() => {
                Box::pin(self.after_cut(arrived)).await
            }
            arrived if self.routing.optimism.is_some() => Box::pin(self.optimistic(arrived)).await,
            // An idle session needs no memory for a statement.
            Arrived::Query(query) => blocks.hold(|| self.query(query)).await,
            Arrived::Other(incoming)
                if incoming.command == Command::STMT_EXECUTE && !incoming.is_cut =>
            {
                blocks.hold(|| self.execute(incoming)).await
            }
            other => Box::pin(self.perform(other)).await,
        };
        if self.command.policy.is_some() && after.is_ok() {
            self.close_order();
        }
        match &after {
            Ok(_) => self.note_answered(),
            Err(cut) => self.note_cut_off(&cut.failure),
        }
        after
    }

    pub(crate) async fn perform(&mut self, arrived: Arrived) -> Result<After, CutOff> {
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
                self.say_ok(incoming.sequence);
                self.sql_state
                    .session
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

    /// The session has ended well: what it held ends, and the connection goes back.
    pub(crate) async fn leave(&mut self) {
        if self.held.lease.is_some() {
            self.begin_anew().await;
        }
        self.give_back();
    }

    /// Ends a session that cannot go on: tells the client what it can still be told.
    pub(crate) async fn break_off(&mut self, cut: &CutOff) {
        // Closing it undoes what is open there.
        self.drop_lent(CloseReason::Broken);
        let (client, scratch) = (&mut self.client.leg, &self.worker.env.scratch);
        if !comes_to_be_told(&self.watch, client, scratch, &cut.failure).await {
            return;
        }
        if let (Some(sequence), Some(payload)) = (cut.sequence, cut.failure.err_payload(true)) {
            let told = self.client.leg.finish_with(sequence, &payload);
            let _ = tokio::time::timeout(link::session_end::TIMEOUT_TELL, told).await;
        }
    }

    /// The backend whose connection is held, by name.
    pub(crate) fn backend_name(&self) -> Option<String> {
        let at_home = || {
            self.routing
                .home
                .as_ref()
                .map(|home| home.backend.name.clone())
        };
        let held = self
            .held
            .lease
            .as_ref()
            .map(|lent| lent.conn.backend.name.clone());
        held.or_else(at_home)
    }
}
