//! The writes that a session's reads must see: its own, and those of other sessions.

use std::sync::Arc;

use config::{Consistency, ReplicaUse, SessionMode};
use route::{Backend, ClusterId, Family, Position, Written, WrittenByAll};
use session::Outcome;
use session::state::Gtids;
use sql::{Facts, Marks, Object, Server};
use wire::{Capabilities, Command, StatusFlags};

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Done;
use backend::own_reply::OwnReply;
use session::track_settings::GtidTracking;

impl PooledSession {
    /// Whether the session's reads may go elsewhere than its writes.
    pub(crate) fn is_split(&self) -> bool {
        self.routing.settings().replicas == ReplicaUse::Split
            && self.mode != SessionMode::Transparent
    }

    /// Whether the session's reads have to see certain writes.
    pub(crate) fn is_consistent(&self) -> bool {
        let rule_set = self.env.rule_set.borrow();
        let is_directed = rule_set.directs || self.has_scripts();
        let may_differ = self.is_split() || (is_directed && self.mode != SessionMode::Transparent);
        let sees =
            self.routing.settings().consistency != Consistency::None || rule_set.raises_consistency;
        (may_differ && sees) || rule_set.some_see_all
    }

    /// Whether a GTID that the connection does not report does not exist, unless its reply had no room for it, or was
    /// an error. A server without a binary log reports none.
    fn tells_gtids(&self, conn: &BackendConn) -> bool {
        let is_listening = match conn.state.server() {
            // MariaDB reports GTIDs with the other variables, unless a statement was to see the client's own tracking
            // settings.
            Server::MariaDb(_) => !self.tracking.has_shown(),
            Server::MySql(_) | Server::Unknown => conn.tells_gtids,
        };
        is_listening && conn.backend.standing.position().is_some()
    }

    /// Whether the connection has to be told to report GTIDs. A MySQL connection has to be told once, outside a
    /// transaction. MariaDB reports `last_gtid` with the other variables.
    pub(crate) fn wants_gtids(&self, conn: &BackendConn) -> bool {
        !conn.tells_gtids
            && self.is_consistent()
            && matches!(conn.state.server(), Server::MySql(_))
            && conn.backend.role == Some(route::Role::Primary)
            && !self.is_in_transaction_there()
            && self.has_company(conn)
            && self.pins().is_empty()
    }

    /// Whether a backend's cluster has other backends, which reads could go to.
    fn has_company(&self, conn: &BackendConn) -> bool {
        let topology = self.env.pool_env.topology.borrow();
        let mut backends = topology.backends.iter();
        backends.any(|it| it.cluster == conn.backend.cluster && it.id != conn.backend.id)
    }

    /// Prepares a connection for a statement that shows the tracking settings: it reports GTIDs as the client wants.
    /// Within a transaction MySQL does not allow that change (error 1766).
    pub(crate) fn hide_gtids(&self, conn: &mut BackendConn) -> GtidTracking {
        let is_free = !self.is_in_transaction_there();
        match is_free && std::mem::take(&mut conn.tells_gtids) {
            true => GtidTracking::More,
            false => GtidTracking::AsWanted,
        }
    }

    /// Notes that the wait on this connection has succeeded.
    pub(crate) fn note_arrival(&mut self, conn: &BackendConn) {
        if let Some(position) = self.routing.state_mut().awaited.take() {
            self.env.loads.reached(&conn.backend, &position);
        }
    }

    /// The cluster and the consistency of the current command.
    pub(crate) fn level(&self) -> (ClusterId, Consistency) {
        let order = self.command.policy.as_deref();
        let cluster = order.and_then(|it| it.cluster);
        let level = order.and_then(|it| it.consistency);
        (
            cluster.unwrap_or(self.routing.settings().cluster),
            level.unwrap_or(self.routing.settings().consistency),
        )
    }

    /// The writes that the current command must see.
    pub fn must_see(&self) -> Arc<Written> {
        let (cluster, level) = self.level();
        let mut seen = match level {
            // Writes to another cluster are not recorded.
            Consistency::Session if cluster == self.routing.settings().cluster => {
                Arc::clone(&self.routing.state().written)
            }
            Consistency::None | Consistency::Session => Arc::default(),
            Consistency::Global => {
                let all = self.written_by_all(cluster);
                all.map(|all| all.now()).unwrap_or_default()
            }
        };
        let order = self.command.policy.as_deref();
        if let Some(position) = order.and_then(|it| it.position.as_ref()) {
            Arc::make_mut(&mut seen).add(position);
        }
        seen
    }

    fn written_by_all(&self, cluster: ClusterId) -> Option<Arc<WrittenByAll>> {
        let topology = self.env.pool_env.topology.borrow();
        let mut all = topology.clusters.iter();
        let found = all.find(|it| it.id == cluster);
        found.map(|cluster| Arc::clone(&cluster.written))
    }

    /// Notes that a server has reported a write for a read on a lane: a view may write by a function. The position that
    /// later reads must see is not known then.
    pub(crate) fn note_written_on_lane(&mut self, backend: &Backend) {
        if matches!(self.tracking.changes().gtids(), Gtids::None) {
            return;
        }
        Arc::make_mut(&mut self.routing.state_mut().written).add_unknown();
        if let Some(all) = self.written_by_all(backend.cluster) {
            all.add_unknown();
        }
    }

