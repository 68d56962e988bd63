//! What a replica sends before events come: heartbeat period, checksum, its identity and its position
//! (`get_master_version_and_clock` of MariaDB, `get_source_version_and_clock` of MySQL).

use std::time::Duration;

use binlog::Checksum;
use control::{BackendClient, ClientError, ResultBounds, ResultSet};
use route::Family;
use system::Entropy;
use tokio::time::timeout;

use crate::error::{Purged, StreamError};
use crate::position::Position;

/// How long the server may take for an answer.
const TIMEOUT_ANSWER: Duration = Duration::from_secs(30);

/// Limits for one answer: the longest is the list of binary logs, or a set of GTIDs.
const BOUNDS: ResultBounds = ResultBounds {
    rows: 1_000_000,
    bytes: 64 << 20,
};

/// `COM_REGISTER_SLAVE`
const REGISTER: u8 = 0x15;
/// `COM_BINLOG_DUMP`
const DUMP: u8 = 0x12;
/// `COM_BINLOG_DUMP_GTID`
const DUMP_GTID: u8 = 0x1e;

/// A flag of COM_BINLOG_DUMP: MariaDB sends the statements of row events.
const SEND_ANNOTATE_ROWS: u16 = 2;
/// A flag of COM_BINLOG_DUMP_GTID: the server uses the GTID set, not the file position.
const THROUGH_GTID: u16 = 4;

/// The offset of the first event in a log file.
const FIRST_POSITION: u32 = 4;

/// `@mariadb_slave_capability` of a replica that understands all events of MariaDB.
const CAPABILITY: u8 = 4;

/// The name under which `SHOW REPLICAS` lists the proxy.
const HOST_NAME: &str = "pilotfish";

/// How the proxy identifies itself to the server, as a replica.
#[derive(Debug, Clone)]
pub struct Identity {
    /// `server_id`
    pub server_id: u32,
    /// `server_uuid`, by which MySQL distinguishes replicas.
    pub uuid: String,
    /// How often the server sends a heartbeat while it has no events.
    pub heartbeat: Duration,
    /// Whether the server is to wait for acknowledgements (semi-synchronous replication).
    pub semi_sync: bool,
}

impl Identity {
    /// An identity for one connection, with a random UUID.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random(
        server_id: u32,
        heartbeat: Duration,
        entropy: &Entropy,
    ) -> Result<Self, StreamError> {
        Ok(Self {
            server_id,
            uuid: random_uuid(entropy)?,
            heartbeat,
            semi_sync: false,
        })
    }
}

/// What the server has reported about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeted {
    /// The checksum of the events before the first FORMAT_DESCRIPTION event.
    pub checksum: Checksum,
    /// The server's clock, in seconds since 1970.
    pub server_time: u64,
}

/// A connection on which the proxy registers as a replica.
pub struct Registration<'c> {
    client: &'c mut BackendClient,
    family: Family,
}

impl<'c> Registration<'c> {
    /// Starts on a connection that is logged in.
    pub fn new(client: &'c mut BackendClient) -> Self {
        let family = Family::of_version(client.version().as_bytes());
        Self { client, family }
    }

    /// The family of the server.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Reads the end of the server's log.
    ///
    /// # Errors
    /// The server writes no log with GTIDs, or the query fails.
    pub async fn end_of_log(&mut self) -> Result<Position, StreamError> {
        match self.family {
            Family::MySql => {
                self.demand_gtid_mode().await?;
                self.position("SELECT @@GLOBAL.gtid_executed").await
            }
            Family::MariaDb => {
                self.demand_log().await?;
                self.position("SELECT @@GLOBAL.gtid_binlog_pos").await
            }
        }
    }

