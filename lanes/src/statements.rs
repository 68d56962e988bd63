//! Prepared statements on a shared lane. The lane prepares a missing statement itself, after the statements in flight.
//! Executions of that statement run elsewhere meanwhile.

use pool::{BackendStatementId, Lookup, TypesSeen};
use session::{Outcome, Reply};
use wire::statement::{PrepareOk, put_close};
use wire::write::put_packets;
use wire::{Command, HEADER_BYTES, StatusFlags};

use crate::lane::{Following, SharedLane};
use crate::lane_command::{LaneCommand, Preparation};
use crate::lane_env::LaneEnv;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Done;
use backend::own_reply::own_command;
use backend::prepared_statement::StatementKey;
use backend::prepared_statement::{NEED_REPREPARE, UNKNOWN_HANDLER};
use backend::worker_pool::HeldConnection;

impl SharedLane {
    /// Whether a statement is prepared here, and was only executed with types that are in `types`.
    #[inline]
    pub fn has(&self, key: &StatementKey, types: &TypesSeen) -> bool {
        let lease = self.lease.borrow();
        lease
            .as_ref()
            .is_some_and(|lease| lease.conn.has(key, types))
    }

    /// Prepares a statement, after the statements in flight.
    pub fn prepare(&self, key: &StatementKey) {
        let mut lease = self.lease.borrow_mut();
        let Some(HeldConnection { conn, .. }) = &mut *lease else {
            return;
        };
        if conn.prepared.id(key).is_some() || self.preparing.borrow().contains(key) {
            return;
        }
        if let Lookup::Missing { close: Some(id) } = conn.prepared.begin(key) {
            self.close_statement(conn, id);
        }
        let command = Command::STMT_PREPARE;
        let Some(reply) = Reply::to(command, conn.capabilities, conn.sequences(), 1) else {
            return;
        };
        let lane_command = LaneCommand::Prepare(Box::new(Preparation {
            key: key.clone(),
            packets: Vec::new(),
        }));
        self.preparing.borrow_mut().push(key.clone());
        let follower = Following {
            reply,
            lane_command,
        };
        self.queue.borrow_mut().submit_own(follower);
        self.leave_soon(&own_command(command, key.text.bytes()));
    }

    /// Sends COM_STMT_CLOSE for a statement, after all commands that still use it.
    fn close_statement(&self, conn: &mut BackendConn, id: BackendStatementId) {
        let mut ready = self.ready.borrow_mut();
        if ready.is_empty() {
            return conn.close_statement(id);
        }
        let mut payload = Vec::new();
        put_close(&mut payload, id.0);
        put_packets(&mut ready, 0, &payload);
    }

    /// Handles the end of the reply to a command.
    pub(crate) fn run_lane_command(
        &self,
        env: &LaneEnv,
        conn: &mut BackendConn,
        lane_command: LaneCommand,
        done: &Done,
    ) -> Result<(), ConnectionError> {
        match lane_command {
            LaneCommand::Query => {}
            LaneCommand::Execute(key) => self.was_executed(env, conn, &key, done),
            LaneCommand::Prepare(preparation) => self.was_prepared(conn, *preparation, done)?,
        }
        Ok(())
    }

    fn was_executed(&self, env: &LaneEnv, conn: &mut BackendConn, key: &StatementKey, done: &Done) {
        let flags = done.tally.status.unwrap_or_default();
        match done.outcome {
            Outcome::Ok if flags.contains(StatusFlags::METADATA_CHANGED) => {
                env.pool.env.shared.definitions_changed();
            }
            Outcome::Ok => {}
            Outcome::Err(NEED_REPREPARE | UNKNOWN_HANDLER) => {
                env.pool.env.shared.definitions_changed();
                if let Some(id) = conn.prepared.remove(key) {
                    self.close_statement(conn, id);
                }
            }
            Outcome::Err(_) => conn.prepared.unbind(key),
        }
        if let Some(id) = conn.prepared.finish(key) {
            self.close_statement(conn, id);
        }
    }

    /// Notes the result of preparing a statement. If that failed, the client gets the error elsewhere.
    fn was_prepared(
        &self,
        conn: &mut BackendConn,
        preparation: Preparation,
        done: &Done,
    ) -> Result<(), ConnectionError> {
        let Preparation { key, packets } = preparation;
        self.preparing.borrow_mut().retain(|it| *it != key);
        if done.outcome != Outcome::Ok {
            return Ok(());
        }
        let id = BackendStatementId(statement_id(&packets)?);
        let former = conn.prepared.learn(key.clone(), id);
        let surplus = conn.prepared.finish(&key);
        for id in former.into_iter().chain(surplus) {
            self.close_statement(conn, id);
        }
        Ok(())
    }
}

/// The id in the first packet of a reply to COM_STMT_PREPARE.
fn statement_id(packets: &[u8]) -> Result<u32, ConnectionError> {
    let header = packets.first_chunk::<HEADER_BYTES>();
    let length = header.map_or(0, |it| wire::Header::decode(*it).length);
    let payload = packets.get(HEADER_BYTES..HEADER_BYTES + length);
    Ok(PrepareOk::decode(payload.unwrap_or_default())?.statement_id)
}
