//! Explains a statement that has ended. A session without a client does that, with the same account and settings, over
//! a connection that no client waits for. It asks a replica, if there is one. There a statement that writes is planned
//! as the SELECT of the rows that it reads, because read-only servers explain nothing else. The client's session does
//! not notice.

mod planner;
mod questions;
mod schemas;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use planner::{Planner, Refusal};
use pool::CloseReason;
use questions::{ANSWER_BYTES_MAX, TIMEOUT_EXPLAIN};
use route::{Backend, ClusterId, Role, Roles};
use schemas::schemas_of;
use session::state::{Needs, Pin};
use sql::{Planned, PlannedTable, Server};
use tokio::time::sleep;

use command::statement::Statement;
use command::target::CommandTarget;
use engine::session::PooledSession;
use registry::worker_sessions::Registered;
use stats::plans::conditions;
use stats::plans::reading::{self, Line};
use stats::plans::store::PlanKey;
use stats::statement_stats::Subject;

/// Statements with more bytes are not explained.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// The most statements of one worker that may wait to be explained, one after the other.
const WAITING_MAX: u32 = 16;

/// The statement before an EXPLAIN of a statement that only reads.
const READ_ONLY: &[u8] = b"START TRANSACTION READ ONLY";

/// How often the proxy looks again for a connection that no other session needs.
const TRIES: u32 = 10;

/// The pause between two of these tries.
const PAUSE: Duration = Duration::from_millis(200);

/// The most tables of a plan whose columns are asked for.
const SCANS_MAX: usize = 8;

/// MySQL's error if its hypergraph optimizer has no plan in rows.
const NOT_IN_ROWS: u16 = 3999;

/// State because of which a session's statements cannot be planned elsewhere: names that only the session has, and its
/// locks.
const OWN: &[Pin] = &[
    Pin::TemporaryTable,
    Pin::TableLock,
    Pin::GlobalLock,
    Pin::Xa,
];

/// A statement that is to be explained.
struct Explaining {
    key: PlanKey,
    cluster: ClusterId,
    /// The client's text, if it writes.
    writing: Option<Vec<u8>>,
    /// The statement as a SELECT.
    reading: Option<Vec<u8>>,
    sources: Vec<PlannedTable>,
}

/// Has a statement explained that has ended, if it may be, and if no statement with its digest was explained lately.
#[cold]
pub(crate) fn explain_later(session: &PooledSession, due: &Subject, statement: &Statement<'_>) {
    let Some(explaining) = explaining(session, due, statement) else {
        return;
    };
    let env = &session.env;
    let now = env.now().0;
    let interval = session
        .env
        .pool_env
        .settings
        .borrow()
        .config
        .statement_stats
        .explain_interval;
    let plans = &env.relay.recorder.plans;
    if !plans.claim(&explaining.key, &due.text, now, interval) {
        return;
    }
    env.relay.recorder.stats.spends_plan(now);
    let count = &env.relay.recorder.stats.explaining_count;
    if count.get() >= WAITING_MAX {
        return;
    }
    let Some((mut double, registered)) = session.double(explaining.cluster) else {
        return;
    };
    answer_in_utf8(&mut double);
    count.set(count.get() + 1);
    tokio::task::spawn_local(explain(Planner { session: double }, registered, explaining));
}

/// Makes answers come as UTF-8, whatever character set the client's session has asked for.
fn answer_in_utf8(session: &mut PooledSession) {
    let values = &session.env.pool_env.store.values;
    let values = values.with(
        session.sql_state.session().values(),
        b"character_set_results",
        b"utf8mb4",
    );
    session.sql_state.session_mut().change_user(values);
}

/// Prepares the statement for EXPLAIN. `None`: it cannot be explained.
fn explaining(session: &PooledSession, due: &Subject, ended: &Statement<'_>) -> Option<Explaining> {
    let pins = session.pins();
    if OWN.iter().any(|pin| pins.has(*pin)) {
        return None;
    }
    let flags = session.sql_state.session().flags();
    let statement = ended.text_with_values(flags, session.client.capabilities())?;
    if statement.len() > STATEMENT_BYTES_MAX {
        return None;
    }
    // The text has values in place of parameters now.
    let filled = match ended {
        Statement::Execution(_) => Cow::Owned(sql::facts(&statement, flags)),
        _ => Cow::Borrowed(ended.facts()),
    };
    let planned = Planned::of(&statement, &filled, flags)?;
    let env = &session.env;
    let topology = env.pool_env.topology.borrow();
    let backend = topology.backend(session.routing.state().last()?)?;
    let cluster = topology
        .clusters
        .iter()
        .find(|it| it.id == backend.cluster)?;
    let values = session.sql_state.session().values();
    Some(Explaining {
        key: PlanKey {
            digest: due.digest,
            cluster: cluster.name.as_str().into(),
            schema: String::from_utf8_lossy(values.schema().unwrap_or_default()).into(),
        },
        cluster: cluster.id,
        writing: planned.writing.map(<[u8]>::to_vec),
        reading: planned.reading.map(Cow::into_owned),
        sources: sql::sources(&statement, &filled, flags),
    })
}

