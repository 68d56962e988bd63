//! An administrator's session, on either port: the user, what the role allows, and how statements run.

mod aside;
mod changing;
mod checking;
mod outcome;
mod transaction;

use std::sync::Arc;

use config::AdminRole;
use history::EventKind;
use net::clock;
use route::{KillScope, Topology};
use rusqlite::types::Value;
use stats::{AuditEvent, StatsRequest, StatsTable};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use worker::{DataPlaneHandle, Killed};

use crate::editor::{EditRequest, Editor};
use crate::engine::{self, Limits, PreparedSelect, ResultRows, alter};
use crate::fault::Fault;
use crate::functions::Asker;
use crate::recent::Recent;
use crate::sources::Sources;
use crate::statement::{Statement, reading};
use crate::table::{CellType, Table, demands_of};
use crate::table_input::{PortFacts, TableInput};
use transaction::Transaction;

pub use aside::{RUNNING_MAX, aside};
pub use outcome::Outcome;

/// The longest text that is read on the ports' own thread, in bytes: this takes some 100 µs.
const READ_AT_ONCE_BYTES: usize = 8 << 10;

/// An administrator's session.
pub struct AdminSession {
    /// The user and the connection that the statements come from.
    pub asker: Asker,
    /// What the session may do.
    pub role: AdminRole,
    /// Warnings about data missing in the last result, or about the last change.
    pub warnings: Vec<String>,
    data_plane: DataPlaneHandle,
    /// Sends changes to the owner of the configuration.
    editor: Editor,
    /// The settings that the current statement changes.
    changed: Vec<String>,
    /// The changes gathered until COMMIT; `None` outside a transaction.
    transaction: Option<Transaction>,
    /// The port's facts about itself.
    port: Arc<dyn Fn() -> PortFacts + Send + Sync>,
    recent: Option<Arc<Recent>>,
}

/// The most names of settings that the log names for one statement.
const NAMES_MAX: usize = 50;

/// Limits the statements of the role `stats` that run at once, on both ports: fewer than there are threads for
/// statements, so that an administrator's statements and logins find a free thread.
static OF_STATS: Semaphore = Semaphore::const_new(OF_STATS_MAX);

const OF_STATS_MAX: usize = RUNNING_MAX - 2;

/// The names, with a count in place of those beyond [`NAMES_MAX`].
fn shortened(names: &[String]) -> String {
    let told = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => told,
        rest => format!("{told} and {rest} more"),
    }
}

impl AdminSession {
    /// The handle for questions to the workers.
    pub fn data_plane(&self) -> &DataPlaneHandle {
        &self.data_plane
    }

    /// Begins the session of a user that has logged in.
    pub fn new(
        asker: Asker,
        sources: &Sources,
        port: Arc<dyn Fn() -> PortFacts + Send + Sync>,
    ) -> Self {
        Self {
            role: asker.role,
            asker,
            warnings: Vec::new(),
            data_plane: sources.data_plane.clone(),
            editor: sources.editor.clone(),
            changed: Vec::new(),
            transaction: None,
            port,
            recent: None,
        }
    }

    /// The same session, which may show data that was gathered for other sessions within the last second.
    pub fn content_with(self, recent: Arc<Recent>) -> Self {
        Self {
            recent: Some(recent),
            ..self
        }
    }

    /// Runs the statement in a text, with a value for each placeholder.
    ///
    /// # Errors
    /// The statement is not understood, not allowed or not possible.
    pub async fn run(&mut self, text: &str, values: Vec<Value>) -> Result<Outcome, Fault> {
        let statement = self.read(text).await?;
        self.carry_out(statement, text, values).await
    }

    /// Runs a statement that has been read already; `text` is its text.
    ///
    /// # Errors
    /// The statement is not allowed or not possible.
    pub async fn carry_out(
        &mut self,
        statement: Statement,
        text: &str,
        values: Vec<Value>,
    ) -> Result<Outcome, Fault> {
        let audited = (statement.changes_the_proxy()).then(|| statement.audited(text));
        self.changed.clear();
        let outcome = self.perform(statement, values).await;
        if let Some(mut what) = audited {
            if !self.changed.is_empty() {
                what = format!("{what} -- {}", shortened(&self.changed));
            }
            self.audit(&what, outcome.as_ref().err());
        }
        outcome
    }

