//! A session without a client, beside a client's session. It has the same account and a routing of its own. It takes
//! over the schema and variables that come with each statement. It runs mirrored statements, whose replies are
//! discarded, and statements that scripts send elsewhere.

use std::cell::Cell;
use std::rc::Rc;

use pool::ClientStatementId;
use route::ClusterId;
use session::state::SessionState;
use tokio::sync::mpsc;
use wire::Command;

use crate::routing::session_routing::Routing;
use crate::session::PooledSession;
use crate::session::session_start::{client_statements, rules};
use backend::prepared_statement::StatementKey;
use command::current_command::CurrentCommand;
use link::client_command::Incoming;
use registry::worker_sessions::Registered;
use relay::outcome::{After, SessionError};
use script_host::shadow_queue::{
    Reflection, STATEMENTS_WAITING_MAX, ShadowSession, ShadowStatement, Work,
};
use session_parts::held::Held;
use session_parts::tracking::Tracking;

impl PooledSession {
    /// Returns a session with this session's account and settings, in this cluster. `None`: there are too many
    /// sessions.
    pub fn shadow_session(&self, cluster: ClusterId) -> Option<ShadowSession> {
        let (double, registered) = self.double(cluster)?;
        let control = Rc::clone(&registered.control);
        let (queue, items) = mpsc::channel(STATEMENTS_WAITING_MAX);
        let bytes = Rc::new(Cell::new(0));
        let left = Rc::clone(&bytes);
        tokio::task::spawn_local(run(double, registered, items, left));
        Some(ShadowSession {
            cluster,
            queue,
            bytes,
            control,
        })
    }

    /// Returns a session without a queue, to do one thing and then end. `None`: there are too many sessions.
    pub fn double(&self, cluster: ClusterId) -> Option<(PooledSession, Registered)> {
        let env = &self.env;
        let sessions_max = self.settings.config.limits.sessions_max;
        let place = env.relay.login.shared.enter(sessions_max)?;
        let registered = env.relay.sessions.register();
        let login = &env.relay.login;
        let registration = login.session_registry.register(login.worker);
        let state = SessionState::new(
            rules(self.identity.account(), self.mode),
            Rc::clone(self.sql_state.session().values()),
            self.sql_state.session().flags(),
        );
        let double = PooledSession {
            client: self.client.double(),
            held: Held::default(),
            env: Rc::clone(env),
            control: Rc::clone(&registered.control),
            settings: self.settings.clone(),
            mode: self.mode,
            sql_state: self
                .sql_state
                .double(state, client_statements(&self.settings)),
            tracking: Tracking::default(),
            routing: Routing::new(self.routing.state().elsewhere(cluster), Reflection::Itself),
            command: CurrentCommand::default(),
            identity: self.identity.double((registration, place)),
            explainer: self.explainer,
        };
        Some((double, registered))
    }
}

/// Runs the statements of the queue, until the queue is closed.
async fn run(
    mut double: PooledSession,
    registered: Registered,
    mut items: mpsc::Receiver<ShadowStatement>,
    bytes: Rc<Cell<usize>>,
) {
    while let Some(item) = items.recv().await {
        bytes.set(bytes.get().saturating_sub(item.bytes));
        double.begin_command(CurrentCommand::arrived(double.env.now().0));
        if double.sql_state.session().values() != &item.values {
            double.sql_state.session_mut().swap_values(item.values);
        }
        let ran = double.run_in_shadow(item.work).await;
        let rested = match ran {
            Ok(After::Next) => double.rest().await,
            Ok(_) => break,
            Err(cut) => Err(cut),
        };
        if let Err(SessionError { failure, .. }) = rested {
            tracing::warn!(cause = failure.cause, user = %double.identity.account().id(), "a session of a script beside a client's has ended with an error");
            double.drop_lease(pool::CloseReason::Broken);
            break;
        }
    }
    double.leave().await;
    drop(double);
    drop(registered);
}

impl PooledSession {
    async fn run_in_shadow(&mut self, work: Work) -> Result<After, SessionError> {
        let command = |command, packets| Incoming {
            command,
            packets,
            sequence: 1,
            is_cut: false,
        };
        match work {
            Work::Query(packets) => {
                let arrived = self.arrived(command(Command::QUERY, packets));
                Box::pin(self.perform(arrived)).await
            }
            Work::Execute(key, count, payload) => {
                let Some((id, packets)) = self.prepare_in_shadow(key, count, payload) else {
                    return Ok(After::Next);
                };
                let incoming = command(Command::STMT_EXECUTE, packets);
                let after = Box::pin(self.execute(incoming)).await;
                self.sql_state.statements_mut().close(id);
                after
            }
            Work::BulkExecute(key, count, payload) => {
                let Some((id, packets)) = self.prepare_in_shadow(key, count, payload) else {
                    return Ok(After::Next);
                };
                let incoming = command(Command::STMT_BULK_EXECUTE, packets);
                let after = Box::pin(self.bulk_execute(incoming)).await;
                self.sql_state.statements_mut().close(id);
                after
            }
            Work::Asked(asked) => Box::pin(self.reply_to(asked)).await,
        }
    }

    /// Adds the statement to this session. Returns its id, and the packets of an execution with that id.
    fn prepare_in_shadow(
        &mut self,
        key: StatementKey,
        count: u16,
        mut payload: Vec<u8>,
    ) -> Option<(ClientStatementId, Vec<u8>)> {
        let id = self
            .sql_state
            .statements_mut()
            .prepare(key, count, 0, Rc::default())
            .ok()?;
        if let Some(place) = payload.get_mut(1..5) {
            place.copy_from_slice(&id.number().to_le_bytes());
        }
        let mut packets = Vec::new();
        wire::write::put_packets(&mut packets, 0, &payload);
        Some((id, packets))
    }
}