    /// Notes the writes of a command, as the server reports them.
    pub(crate) fn note_written(&mut self, facts: &Facts, done: &Done) {
        if !self.is_consistent() {
            return;
        }
        let Some(conn) = self.held.connection() else {
            return;
        };
        let backend = &conn.backend;
        let is_own = backend.cluster == self.routing.settings().cluster;
        // A transaction gets its GTID when it commits.
        let has_written = self.routing.state().has_unsaid_writes || may_have_written(facts);
        let is_open = self.client.status().contains(StatusFlags::IN_TRANS);
        self.routing.state_mut().has_unsaid_writes = is_open && has_written;
        let has_written = !is_open && has_written;
        let was_told_all = self.tells_gtids(conn) && self.has_room(done);
        let position = match self.tracking.changes().gtids() {
            Gtids::None => None,
            Gtids::Told(gtids) => Some(Position::parse(family_of(conn), gtids).ok()),
            Gtids::TooMany => Some(None),
        };
        let is_unknown = has_written && !was_told_all && !is_undone(done);
        let for_all = (self.env.rule_set.borrow().some_see_all)
            .then(|| self.written_by_all(backend.cluster))
            .flatten();
        if let Some(Some(position)) = &position {
            if is_own {
                Arc::make_mut(&mut self.routing.state_mut().written).add(position);
            }
            if let Some(all) = &for_all {
                all.add(position);
            }
        }
        if position == Some(None) || is_unknown {
            if is_own {
                Arc::make_mut(&mut self.routing.state_mut().written).add_unknown();
            }
            if let Some(all) = &for_all {
                all.add_unknown();
            }
        }
    }

    /// Whether a reply had room to report all writes: an ERR reports none, and neither do rows for a client that wants
    /// an EOF packet after them.
    fn has_room(&self, done: &Done) -> bool {
        let has_eof = !self
            .client
            .capabilities()
            .contains(Capabilities::DEPRECATE_EOF);
        done.outcome == Outcome::Ok
            && !done.tally.has_unsent_changes
            && !(has_eof && done.tally.had_rows)
    }

    /// The question for the primary's position, before a read that could not go to a replica because its position is
    /// not known. From then on reads wait for this position.
    pub(crate) fn position_to_ask(
        &mut self,
        conn: &BackendConn,
    ) -> Option<(Arc<Written>, &'static str)> {
        let is_wanted = std::mem::take(&mut self.routing.state_mut().wants_position);
        let is_there = conn.backend.role == Some(route::Role::Primary)
            && conn.backend.cluster == self.level().0;
        (is_wanted && is_there).then(|| (self.must_see(), question_of_position(conn)))
    }

    /// Asks the primary for its position, for a read that runs elsewhere.
    pub(crate) async fn ask_position(
        &mut self,
        conn: &mut BackendConn,
    ) -> Result<(), ConnectionError> {
        let before = self.must_see();
        let question = backend::ask::text(conn, question_of_position(conn));
        let own = conn
            .ask(&self.env.pool_env, Command::QUERY, &question)
            .await?;
        self.observe_position(conn, &before, &own);
        Ok(())
    }

    /// Takes over the primary's position. A reply without a valid position changes nothing.
    pub(crate) fn observe_position(
        &mut self,
        conn: &BackendConn,
        before: &Arc<Written>,
        own: &OwnReply,
    ) {
        let row = backend::own_reply::table(own, conn.capabilities).map(|table| table.row);
        if let Some(Some(told)) = row.as_ref().ok().and_then(|row| row.first()) {
            self.note_position(conn, before, told);
        }
    }

    /// Notes the primary's position. `before`: the writes that had to be seen when the primary was asked.
    fn note_position(&mut self, conn: &BackendConn, before: &Arc<Written>, told: &[u8]) {
        let Ok(position) = Position::parse(family_of(conn), told) else {
            return;
        };
        let mut written = Written::default();
        written.add(&position);
        match self.level() {
            (_, Consistency::None) => {}
            (_, Consistency::Session) => self.routing.state_mut().written = Arc::new(written),
            (cluster, Consistency::Global) => {
                if let Some(all) = self.written_by_all(cluster) {
                    all.know(before, written);
                }
            }
        }
    }
}

fn question_of_position(conn: &BackendConn) -> &'static str {
    match conn.state.server() {
        Server::MariaDb(_) => {
            "SELECT CONCAT_WS(',', @@global.gtid_binlog_pos, @@global.gtid_current_pos)"
        }
        Server::MySql(_) | Server::Unknown => "SELECT @@global.gtid_executed",
    }
}

fn family_of(conn: &BackendConn) -> Family {
    match conn.state.server() {
        Server::MariaDb(_) => Family::MariaDb,
        Server::MySql(_) | Server::Unknown => Family::MySql,
    }
}

/// Whether a statement failed before it could change anything. A statement that fails later may leave rows in tables
/// without transactions.
fn is_undone(done: &Done) -> bool {
    /// The statement was not parsed, not resolved, or not allowed.
    const BEFORE: [u16; 14] = [
        1044, 1045, 1046, 1049, 1051, 1054, 1064, 1136, 1142, 1143, 1146, 1227, 1290, 1792,
    ];
    matches!(done.outcome, Outcome::Err(number) if BEFORE.contains(&number))
}

/// Whether a statement may have changed data that others read, if its server reports no GTIDs.
fn may_have_written(facts: &Facts) -> bool {
    let only_locks = facts.kind == sql::StatementKind::Select
        && facts.marks.has(Marks::LOCKING)
        && facts.effects.is_empty()
        && !facts.marks.has(Marks::UNKNOWN_FUNCTION);
    let is_own = matches!(
        facts.kind,
        sql::StatementKind::Create(Object::TemporaryTable)
            | sql::StatementKind::Drop(Object::TemporaryTable)
    );
    facts.access >= sql::Access::Unsure && !only_locks && !is_own
}
