//! A script in a pooled session: each command gets the connection that it needs, or one to the
//! backend that the script has chosen.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use script::{Move, Rows, ScriptQuery};
use sql::{StatementKind, Uses};
use tokio::sync::oneshot;
use wire::{Capabilities, Command, Greeting, StatusFlags, errors};

use crate::pooled_script::PooledScript;
use command::command_policy::CommandPolicy;
use engine::failure::retry::waiting;
use engine::session::session_start::StartedSession;
use engine::session::{CommandScript, PooledSession};
use link::client_command::{EndOf, Incoming, Passage};
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::packets::PacketStream;
use link::reply_observer::{ObservedReply, ReplyObserver, Towards};
use link::row_rewriting::Rewriting;
use link::session_end::SessionEnd;
use login::welcome::send_last_packet;
use registry::session_control::{Ask, HookWait};
use relay::outcome::{After, SessionError};
use script::unless_zero;
use script_hooks::act::act;
use script_hooks::stage::{Stage, note_prepared, prepared_text};
use script_host::host::Host;
use script_host::login_hooks::{LoggedInClient, LoginHooks};
use script_host::script_route::ScriptTarget;
use script_host::shadow_queue::{QueuedScriptQuery, Replied};
use script_host::shadow_queue::{ShadowStatement, Work};

impl PooledScript {
    /// Tells the client that its login has succeeded.
    ///
    /// # Errors
    /// The client has disconnected, or its script has failed.
    pub async fn let_in(
        client: &mut PacketStream,
        started: &mut StartedSession,
        mut hooks: LoginHooks,
        host: Rc<Host>,
    ) -> Result<Box<Self>, Failure> {
        send_last_packet(client, started.take_payload()).await?;
        hooks.let_in(client, &started.first_ok()).await?;
        Ok(Box::new(Self::of(hooks, host)))
    }

    /// Returns the script of a session whose login has succeeded.
    fn of(hooks: LoginHooks, host: Rc<Host>) -> Self {
        let LoginHooks { script, facts, .. } = hooks;
        Self {
            script,
            host,
            schema: facts.schema,
            user: facts.user.unwrap_or_default(),
            shadow: None,
        }
    }
}

/// The failure if an account has scripts and the proxy has started without scripts: the account may not run without
/// them.
pub fn no_scripts_yet() -> Failure {
    Failure::saying(FailureKind::ScriptFailed, errors::no_scripts_loaded())
}

impl CommandScript for PooledScript {
    async fn act(
        &mut self,
        session: &mut PooledSession,
        incoming: Incoming,
    ) -> Result<After, SessionError> {
        let topology = Arc::clone(&session.env.pool_env.topology.borrow());
        self.host.follow(&topology, &session.settings);
        let mut staged = Staged {
            session,
            scripting: self,
            asked: 0,
            route: None,
            route_next: None,
            limit_next: None,
            rows: None,
        };
        staged.follow_moves().await;
        match act(&mut staged, incoming).await? {
            After::Next if self.script.wants_close() => {
                let _ = session.client.leg_mut().drained().await;
                Ok(After::Ended(SessionEnd::Quit))
            }
            after => Ok(after),
        }
    }

