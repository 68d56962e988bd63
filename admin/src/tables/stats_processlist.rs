//! Sessions as ProxySQL's statistics show them.

use net::Endpoint;
use worker::{SessionState, SessionView};

use super::runtime_mysql_servers::{Server, of};
use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<StatsProcesslistRow> = TableDefinition {
    schema: Schema::Stats,
    name: "stats_mysql_processlist",
    about: "Sessions, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "ThreadID", "The worker that it lives on.", |it| it.session.worker.into();
        integer "SessionID", "The id that KILL takes here.", |it| it.session.id.into();
        text "user", "The account of the session.", |it| it.session.user.clone().into();
        text "db", "Its default schema.", |it| it.session.schema.clone().into();
        text "cli_host", "The client's host.",
            |it| {
                match &it.session.client {
                    Endpoint::Tcp(address) => address.ip().to_string().into(),
                    Endpoint::Unix(_) => "localhost".into(),
                }
            };
        integer "cli_port", "The client's port; NULL for a socket.",
            |it| match &it.session.client {
                Endpoint::Tcp(address) => Some(address.port()).into(),
                Endpoint::Unix(_) => None::<u16>.into(),
            };
        integer "hostgroup", "The number of the cluster that it uses.", |it| of(&it.server, Server::hostgroup);
        text "srv_host", "The backend's host.", |it| of(&it.server, Server::host);
        integer "srv_port", "The backend's port.", |it| of(&it.server, Server::port);
        text "command", "Sleep, Query or Connect.",
            |it| {
                match it.session.state {
                    SessionState::Idle => "Sleep".into(),
                    SessionState::Running | SessionState::Joined(_) => "Query".into(),
                    SessionState::Login => "Connect".into(),
                }
            };
        measure "time_ms" ["ms"], "For how long, in whole seconds.",
            |it| (u64::from(it.session.state_seconds) * 1000).into();
        text "info", "The statement that it runs, without its values, where digests are kept.",
            |it| it.session.statement.as_deref().into();
    },
    items,
};

/// One session.
pub struct StatsProcesslistRow {
    session: SessionView,
    server: Option<Server>,
}

fn items(input: &TableInput) -> Vec<StatsProcesslistRow> {
    let sessions = input.sessions().map(|session| StatsProcesslistRow {
        server: Server::of_session(input, session),
        session: session.clone(),
    });
    sessions.collect()
}
