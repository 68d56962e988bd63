//! The stream of events to one replica: its request, refusals, and the events, first from disk and then as new ones
//! come.

use std::sync::Arc;
use std::time::Duration;

use binlog::{EventHeader, EventType, MysqlGtidSet};
use route::Family;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::sleep;
use wire::reply::put_eof;
use wire::write::put_packets;
use wire::{Command, Reader, StatusFlags};

use super::artificial::{put_heartbeat, put_rotate};
use super::connection::{FIRST, ReplicaConnection};
use super::running::Feeding;
use super::variables::Variables;
use crate::position::Position;
use crate::relay::{Next, ReadError, RelayLog, RelayReader, Start};

/// ER_MASTER_FATAL_ERROR_READING_BINLOG: the replica stops.
const FATAL_ERROR_READING_LOG: u16 = 1236;

/// ER_SERVER_SHUTDOWN: the replica connects again by itself.
const SERVER_SHUTDOWN: u16 = 1053;

/// How many bytes are sent at once, unless one event is longer.
const BATCH_BYTES: usize = 256 << 10;

/// A flag of both commands: the stream ends at the end of the log.
const NON_BLOCKING: u16 = 1;
/// A flag of MySQL's command: heartbeats of version 2.
const HEARTBEAT_V2: u16 = 2;
/// A flag of MariaDB's command: the replica wants the statements of row events.
const SEND_ANNOTATE_ROWS: u16 = 2;

/// The least `@mariadb_slave_capability` that a replica of MariaDB must have.
const CAPABILITY_MIN: u32 = 4;

/// The shortest heartbeat period; a shorter one is raised to this.
const HEARTBEAT_MIN: Duration = Duration::from_millis(1);

/// Why a replica gets no events, or no more events.
#[derive(Debug)]
pub struct Refusal {
    /// The server's error number.
    pub number: u16,
    /// The error message for the replica.
    pub text: String,
    /// The sequence id of the error packet.
    pub sequence: u8,
}

impl Refusal {
    fn new(text: impl Into<String>) -> Self {
        Self {
            number: FATAL_ERROR_READING_LOG,
            text: text.into(),
            sequence: FIRST,
        }
    }
}

/// A replica's request for events.
#[derive(Debug)]
pub struct Request {
    /// What identifies the replica: its UUID (MySQL), or its server id.
    pub identity: String,
    had: Position,
    heartbeat: Option<Duration>,
    is_heartbeat_v2: bool,
    ends_at_end: bool,
    has_annotations: bool,
}

impl Request {
    /// Reads the command, and the variables that the session has set before.
    ///
    /// # Errors
    /// The proxy cannot serve the request.
    pub fn read(payload: &[u8], variables: &Variables, family: Family) -> Result<Self, Refusal> {
        let checksum = ["@source_binlog_checksum", "@master_binlog_checksum"];
        let checksum = checksum.iter().find_map(|it| variables.get(it));
        if !checksum.is_some_and(|it| it.eq_ignore_ascii_case("CRC32")) {
            return Err(Refusal::new(
                "Replica can not handle replication events with the checksum that source is configured to log; \
                 the proxy's relay files have binlog_checksum = CRC32",
            ));
        }
        let periods = ["@source_heartbeat_period", "@master_heartbeat_period"];
        let period = periods.iter().find_map(|it| variables.get(it));
        let period = period.and_then(|it| it.parse().ok()).unwrap_or(0);
        let period = (period > 0).then(|| Duration::from_nanos(period).max(HEARTBEAT_MIN));
        let (command, argument) = payload.split_first().unwrap_or((&0, &[]));
        let mut request = match (Command(*command), family) {
            (Command::BINLOG_DUMP_GTID, Family::MySql) => {
                let malformed = |_| Refusal::new("The command COM_BINLOG_DUMP_GTID is malformed");
                Self::of_mysql(argument, variables).map_err(malformed)?
            }
            (Command::BINLOG_DUMP, Family::MariaDb) => Self::of_mariadb(argument, variables)?,
            (_, Family::MySql) => {
                return Err(Refusal::new(
                    "The proxy feeds replicas by GTID only; use CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1",
                ));
            }
            (_, Family::MariaDb) => {
                return Err(Refusal::new(
                    "The relay files are of MariaDB, which no replica of MySQL can follow by GTID",
                ));
            }
        };
        request.heartbeat = period;
        Ok(request)
    }