    fn follow_account(
        script: Option<Box<Self>>,
        session: &PooledSession,
    ) -> Result<Option<Box<Self>>, SessionError> {
        let (account, settings) = (session.identity.account(), &session.settings);
        let listeners = settings.config.scripts_of(session.identity.listener());
        let files = account.script.as_deref().unwrap_or(listeners);
        let running = script.as_ref().map(|it| it.script.files());
        if running.unwrap_or_default() == files {
            return Ok(script);
        }
        drop(script);
        let (Some(host), Some(info)) = (session.env.script.clone(), session.control.info()) else {
            return match files.is_empty() {
                true => Ok(None),
                false => Err(SessionError::new(no_scripts_yet(), Some(0))),
            };
        };
        let local = session.client.leg().transport.socket();
        let identity = &session.identity;
        let greeting = Greeting {
            thread_id: identity.id(),
            scramble: identity.scramble().as_bytes().to_vec(),
            ..Greeting::clone(identity.greeting())
        };
        let newcomer = LoggedInClient {
            remote: &info.client,
            local: local.and_then(|it| it.local_address().ok()),
            user: session.user(),
            schema: session
                .sql_state
                .session()
                .values()
                .schema()
                .unwrap_or_default(),
            greeting: &greeting,
        };
        let hooks = LoginHooks::of_account(&host, files, &newcomer);
        let hooks = hooks.map_err(|failure| SessionError::new(failure, Some(0)))?;
        Ok(hooks.map(|mut hooks| {
            hooks.know_server();
            Box::new(PooledScript::of(hooks, host))
        }))
    }
}

/// A session and its script, during one command.
struct Staged<'a> {
    session: &'a mut PooledSession,
    scripting: &'a mut PooledScript,
    /// How many commands the script has sent.
    asked: usize,
    /// The route hint for the script's commands; and the one for its next command.
    route: Option<Box<[u8]>>,
    route_next: Option<Box<[u8]>>,
    /// How long the next command may run.
    limit_next: Option<Duration>,
    /// Rewrites the rows that go to the client, if set.
    rows: Option<Rows>,
}