    /// Reads a text. A long text is read on another thread, so that other connections need not wait.
    async fn read(&self, text: &str) -> Result<Statement, Fault> {
        let schema = self.asker.schema;
        if text.len() <= READ_AT_ONCE_BYTES {
            return reading::read(text, schema);
        }
        let text = text.to_owned();
        aside(move || reading::read(&text, schema)).await
    }

    /// Writes the statement to the audit log, if there is one.
    fn audit(&self, what: &str, fault: Option<&Fault>) {
        let port = match self.recent {
            Some(_) => "http",
            None => "admin",
        };
        self.data_plane.audit(|| AuditEvent {
            at: self.data_plane.system().clock.wall(),
            event: "administration",
            port,
            session: self.asker.id,
            user: self.asker.user.clone(),
            client: self.asker.client.clone(),
            schema: self.asker.schema.name().to_owned(),
            detail: match fault {
                None => what.to_owned(),
                Some(fault) => format!("{what}: refused, error {}", fault.code.number),
            },
        });
    }

    async fn perform(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Outcome, Fault> {
        if !matches!(statement, Statement::Warnings | Statement::WarningCount) {
            self.warnings.clear();
        }
        match statement {
            Statement::Query(text) => {
                let rows = self.select(text, values).await?;
                Ok(Outcome::Rows(rows, self.warnings.clone()))
            }
            Statement::Warnings => Ok(Outcome::Rows(self.warning_rows(), Vec::new())),
            Statement::WarningCount => Ok(Outcome::Rows(self.warning_count(), Vec::new())),
            Statement::Use(schema) => {
                self.asker.schema = schema;
                Ok(Outcome::Done)
            }
            Statement::Nothing => Ok(Outcome::Done),
            Statement::Reset(kept) => {
                self.forget(kept).await?;
                Ok(Outcome::Done)
            }
            Statement::ResetIndexUsage => {
                self.forget_plans()?;
                Ok(Outcome::Done)
            }
            Statement::ResetStatus => self.reset_status().await,
            Statement::FlushLogs => self.flush_logs().await,
            Statement::FlushHosts => self.flush_hosts(),
            Statement::Change(text) => self.change(text, values).await,
            Statement::Set(settings) => self.set(settings).await,
            Statement::Begin => self.begin().await,
            Statement::Commit => self.commit().await,
            Statement::Rollback => {
                self.transaction = None;
                Ok(Outcome::Done)
            }
            Statement::Changes => {
                let rows = self.differences().await?;
                Ok(Outcome::Rows(rows, Vec::new()))
            }
            Statement::Save => self.done("SAVE", EditRequest::Save).await,
            Statement::Revert => self.done("REVERT", EditRequest::Revert).await,
            Statement::Kill(id, scope) => {
                self.kill(id, scope).await?;
                Ok(Outcome::Done)
            }
        }
    }

    /// Returns the number of placeholders in a text, and the names of its result's columns.
    ///
    /// # Errors
    /// The statement is not understood.
    pub async fn understand(&self, text: &str) -> Result<(usize, Vec<String>), Fault> {
        match self.read(text).await? {
            Statement::Query(query) => {
                let prepared = self.prepare(query).await?;
                Ok((prepared.parameters, prepared.columns))
            }
            Statement::Warnings => Ok((0, names(&self.warning_rows()))),
            Statement::WarningCount => Ok((0, names(&self.warning_count()))),
            Statement::Change(text) => {
                let asker = self.asker.clone();
                let prepared = aside(move || alter::prepare(text, &asker)).await?;
                Ok((prepared.parameters, Vec::new()))
            }
            Statement::Changes => Ok((0, names(&self.differences().await?))),
            Statement::Use(_)
            | Statement::Nothing
            | Statement::Kill(..)
            | Statement::Reset(_)
            | Statement::ResetIndexUsage
            | Statement::ResetStatus
            | Statement::FlushLogs
            | Statement::FlushHosts
            | Statement::Set(_)
            | Statement::Begin
            | Statement::Commit
            | Statement::Rollback
            | Statement::Save
            | Statement::Revert => Ok((0, Vec::new())),
        }
    }

    /// The data of these tables, as of now or of at most a second ago.
    pub async fn gather(&self, tables: &[&dyn Table]) -> Arc<TableInput> {
        let gather = self.gather_now(tables);
        let demands = demands_of(tables);
        match &self.recent {
            Some(recent) => {
                let shown = recent.moment(demands, gather).await;
                Arc::clone(&shown.input)
            }
            None => Arc::new(gather.await),
        }
    }

    /// The data of these tables as of now; in a transaction, as after its COMMIT.
    async fn gather_now(&self, tables: &[&dyn Table]) -> TableInput {
        let transaction = self.transaction.as_ref();
        let view = transaction.and_then(|it| it.view.clone());
        TableInput::gather(&self.data_plane, demands_of(tables), (self.port)(), view).await
    }

    /// Runs a query: prepares it, gathers its tables, and runs it on another thread.
    async fn select(&mut self, text: String, values: Vec<Value>) -> Result<ResultRows, Fault> {
        let prepared = self.prepare(text).await?;
        let tables = prepared.tables();
        let input = self.gather(&tables).await;
        self.warnings = input.warnings();
        self.finish(prepared, input, values).await
    }

    /// The current backends, and the most connections to each backend that sessions share.
    pub fn backends(&self) -> (Arc<Topology>, u32) {
        let config = &self.data_plane.settings().config;
        let connections_max = config.pool.backend_connections_max;
        (self.data_plane.topology(), connections_max)
    }

    /// Prepares a statement in SQLite, on another thread.
    ///
    /// # Errors
    /// SQLite does not understand the statement.
    pub async fn prepare(&self, text: String) -> Result<PreparedSelect, Fault> {
        let asker = self.asker.clone();
        aside(move || engine::prepare(text, &asker)).await
    }

    /// Runs a prepared statement over gathered data.
    ///
    /// # Errors
    /// The statement fails while it runs.
    pub async fn finish(
        &self,
        prepared: PreparedSelect,
        input: Arc<TableInput>,
        values: Vec<Value>,
    ) -> Result<ResultRows, Fault> {
        let limits = self.limits();
        let _turn = self.acquire_statement_slot(limits.deadline).await;
        aside(move || prepared.run(&input, values, limits)).await
    }

    /// Waits, if too many statements of the role `stats` run, until one of them ends. A statement that exceeds its time
    /// while waiting reports that itself when it runs.
    async fn acquire_statement_slot(&self, deadline: Instant) -> Option<SemaphorePermit<'static>> {
        if self.role == AdminRole::Admin {
            return None;
        }
        let turn = timeout_at(deadline, OF_STATS.acquire()).await;
        turn.ok()?.ok()
    }

