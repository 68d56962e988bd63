//! Reads the relay files for one replica: from the first transaction that the replica lacks, file by file, up to
//! the end of the durable part.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use binlog::{
    EventHeader, EventType, HEADER_BYTES, MariadbGtidEvent, MysqlGtid, MysqlGtidEvent, RawEvent,
};
use route::Family;

use super::error::ReadError;
use super::files::{self, CHECKSUM, MAGIC};
use super::log::RelayLog;
use crate::position::{Gtid, Position};

/// How many bytes are read from a file at once.
const BLOCK_BYTES: u64 = 256 << 10;

/// The next item for a replica.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// An event; it is in the buffer.
    Event,
    /// The name of a file whose events follow.
    File(String),
    /// The replica has everything that is durable.
    End,
}

/// Why the relay cannot serve a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// There is no relay file yet, and the replica lacks no older transactions.
    NotBegun,
    /// The replica needs these transactions, and they were deleted.
    Deleted(Position),
    /// The replica has these transactions, and the relay lacks them.
    Ahead(Position),
}

/// Reads the relay files for one replica.
pub struct RelayReader {
    log: Arc<RelayLog>,
    /// The transactions that the replica had at the start.
    had: Position,
    number: u64,
    file: Option<File>,
    /// The offset in the file up to which events were read.
    offset: u64,
    /// Bytes of the file. The first `taken` bytes were read; the byte after them is at `offset`.
    block: Vec<u8>,
    taken: usize,
    /// Whether the current transaction is skipped, because the replica has it.
    is_skipped: bool,
}

impl RelayReader {
    /// Starts for a replica that has the transactions `had`.
    ///
    /// # Errors
    /// The transactions that the relay or the replica lacks.
    pub fn begin(log: &Arc<RelayLog>, had: Position) -> Result<Self, Start> {
        if let Some(ahead) = ahead(&had, &log.position()) {
            return Err(Start::Ahead(ahead));
        }
        let Some(first) = log.first_for(&had) else {
            let deleted = had.missing(&log.deleted());
            return Err(deleted.map_or(Start::NotBegun, Start::Deleted));
        };
        Ok(Self {
            log: Arc::clone(log),
            had,
            number: first.number,
            file: None,
            offset: 0,
            block: Vec::new(),
            taken: 0,
            is_skipped: false,
        })
    }

    /// The file that is being read, and the offset of its next event.
    pub fn file_position(&self) -> (String, u64) {
        (files::name(self.number), self.offset)
    }

