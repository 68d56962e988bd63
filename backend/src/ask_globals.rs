//! Asking a server for the values of its global variables.

use std::sync::Arc;

use session::Outcome;
use session::state::Baseline;
use sql::Server;
use wire::rows::Rows;
use wire::{Capabilities, Command};

use crate::ask::text;
use crate::connection::BackendConn;
use crate::connection_error::ConnectionError;
use crate::global_variables::Names;
use crate::own_reply::{OwnReply, table};
use crate::pool_env::PoolEnv;

/// Errors for a variable that does not exist or is not global: `ER_UNKNOWN_SYSTEM_VARIABLE`,
/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`.
const NOT_THERE: [u16; 2] = [1193, 1238];

/// Reads the global variables of a connection's backend.
pub async fn refresh(env: &PoolEnv, conn: &mut BackendConn) -> Result<(), ConnectionError> {
    let globals = &env.shared.globals;
    let backend = conn.backend.id;
    let names = match globals.names(backend) {
        Some(names) => names,
        None => {
            let names = ask_names(env, conn).await?;
            globals.learn_names(backend, Some(Arc::clone(&names)));
            names
        }
    };
    if names.is_empty() {
        return Ok(());
    }
    let look = globals.begin_read();
    let question = text(conn, question(&names));
    let own = conn.ask(env, Command::QUERY, &question).await?;
    match own.outcome {
        Outcome::Ok => {
            let row = table(&own, conn.capabilities)?.row;
            if globals.note(backend, look, &names, &row) {
                tracing::info!(backend = conn.backend.name, "global variables have changed");
                env.shared.definitions_changed();
                env.shared.connection_limits.notify_all();
            }
        }
        Outcome::Err(number) if NOT_THERE.contains(&number) => globals.learn_names(backend, None),
        Outcome::Err(_) => {}
    }
    Ok(())
}

fn question(names: &Names) -> String {
    let mut question = "SELECT ".to_owned();
    for (at, name) in names.iter().enumerate() {
        let before = if at > 0 { ",@@global.`" } else { "@@global.`" };
        question.extend([before, &**name, "`"]);
    }
    // The session may have set `sql_select_limit` to 0.
    question.push_str(" LIMIT 1");
    question
}

/// Asks for the global variables that also exist as session variables.
async fn ask_names(env: &PoolEnv, conn: &mut BackendConn) -> Result<Names, ConnectionError> {
    let server = conn.state.server();
    let statement = match server {
        Server::MySql(_) => "SHOW GLOBAL VARIABLES",
        Server::MariaDb(_) | Server::Unknown => {
            "SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_SCOPE='SESSION' LIMIT 10000"
        }
    };
    let question = text(conn, statement);
    let own = conn.ask(env, Command::QUERY, &question).await?;
    names_of(&own, conn.capabilities, server)
}

fn names_of(
    own: &OwnReply,
    capabilities: Capabilities,
    server: Server,
) -> Result<Names, ConnectionError> {
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
