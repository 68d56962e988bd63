//! One transaction on its way through the filter.
//!
//! ```text
//!   statement of row format:   TABLE_MAP … ──► held until the first rows that pass ──► spool
//!                              rows that pass ──► one is held: the last of a statement has a flag
//!                              rows that do not pass ──► dropped
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use binlog::{
    Checksum, Decoder, EditedRows, Event, EventFlags, EventHeader, EventType, HEADER_BYTES,
    MariadbGtidEvent, RawEvent, RewrittenRows, RowsEvent, RowsKind, TableMap, TransactionPayload,
    mark_statement_end, put_statement, rename_table, with_transaction_bytes,
};
use config::FilteredChange;

use super::columns::TableColumns;
use super::error::FilterError;
use super::event_sink::EventSink;
use super::filtered::Filtered;
use super::policy::{ChangeOrigin, Policy};
use super::script::{ScriptEvent, ScriptTable};
use super::spool::Spool;
use super::statement::{Fate, FilteredStatement};
use crate::error::StreamError;
use crate::follow::Brought;
use crate::position::Gtid;

/// How many events may wait for the event they belong to: values of a statement, or pieces of a rows event of 1 GiB.
const HELD_MAX: usize = 4096;

/// An owned copy of an event.
struct Held {
    header: EventHeader,
    body: Vec<u8>,
}

/// A table of the statement whose rows events are coming.
struct StatementTable {
    map: Arc<TableMap>,
    /// The TABLE_MAP event for replicas; none if no row of the table passes, or if the spool has the event already.
    event: Option<Held>,
    columns: Option<TableColumns>,
    /// The script that edits the table's rows.
    script: Option<ScriptTable>,
}

/// One transaction on its way through the filter.
pub struct FilteredTransaction {
    gtid: Gtid,
    /// The event that begins the transaction; it has the GTID.
    begin: Held,
    origin: ChangeOrigin,
    spool: Spool,
    filtered: Filtered,
    /// Whether the server's events have no checksums. Replicas get them with checksums, which are longer.
    is_longer: bool,
    /// Whether a COMMIT ends the transaction.
    is_open: bool,
    /// The header of the dropped statement, if the transaction has no other statement.
    emptied: Option<EventHeader>,
    tables: HashMap<u64, StatementTable>,
    /// The ids of the tables, in the order of their TABLE_MAP events.
    order: Vec<u64>,
    /// A rows event that passes. It waits, because it may have to be marked as the last of its statement.
    rows: Option<Held>,
    /// Values and pieces of rows events that belong to the next event.
    before: Vec<Held>,
}

impl Held {
    fn of(raw: &RawEvent<'_>) -> Self {
        Self {
            header: *raw.header(),
            body: raw.body().to_vec(),
        }
    }
}

impl FilteredTransaction {
    /// Begins with the event that has the GTID. A long transaction goes to a temporary file in `folder`.
    pub fn begin(gtid: Gtid, raw: &RawEvent<'_>, event: &Event<'_>, folder: &Path) -> Self {
        let mut origin = ChangeOrigin {
            server_id: raw.header().server_id,
            domain: None,
        };
        let mut is_open = false;
        if let Event::MariadbGtid(event) = event {
            origin.domain = Some(event.gtid.domain);
            is_open = event.flags & MariadbGtidEvent::FLAG_STANDALONE == 0;
        }
        Self {
            gtid,
            begin: Held::of(raw),
            origin,
            spool: Spool::new(folder),
            filtered: Filtered::default(),
            is_longer: raw.checksum() == Checksum::None,
            is_open,
            emptied: None,
            tables: HashMap::new(),
            order: Vec::new(),
            rows: None,
            before: Vec::new(),
        }
    }

    /// Filters the next event of the transaction.
    ///
    /// # Errors
    /// The event cannot be filtered.
    pub fn take(
        &mut self,
        raw: &RawEvent<'_>,
        event: &Event<'_>,
        policy: &Policy,
        decoder: &Decoder,
    ) -> Result<(), FilterError> {
        match event {
            Event::Query(query) => {
                let statement = FilteredStatement {
                    header: raw.header(),
                    body: (raw.body(), query_post_header(decoder)),
                    query,
                    origin: self.origin,
                    gtid: &self.gtid,
                };
                let fate = statement.fate(policy)?;
                self.statement(raw, &query.text, fate, query_post_header(decoder))
            }
            Event::TableMap(map) => self.table(raw, map, policy, decoder),
            Event::Rows(rows, table) => self.rows(raw, rows, table.is_some(), policy, decoder),
            // The text of the statement may contain values that the filter hides from replicas.
            Event::AnnotateRows(_) | Event::RowsQuery(_) if policy.filters() => {
                self.filtered.dropped += 1;
                Ok(())
            }
            Event::RowsFragment(_)
            | Event::Integer(_)
            | Event::Rand(..)
            | Event::UserVariable(_) => self.hold_before(raw, decoder.limits().event_bytes_max),
            Event::ExecuteLoad(_) | Event::LoadBlock(..) | Event::DeleteFile(_)
                if policy.filters() =>
            {
                Err(FilterError::Load)
            }
            _ => self.pass(raw),
        }
    }

