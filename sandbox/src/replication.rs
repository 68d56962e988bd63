//! The sandbox's servers together: a primary with accounts and sample data, and replicas
//! that follow it by GTID.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use control::{BackendClient, ClientError, ResultBounds};
use tokio::task::JoinSet;

use super::fault::{During, Fault};
use super::load;
use super::server::{Family, Program, Server};

/// How long a replica may take to catch up, in seconds.
const CATCH_UP_SECONDS: u32 = 60;

/// The limits of an answer: a row of a few dozen columns, or a list of GTIDs, fits.
const BOUNDS: ResultBounds = ResultBounds {
    rows: 16,
    bytes: 1 << 20,
};

/// A primary and the replicas that follow it, all running.
#[derive(Debug)]
pub struct Cluster {
    /// The primary first, then the replicas.
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Starts a primary and `replicas` replicas in `folder`. Returns when every replica has caught up with the primary.
    ///
    /// # Errors
    /// A server does not start, or does not follow. The folder's cleaner ends the servers that run by then.
    pub async fn start(program: Program, folder: &Path, replicas: usize) -> Result<Self, Fault> {
        let program = Arc::new(program);
        let servers = (1..=replicas + 1)
            .map(|id| Server::new(&program, folder, id))
            .collect::<Result<Vec<_>, _>>()?;
        servers[0].initialise().await?;
        for replica in &servers[1..] {
            replica.copy_data_of(&servers[0])?;
        }
        let servers = start_all(servers).await?;
        let cluster = Self { servers };
        cluster.replicate().await?;
        Ok(cluster)
    }

    /// The server that takes writes.
    pub fn primary(&self) -> &Server {
        &self.servers[0]
    }

    /// The servers that follow it.
    pub fn replicas(&self) -> &[Server] {
        &self.servers[1..]
    }

    /// Makes the replicas follow, fills the primary, and waits until the replicas have caught up.
    async fn replicate(&self) -> Result<(), Fault> {
        let password = random_word().during("read /dev/urandom")?;
        let mut primary = self.primary().connect().await?;
        fill(&mut primary, self.primary().family(), &password)
            .await
            .during("fill the primary")?;
        let position = written(&mut primary, self.primary().family())
            .await
            .during("ask the primary for its GTID position")?;
        primary.quit().await;
        for replica in self.replicas() {
            let connection = replica.connect().await?;
            follow(
                replica,
                connection,
                self.primary().port,
                &password,
                &position,
            )
            .await?;
        }
        Ok(())
    }
}

/// Starts all servers at the same time.
async fn start_all(servers: Vec<Server>) -> Result<Vec<Server>, Fault> {
    let mut starts = JoinSet::new();
    for mut server in servers {
        starts.spawn(async move { server.start().await.map(|()| server) });
    }
    let mut started = Vec::new();
    while let Some(start) = starts.join_next().await {
        started.push(start.during("start a server")??);
    }
    started.sort_by_key(|server| server.id());
    Ok(started)
}

/// The password of the account with which the proxy asks the servers about their replication.
pub const MONITOR_PASSWORD: &str = "monitor";

/// The password of the account with which the proxy follows the primary, if the history is kept.
pub const HISTORY_PASSWORD: &str = "history";

