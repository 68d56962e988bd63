//! Decodes the events of one stream, with the layout and the tables of earlier events.

use std::collections::HashMap;
use std::sync::Arc;

use wire::Reader;

use crate::checksum::Checksum;
use crate::error::EventError;
use crate::event::Event;
use crate::event_type::EventType;
use crate::events::format::FormatDescription;
use crate::events::gtid_list::GtidList;
use crate::events::heartbeat::Heartbeat;
use crate::events::incident::Incident;
use crate::events::load::{BeginLoadQuery, ExecuteLoadQuery};
use crate::events::mariadb_gtid::MariadbGtidEvent;
use crate::events::mysql_gtid::MysqlGtidEvent;
use crate::events::partial_rows::{FragmentBuffer, RowsFragment};
use crate::events::payload::TransactionPayload;
use crate::events::query::Query;
use crate::events::rotate::Rotate;
use crate::events::session_values::{IntegerValue, UserVariable};
use crate::events::view_change::ViewChange;
use crate::events::xa_prepare::XaPrepare;
use crate::gtid_set::MysqlGtidSet;
use crate::header::EventFlags;
use crate::limits::Limits;
use crate::raw::RawEvent;
use crate::rows::{RowsEvent, kind_of};
use crate::table_map::TableMap;

/// How many tables one statement may change. No server joins more tables, including triggers and cascades.
const TABLES_MAX: usize = 4096;
/// How much memory the descriptions of these tables may take, in bytes.
const TABLES_BYTES_MAX: usize = 256 << 20;

/// Reads the events of one stream, and keeps the layout and the tables that later events need.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: Limits,
    format: Option<FormatDescription>,
    tables: HashMap<u64, Arc<TableMap>>,
    tables_bytes: usize,
    fragments: FragmentBuffer,
}

impl Decoder {
    /// A decoder before the first event. A stream begins with a FORMAT_DESCRIPTION event.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The limits of this stream.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The content of the last FORMAT_DESCRIPTION event.
    pub fn format(&self) -> Option<&FormatDescription> {
        self.format.as_ref()
    }

    /// The checksum of the following events.
    pub fn checksum(&self) -> Checksum {
        self.format
            .as_ref()
            .map_or(Checksum::None, FormatDescription::checksum)
    }