    fn of_mysql(argument: &[u8], variables: &Variables) -> Result<Self, wire::Malformed> {
        let mut reader = Reader::new(argument);
        let flags = reader.u16("flags")?;
        let server_id = reader.u32("server id")?;
        let length = reader.u32("length of the file name")?;
        reader.bytes(length as usize, "file name")?;
        reader.u64("position")?;
        let length = reader.u32("length of the GTID set")?;
        let set = MysqlGtidSet::decode(reader.bytes(length as usize, "GTID set")?)?;
        let uuids = ["@replica_uuid", "@slave_uuid"];
        let uuid = uuids.iter().find_map(|it| variables.get(it));
        Ok(Self {
            identity: uuid.map_or_else(|| server_id.to_string(), str::to_owned),
            had: Position::Mysql(set),
            heartbeat: None,
            is_heartbeat_v2: flags & HEARTBEAT_V2 != 0,
            ends_at_end: flags & NON_BLOCKING != 0,
            has_annotations: true,
        })
    }

    fn of_mariadb(argument: &[u8], variables: &Variables) -> Result<Self, Refusal> {
        let malformed = |_| Refusal::new("The command COM_BINLOG_DUMP is malformed");
        let mut reader = Reader::new(argument);
        reader.u32("position").map_err(malformed)?;
        let flags = reader.u16("flags").map_err(malformed)?;
        let server_id = reader.u32("server id").map_err(malformed)?;
        let state = variables.get("@slave_connect_state").ok_or_else(|| {
            Refusal::new(
                "The proxy feeds replicas by GTID only; use CHANGE MASTER TO MASTER_USE_GTID = slave_pos",
            )
        })?;
        let had = Position::parse(Family::MariaDb, state);
        let had = had.map_err(|error| Refusal::new(format!("@slave_connect_state: {error}")))?;
        let capability = variables.get("@mariadb_slave_capability");
        let capability: u32 = capability.and_then(|it| it.parse().ok()).unwrap_or(0);
        if capability < CAPABILITY_MIN {
            return Err(Refusal::new(
                "The replica does not understand all events of MariaDB (@mariadb_slave_capability is less than 4)",
            ));
        }
        if variables
            .get("@slave_until_gtid")
            .is_some_and(|it| !it.is_empty())
        {
            return Err(Refusal::new(
                "The proxy does not serve START SLAVE UNTIL master_gtid_pos",
            ));
        }
        Ok(Self {
            identity: server_id.to_string(),
            had,
            heartbeat: None,
            is_heartbeat_v2: false,
            ends_at_end: flags & NON_BLOCKING != 0,
            has_annotations: flags & SEND_ANNOTATE_ROWS != 0,
        })
    }
}

/// The stream to one replica.
pub struct Dump {
    log: Arc<RelayLog>,
    reader: RelayReader,
    request: Request,
    sequence: u8,
    /// Packets to send.
    out: Vec<u8>,
    /// The payload of one packet.
    payload: Vec<u8>,
}

impl Dump {
    /// Finds the place in the relay files where the replica begins.
    ///
    /// # Errors
    /// The replica cannot begin.
    pub fn begin(log: &Arc<RelayLog>, request: Request) -> Result<Self, Refusal> {
        let reader = RelayReader::begin(log, request.had.clone());
        let reader = reader.map_err(|start| refusal_of(&start, log))?;
        Ok(Self {
            log: Arc::clone(log),
            reader,
            request,
            sequence: FIRST,
            out: Vec::new(),
            payload: Vec::new(),
        })
    }

    /// Sends events. Returns false if the replica has disconnected, and true if it wanted events only up to the
    /// log's end.
    ///
    /// # Errors
    /// The error that the replica gets.
    pub async fn run<C: ReplicaConnection>(
        &mut self,
        connection: &mut C,
        mut feeding: Feeding,
    ) -> Result<bool, Refusal> {
        tracing::info!(
            kind = "replica_begins",
            replica = connection.name(),
            identity = self.request.identity,
            position = %self.request.had,
            "a replica is fed"
        );
        let mut additions = self.log.additions();
        loop {
            additions.mark_unchanged();
            if self.log.is_closed() {
                // The replica connects again, and then gets the new relay.
                return Ok(false);
            }
            let (is_end, events) = self.gather()?;
            if !self.out.is_empty() {
                if !connection.send_packets(&self.out).await {
                    return Ok(false);
                }
                self.note(&feeding, events);
                self.out.clear();
                self.out.shrink_to(BATCH_BYTES);
                self.payload.shrink_to(BATCH_BYTES);
                // Other replicas run on this thread, too.
                tokio::task::yield_now().await;
                if feeding.ended.try_recv() == Err(TryRecvError::Closed) {
                    return Err(self.replaced());
                }
                continue;
            }
            if is_end && self.request.ends_at_end {
                let mut eof = Vec::new();
                put_eof(&mut eof, StatusFlags::AUTOCOMMIT, 0);
                put_packets(&mut self.out, self.sequence, &eof);
                return Ok(connection.send_packets(&self.out).await);
            }
            feeding.change(|view| view.is_live = is_end);
            tokio::select! {
                // The log lives as long as this stream, and the log holds the sender.
                _ = additions.changed() => {}
                // A replica sends nothing during the stream, so anything that arrives ends it.
                _ = connection.command() => return Ok(false),
                () = silence(self.request.heartbeat) => self.beat()?,
                _ = &mut feeding.ended => return Err(self.replaced()),
            }
            if !self.out.is_empty() && !connection.send_packets(&self.out).await {
                return Ok(false);
            }
            self.out.clear();
        }
    }

