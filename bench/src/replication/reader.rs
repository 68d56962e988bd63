//! A replica that asks for all transactions of a source and throws them away: it costs the source what a replica costs
//! it, and the machine next to nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::load::{Failure, Session, Target};
use crate::run::backend::{self, Kind};

/// The table whose row is the last that is written.
pub const LAST_TABLE: &str = "bench_last";

const REGISTER: u8 = 0x15;
const DUMP: u8 = 0x12;
const DUMP_GTID: u8 = 0x1e;
/// MariaDB sends the statements of row events.
const SEND_ANNOTATE_ROWS: u16 = 2;
/// The GTID set of the command holds.
const THROUGH_GTID: u16 = 4;

const TABLE_MAP: u8 = 19;
const PACKET_HEADER_BYTES: usize = 4;
const READ_BYTES: usize = 256 << 10;

const LOGS_IN_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A stream that has begun.
pub struct Reader {
    stream: TcpStream,
    /// Bytes of events, with their headers, that have come.
    pub bytes: u64,
    pub events: u64,
    input: Vec<u8>,
}

impl Reader {
    /// Registers as a replica that has had nothing.
    ///
    /// # Errors
    /// When the source refuses something.
    pub async fn begin(kind: Kind, address: SocketAddr, server_id: u32) -> Result<Self> {
        let mut target = backend::target(address, 1);
        // A relay has no schemas.
        target.schema.clear();
        let mut session = log_in(&target).await.context("a reader cannot log in")?;
        let settings = match kind {
            Kind::MariaDb => [
                "SET @master_binlog_checksum = 'CRC32'",
                "SET @mariadb_slave_capability = 4",
                "SET @slave_connect_state = ''",
                "SET @slave_gtid_strict_mode = 0",
            ]
            .map(str::to_owned),
            _ => [
                "SET @master_binlog_checksum = 'CRC32'".to_owned(),
                "SET @source_binlog_checksum = 'CRC32'".to_owned(),
                "SET @source_heartbeat_period = 30000000000".to_owned(),
                format!("SET @replica_uuid = '00000000-0000-4000-8000-{server_id:012}'"),
            ],
        };
        for statement in settings {
            session.look(&statement).await?;
        }
        session.command(&register(server_id)).await?;
        let stream = session.into_stream(&dump(kind, server_id)).await?;
        Ok(Self {
            stream,
            bytes: 0,
            events: 0,
            input: Vec::with_capacity(READ_BYTES),
        })
    }

    /// Reads up to the row of the last table.
    ///
    /// # Errors
    /// When the source ends the stream.
    pub async fn read_to_last(&mut self) -> Result<()> {
        loop {
            let mut place = 0;
            let mut is_last = false;
            while let Some(payload) = packet(&self.input, place) {
                is_last |= self.take(place, payload)?;
                place += PACKET_HEADER_BYTES + payload;
            }
            self.input.drain(..place);
            if is_last {
                return Ok(());
            }
            self.input.reserve(READ_BYTES);
            let read = self.stream.read_buf(&mut self.input).await?;
            ensure!(read > 0, "the source has closed the connection");
        }
    }

    /// Takes a packet; whether it is about the last table.
    fn take(&mut self, place: usize, length: usize) -> Result<bool> {
        let start = place + PACKET_HEADER_BYTES;
        let payload = &self.input[start..start + length];
        match payload.first() {
            Some(0) => {}
            Some(0xff) => bail!("the source says: {}", String::from_utf8_lossy(payload)),
            _ => bail!("the source has ended the stream"),
        }
        self.events += 1;
        self.bytes += (length - 1) as u64;
        let is_table = payload.get(5) == Some(&TABLE_MAP);
        let name = LAST_TABLE.as_bytes();
        Ok(is_table && payload.windows(name.len()).any(|it| it == name))
    }
}

/// A proxy turns replicas away until its relay has a file.
async fn log_in(target: &Target) -> Result<Session, Failure> {
    let patience = Instant::now() + LOGS_IN_WITHIN;
    loop {
        match Session::open(target).await {
            Err(Failure::Closed) if Instant::now() < patience => sleep(LOOK_AGAIN).await,
            opened => return opened,
        }
    }
}

/// The length of the whole packet that begins at a place.
fn packet(input: &[u8], place: usize) -> Option<usize> {
    let header = input.get(place..place + PACKET_HEADER_BYTES)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    (input.len() >= place + PACKET_HEADER_BYTES + length).then_some(length)
}

fn register(server_id: u32) -> Vec<u8> {
    let mut payload = vec![REGISTER];
    payload.extend(server_id.to_le_bytes());
    // Host, user, password, port, rank, id of the source: nothing.
    payload.extend([0; 3 + 2 + 4 + 4]);
    payload
}

fn dump(kind: Kind, server_id: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    if kind == Kind::MariaDb {
        payload.push(DUMP);
        payload.extend(4_u32.to_le_bytes());
        payload.extend(SEND_ANNOTATE_ROWS.to_le_bytes());
        payload.extend(server_id.to_le_bytes());
        return payload;
    }
    payload.push(DUMP_GTID);
    payload.extend(THROUGH_GTID.to_le_bytes());
    payload.extend(server_id.to_le_bytes());
    payload.extend(0_u32.to_le_bytes());
    payload.extend(4_u64.to_le_bytes());
    // A set of no sources.
    payload.extend(8_u32.to_le_bytes());
    payload.extend(0_u64.to_le_bytes());
    payload
}