impl Staged<'_> {
    async fn perform(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let command = incoming.command;
        if self.asked > 0 {
            self.session.begin_command(self.session.command.further());
        }
        if let Some(kill) = self.session.held.take_kill() {
            // The kill was meant for the statement before.
            Box::pin(self.session.wait_for_kill(kill)).await?;
        }
        let out = self.scripting.host.out();
        self.session
            .routing
            .state_mut()
            .script_route_mut()
            .put_out(out);
        if self.is_elsewhere() {
            self.session.rest().await?;
        }
        self.asked += 1;
        let route = self.route_next.take().or_else(|| self.route.clone());
        self.session.command.policy = CommandPolicy::of_script(route, self.limit_next.take());
        let acted = Box::pin(self.session.act(incoming)).await?;
        self.tell_changes(command);
        Ok(acted)
    }

    /// Tells the script the session's current schema and user.
    fn tell_changes(&mut self, command: Command) {
        let schema = self
            .session
            .sql_state
            .session()
            .values()
            .schema()
            .unwrap_or_default();
        if schema != self.scripting.schema {
            self.scripting.schema = schema.to_vec();
            self.scripting.script.set_schema(schema);
        }
        if command == Command::CHANGE_USER {
            // The shadow session belongs to the earlier account.
            self.scripting.shadow = None;
        }
        let user = self.session.user();
        if command == Command::CHANGE_USER && user != self.scripting.user {
            self.scripting.user = user.to_vec();
            self.scripting.script.set_user(user);
        }
    }

    /// Gives a statement to the shadow session, which exists from then on.
    fn send_to_shadow(&mut self, query: ScriptQuery) -> Result<oneshot::Receiver<Replied>, String> {
        let session = &self.session;
        let facts = sql::facts(&query.text, session.sql_state.session().flags());
        if facts.kind == StatementKind::Load || facts.uses.has(Uses::CLIENT_FILE) {
            return Err(
                "LOAD DATA needs the session itself, and cannot run in another cluster".to_owned(),
            );
        }
        let cluster = session.routing.settings().cluster;
        let beside = match self.scripting.shadow.take() {
            Some(beside) if beside.is_in(cluster) => beside,
            _ => session
                .shadow_session(cluster)
                .ok_or("the proxy has too many sessions")?,
        };
        let beside = self.scripting.shadow.insert(beside);
        let (reply, answered) = oneshot::channel();
        let asked = QueuedScriptQuery {
            query,
            scripts: self.scripting.host.scripts.clone(),
            reply,
        };
        let sent = beside.send(ShadowStatement::of(
            session.sql_state.session().values(),
            Work::Asked(asked),
        ));
        sent.map_err(|_| "too many statements of this script wait already".to_owned())?;
        Ok(answered)
    }

    /// Waits for an event outside of the session, unless the session ends. Unsent bytes are sent
    /// meanwhile. `None`: the command has to end.
    async fn wait_unless_killed<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<Option<T>, Failure> {
        let session = &mut *self.session;
        if !session.held.has_connection() {
            session.control.unsettle();
        }
        let mut event = pin!(event);
        poll_fn(|context| {
            if let Poll::Ready(outcome) = event.as_mut().poll(context) {
                return Poll::Ready(Ok(Some(outcome)));
            }
            // If the client is gone, `poll_meanwhile` notices that too.
            let _ = session.client.leg_mut().poll_drain(context);
            if let Poll::Ready(Err(cut)) = session.poll_meanwhile(context) {
                return Poll::Ready(Err(waiting(&cut)));
            }
            match session.control.poll_asked(context).contains(Ask::EndHook) {
                true => Poll::Ready(Ok(None)),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Uses the backend that the script has chosen, from now on.
    fn choose(&mut self, index: usize) {
        let backend = self.scripting.host.backend(index);
        self.session
            .routing
            .state_mut()
            .script_route_mut()
            .choose(match (index, backend) {
                (0, _) => ScriptTarget::Any,
                (_, Some(backend)) => ScriptTarget::At(backend.id, backend.cluster),
                (_, None) => ScriptTarget::Nowhere,
            });
    }

    /// Whether the session's connection does not lead to the backend of the next command.
    fn is_elsewhere(&self) -> bool {
        if self.route.is_some() || self.route_next.is_some() {
            return true;
        }
        let choice = self.session.routing.state().script_route();
        self.session.held.connection().is_some_and(|conn| {
            let here = conn.backend.id;
            choice.is_out(here) || choice.backend().is_some_and(|(chosen, _)| chosen != here)
        })
    }
}

impl Stage for Staged<'_> {
    fn script(&mut self) -> &mut script::Session {
        &mut self.scripting.script
    }

    fn client(&mut self) -> &mut Leg {
        self.session.client.leg_mut()
    }

    fn status(&self) -> StatusFlags {
        self.session.client.status()
    }

    fn capabilities(&self) -> Capabilities {
        self.session.client.capabilities()
    }

    fn result_bytes_max(&self) -> usize {
        let bytes_max = self.session.settings.config.script.result_bytes_max;
        usize::try_from(bytes_max).unwrap_or(usize::MAX)
    }

    fn statements_max(&self) -> u64 {
        unless_zero(self.session.settings.config.script.statements_max)
    }

    /// The proxy answers it.
    fn server_version(&self) -> Option<u32> {
        None
    }

    /// The session gets a connection when it needs one.
    fn has_server(&self) -> bool {
        true
    }

    async fn follow_moves(&mut self) {
        for step in self.scripting.script.take_moves() {
            if let Move::Choose(index) = step {
                self.choose(index);
            }
        }
        if let Some(route) = self.scripting.script.take_route() {
            self.route = Some(route).filter(|route| !route.is_empty());
        }
    }

    fn rewrite_rows(&mut self, rows: Option<Rows>) {
        self.rows = rows;
    }

    fn route_next(&mut self, route: Box<[u8]>) {
        self.route_next = Some(route);
    }

    fn bound_next(&mut self) {
        let limit = self.session.settings.config.script.timeout_query;
        self.limit_next = Some(limit).filter(|it| !it.is_zero());
    }

    fn note_wait(&self, wait: HookWait) {
        let second = self.session.env.relay.clock.now();
        self.session.control.hook_waits(second, wait, 0);
    }

    fn note_wait_over(&self) -> bool {
        let second = self.session.env.relay.clock.now();
        self.session.control.hook_goes_on(second)
    }

    async fn sleep(&mut self, time: Duration, sequence: u8) -> Result<Option<()>, SessionError> {
        self.session.rest().await?;
        let slept = self.wait_unless_killed(tokio::time::sleep(time)).await;
        slept.map_err(|failure| SessionError::new(failure, Some(sequence)))
    }

    async fn ask_apart(
        &mut self,
        query: ScriptQuery,
        sequence: u8,
    ) -> Result<Option<Replied>, SessionError> {
        // While the session waits, it must hold no connection that other sessions wait for.
        self.session.rest().await?;
        let answered = match self.send_to_shadow(query) {
            Ok(answered) => answered,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        let replied = self.wait_unless_killed(answered).await;
        if let Ok(Some(replied)) = replied {
            let broken_off = |_| Err("the session beside has broken off".to_owned());
            return Ok(Some(replied.unwrap_or_else(broken_off)));
        }
        // No session waits for the statement that the shadow session runs.
        if let Some(beside) = self.scripting.shadow.take() {
            beside.kill();
        }
        match replied {
            Err(failure) => Err(SessionError::new(failure, Some(sequence))),
            Ok(_) => Ok(None),
        }
    }

    async fn swallow_file(&mut self, sequence: u8) -> Result<u8, SessionError> {
        let session = &mut *self.session;
        session.rest().await?;
        let passage = Passage::of(EndOf::File, sequence.wrapping_add(1));
        let swallowed = session.swallow(passage).await;
        let swallowed = swallowed.map(|passage| passage.sequence);
        swallowed.map_err(|cut| SessionError::new(waiting(&cut), None))
    }

    async fn forward(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let text = prepared_text(&incoming);
        if self.rows.is_none() && text.is_none() {
            return self.perform(incoming).await;
        }
        let sequence = incoming.sequence;
        let (observed, after) = self.ask(incoming, Towards::Client { sequence }).await?;
        note_prepared(&mut self.scripting.script, text, &observed);
        Ok(after)
    }

    /// Commands of one queue share a connection, as long as the script stays at its backend.
    async fn ask(
        &mut self,
        incoming: Incoming,
        towards: Towards,
    ) -> Result<(ObservedReply, After), SessionError> {
        let command = incoming.command;
        let bytes_max = self.result_bytes_max();
        let session = &mut self.session;
        // A dialogue is not a reply.
        session.client.leg_mut().observer = match command {
            Command::CHANGE_USER => None,
            _ => {
                let scripts = &self.scripting.host.scripts;
                let capabilities = session.client.capabilities();
                let observer = ReplyObserver::to(command, capabilities, towards, scripts);
                let rows = self.rows.clone().filter(|_| towards.is_client());
                let rewriting =
                    rows.and_then(|it| Rewriting::of(it, command, capabilities, bytes_max));
                let observer =
                    observer.map(|observer| observer.counted_in(&session.control.memory));
                observer.map(|observer| Box::new(observer.rewriting(rewriting)))
            }
        };
        let acted = self.perform(incoming).await;
        let observer = self.session.client.leg_mut().observer.take();
        let next = observer
            .as_ref()
            .and_then(|observer| observer.next_sequence());
        let is_kept = observer
            .as_ref()
            .is_some_and(|observer| !observer.has_passed());
        let observed = match observer {
            Some(observer) => observer.ended(),
            None => ObservedReply {
                is_reply: command == Command::CHANGE_USER,
                has_passed: command == Command::CHANGE_USER,
                ..ObservedReply::nothing()
            },
        };
        match acted {
            Ok(after) => Ok((observed, after)),
            Err(mut cut) => {
                if is_kept {
                    cut.sequence = Some(towards.sequence().wrapping_add(observed.reports));
                } else if next.is_some() {
                    cut.sequence = next;
                }
                Err(cut)
            }
        }
    }
}
