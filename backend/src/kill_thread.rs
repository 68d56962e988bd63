//! Kills a statement or a connection at a backend, over another connection of the same account.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pool::CloseReason;
use route::{Backend, KillScope};
use tokio::time::timeout;
use wire::read::Reader;
use wire::{Command, HEADER_BYTES, Header};

use crate::ask::text;
use crate::connection::BackendConn;
use crate::connection_error::ConnectionError;
use crate::open::open;
use crate::own_reply::OwnReply;
use crate::pool_env::PoolEnv;
use crate::settle_answers::settle;
use crate::sub_pool::SubPool;
use crate::worker_pool::WorkerPool;

/// Where a session's statement runs.
#[derive(Clone)]
pub struct Running {
    /// The backend on which the statement runs.
    pub backend: Arc<Backend>,
    /// The connection's id at the backend.
    pub thread_id: u32,
}

impl Running {
    /// The place of a statement that runs on this connection.
    #[inline]
    pub fn on(conn: &BackendConn) -> Self {
        Self {
            backend: Arc::clone(&conn.backend),
            thread_id: conn.thread_id,
        }
    }
}

/// How long the proxy waits for a KILL of its own.
pub const TIMEOUT_KILL: Duration = Duration::from_secs(5);

/// Kills the statement that runs on a connection, over another connection of the same sub-pool.
pub fn kill_on(pool: &Rc<WorkerPool>, conn: &BackendConn) {
    let (pool, sub_pool, thread_id) = (Rc::clone(pool), Rc::clone(&conn.sub_pool), conn.thread_id);
    tokio::task::spawn_local(async move {
        kill_in_time(&pool, &sub_pool, thread_id, KillScope::Statement).await;
    });
}

/// Kills a thread. If the backend has not executed the KILL in time, that is logged.
pub async fn kill_in_time(
    pool: &Rc<WorkerPool>,
    sub_pool: &Rc<SubPool>,
    thread_id: u32,
    scope: KillScope,
) {
    let killing = kill(pool, sub_pool, thread_id, scope);
    if timeout(TIMEOUT_KILL, killing).await.is_err() {
        tracing::warn!(
            backend = &*sub_pool.backend.name,
            thread_id,
            limit = ?TIMEOUT_KILL,
            "a backend has not executed a KILL in time; the statement or session may go on there"
        );
    }
}

/// Kills a thread over a connection of `sub_pool`, an idle or a new one. Returns the server's ERR, if there was one.
pub async fn kill(
    pool: &Rc<WorkerPool>,
    sub_pool: &Rc<SubPool>,
    thread_id: u32,
    scope: KillScope,
) -> Option<Vec<u8>> {
    let statement = statement(scope, thread_id);
    let nearness = BackendConn::pending_answers_count;
    if let Some(mut lease) = pool.take_idle(sub_pool.id, nearness) {
        let said = ask_apart(&pool.env, &mut lease.conn, &statement).await;
        return match said {
            Ok(own) => {
                let said = own.error().map(|_| own.first_payload().to_vec());
                pool.give_back(lease);
                said
            }
            Err(_) => {
                pool.forget(lease, CloseReason::Broken);
                None
            }
        };
    }
    // The statement may hold the last connection that the pool may have: this one is opened beside the pool, and
    // briefly.
    let mut conn = Box::pin(open(&pool.env, sub_pool)).await.ok()?;
    let argument = text(&conn, &statement);
    let own = conn.ask(&pool.env, Command::QUERY, &argument).await.ok()?;
    let said = own.error().map(|_| own.first_payload().to_vec());
    conn.send_quit().await;
    said
}

/// Asks a question over a connection, after the answers of its last session are saved.
pub async fn ask_apart(
    env: &PoolEnv,
    conn: &mut BackendConn,
    statement: &str,
) -> Result<OwnReply, ConnectionError> {
    settle(env, conn, &Rc::default()).await?;
    let argument = text(conn, statement);
    conn.ask(env, Command::QUERY, &argument).await
}

/// Whether an account with these grants (a reply to SHOW GRANTS) may kill other users' sessions.
pub fn let_kill_others(grants: &[u8]) -> bool {
    let mut rest = grants;
    while let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
        let length = Header::decode(*header).length;
        let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else {
            return false;
        };
        rest = &rest[HEADER_BYTES + length..];
        let mut reader = Reader::new(payload);
        let grant = reader.lenenc_bytes("a grant");
        if grant.is_ok_and(|grant| reader.is_empty() && lets_kill_others(grant)) {
            return true;
        }
    }
    false
}

/// Whether one line of the grants allows it. Grants on a table or a column have quoted names.
fn lets_kill_others(grant: &[u8]) -> bool {
    let grant = String::from_utf8_lossy(grant);
    let privileges = grant
        .strip_prefix("GRANT ")
        .and_then(|rest| rest.split_once(" ON *.* TO "))
        .map(|(privileges, _)| privileges);
    let is_one = |it: &str| {
        let privileges = [
            "ALL PRIVILEGES",
            "SUPER",
            "CONNECTION_ADMIN",
            "CONNECTION ADMIN",
        ];
        privileges.contains(&it.trim())
    };
    privileges.is_some_and(|all| !all.contains(['`', '\'', '"', '(']) && all.split(',').any(is_one))
}

/// The statement that kills a thread.
pub fn statement(scope: KillScope, thread_id: u32) -> String {
    match scope {
        KillScope::Statement => format!("KILL QUERY {thread_id}"),
        KillScope::Connection => format!("KILL {thread_id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_privileges_on_everything_let_kill_others() {
        for (grant, expected) in [
            (
                "GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION",
                true,
            ),
            ("GRANT SELECT, SUPER ON *.* TO `a`@`%`", true),
            ("GRANT CONNECTION_ADMIN,ROLE_ADMIN ON *.* TO `a`@`%`", true),
            ("GRANT SELECT, CONNECTION ADMIN ON *.* TO 'a'@'%'", true),
            ("GRANT USAGE ON *.* TO `supervisor`@`%`", false),
            ("GRANT SELECT ON `SUPER`.* TO `a`@`%`", false),
            (
                "GRANT SELECT ON `ALL PRIVILEGES ON *.* TO `.* TO `a`@`%`",
                false,
            ),
            (
                "GRANT SELECT (`a, SUPER ON *.* TO b`) ON `d`.`t` TO `a`@`%`",
                false,
            ),
            ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", false),
        ] {
            assert_eq!(lets_kill_others(grant.as_bytes()), expected, "{grant}");
            let mut row = Vec::new();
            wire::write::put_lenenc_bytes(&mut row, grant.as_bytes());
            let mut packets = Vec::new();
            wire::write::put_packets(&mut packets, 1, b"\x01");
            wire::write::put_packets(&mut packets, 2, b"\x03def\0\0\0\x1aGrants for SUPER@%");
            wire::write::put_packets(&mut packets, 3, &row);
            assert_eq!(let_kill_others(&packets), expected, "{grant}");
        }
    }
}