    /// Adds the sent events to the replica's view.
    fn note(&self, feeding: &Feeding, events: u64) {
        let (file, position) = self.reader.file_position();
        let bytes = self.out.len() as u64;
        feeding.change(|view| {
            view.is_live = false;
            view.file = file;
            view.position = position;
            view.events += events;
            view.bytes += bytes;
        });
    }

    /// Gathers packets. Returns whether the end of the log is reached, and how many events were gathered.
    fn gather(&mut self) -> Result<(bool, u64), Refusal> {
        let mut events = 0;
        while self.out.len() < BATCH_BYTES {
            self.payload.clear();
            self.payload.push(0);
            match self.reader.next(&mut self.payload) {
                Ok(Next::End) => return Ok((true, events)),
                Ok(Next::File(name)) => {
                    let put = put_rotate(&mut self.payload, self.log.server_id(), &name);
                    put.map_err(|error| self.refusal(error.to_string()))?;
                }
                Ok(Next::Event) if !self.is_wanted() => continue,
                Ok(Next::Event) => events += 1,
                Err(error) => return Err(self.refusal(describe_read(&error, &self.log))),
            }
            self.sequence = put_packets(&mut self.out, self.sequence, &self.payload);
        }
        Ok((false, events))
    }

    fn is_wanted(&self) -> bool {
        let event = self.payload.get(1..).unwrap_or_default();
        let is_annotation = EventHeader::decode(event)
            .is_ok_and(|header| header.event_type == EventType::ANNOTATE_ROWS);
        self.request.has_annotations || !is_annotation
    }

    fn beat(&mut self) -> Result<(), Refusal> {
        self.payload.clear();
        self.payload.push(0);
        let (file, position) = self.reader.file_position();
        let place = (file.as_str(), position);
        let is_v2 = self.request.is_heartbeat_v2;
        let put = put_heartbeat(&mut self.payload, self.log.server_id(), place, is_v2);
        put.map_err(|error| self.refusal(error.to_string()))?;
        self.sequence = put_packets(&mut self.out, self.sequence, &self.payload);
        Ok(())
    }

    fn refusal(&self, text: impl Into<String>) -> Refusal {
        Refusal {
            sequence: self.sequence,
            ..Refusal::new(text)
        }
    }

    fn replaced(&self) -> Refusal {
        self.refusal(format!(
            "A replica with the same server_uuid/server_id as this replica has connected to the source ({})",
            self.request.identity
        ))
    }
}

/// Waits for the heartbeat period; for ever if the replica wants no heartbeats.
async fn silence(period: Option<Duration>) {
    match period {
        Some(period) => sleep(period).await,
        None => std::future::pending().await,
    }
}

/// The messages use the servers' words that monitoring tools search for.
fn refusal_of(start: &Start, log: &RelayLog) -> Refusal {
    let text = match (start, log.family()) {
        (Start::NotBegun, _) => {
            return Refusal {
                number: SERVER_SHUTDOWN,
                ..Refusal::new("The proxy has no relay file yet; connect again")
            };
        }
        (Start::Deleted(missing), Family::MySql) => format!(
            "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from \
             elsewhere, or provision a new replica from backup. The GTID set sent by the replica lacks '{missing}', \
             which the proxy's relay files do not have any more"
        ),
        (Start::Deleted(missing), Family::MariaDb) => format!(
            "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old and \
             required binlog files have been purged. The proxy's relay files begin behind '{missing}'"
        ),
        (Start::Ahead(ahead), Family::MySql) => format!(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID. The proxy's relay files do \
             not have '{ahead}'"
        ),
        (Start::Ahead(ahead), Family::MariaDb) => format!(
            "Error: connecting slave requested to start from GTID {ahead}, which is not in the master's binlog"
        ),
    };
    Refusal::new(text)
}

fn describe_read(error: &ReadError, log: &RelayLog) -> String {
    match error {
        ReadError::Deleted => format!(
            "Could not find next log: the replica is so slow that the proxy has deleted relay files (relay_bytes_max, \
             relay_age_max) before they were sent; the relay begins behind '{}'",
            log.deleted()
        ),
        error => error.to_string(),
    }
}