async fn explain(mut planner: Planner, registered: Registered, explaining: Explaining) {
    let env = Rc::clone(&planner.session.env);
    // One after the other: at most one connection of each worker is busy with plans.
    let turn = env.relay.recorder.stats.explaining.acquire().await;
    let came = planner.plan_of(&explaining).await;
    planner.end_planning().await;
    let backend = planner.session.held.backend().cloned();
    let name = backend.as_ref().map_or("", |it| &it.name);
    if let Err(cause) = &came {
        tracing::debug!(cause, backend = name, "a statement cannot be explained");
    }
    let schemas = came.as_deref().map(schemas_of).unwrap_or_default();
    env.relay.recorder.plans.note(&explaining.key, name, came);
    for schema in schemas {
        planner.read_schema(&explaining.key.cluster, &schema).await;
    }
    planner.end_planning().await;
    planner.session.leave().await;
    drop(turn);
    let count = &env.relay.recorder.stats.explaining_count;
    count.set(count.get() - 1);
    drop(planner);
    drop(registered);
}

impl Planner {
    async fn plan_of(&mut self, explaining: &Explaining) -> Result<Vec<Line>, Refusal> {
        let backend = self.backend_to_ask(explaining)?;
        self.take_free(&backend).await?;
        let server = self.session.sql_state.session().flags().server;
        let is_written_there = explaining.reading.is_none()
            || backend.role != Some(Role::Replica) && explains_writing(server);
        let statement = match (&explaining.writing, &explaining.reading) {
            (Some(writing), _) if is_written_there => writing,
            (_, Some(reading)) => reading,
            (Some(writing), None) => writing,
            (None, None) => return Err("it is nothing that can be explained".to_owned()),
        };
        if explaining.writing.as_ref() != Some(statement) {
            // The functions of a view may do anything, and servers run some views to plan the rest.
            self.ask_within(READ_ONLY, TIMEOUT_EXPLAIN, ANSWER_BYTES_MAX)
                .await?;
        }
        let mut lines = match self.ask_rows(&explain_rows(server), statement).await {
            Ok(rows) => reading::lines(&rows),
            Err((NOT_IN_ROWS, _)) => reading::json_lines(&self.ask_json(statement).await?),
            Err((_, refusal)) => return Err(refusal),
        };
        let schema = &*explaining.key.schema;
        for line in &mut lines {
            name_table(line, &explaining.sources, schema);
        }
        if lines.iter().any(wants_columns) {
            // Without the JSON plan only the columns are missing.
            let json = self.ask_json(statement).await.unwrap_or_default();
            for line in lines
                .iter_mut()
                .filter(|it| wants_columns(it))
                .take(SCANS_MAX)
            {
                let alias = line.alias.as_deref().unwrap_or_default();
                line.columns = conditions::columns(&json, alias);
            }
        }
        Ok(lines)
    }

    /// A replica that takes reads, if the question can be asked there, or else the session's own backend.
    fn backend_to_ask(&mut self, explaining: &Explaining) -> Result<Arc<Backend>, Refusal> {
        if explaining.reading.is_some()
            && let Ok(replica) = self
                .session
                .backend(CommandTarget::Ordered(Roles::Replica), &[])
        {
            return Ok(replica);
        }
        let own = self.session.backend(CommandTarget::Home, &[]);
        own.map_err(|none| none.to_string())
    }

    /// Takes a connection, in the usual case one that no other session needs, and gives it the session's state.
    async fn take_free(&mut self, backend: &Arc<Backend>) -> Result<(), Refusal> {
        let mut free = self.session.check_out_if_free(backend).await;
        for _ in 0..TRIES {
            if free.is_some() {
                break;
            }
            sleep(PAUSE).await;
            free = self.session.check_out_if_free(backend).await;
        }
        let mut lease = match free {
            Some(lease) => lease,
            // If all connections are always in use, this session waits in the queue like clients.
            None => {
                let lease = self.session.check_out(backend, None).await;
                lease.map_err(|failure| failure.cause)?
            }
        };
        let equal = self
            .session
            .restore_state_first(&mut lease.conn, &Needs::NONE)
            .await;
        self.session.held.put(lease);
        match equal {
            Ok(()) => Ok(()),
            Err(_) => {
                self.session.drop_lease(CloseReason::Broken);
                Err("a connection cannot be made like the session".to_owned())
            }
        }
    }
}