    fn limits(&self) -> Limits {
        let config = Arc::clone(&self.data_plane.settings().config);
        Limits {
            deadline: clock::now() + config.admin.timeout_statement,
            rows_max: config.admin.rows_max,
        }
    }

    /// Ends a session, or the statement it runs.
    ///
    /// # Errors
    /// The role does not allow it, or there is no such session.
    pub async fn kill(&self, id: u32, scope: KillScope) -> Result<(), Fault> {
        let killed = self.kill_session(id, scope).await;
        let what = match scope {
            KillScope::Statement => format!("KILL QUERY {id}"),
            KillScope::Connection => format!("KILL {id}"),
        };
        self.audit(&what, killed.as_ref().err());
        killed
    }

    async fn kill_session(&self, id: u32, scope: KillScope) -> Result<(), Fault> {
        self.check_allowed("KILL")?;
        match self.data_plane.kill(id, scope).await {
            Killed::Told => {}
            Killed::Nobody => return Err(Fault::no_session(id)),
            Killed::Impossible(why) => return Err(Fault::other(why)),
        }
        tracing::info!(
            kind = "admin_kill",
            user = self.asker.user,
            id,
            %scope,
            "an administrator has killed a session"
        );
        let what = match scope {
            KillScope::Statement => "its statement is ended",
            KillScope::Connection => "it is ended",
        };
        self.note(EventKind::Kill, &id.to_string(), what);
        Ok(())
    }