    /// Holds an event that belongs to the next event.
    fn hold_before(&mut self, raw: &RawEvent<'_>, limit: usize) -> Result<(), FilterError> {
        let held = self.before.iter().map(|it| it.body.len() + HEADER_BYTES);
        let length = held.sum::<usize>() + raw.bytes().len();
        if length > limit || self.before.len() >= HELD_MAX {
            let length = length as u64;
            return Err(binlog::EventError::TooLong { length, limit }.into());
        }
        self.before.push(Held::of(raw));
        Ok(())
    }

    /// Filters a compressed transaction. If the filter changes no event of it, it stays compressed.
    ///
    /// # Errors
    /// The transaction is damaged, or cannot be filtered.
    pub fn take_payload(
        &mut self,
        raw: &RawEvent<'_>,
        payload: &TransactionPayload<'_>,
        policy: &Policy,
        decoder: &mut Decoder,
    ) -> Result<(), FilterError> {
        let mut events = payload.events(decoder.limits())?;
        while let Some(bytes) = events.next_event()? {
            let inner = RawEvent::parse(bytes, Checksum::None)?;
            let event = decoder.decode_within(&inner)?;
            self.take(&inner, &event, policy, decoder)?;
        }
        self.end_statement()?;
        if self.filtered == Filtered::default() {
            self.spool.clear()?;
            self.spool.push(raw.header(), raw.body())?;
        }
        Ok(())
    }

    /// Ends the transaction, and sends its events to the sink.
    ///
    /// # Errors
    /// The sink refuses an event.
    pub fn finish(
        mut self,
        decoder: &Decoder,
        sink: &mut dyn EventSink,
    ) -> Result<Filtered, StreamError> {
        self.end_statement()?;
        if let Some(header) = self.emptied {
            self.put_empty(&header, query_post_header(decoder))?;
        }
        let is_mysql = matches!(self.gtid, Gtid::Mysql(_));
        if is_mysql && (self.is_longer || self.filtered != Filtered::default()) {
            let Held { header, body } = &mut self.begin;
            let changed = with_transaction_bytes(header.event_type, body, self.spool.bytes());
            *body = changed
                .map_err(binlog::EventError::from)
                .map_err(FilterError::from)?;
        }
        let mut bytes = Vec::new();
        let Held { header, body } = &self.begin;
        let put = binlog::put_event(&mut bytes, header, body, Checksum::None);
        put.map_err(FilterError::from)?;
        let begin = RawEvent::parse(&bytes, Checksum::None).map_err(FilterError::from)?;
        sink.event(&begin, &Brought::Begin(self.gtid.clone()))?;
        let gtid = self.gtid;
        self.spool.drain(|raw, is_last| {
            let brought = match is_last {
                true => Brought::Transaction(gtid.clone()),
                false => Brought::Nothing,
            };
            sink.event(raw, &brought)
        })?;
        Ok(self.filtered)
    }

    fn pass(&mut self, raw: &RawEvent<'_>) -> Result<(), FilterError> {
        self.end_statement()?;
        self.spool.push(raw.header(), raw.body())
    }

    fn statement(
        &mut self,
        raw: &RawEvent<'_>,
        text: &[u8],
        fate: Fate,
        post_header: usize,
    ) -> Result<(), FilterError> {
        self.end_rows()?;
        let opens = !self.is_open && opens_transaction(text);
        self.is_open |= opens;
        match fate {
            Fate::Pass => {
                self.put_before()?;
                self.spool.push(raw.header(), raw.body())
            }
            Fate::Replace(body) => {
                self.put_before()?;
                self.filtered.changed += 1;
                self.spool
                    .push(&of_type(raw.header(), EventType::QUERY), &body)
            }
            Fate::Drop => {
                self.filtered.dropped += 1 + self.before.len() as u64;
                self.before.clear();
                if opens {
                    // MySQL's CREATE TABLE … START TRANSACTION: rows and a COMMIT follow, so replicas need a BEGIN.
                    self.put_word(raw.header(), post_header, b"BEGIN")?;
                } else if !self.is_open {
                    self.emptied = Some(*raw.header());
                }
                Ok(())
            }
        }
    }