/// Makes the accounts and the `demo` schema on the primary.
async fn fill(
    primary: &mut BackendClient,
    family: Family,
    password: &str,
) -> Result<(), ClientError> {
    let (plugin, monitors, follows) = match family {
        Family::MariaDb => ("", "SLAVE MONITOR", "BINLOG MONITOR"),
        Family::MySql => (
            " WITH caching_sha2_password",
            "REPLICATION CLIENT",
            "SHOW_ROUTINE",
        ),
    };
    for statement in [
        format!("CREATE USER replica@'%' IDENTIFIED{plugin} BY '{password}'"),
        "GRANT REPLICATION SLAVE ON *.* TO replica@'%'".to_owned(),
        "CREATE USER app@'%' IDENTIFIED BY 'app'".to_owned(),
        "GRANT ALL ON demo.* TO app@'%'".to_owned(),
        format!("CREATE USER '{0}'@'%' IDENTIFIED BY '{0}'", load::USER),
        format!("GRANT ALL ON demo.* TO '{}'@'%'", load::USER),
        format!("CREATE USER monitor@'%' IDENTIFIED{plugin} BY '{MONITOR_PASSWORD}'"),
        format!("GRANT {monitors} ON *.* TO monitor@'%'"),
        // The account must see the definitions of all views, triggers and routines.
        "GRANT SELECT, SHOW VIEW, TRIGGER ON *.* TO monitor@'%'".to_owned(),
        format!("CREATE USER history@'%' IDENTIFIED{plugin} BY '{HISTORY_PASSWORD}'"),
        "GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO history@'%'"
            .to_owned(),
        format!("GRANT {follows} ON *.* TO history@'%'"),
    ] {
        primary.run(&statement).await?;
    }
    for statement in include_str!("demo.sql").split_inclusive(";\n") {
        primary.run(statement).await?;
    }
    Ok(())
}

/// The position after everything that was written so far.
async fn written(primary: &mut BackendClient, family: Family) -> Result<String, ClientError> {
    let position = match family {
        Family::MariaDb => "SELECT @@GLOBAL.gtid_binlog_pos",
        Family::MySql => "SELECT @@GLOBAL.gtid_executed",
    };
    Ok(first_value(primary, position).await?.unwrap_or_default())
}

/// The first value of the first row; `None` if it is NULL, or if there is no row.
async fn first_value(
    client: &mut BackendClient,
    question: &str,
) -> Result<Option<String>, ClientError> {
    let result = client.query(question, BOUNDS).await?;
    let row = result.rows.into_iter().next().unwrap_or_default();
    Ok(row.into_iter().next().flatten().map(text))
}

fn text(value: Vec<u8>) -> String {
    String::from_utf8_lossy(&value).into_owned()
}

/// Makes `replica` follow the primary on `port`, and waits until it has reached `position`.
async fn follow(
    replica: &Server,
    mut connection: BackendClient,
    port: u16,
    password: &str,
    position: &str,
) -> Result<(), Fault> {
    let [change, start, wait] = match replica.family() {
        Family::MariaDb => [
            format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, \
                 MASTER_USER = 'replica', MASTER_PASSWORD = '{password}', \
                 MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, \
                 MASTER_SSL_VERIFY_SERVER_CERT = 0"
            ),
            "START SLAVE".to_owned(),
            format!("SELECT MASTER_GTID_WAIT('{position}', {CATCH_UP_SECONDS})"),
        ],
        Family::MySql => [
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, \
                 SOURCE_USER = 'replica', SOURCE_PASSWORD = '{password}', \
                 SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            "START REPLICA".to_owned(),
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', {CATCH_UP_SECONDS})"),
        ],
    };
    let doing = format!("make {} follow the primary", replica.name);
    connection.run(&change).await.during(&doing)?;
    connection.run(&start).await.during(&doing)?;
    let arrived = first_value(&mut connection, &wait).await.during(&doing)?;
    if arrived.as_deref() == Some("0") {
        connection.quit().await;
        return Ok(());
    }
    let error = replication_error(&mut connection).await.during(&doing)?;
    Err(error)
        .during(doing)
        .map_err(|fault: Fault| fault.with_log(&replica.log()))
}

/// The replica's own error that says why it does not follow.
async fn replication_error(replica: &mut BackendClient) -> Result<String, ClientError> {
    let status = replica.query("SHOW REPLICA STATUS", BOUNDS).await?;
    let row = status.rows.into_iter().next().unwrap_or_default();
    let errors: Vec<String> = status
        .names
        .iter()
        .zip(row)
        .filter(|(name, _)| matches!(name.as_str(), "Last_IO_Error" | "Last_SQL_Error"))
        .filter_map(|(_, value)| value.map(text))
        .filter(|error| !error.is_empty())
        .collect();
    Ok(match errors.is_empty() {
        true => format!("it has not caught up within {CATCH_UP_SECONDS} s"),
        false => errors.join("; "),
    })
}

/// A random password, which no user needs to know.
fn random_word() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