    /// Returns the next item. If it is an event, it is appended to `out`.
    ///
    /// # Errors
    /// A file cannot be read, or was deleted.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Next, ReadError> {
        loop {
            let (file, has_next) = self.log.file(self.number).ok_or(ReadError::Deleted)?;
            if self.file.is_none() {
                self.file = Some(File::open(self.log.path(self.number))?);
                self.offset = MAGIC.len() as u64;
                return Ok(Next::File(files::name(self.number)));
            }
            if self.offset >= file.bytes {
                if !has_next {
                    return Ok(Next::End);
                }
                self.number += 1;
                (self.file, self.offset) = (None, 0);
                self.block.clear();
                self.taken = 0;
                continue;
            }
            let begin = out.len();
            let header = self.read_event(file.bytes, out)?;
            if self.is_for_replica(&header, out.get(begin..).unwrap_or_default())? {
                return Ok(Next::Event);
            }
            out.truncate(begin);
        }
    }

    /// Appends the next event. It must end at `end` or before.
    fn read_event(&mut self, end: u64, out: &mut Vec<u8>) -> Result<EventHeader, ReadError> {
        let begin = out.len();
        self.copy(HEADER_BYTES as u64, end, out)?;
        let header = EventHeader::decode(out.get(begin..).unwrap_or_default());
        let header = header.map_err(binlog::EventError::from)?;
        let rest = u64::from(header.length).checked_sub(HEADER_BYTES as u64);
        let rest = rest.ok_or(wire::Malformed::Invalid("event length"));
        self.copy(rest.map_err(binlog::EventError::from)?, end, out)?;
        Ok(header)
    }

    /// Appends `count` bytes of the file.
    fn copy(&mut self, mut count: u64, end: u64, out: &mut Vec<u8>) -> Result<(), ReadError> {
        if self.offset + count > end {
            return Err(binlog::EventError::from(wire::Malformed::Truncated("event")).into());
        }
        while count > 0 {
            if self.taken == self.block.len() {
                self.read_block(end)?;
            }
            let rest = self.block.get(self.taken..).unwrap_or_default();
            let length = rest.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            out.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.taken += length;
            self.offset += length as u64;
            count -= length as u64;
        }
        Ok(())
    }

    /// Reads the next block, up to `end`: bytes that are not durable may still be removed by the writer.
    fn read_block(&mut self, end: u64) -> Result<(), ReadError> {
        let length = (end - self.offset).min(BLOCK_BYTES);
        self.block.resize(usize::try_from(length).unwrap_or(0), 0);
        self.taken = 0;
        match &self.file {
            Some(file) => Ok(file.read_exact_at(&mut self.block, self.offset)?),
            None => Err(ReadError::Deleted),
        }
    }

    /// Whether the replica gets an event. It does not get the events of transactions that it has. The first events
    /// of a file belong to no transaction.
    fn is_for_replica(&mut self, header: &EventHeader, event: &[u8]) -> Result<bool, ReadError> {
        match header.event_type {
            EventType::FORMAT_DESCRIPTION | EventType::PREVIOUS_GTIDS | EventType::GTID_LIST => {
                self.is_skipped = false;
            }
            EventType::GTID | EventType::GTID_TAGGED | EventType::MARIADB_GTID => {
                let gtid = gtid_of(event)?;
                self.is_skipped = self.had.contains(&gtid);
            }
            _ => {}
        }
        Ok(!self.is_skipped)
    }
}

/// Returns the GTID of the transaction that begins with an event.
fn gtid_of(event: &[u8]) -> Result<Gtid, ReadError> {
    let raw = RawEvent::parse(event, CHECKSUM)?;
    let body = raw.body();
    let of_mysql = |event: MysqlGtidEvent| {
        Gtid::Mysql(MysqlGtid {
            source: event.source,
            number: event.number,
        })
    };
    let gtid = match raw.header().event_type {
        EventType::GTID => MysqlGtidEvent::decode(body).map(of_mysql),
        EventType::GTID_TAGGED => MysqlGtidEvent::decode_tagged(body).map(of_mysql),
        _ => MariadbGtidEvent::decode(body, raw.header().server_id)
            .map(|event| Gtid::Mariadb(event.gtid)),
    };
    Ok(gtid.map_err(binlog::EventError::from)?)
}

/// Returns the transactions that the replica has and the relay lacks, only from sources (or domains) that the relay
/// knows: a replica may have executed transactions of its own.
fn ahead(had: &Position, relay: &Position) -> Option<Position> {
    let missing = relay.missing(had)?;
    let mut shared = Position::empty(match relay {
        Position::Mysql(_) => Family::MySql,
        Position::Mariadb(_) => Family::MariaDb,
    });
    match (&missing, relay, &mut shared) {
        (Position::Mysql(missing), Position::Mysql(relay), Position::Mysql(shared)) => {
            for (source, intervals) in missing.iter() {
                if relay.iter().any(|(known, _)| known == source) {
                    for interval in intervals {
                        shared.add_interval(source.clone(), *interval);
                    }
                }
            }
            (!shared.is_empty()).then(|| Position::Mysql(shared.clone()))
        }
        (Position::Mariadb(missing), Position::Mariadb(relay), Position::Mariadb(shared)) => {
            let known = |domain| relay.iter().any(|it| it.domain == domain);
            missing
                .iter()
                .filter(|it| known(it.domain))
                .for_each(|it| shared.add(*it));
            (!shared.is_empty()).then(|| Position::Mariadb(shared.clone()))
        }
        _ => Some(missing),
    }
}