    fn table(
        &mut self,
        raw: &RawEvent<'_>,
        map: &Arc<TableMap>,
        policy: &Policy,
        decoder: &Decoder,
    ) -> Result<(), FilterError> {
        let (schema, name) = (map.schema.as_str(), map.table.as_str());
        let changes = [
            FilteredChange::Insert,
            FilteredChange::Update,
            FilteredChange::Delete,
        ];
        let passes = |it: &FilteredChange| policy.passes(*it, (schema, name), self.origin);
        let mut table = StatementTable {
            map: Arc::clone(map),
            event: None,
            columns: None,
            script: None,
        };
        if changes.iter().any(passes) {
            let mut event = Held::of(raw);
            if let Some((schema, name)) = policy.renamed(schema, name) {
                let format = decoder.format();
                let post_header = format.map_or(0, |it| it.post_header(EventType::TABLE_MAP));
                let body = rename_table(raw.body(), post_header, &schema, &name);
                event.body = body.map_err(binlog::EventError::from)?;
                self.filtered.changed += 1;
            }
            let change = policy.table_change(schema, name);
            let columns = change.map(|change| TableColumns::plan(change, map));
            table.columns = columns.transpose()?.flatten();
            let script = policy.script(schema, name);
            let script = script.map(|it| ScriptTable::new(Arc::clone(it), Arc::clone(map)));
            table.script = script.transpose()?;
            table.event = Some(event);
        } else {
            self.filtered.dropped += 1;
        }
        if self.tables.insert(map.id, table).is_none() {
            self.order.push(map.id);
        }
        Ok(())
    }

    fn rows(
        &mut self,
        raw: &RawEvent<'_>,
        rows: &RowsEvent<'_>,
        has_table: bool,
        policy: &Policy,
        decoder: &Decoder,
    ) -> Result<(), FilterError> {
        if has_table {
            match self.passing_rows(raw, rows, policy, decoder)? {
                Some(event) => {
                    self.put_rows()?;
                    self.put_tables()?;
                    self.put_before()?;
                    self.rows = Some(event);
                }
                None => self.filtered.dropped += 1 + std::mem::take(&mut self.before).len() as u64,
            }
        } else if self.rows.is_some() {
            // This event only ends the statement. The held rows event gets the end flag in its place.
            self.filtered.dropped += 1;
        }
        if rows.ends_statement() {
            self.end_rows()?;
        } else if raw.header().event_type == EventType::PARTIAL_ROW_DATA {
            // A piece of a rows event cannot get the end flag later, so it is not held.
            self.put_rows()?;
        }
        Ok(())
    }

    /// Returns the rows event for replicas; none if no row passes.
    fn passing_rows(
        &mut self,
        raw: &RawEvent<'_>,
        rows: &RowsEvent<'_>,
        policy: &Policy,
        decoder: &Decoder,
    ) -> Result<Option<Held>, FilterError> {
        let Some(table) = self.tables.get(&rows.table_id) else {
            return Ok(None);
        };
        let change = match rows.kind {
            RowsKind::Write => FilteredChange::Insert,
            RowsKind::Update | RowsKind::PartialUpdate => FilteredChange::Update,
            RowsKind::Delete => FilteredChange::Delete,
        };
        if !policy.passes(change, (&table.map.schema, &table.map.table), self.origin) {
            return Ok(None);
        }
        let event_type = match raw.header().event_type {
            // The pieces were joined, so replicas get one event of the usual type.
            EventType::PARTIAL_ROW_DATA => whole_type(rows.kind),
            other => other,
        };
        let (limits, event) = (
            decoder.limits(),
            ScriptEvent {
                header: raw.header(),
                gtid: &self.gtid,
            },
        );
        let edited = match &table.script {
            Some(script) => script.edit(event, rows, limits)?,
            None => EditedRows::Same,
        };
        let rewritten = match (edited, &table.columns) {
            (EditedRows::Nothing, _) => return Ok(None),
            (EditedRows::Same, None) => return Ok(Some(Held::of(raw))),
            (EditedRows::Same, Some(columns)) => {
                rows.rewrite(event_type, &table.map, columns, limits)?
            }
            (EditedRows::Changed(rows), None) => Some(rows.encode(event_type)),
            (EditedRows::Changed(rows), Some(columns)) => {
                rows.rewrite(event_type, &table.map, columns, limits)?
            }
        };
        self.filtered.changed += 1;
        self.filtered.dropped += std::mem::take(&mut self.before).len() as u64;
        Ok(rewritten.map(|RewrittenRows { event_type, body }| Held {
            header: of_type(raw.header(), event_type),
            body,
        }))
    }

