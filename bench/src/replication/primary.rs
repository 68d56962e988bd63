//! The primary with its binary log, the server that relays it, and what is written.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Result, ensure};

use super::reader::LAST_TABLE;
use crate::load::Session;
use crate::run::backend::{self, Kind, READ, Server};

/// Rows that one large transaction copies: 700 KB of row events.
const ROWS: u64 = 4096;

/// Rows that small transactions change.
const SMALL_ROWS: u64 = 10_000;

/// Sessions that write small transactions at once.
const WRITERS: u64 = 4;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Transactions of 4,096 inserted rows.
    Large(u64),
    /// Transactions of four statements, each for one row, as sysbench's `oltp_write_only` has.
    Small(u64),
    /// One transaction of so many times 4,096 rows.
    One(u64),
}

/// A server that logs rows by GTID.
pub async fn start(kind: Kind, folder: &Path, id: u32) -> Result<Server> {
    let log = folder.join(format!("bin-{id}"));
    let mut options = vec![
        format!("--log-bin={}", log.display()),
        format!("--server-id={id}"),
        "--binlog-format=ROW".to_owned(),
        "--sync-binlog=0".to_owned(),
        // Small transactions must not wait for the gaps between one another's rows.
        "--transaction-isolation=READ-COMMITTED".to_owned(),
        "--max-binlog-size=1073741824".to_owned(),
    ];
    options.extend(match kind {
        Kind::MariaDb => vec![
            "--log-slave-updates=ON".to_owned(),
            "--binlog-checksum=CRC32".to_owned(),
        ],
        _ => vec![
            "--gtid-mode=ON".to_owned(),
            "--enforce-gtid-consistency=ON".to_owned(),
        ],
    });
    let server = Server::logging(kind, folder, &options).await?;
    Ok(server)
}

/// Forgets what has been logged.
pub async fn forget_log(kind: Kind, address: SocketAddr) -> Result<()> {
    let text = match kind {
        Kind::MariaDb => "RESET MASTER",
        _ => "RESET BINARY LOGS AND GTIDS",
    };
    let mut session = open(address).await?;
    session.look(text).await?;
    Ok(())
}

/// Makes a server with an empty log follow another one.
pub async fn follow(kind: Kind, server: SocketAddr, source: SocketAddr) -> Result<()> {
    let (host, port) = (source.ip(), source.port());
    let statements = match kind {
        Kind::MariaDb => [
            format!(
                "CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = 'bench', \
                 MASTER_USE_GTID = slave_pos"
            ),
            "START SLAVE".to_owned(),
        ],
        _ => [
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = 'bench', \
                 SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            "START REPLICA".to_owned(),
        ],
    };
    let mut session = open(server).await?;
    for statement in statements {
        session.look(&statement).await?;
    }
    Ok(())
}

/// Makes the tables, without logging them: all servers have them before anything is followed.
pub async fn make_tables(address: SocketAddr) -> Result<()> {
    let mut session = open(address).await?;
    let columns = "k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL";
    for statement in [
        format!("CREATE TABLE source (id INT PRIMARY KEY AUTO_INCREMENT, {columns})"),
        format!("CREATE TABLE large (id INT PRIMARY KEY AUTO_INCREMENT, {columns})"),
        format!("CREATE TABLE small (id INT PRIMARY KEY AUTO_INCREMENT, {columns})"),
        format!("CREATE TABLE {LAST_TABLE} (id INT PRIMARY KEY AUTO_INCREMENT, k INT)"),
        "INSERT INTO source (k, c, pad) VALUES (1, REPEAT('c', 119), REPEAT('p', 59))".to_owned(),
    ] {
        session.look(&statement).await?;
    }
    let mut rows = 1;
    while rows < ROWS {
        let double = "INSERT INTO source (k, c, pad) SELECT k, c, pad FROM source";
        session.look(double).await?;
        rows *= 2;
    }
    for _ in 0..SMALL_ROWS.div_ceil(ROWS) {
        session.look(&copy("small")).await?;
    }
    Ok(())
}

fn copy(table: &str) -> String {
    format!("INSERT INTO {table} (k, c, pad) SELECT k, c, pad FROM source")
}

/// Writes, and then the row of the last table; how many transactions that were.
pub async fn write(address: SocketAddr, written: Written) -> Result<u64> {
    let mut session = open(address).await?;
    let transactions = match written {
        Written::Large(count) => {
            for _ in 0..count {
                session.look(&copy("large")).await?;
            }
            count
        }
        Written::One(count) => {
            session.look("BEGIN").await?;
            for _ in 0..count {
                session.look(&copy("large")).await?;
            }
            session.look("COMMIT").await?;
            1
        }
        Written::Small(count) => {
            let writers = (0..WRITERS)
                .map(|writer| tokio::spawn(write_small(address, writer, count / WRITERS)));
            let writers: Vec<_> = writers.collect();
            for writer in writers {
                writer.await??;
            }
            count / WRITERS * WRITERS
        }
    };
    session
        .look(&format!("INSERT INTO {LAST_TABLE} (k) VALUES (1)"))
        .await?;
    Ok(transactions + 1)
}

async fn write_small(address: SocketAddr, writer: u64, count: u64) -> Result<()> {
    let mut session = open(address).await?;
    for number in 0..count {
        // Each writer has rows of its own, so none waits for another.
        let row = number * 7919 % (SMALL_ROWS / WRITERS) * WRITERS + writer + 1;
        for statement in [
            "BEGIN".to_owned(),
            format!("UPDATE small SET k = k + 1 WHERE id = {row}"),
            format!(
                "UPDATE small SET c = REPEAT('{}', 119) WHERE id = {row}",
                number % 10
            ),
            format!("DELETE FROM small WHERE id = {row}"),
            format!(
                "INSERT INTO small VALUES ({row}, {number}, REPEAT('c', 119), REPEAT('p', 59))"
            ),
            "COMMIT".to_owned(),
        ] {
            session.look(&statement).await?;
        }
    }
    Ok(())
}

async fn open(address: SocketAddr) -> Result<Session> {
    let target = backend::target(address, 1);
    ensure!(target.schema == READ, "the tables are in the schema {READ}");
    Ok(Session::open(&target).await?)
}