/// Whether a table's columns are to be asked for: the whole table is read, and not all rows are wanted.
fn wants_columns(line: &Line) -> bool {
    line.is_full_scan() && line.is_filtered()
}

/// Sets the table that a line is about, if the statement names only one such table.
fn name_table(line: &mut Line, sources: &[PlannedTable], schema: &str) {
    let Some(alias) = line
        .alias
        .clone()
        .filter(|_| line.is_table() && line.table.is_none())
    else {
        return;
    };
    let mut named = sources.iter().filter(|it| it.alias == alias.as_bytes());
    line.table = match (named.next(), named.next()) {
        (Some(one), None) => {
            let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
            let schema = one
                .schema
                .as_deref()
                .map_or_else(|| schema.to_owned(), shown);
            Some((schema, shown(&one.table)))
        }
        // The table of a view, or one of two with the same alias: its name is used, if it is a table's name.
        (None, _) => Some((schema.to_owned(), alias)),
        (Some(_), Some(_)) => None,
    };
}

/// The words before a statement whose plan is wanted in rows: newer MySQL may have another default format.
fn explain_rows(server: Server) -> String {
    match server {
        Server::MySql(version) if version >= 50_605 => "EXPLAIN FORMAT=TRADITIONAL ".to_owned(),
        Server::MySql(_) | Server::MariaDb(_) | Server::Unknown => "EXPLAIN ".to_owned(),
    }
}

/// Whether a server explains UPDATE and DELETE.
fn explains_writing(server: Server) -> bool {
    match server {
        Server::MySql(version) => version >= 50_603,
        Server::MariaDb(version) => version >= 100_005,
        Server::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(alias: &str, schema: Option<&str>, table: &str) -> PlannedTable {
        PlannedTable {
            alias: alias.into(),
            schema: schema.map(Into::into),
            table: table.into(),
        }
    }

    fn named(alias: &str, sources: &[PlannedTable]) -> Option<(String, String)> {
        let mut line = Line {
            alias: Some(alias.to_owned()),
            access: Some("ALL".to_owned()),
            ..Line::default()
        };
        name_table(&mut line, sources, "world");
        line.table
    }

    #[test]
    fn a_line_is_about_the_table_that_its_alias_stands_for() {
        let of = |schema: &str, table: &str| Some((schema.to_owned(), table.to_owned()));
        let sources = [
            source("c", None, "City"),
            source("k", Some("other"), "Country"),
            source("x", None, "One"),
            source("x", None, "Two"),
        ];
        assert_eq!(named("c", &sources), of("world", "City"));
        assert_eq!(named("k", &sources), of("other", "Country"));
        assert_eq!(
            named("x", &sources),
            None,
            "of two that are called the same nobody knows"
        );
        assert_eq!(named("v_table", &sources), of("world", "v_table"));
        assert_eq!(named("<derived2>", &sources), None);
    }

    #[test]
    fn indexes_are_read_of_schemas_that_are_not_the_servers_own() {
        let line = |schema: &str| Line {
            table: Some((schema.to_owned(), "t".to_owned())),
            ..Line::default()
        };
        let lines = [
            line("b"),
            line("a"),
            line("MYSQL"),
            line("a"),
            line(""),
            Line::default(),
        ];
        assert_eq!(schemas_of(&lines), ["a", "b"]);
    }

    #[test]
    fn the_explain_syntax_follows_the_server_version() {
        for (server, head, explains) in [
            (Server::MySql(50_541), "EXPLAIN ", false),
            (Server::MySql(50_744), "EXPLAIN FORMAT=TRADITIONAL ", true),
            (Server::MySql(90_700), "EXPLAIN FORMAT=TRADITIONAL ", true),
            (Server::MariaDb(50_568), "EXPLAIN ", false),
            (Server::MariaDb(101_119), "EXPLAIN ", true),
            (Server::Unknown, "EXPLAIN ", false),
        ] {
            assert_eq!(explain_rows(server), head, "{server:?}");
            assert_eq!(explains_writing(server), explains, "{server:?}");
        }
    }
}
