//! Looking at global variables, and what sessions and connections make of changes.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pool::CloseReason;
use route::BackendId;
use session::Outcome;
use session::state::{Baseline, Former, Heir, Pin};
use sql::{Charset, Flags, Server};
use wire::{Capabilities, Command};

use super::connection::{BackendConn, Broken, OwnReply};
use super::open::{table, text};
use super::sub_pool::SubPoolId;
use super::worker_pool::{HeldConnection, WorkerPool};
use crate::pooled::session::PooledSession;
use crate::worker::Worker;
use backend::global_variables::Names;
use wire::rows::Rows;

/// How often a worker sees whether it is time to look.
const PAUSE: Duration = Duration::from_secs(1);

/// Errors that say that a variable is not there, or is not global: `ER_UNKNOWN_SYSTEM_VARIABLE`,
/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`.
const NOT_THERE: [u16; 2] = [1193, 1238];

/// Looks at the global variables of a connection's backend.
pub(crate) async fn look(worker: &Worker, conn: &mut BackendConn) -> Result<(), Broken> {
    let globals = &worker.shared.globals;
    let backend = conn.backend.id;
    let names = match globals.names(backend) {
        Some(names) => names,
        None => {
            let names = ask_names(worker, conn).await?;
            globals.learn_names(backend, Some(Arc::clone(&names)));
            names
        }
    };
    if names.is_empty() {
        return Ok(());
    }
    let look = globals.begin_look();
    let question = text(conn, question(&names));
    let own = conn.ask(worker, Command::QUERY, &question).await?;
    match own.outcome {
        Outcome::Ok => {
            let row = table(&own, conn.capabilities)?.row;
            if globals.note(backend, look, &names, &row) {
                tracing::info!(backend = conn.backend.name, "global variables have changed");
                worker.shared.definitions_changed();
                worker.shared.ceilings.notify_all();
            }
        }
        Outcome::Err(number) if NOT_THERE.contains(&number) => globals.learn_names(backend, None),
        Outcome::Err(_) => {}
    }
    Ok(())
}

fn question(names: &Names) -> String {
    let columns: Vec<String> = names.iter().map(|it| format!("@@global.`{it}`")).collect();
    // The session may have set `sql_select_limit` to 0.
    format!("SELECT {} LIMIT 1", columns.join(","))
}

/// The global variables that have a session variable beside them.
async fn ask_names(worker: &Worker, conn: &mut BackendConn) -> Result<Names, Broken> {
    let server = conn.state.server();
    let statement = match server {
        Server::MySql(_) => "SHOW GLOBAL VARIABLES",
        Server::MariaDb(_) | Server::Unknown => {
            "SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_SCOPE='SESSION' LIMIT 10000"
        }
    };
    let question = text(conn, statement);
    let own = conn.ask(worker, Command::QUERY, &question).await?;
    names_of(&own, conn.capabilities, server)
}

fn names_of(own: &OwnReply, capabilities: Capabilities, server: Server) -> Result<Names, Broken> {
    let rows = match own.outcome {
        Outcome::Ok => own.rows(capabilities)?,
        Outcome::Err(_) => Rows::default(),
    };
    let tracked: Vec<&str> = Baseline::tracked(server).split(',').collect();
    let names = rows.iter().filter_map(|row| row.value("Variable_name"));
    let names = names.map(str::to_ascii_lowercase);
    let is_name = |name: &str| {
        name.bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    let is_wanted =
        |name: &String| is_name(name) && (tracked == ["*"] || tracked.contains(&name.as_str()));
    Ok(names
        .filter(is_wanted)
        .map(String::into_boxed_str)
        .collect())
}

impl WorkerPool {
    /// Looks at the variables of each backend that the worker has an idle connection to, as long as the worker
    /// lives. Changes that were made past the proxy are found so.
    pub(crate) async fn look_at_globals(worker: Rc<Worker>) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let interval = worker.globals_interval();
            if interval.is_zero() {
                continue;
            }
            let now = worker.surroundings.now().0;
            for (shelf, backend) in worker.desk.shelves_due(&worker, now, interval) {
                let taken = worker.desk.pool.borrow_mut().take_to_ask(&shelf, |_| true);
                let Some((conn, lease)) = taken else {
                    continue;
                };
                let lent = HeldConnection::new(conn, lease);
                match worker.shared.globals.claim(backend, now, interval) {
                    true => worker.desk.look_over(&worker, lent),
                    false => worker.desk.give_back(&worker, lent),
                }
            }
        }
    }

    /// Where global variables have changed, statements may be taken for something else than before.
    pub(crate) fn note_globals(&self, worker: &Worker) {
        let now = worker.shared.globals.now();
        if self.globals_at.replace(now) != now {
            worker.store.forget_definitions();
        }
    }

    fn shelves_due(
        &self,
        worker: &Worker,
        now: Duration,
        interval: Duration,
    ) -> Vec<(SubPoolId, BackendId)> {
        let shelves = self.shelves.borrow();
        let all = shelves.iter().map(|(id, shelf)| (*id, shelf.backend.id));
        let globals = &worker.shared.globals;
        all.filter(|(_, backend)| globals.is_due(*backend, now, interval))
            .collect()
    }

    /// Looks at the variables over an idle connection.
    fn look_over(&self, worker: &Rc<Worker>, mut lent: HeldConnection) {
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            let looked = async {
                if !lent.conn.is_alive() {
                    return Err(Broken::Closed);
                }
                crate::pooled::diagnostics::pending_answers::settle(
                    &worker,
                    &mut lent.conn,
                    &Rc::default(),
                )
                .await?;
                look(&worker, &mut lent.conn).await
            };
            match looked.await {
                Ok(()) => worker.desk.give_back(&worker, lent),
                Err(_) => worker.desk.forget(&worker, lent, CloseReason::Broken),
            }
        });
    }
}

impl Worker {
    pub(crate) fn globals_interval(&self) -> Duration {
        self.surroundings
            .settings
            .borrow()
            .config
            .pool
            .globals_interval
    }
}

impl PooledSession {
    /// The session may have changed global variables: the proxy looks at them before the client hears that the
    /// statement is done.
    pub(crate) async fn look_at_globals(&mut self) {
        self.sql_state.sets_globals = false;
        let pins = self.sql_state.session.pins();
        let is_awkward = pins.has(Pin::NextTransaction)
            || pins.has(Pin::Xa)
            || self.sql_state.session.is_traced();
        if let Some(lent) = self.held.lease.as_ref().filter(|_| is_awkward) {
            // What is set for the next transaction is the next statement's, and so is the trace.
            self.worker.shared.globals.doubt(lent.conn.backend.id);
            return;
        }
        if !self.keep_past().await {
            return;
        }
        let Some(lent) = &mut self.held.lease else {
            return;
        };
        if look(&self.worker, &mut lent.conn).await.is_err() {
            self.drop_lent(CloseReason::Broken);
        }
        self.keep_inherited();
    }

    /// Where global variables have changed, the session keeps the values that it began with.
    #[inline]
    pub(crate) fn keep_inherited(&mut self) {
        if self.sql_state.inherits_at != self.worker.shared.globals.now() {
            self.keep_inherited_now();
        }
    }

    #[cold]
    fn keep_inherited_now(&mut self) {
        let worker = Rc::clone(&self.worker);
        worker.desk.note_globals(&worker);
        let globals = &worker.shared.globals;
        let held = || self.held.lease.as_ref().map(|lent| lent.conn.backend.id);
        let home = self.routing.home.as_ref().map(|home| home.backend.id);
        let Some(backend) = home.or_else(held) else {
            return;
        };
        let now = globals.now();
        let then = std::mem::replace(&mut self.sql_state.inherits_at, now);
        let conn = self.held.lease.as_mut().map(|lent| &mut lent.conn);
        let conn = conn.filter(|conn| conn.backend.id == backend);
        let inherits_at = conn.as_ref().map(|conn| conn.inherits_at.get());
        let changed = globals.changed_since(backend, then);
        let former: Vec<Former<'_>> = changed
            .iter()
            .map(|changed| Former {
                name: changed.name.as_bytes(),
                before: &changed.before,
                now: &changed.now,
                is_on_connection: inherits_at.is_some_and(|at| at < changed.number),
            })
            .collect();
        let heir = Heir {
            is_interactive: self.client.capabilities.contains(Capabilities::INTERACTIVE),
            is_privileged: self.sql_state.has_set_globals,
        };
        let table = &worker.store.values;
        let connection = conn.map(|conn| &mut conn.state);
        self.sql_state
            .session
            .keep_inherited(table, connection, &former, heir);
        for key in self.sql_state.statements.all_mut() {
            key.values = self.sql_state.session.with_inherited(table, &key.values);
        }
        self.note_wait_timeout();
    }

    /// The session begins anew: it inherits what the global variables are now.
    pub(crate) fn inherit(&mut self) {
        let now = self.worker.shared.globals.now();
        if std::mem::replace(&mut self.sql_state.inherits_at, now) != now {
            let server = self.sql_state.session.flags().server;
            self.sql_state.session.begins_as(fresh_flags(
                &self.worker,
                self.identity.key.collation,
                server,
            ));
        }
    }
}

/// How the statements of a session that begins now are read, until it is on a connection.
pub(crate) fn fresh_flags(worker: &Worker, collation: u16, server: Server) -> Flags {
    worker.desk.note_globals(worker);
    let flags = Flags {
        charset: Charset::of_collation(collation),
        server,
        ..Flags::default()
    };
    let mode = worker.shared.globals.sql_mode();
    flags.in_mode(mode.as_deref().unwrap_or_default())
}