    /// Runs FLUSH LOGS.
    async fn flush_logs(&mut self) -> Result<Outcome, Fault> {
        self.check_allowed("FLUSH LOGS")?;
        self.warnings = self.applied(EditRequest::FlushLogs).await?;
        tracing::info!(
            kind = "admin_flush_logs",
            user = self.asker.user,
            "an administrator has had logs opened again"
        );
        Ok(Outcome::Changed(0))
    }

    /// Runs FLUSH HOSTS.
    fn flush_hosts(&self) -> Result<Outcome, Fault> {
        self.check_allowed("FLUSH HOSTS")?;
        let hosts = self.data_plane.host_errors().forget_all();
        tracing::info!(
            kind = "admin_flush_hosts",
            user = self.asker.user,
            hosts,
            "an administrator has had failed logins of hosts forgotten"
        );
        self.note(
            EventKind::Reset,
            "host_errors",
            "no host is blocked any more",
        );
        Ok(Outcome::Changed(0))
    }

    /// Empties a table of statement statistics; counting begins again from zero.
    async fn forget(&self, kept: StatsTable) -> Result<(), Fault> {
        self.check_allowed("RESET")?;
        let forgotten = self
            .data_plane
            .statement_stats(StatsRequest::Take(kept))
            .await;
        // Freeing the rows takes too long for the ports' own thread.
        aside(move || {
            drop(forgotten);
            Ok(())
        })
        .await?;
        self.has_reset(&format!("{kept:?}").to_lowercase());
        Ok(())
    }

    /// Forgets plans and indexes, so that they are asked for again.
    fn forget_plans(&self) -> Result<(), Fault> {
        self.check_allowed("RESET")?;
        self.data_plane.forget_plans();
        tracing::info!(
            user = self.asker.user,
            "an administrator has had plans forgotten"
        );
        self.note(EventKind::Reset, "index_usage", "plans are asked for again");
        Ok(())
    }

    /// Runs FLUSH STATUS: resets the workers' counts of times, lanes and rules, and the statement statistics.
    async fn reset_status(&mut self) -> Result<Outcome, Fault> {
        for kept in [
            StatsTable::Digests,
            StatsTable::Errors,
            StatsTable::Slow,
            StatsTable::Profiles,
        ] {
            self.forget(kept).await?;
        }
        self.forget_plans()?;
        let late = self.data_plane.workers() - self.data_plane.reset_counts().await;
        if late > 0 {
            let text = format!("{late} workers are too busy now, and do it later");
            self.warnings.push(text);
        }
        self.has_reset("status");
        Ok(Outcome::Changed(0))
    }

    /// Tells the log and the events that counts begin again.
    fn has_reset(&self, subject: &str) {
        tracing::info!(
            user = self.asker.user,
            subject,
            "an administrator has reset what is counted"
        );
        self.note(EventKind::Reset, subject, "counts begin again");
    }

    fn note(&self, kind: EventKind, subject: &str, text: &str) {
        let events = self.editor.events();
        events.note(kind, subject, text, Some(&self.asker.user));
    }

    /// Forgets the state of the session except its schema, as servers do.
    pub fn reset(&mut self) {
        self.warnings.clear();
        self.transaction = None;
    }

    /// Whether changes are gathered until COMMIT.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    fn warning_count(&self) -> ResultRows {
        let count = self.warnings.len().to_string();
        ResultRows {
            columns: vec![("@@session.warning_count".to_owned(), CellType::Integer)],
            rows: vec![vec![Some(count.into_bytes())]],
        }
    }

    fn warning_rows(&self) -> ResultRows {
        let columns = [
            ("Level", CellType::Text),
            ("Code", CellType::Integer),
            ("Message", CellType::Text),
        ];
        let value = |text: &str| Some(text.as_bytes().to_vec());
        let warnings = self.warnings.iter();
        ResultRows {
            columns: columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec(),
            rows: warnings
                .map(|text| vec![value("Warning"), value("1105"), value(text)])
                .collect(),
        }
    }
}

fn names(rows: &ResultRows) -> Vec<String> {
    rows.columns.iter().map(|(name, _)| name.clone()).collect()
}