    /// Writes the TABLE_MAP events. They must come before the first rows of a statement.
    fn put_tables(&mut self) -> Result<(), FilterError> {
        for id in &self.order {
            let table = self.tables.get_mut(id);
            if let Some(event) = table.and_then(|it| it.event.take()) {
                self.spool.push(&event.header, &event.body)?;
            }
        }
        Ok(())
    }

    /// Writes the held rows event.
    fn put_rows(&mut self) -> Result<(), FilterError> {
        if let Some(rows) = self.rows.take() {
            self.spool.push(&rows.header, &rows.body)?;
        }
        Ok(())
    }

    fn put_before(&mut self) -> Result<(), FilterError> {
        for held in std::mem::take(&mut self.before) {
            self.spool.push(&held.header, &held.body)?;
        }
        Ok(())
    }

    /// Ends the rows of a statement: marks the held rows event as the last one, and forgets the tables.
    fn end_rows(&mut self) -> Result<(), FilterError> {
        if let Some(rows) = &mut self.rows
            && rows.header.event_type != EventType::PARTIAL_ROW_DATA
        {
            mark_statement_end(&mut rows.body);
        }
        self.put_rows()?;
        let tables = self.tables.values();
        self.filtered.dropped += tables.filter(|it| it.event.is_some()).count() as u64;
        self.tables.clear();
        self.order.clear();
        Ok(())
    }

    fn end_statement(&mut self) -> Result<(), FilterError> {
        self.end_rows()?;
        self.put_before()
    }

    /// Writes an empty transaction in place of the only statement, which was dropped.
    fn put_empty(&mut self, header: &EventHeader, post_header: usize) -> Result<(), FilterError> {
        match self.gtid {
            Gtid::Mysql(_) => self.put_word(header, post_header, b"BEGIN")?,
            Gtid::Mariadb(_) => self.open_group()?,
        }
        self.put_word(header, post_header, b"COMMIT")
    }

    /// Rewrites MariaDB's GTID event: a COMMIT ends the transaction, and the event has no part of a two-phase ALTER
    /// TABLE.
    fn open_group(&mut self) -> Result<(), FilterError> {
        let body = std::mem::take(&mut self.begin.body);
        let event = MariadbGtidEvent::decode(&body, self.begin.header.server_id);
        let event = event.map_err(binlog::EventError::from)?;
        let kept = MariadbGtidEvent::FLAG_GROUP_COMMIT_ID
            | MariadbGtidEvent::FLAG_TRANSACTIONAL
            | MariadbGtidEvent::FLAG_ALLOW_PARALLEL
            | MariadbGtidEvent::FLAG_WAITED;
        let open = MariadbGtidEvent {
            flags: event.flags & kept,
            xid: None,
            extra_flags: 0,
            extra_engines: None,
            alter_start: None,
            thread_id: None,
            ..event
        };
        open.encode(&mut self.begin.body);
        Ok(())
    }

    fn put_word(
        &mut self,
        header: &EventHeader,
        post_header: usize,
        word: &[u8],
    ) -> Result<(), FilterError> {
        let mut body = Vec::new();
        put_statement(&mut body, post_header, word);
        let header = EventHeader {
            flags: EventFlags::SUPPRESS_USE,
            ..of_type(header, EventType::QUERY)
        };
        self.spool.push(&header, &body)
    }
}

fn of_type(header: &EventHeader, event_type: EventType) -> EventHeader {
    EventHeader {
        event_type,
        ..*header
    }
}

/// The type of a rows event that came in pieces (MariaDB).
fn whole_type(kind: RowsKind) -> EventType {
    match kind {
        RowsKind::Write => EventType::WRITE_ROWS_V1,
        RowsKind::Delete => EventType::DELETE_ROWS_V1,
        RowsKind::Update | RowsKind::PartialUpdate => EventType::UPDATE_ROWS_V1,
    }
}

/// Whether a statement opens a transaction that a COMMIT ends.
fn opens_transaction(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let has = |at: Option<&[u8]>, words: &[u8]| at.is_some_and(|it| it.eq_ignore_ascii_case(words));
    const CREATE: &[u8] = b"START TRANSACTION";
    text.eq_ignore_ascii_case(b"BEGIN")
        || has(text.get(..8), b"XA START")
        || has(
            text.len()
                .checked_sub(CREATE.len())
                .and_then(|at| text.get(at..)),
            CREATE,
        )
}

/// The length of the fixed part of a QUERY event.
fn query_post_header(decoder: &Decoder) -> usize {
    let format = decoder.format();
    format.map_or(0, |format| format.post_header(EventType::QUERY))
}
