//! Follows a stream through the log: events in order, each once, and the ends of transactions. Rows are not decoded.

use binlog::{
    Checksum, Decoder, Event, EventFlags, EventHeader, EventType, MariadbGtidEvent, Query,
    RawEvent, TransactionPayload,
};

use crate::error::StreamError;
use crate::position::{Gtid, Position};
use binlog::{GroupStep, GroupTracker};

/// The header's log position has 32 bits. A step back by more than half of that means that it has wrapped around.
const WRAP: u32 = 1 << 31;

/// The effect of an event on the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Brought {
    /// None that the position depends on.
    Nothing,
    /// The server has no more events to send.
    Idle,
    /// The event begins a transaction.
    Begin(Gtid),
    /// The event completes a transaction.
    Transaction(Gtid),
}

/// Receives the statements of a stream.
pub trait Statements {
    /// Receives a statement of the current transaction.
    fn statement(&mut self, header: &EventHeader, query: &Query<'_>);
}

/// Follows the events of one stream.
pub struct Follower {
    decoder: Decoder,
    groups: GroupTracker,
    /// The position of the last event's end in the current log file.
    log_position: u32,
    /// MariaDB: this transaction is only the start or the rollback of an ALTER TABLE. The server logs the statement
    /// again when it commits.
    is_half_alter: bool,
}

impl Follower {
    /// Starts at the begin of a stream.
    pub fn new(limits: binlog::Limits) -> Self {
        Self {
            decoder: Decoder::new(limits),
            groups: GroupTracker::default(),
            log_position: 0,
            is_half_alter: false,
        }
    }

    /// Takes the next event of a stream that has the transactions of `position`.
    ///
    /// # Errors
    /// The event is damaged, unknown or out of order.
    pub fn take(
        &mut self,
        raw: &RawEvent<'_>,
        position: &Position,
        statements: &mut dyn Statements,
    ) -> Result<Brought, StreamError> {
        let header = raw.header();
        self.check_order(header)?;
        if is_rows(header.event_type) {
            return Ok(Brought::Nothing);
        }
        let fault = |cause| StreamError::Event {
            event: format!("{} event at {}", header.event_type, header.next_position),
            cause,
        };
        let event = self.decoder.decode(raw).map_err(fault)?;
        if let Event::MariadbGtid(gtid) = &event {
            let half = MariadbGtidEvent::EXTRA_START_ALTER | MariadbGtidEvent::EXTRA_ROLLBACK_ALTER;
            self.is_half_alter = gtid.extra_flags & half != 0;
        }
        match &event {
            Event::Query(query) if !self.is_half_alter => statements.statement(header, query),
            Event::TransactionPayload(payload) => {
                self.take_payload(payload, statements).map_err(fault)?;
            }
            Event::Heartbeat(_) => return Ok(Brought::Idle),
            _ => {}
        }
        match self.groups.take(&event) {
            GroupStep::Within => Ok(Brought::Nothing),
            GroupStep::Begins(gtid) if position.contains(&gtid) => {
                let text = format!("it has sent the transaction {gtid} again");
                Err(StreamError::Disorder(text))
            }
            GroupStep::Begins(gtid) => Ok(Brought::Begin(gtid)),
            GroupStep::Ends(gtid) => Ok(Brought::Transaction(gtid)),
        }
    }

    /// Finds the statements in a compressed transaction.
    fn take_payload(
        &mut self,
        payload: &TransactionPayload<'_>,
        statements: &mut dyn Statements,
    ) -> Result<(), binlog::EventError> {
        let mut events = payload.events(self.decoder.limits())?;
        while let Some(bytes) = events.next_event()? {
            let raw = RawEvent::parse(bytes, Checksum::None)?;
            if is_rows(raw.header().event_type) {
                continue;
            }
            if let Event::Query(query) = self.decoder.decode_within(&raw)? {
                statements.statement(raw.header(), &query);
            }
        }
        Ok(())
    }

    /// Checks that positions in a log file only grow. Events that the server creates for the stream have no position.
    fn check_order(&mut self, header: &EventHeader) -> Result<(), StreamError> {
        if header.event_type == EventType::ROTATE {
            // A ROTATE event within the log ends the file; an artificial one names the next file.
            self.log_position = 0;
            return Ok(());
        }
        let next = header.next_position;
        if next == 0 || header.flags.contains(EventFlags::ARTIFICIAL) {
            return Ok(());
        }
        let last = self.log_position;
        if next < last && last - next < WRAP {
            return Err(StreamError::Disorder(format!(
                "an event ends at position {next}, behind one that ends at {last}"
            )));
        }
        self.log_position = next;
        Ok(())
    }
}

/// Whether an event is about a table and its rows, in any form. Such events are not decoded.
fn is_rows(event_type: EventType) -> bool {
    matches!(
        event_type,
        EventType::TABLE_MAP
            | EventType::WRITE_ROWS_V1
            | EventType::UPDATE_ROWS_V1
            | EventType::DELETE_ROWS_V1
            | EventType::WRITE_ROWS
            | EventType::UPDATE_ROWS
            | EventType::DELETE_ROWS
            | EventType::PARTIAL_UPDATE_ROWS
            | EventType::WRITE_ROWS_COMPRESSED_V1
            | EventType::UPDATE_ROWS_COMPRESSED_V1
            | EventType::DELETE_ROWS_COMPRESSED_V1
            | EventType::WRITE_ROWS_COMPRESSED
            | EventType::UPDATE_ROWS_COMPRESSED
            | EventType::DELETE_ROWS_COMPRESSED
            | EventType::PARTIAL_ROW_DATA
            | EventType::ROWS_QUERY
            | EventType::ANNOTATE_ROWS
    )
}
