//! Reads a relay for one replica: from the first transaction that it has not had, file by file, as far as the files are
//! durable.

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

/// How much is read from a file at once.
const BLOCK_BYTES: u64 = 256 << 10;

/// What comes next for a replica.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// An event, which is in the buffer.
    Event,
    /// The events of this file follow.
    File(String),
    /// The replica has all that is durable.
    End,
}

/// Why a replica cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// There is no file yet. The replica has what was before.
    NotBegun,
    /// These transactions are deleted.
    Deleted(Position),
    /// The replica has these transactions, which the relay has not.
    Ahead(Position),
}

/// See the module.
pub struct RelayReader {
    log: Arc<RelayLog>,
    /// What the replica had at its begin.
    had: Position,
    number: u64,
    file: Option<File>,
    /// How far the events of the file are read.
    offset: u64,
    /// Bytes of the file from `offset` on, of which the first `taken` are read.
    block: Vec<u8>,
    taken: usize,
    /// Whether the events belong to a transaction that the replica has had.
    is_skipped: bool,
}

impl RelayReader {
    /// For a replica that has `had` these transactions.
    ///
    /// # Errors
    /// What is missing on either side.
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

    /// The file that is read, and where its next event begins.
    pub fn file_position(&self) -> (String, u64) {
        (files::name(self.number), self.offset)
    }

    /// Finds what comes next. An event is appended to `out`.
    ///
    /// # Errors
    /// A file cannot be read, or is deleted.
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

    /// Appends the next event, which ends at `end` at the latest.
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

    /// Appends so many bytes of the file.
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

    /// Bytes that are not durable yet may be taken back, so they are not read.
    fn read_block(&mut self, end: u64) -> Result<(), ReadError> {
        let length = (end - self.offset).min(BLOCK_BYTES);
        self.block.resize(usize::try_from(length).unwrap_or(0), 0);
        self.taken = 0;
        match &self.file {
            Some(file) => Ok(file.read_exact_at(&mut self.block, self.offset)?),
            None => Err(ReadError::Deleted),
        }
    }

    /// Whether a replica gets an event: not those of transactions that it has had. The first events of a file are
    /// before all transactions.
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

/// The name of the transaction that begins with an event.
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

/// What a replica has that the relay has not, as far as both know the source: a replica may have written transactions
/// of its own.
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