    /// Decodes an event.
    ///
    /// # Errors
    /// The event is damaged, or is not known and must not be skipped.
    pub fn decode<'a>(&mut self, raw: &RawEvent<'a>) -> Result<Event<'a>, EventError> {
        let body = raw.body();
        match raw.header().event_type {
            EventType::FORMAT_DESCRIPTION => {
                let format = FormatDescription::decode(body)?;
                self.forget_tables();
                self.format = Some(format.clone());
                return Ok(Event::FormatDescription(format));
            }
            // A stream sends ROTATE before FORMAT_DESCRIPTION.
            EventType::ROTATE => return Ok(Event::Rotate(Rotate::decode(body)?)),
            EventType::START_V3 => return Err(EventError::Version(3)),
            _ => {}
        }
        let Some(format) = self.format.take() else {
            return Err(EventError::Misplaced(
                "no FORMAT_DESCRIPTION event stands in front",
            ));
        };
        let event = self.decode_body(raw, &format);
        self.format = Some(format);
        event
    }

    /// Decodes an event within a TRANSACTION_PAYLOAD event.
    ///
    /// # Errors
    /// The event is damaged, is unknown and must not be skipped, or must not be in a payload.
    pub fn decode_within<'a>(&mut self, raw: &RawEvent<'a>) -> Result<Event<'a>, EventError> {
        match raw.header().event_type {
            EventType::FORMAT_DESCRIPTION | EventType::ROTATE | EventType::TRANSACTION_PAYLOAD => {
                Err(EventError::Misplaced(
                    "the payload of a transaction holds an event that may not stand there",
                ))
            }
            _ => self.decode(raw),
        }
    }

    fn decode_body<'a>(
        &mut self,
        raw: &RawEvent<'a>,
        format: &FormatDescription,
    ) -> Result<Event<'a>, EventError> {
        let (header, body) = (raw.header(), raw.body());
        let event_type = header.event_type;
        if kind_of(event_type).is_some() {
            return self.rows(raw, format);
        }
        Ok(match event_type {
            EventType::TABLE_MAP => Event::TableMap(self.table_map(body, format)?),
            EventType::PARTIAL_ROW_DATA => self.fragment(body, format)?,
            EventType::QUERY => Event::Query(Query::decode(body, format.post_header(event_type))?),
            EventType::QUERY_COMPRESSED => {
                let limit = self.limits.inflated_bytes_max;
                let post_header = format.post_header(EventType::QUERY);
                Event::Query(Query::decode_compressed(body, post_header, limit)?)
            }
            EventType::EXECUTE_LOAD_QUERY => {
                let post_header = format.post_header(event_type);
                Event::ExecuteLoad(ExecuteLoadQuery::decode(body, post_header)?)
            }
            EventType::MARIADB_GTID => {
                Event::MariadbGtid(MariadbGtidEvent::decode(body, header.server_id)?)
            }
            EventType::START_ENCRYPTION => return Err(EventError::Encrypted),
            _ => match self.simple(event_type, body)? {
                Some(event) => event,
                None if header.flags.contains(EventFlags::IGNORABLE) => Event::Ignored,
                None => return Err(unreadable(event_type)),
            },
        })
    }

    /// Decodes the events that need no earlier event.
    fn simple<'a>(
        &self,
        event_type: EventType,
        body: &'a [u8],
    ) -> Result<Option<Event<'a>>, EventError> {
        let mut reader = Reader::new(body);
        Ok(Some(match event_type {
            EventType::STOP => Event::Stop,
            EventType::XID => Event::Xid(reader.u64("transaction id")?),
            EventType::XA_PREPARE => Event::XaPrepare(XaPrepare::decode(body)?),
            EventType::GTID | EventType::ANONYMOUS_GTID => {
                Event::MysqlGtid(MysqlGtidEvent::decode(body)?)
            }
            EventType::GTID_TAGGED => Event::MysqlGtid(MysqlGtidEvent::decode_tagged(body)?),
            EventType::PREVIOUS_GTIDS => Event::PreviousGtids(MysqlGtidSet::decode(body)?),
            EventType::GTID_LIST => Event::GtidList(GtidList::decode(body)?),
            EventType::BINLOG_CHECKPOINT => {
                let length = reader.u32("length of the file name")?;
                Event::BinlogCheckpoint(reader.bytes(length as usize, "file name")?)
            }
            EventType::ANNOTATE_ROWS => Event::AnnotateRows(body),
            EventType::ROWS_QUERY => {
                reader.u8("length of the statement")?;
                Event::RowsQuery(reader.remainder())
            }
            EventType::TRANSACTION_PAYLOAD => {
                Event::TransactionPayload(TransactionPayload::decode(body)?)
            }
            EventType::HEARTBEAT => Event::Heartbeat(Heartbeat::decode(body)),
            EventType::HEARTBEAT_V2 => Event::Heartbeat(Heartbeat::decode_v2(body)?),
            EventType::INTVAR => Event::Integer(IntegerValue::decode(body)?),
            EventType::RAND => Event::Rand(reader.u64("seed")?, reader.u64("seed")?),
            EventType::USER_VAR => Event::UserVariable(UserVariable::decode(body)?),
            EventType::BEGIN_LOAD_QUERY => Event::LoadBlock(BeginLoadQuery::decode(body)?, true),
            EventType::APPEND_BLOCK => Event::LoadBlock(BeginLoadQuery::decode(body)?, false),
            EventType::DELETE_FILE => Event::DeleteFile(reader.u32("file id")?),
            EventType::INCIDENT => Event::Incident(Incident::decode(body)?),
            EventType::VIEW_CHANGE => Event::ViewChange(ViewChange::decode(body)?),
            EventType::TRANSACTION_CONTEXT => Event::TransactionContext,
            EventType::IGNORABLE => Event::Ignored,
            _ => return Ok(None),
        }))
    }

    fn table_map(
        &mut self,
        body: &[u8],
        format: &FormatDescription,
    ) -> Result<Arc<TableMap>, EventError> {
        let map = Arc::new(TableMap::decode(body, format)?);
        if let Some(earlier) = self.tables.insert(map.id, Arc::clone(&map)) {
            self.tables_bytes -= earlier.size;
        }
        self.tables_bytes += map.size;
        if self.tables.len() > TABLES_MAX || self.tables_bytes > TABLES_BYTES_MAX {
            self.forget_tables();
            return Err(EventError::TooManyTables(TABLES_MAX));
        }
        Ok(map)
    }

    fn rows<'a>(
        &mut self,
        raw: &RawEvent<'a>,
        format: &FormatDescription,
    ) -> Result<Event<'a>, EventError> {
        let event_type = raw.header().event_type;
        let post_header = format.post_header(event_type);
        let rows = RowsEvent::decode(event_type, raw.body(), post_header, self.limits)?;
        self.with_table(rows)
    }

    fn with_table<'a>(&mut self, rows: RowsEvent<'a>) -> Result<Event<'a>, EventError> {
        let table = self.tables.get(&rows.table_id).map(Arc::clone);
        if rows.ends_statement() {
            self.forget_tables();
        }
        if table.is_none() && rows.table_id != RowsEvent::DUMMY_TABLE {
            return Err(EventError::UnknownTable(rows.table_id));
        }
        Ok(Event::Rows(rows, table))
    }

    fn fragment<'a>(
        &mut self,
        body: &'a [u8],
        format: &FormatDescription,
    ) -> Result<Event<'a>, EventError> {
        let fragment = RowsFragment::decode(body)?;
        let whole = self.fragments.add(&fragment, self.limits.event_bytes_max)?;
        let Some(whole) = whole else {
            return Ok(Event::RowsFragment(fragment));
        };
        let raw = RawEvent::parse(&whole, Checksum::None)?;
        let event_type = raw.header().event_type;
        let post_header = format.post_header(event_type);
        let rows = RowsEvent::decode(event_type, raw.body(), post_header, self.limits)?;
        self.with_table(rows.into_owned())
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.tables_bytes = 0;
    }
}

fn unreadable(event_type: EventType) -> EventError {
    match event_type {
        EventType::LOAD
        | EventType::SLAVE
        | EventType::CREATE_FILE
        | EventType::EXEC_LOAD
        | EventType::NEW_LOAD
        | EventType::WRITE_ROWS_V0
        | EventType::UPDATE_ROWS_V0
        | EventType::DELETE_ROWS_V0 => EventError::Obsolete(event_type),
        EventType(number) => EventError::UnknownType(number),
    }
}