    /// Returns the deleted transactions that a stream at `position` would need, and a position from which the
    /// stream can go on without them. None if the server still has all that the stream needs.
    ///
    /// # Errors
    /// The query fails.
    pub async fn purged(
        &mut self,
        position: &Position,
    ) -> Result<Option<(Purged, Position)>, StreamError> {
        let deleted = match self.family {
            Family::MySql => self.position("SELECT @@GLOBAL.gtid_purged").await?,
            Family::MariaDb => match self.before_first_log().await {
                Ok(position) => position,
                // The query needs the privilege BINLOG MONITOR. Without it, the server will refuse the dump if logs
                // are missing.
                Err(StreamError::Client(error)) if error.server.is_some() => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        Ok(position.missing(&deleted).map(|missing| {
            let purged = Purged {
                missing: describe_missing(position, &missing),
                detail: String::new(),
            };
            let mut begin = position.clone();
            begin.union(&deleted);
            (purged, begin)
        }))
    }

    /// Registers the proxy as a replica. Returns the server's clock and checksum.
    ///
    /// # Errors
    /// The server refuses a statement, or the connection is broken.
    pub async fn register(&mut self, identity: &Identity) -> Result<Greeted, StreamError> {
        let server_time = self.value("SELECT UNIX_TIMESTAMP()").await?;
        let beat = identity.heartbeat.as_nanos();
        match self.family {
            Family::MySql => {
                self.run(&format!(
                    "SET @master_heartbeat_period = {beat}, @source_heartbeat_period = {beat}"
                ))
                .await?;
                self.run(
                    "SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, \
                     @source_binlog_checksum = @@GLOBAL.binlog_checksum",
                )
                .await?;
                let uuid = &identity.uuid;
                self.run(&format!(
                    "SET @slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"
                ))
                .await?;
            }
            Family::MariaDb => {
                self.run(&format!("SET @master_heartbeat_period = {beat}"))
                    .await?;
                self.run("SET @master_binlog_checksum = @@GLOBAL.binlog_checksum")
                    .await?;
                self.run(&format!("SET @mariadb_slave_capability = {CAPABILITY}"))
                    .await?;
            }
        }
        let checksum = self.value("SELECT @@GLOBAL.binlog_checksum").await?;
        let payload = register_payload(identity.server_id);
        answered(self.client.command(&payload)).await?;
        if identity.semi_sync {
            self.run(match self.family {
                Family::MySql => "SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1",
                Family::MariaDb => "SET @rpl_semi_sync_slave = 1",
            })
            .await?;
        }
        Ok(Greeted {
            checksum: match checksum.eq_ignore_ascii_case("CRC32") {
                true => Checksum::Crc32,
                false => Checksum::None,
            },
            server_time: server_time.parse().unwrap_or_default(),
        })
    }

    /// Asks the server to send the events after `position`.
    ///
    /// # Errors
    /// The server refuses the position, or the connection is broken.
    pub async fn begin(
        &mut self,
        identity: &Identity,
        position: &Position,
    ) -> Result<(), StreamError> {
        let payload = match position {
            Position::Mysql(set) => {
                let mut data = Vec::new();
                set.encode(&mut data);
                dump_gtid_payload(identity.server_id, &data)
            }
            Position::Mariadb(set) => {
                self.run(&format!("SET @slave_connect_state = '{set}'"))
                    .await?;
                self.run("SET @slave_gtid_strict_mode = 0").await?;
                self.run("SET @slave_gtid_ignore_duplicates = 0").await?;
                dump_payload(identity.server_id)
            }
        };
        Ok(self.client.begin(&payload).await?)
    }

    /// Whether the server waits for acknowledgements; none if the server does not support semi-synchronous replication.
    ///
    /// # Errors
    /// The query fails.
    pub async fn semi_sync(&mut self) -> Result<Option<bool>, StreamError> {
        let shown = self
            .rows("SHOW GLOBAL VARIABLES LIKE 'rpl\\_semi\\_sync\\_%\\_enabled'")
            .await?;
        // A server may also have the variable for its role as a replica; that variable does not count.
        let is_source = |row: &&Vec<Option<Vec<u8>>>| {
            let name = row.first().and_then(Option::as_deref);
            matches!(
                name,
                Some(b"rpl_semi_sync_master_enabled" | b"rpl_semi_sync_source_enabled")
            )
        };
        let row = shown.rows.iter().find(is_source);
        let value = row.and_then(|row| row.get(1)?.as_deref());
        Ok(value.map(|it| it == b"ON"))
    }

    async fn demand_gtid_mode(&mut self) -> Result<(), StreamError> {
        let mode = self.value("SELECT @@GLOBAL.gtid_mode").await?;
        match mode.as_str() {
            "ON" => self.demand_log().await,
            mode => Err(StreamError::Unfit(format!(
                "the server has gtid_mode = {mode}; the proxy follows servers by GTID only, so set gtid_mode = ON"
            ))),
        }
    }

    async fn demand_log(&mut self) -> Result<(), StreamError> {
        match self.value("SELECT @@GLOBAL.log_bin").await?.as_str() {
            "1" => Ok(()),
            _ => Err(StreamError::Unfit(
                "the server writes no binary log (log_bin is off)".to_owned(),
            )),
        }
    }

    /// Returns the transactions of the deleted log files (MariaDB).
    async fn before_first_log(&mut self) -> Result<Position, StreamError> {
        let logs = self.rows("SHOW BINARY LOGS").await?;
        let first = logs.rows.first().and_then(|row| row.first().cloned());
        let first = first.flatten().unwrap_or_default();
        let name = String::from_utf8_lossy(&first).replace(['\'', '\\'], "");
        self.position(&format!(
            "SELECT ifnull(BINLOG_GTID_POS('{name}', {FIRST_POSITION}), '')"
        ))
        .await
    }

    async fn position(&mut self, statement: &str) -> Result<Position, StreamError> {
        let text = self.value(statement).await?;
        // MySQL writes the GTIDs of each source on a line of their own.
        let text = text.replace('\n', "");
        Position::parse(self.family, &text).map_err(|error| {
            StreamError::Unfit(format!("the server's position cannot be read: {error}"))
        })
    }

    async fn value(&mut self, statement: &str) -> Result<String, StreamError> {
        let result = self.rows(statement).await?;
        let value = result.rows.first().and_then(|row| row.first().cloned());
        let value = value.flatten().unwrap_or_default();
        Ok(String::from_utf8_lossy(&value).into_owned())
    }

    async fn rows(&mut self, statement: &str) -> Result<ResultSet, StreamError> {
        answered(self.client.query(statement, BOUNDS)).await
    }

    async fn run(&mut self, statement: &str) -> Result<(), StreamError> {
        answered(self.client.run(statement)).await
    }
}

/// A MariaDB position only has the last GTID of each domain, so the missing ones are described as a range.
fn describe_missing(position: &Position, missing: &Position) -> String {
    match position {
        Position::Mysql(_) => missing.to_string(),
        Position::Mariadb(_) => format!("all behind \"{position}\" up to \"{missing}\""),
    }
}

/// Waits for an answer, at most `TIMEOUT_ANSWER`.
pub async fn answered<T>(
    answer: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, StreamError> {
    match timeout(TIMEOUT_ANSWER, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(StreamError::Silent(TIMEOUT_ANSWER.as_secs())),
    }
}

/// id, host, user, password, port, rank, id of the source.
fn register_payload(server_id: u32) -> Vec<u8> {
    let mut payload = vec![REGISTER];
    payload.extend_from_slice(&server_id.to_le_bytes());
    payload.push(HOST_NAME.len() as u8);
    payload.extend_from_slice(HOST_NAME.as_bytes());
    payload.extend_from_slice(&[0, 0]);
    payload.extend_from_slice(&[0; 10]);
    payload
}

fn dump_payload(server_id: u32) -> Vec<u8> {
    let mut payload = vec![DUMP];
    payload.extend_from_slice(&FIRST_POSITION.to_le_bytes());
    payload.extend_from_slice(&SEND_ANNOTATE_ROWS.to_le_bytes());
    payload.extend_from_slice(&server_id.to_le_bytes());
    payload
}

fn dump_gtid_payload(server_id: u32, set: &[u8]) -> Vec<u8> {
    let mut payload = vec![DUMP_GTID];
    payload.extend_from_slice(&THROUGH_GTID.to_le_bytes());
    payload.extend_from_slice(&server_id.to_le_bytes());
    // No file name.
    payload.extend_from_slice(&0_u32.to_le_bytes());
    payload.extend_from_slice(&u64::from(FIRST_POSITION).to_le_bytes());
    // No overflow: a set with 2^20 intervals has 20 MiB.
    payload.extend_from_slice(&(set.len() as u32).to_le_bytes());
    payload.extend_from_slice(set);
    payload
}

/// Returns a UUID by which MySQL knows a replica: version 4 of RFC 9562.
pub fn random_uuid(entropy: &Entropy) -> Result<String, StreamError> {
    let bytes = entropy.bytes::<16>();
    let mut uuid = bytes.map_err(|error| StreamError::Unfit(error.to_string()))?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(binlog::Uuid(uuid).to_string())
}
