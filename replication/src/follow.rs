//! A stream's way through the log: each event once, in order, and where each transaction ends. Rows are not decoded.

use binlog::{
    Checksum, Decoder, Event, EventFlags, EventHeader, EventType, MariadbGtidEvent, Query,
    RawEvent, TransactionPayload,
};

use crate::error::StreamError;
use crate::position::{Gtid, Position};
use binlog::{GroupStep, GroupTracker};

/// A log position is a number of 32 bits. A step back by more than half of that is its wrap.
const WRAP: u32 = 1 << 31;

/// What an event has brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Brought {
    /// Nothing that the position depends on.
    Nothing,
    /// The server has nothing more to send.
    Idle,
    /// A transaction begins with this event.
    Begin(Gtid),
    /// A transaction is whole.
    Transaction(Gtid),
}

/// Who looks at the statements of a stream.
pub trait Statements {
    /// A statement of the transaction that has begun.
    fn statement(&mut self, header: &EventHeader, query: &Query<'_>);
}

/// Follows the events of one stream.
pub struct Follower {
    decoder: Decoder,
    groups: GroupTracker,
    /// Where the last event of the current log file ended.
    log_position: u32,
    /// MariaDB: the ALTER TABLE that follows only begins, or has failed. The server writes it again where it takes
    /// place.
    is_half_alter: bool,
}

impl Follower {
    /// At the begin of a stream.
    pub fn new(limits: binlog::Limits) -> Self {
        Self {
            decoder: Decoder::new(limits),
            groups: GroupTracker::default(),
            log_position: 0,
            is_half_alter: false,
        }
    }

    /// Takes the next event of a stream that has had the transactions of `position`.
    ///
    /// # Errors
    /// The event is damaged, not known, or not the one that has to come.
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

    /// Statements may stand in a compressed transaction.
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

    /// Positions in a log file only grow. Events that the server makes up for the stream have none of their own.
    fn check_order(&mut self, header: &EventHeader) -> Result<(), StreamError> {
        if header.event_type == EventType::ROTATE {
            // A rotation that stands in the log ends the file; one that is made up names the next.
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

/// Events whose bytes are not looked at: a table and its rows, in all their forms.
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
