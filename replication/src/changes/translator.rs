//! Turns events of relay files into change records: for the tables that the reader wants, with their transaction,
//! and with the position after which the reader can go on.

use std::collections::HashMap;

use binlog::{
    Checksum, Decoder, Event, EventHeader, Limits, RawEvent, RowsEvent, TableMap,
    TransactionPayload,
};
use route::rules::Tables;
use std::sync::Arc;
use system::Clock;

use super::error::ChangeError;
use super::event::{
    Order, Source, StreamOrigin, note_event, put_position, row_event, truncate_event,
};
use super::history::Moment;
use super::key::row_key;
use super::statement::{StatementMeaning, statement_meaning};
use super::tables::TableCache;
use crate::position::{Gtid, Position};
use binlog::{GroupStep, GroupTracker};

/// Row changes in these schemas are never sent, because the tables contain password hashes.
const SYSTEM_SCHEMAS: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

/// A change, as outputs get it.
pub struct ChangeRecord<'a> {
    /// A JSON object.
    pub json: &'a str,
    /// After this position a reader that has this change goes on.
    pub position: &'a str,
    /// What has changed, if the output needs it.
    pub subject: Option<&'a ChangeSubject>,
}

/// What a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSubject {
    /// The schema and the table; none if the change is not one of a table's rows.
    pub table: Option<(String, String)>,
    /// The values of the row's primary key as a JSON object, if they are known.
    pub key: Option<String>,
}

/// Receives the changes.
pub trait Output {
    /// Receives the next change.
    ///
    /// # Errors
    /// [`ChangeError::Gone`], or the change cannot be written.
    fn change(&mut self, change: &ChangeRecord<'_>) -> Result<(), ChangeError>;

    /// Receives the end of a transaction, even if the transaction had no change that the reader wants.
    ///
    /// # Errors
    /// The same as for `change`.
    fn end_of_transaction(&mut self, position: &str) -> Result<(), ChangeError>;

    /// Whether the reader of the changes is gone.
    fn is_closed(&self) -> bool;

    /// Whether each change needs its subject.
    fn needs_subjects(&self) -> bool {
        false
    }
}

/// The place of an event in the relay files.
#[derive(Debug, Clone, Default)]
pub struct EventLocation {
    /// The file.
    pub file: String,
    /// Where the event begins.
    pub offset: u64,
}

/// Translates the events of one stream for one reader.
pub struct Translator {
    origin: StreamOrigin,
    wanted: Tables,
    tables: TableCache,
    clock: Clock,
    decoder: Decoder,
    groups: GroupTracker,
    /// All transactions that the reader has received.
    position: Position,
    position_text: String,
    transaction: OpenTransaction,
    /// The last change. It is held until the next change or the end of its transaction, because that decides its
    /// position.
    held: Option<HeldChange>,
    written: i64,
}

/// A change without its position.
struct HeldChange {
    json: String,
    subject: Option<ChangeSubject>,
}

/// The transaction that is being read.
#[derive(Default)]
struct OpenTransaction {
    gtid: Option<Gtid>,
    gtid_text: String,
    /// The position including this transaction.
    had: Option<Position>,
    /// When the server committed it, in microseconds since 1970, if the log says so.
    committed: Option<u64>,
    thread: Option<u32>,
    /// MariaDB: the transaction is only the start or the rollback of an ALTER TABLE, so its statement is not sent.
    is_half_alter: bool,
    has_changes: bool,
    total: u64,
    of_table: HashMap<(String, String), u64>,
    /// The number of changes so far within one event of the relay file.
    row: u64,
}

impl Translator {
    /// Creates a translator for a reader that has the transactions of `position` and wants these tables.
    pub fn new(
        origin: StreamOrigin,
        position: Position,
        wanted: Tables,
        (tables, clock): (TableCache, Clock),
        limits: Limits,
    ) -> Self {
        Self {
            origin,
            wanted,
            tables,
            clock,
            decoder: Decoder::new(limits),
            groups: GroupTracker::default(),
            position_text: position.to_string(),
            position,
            transaction: OpenTransaction::default(),
            held: None,
            written: 0,
        }
    }

    /// All complete transactions that were sent.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The same position, as text.
    pub fn position_text(&self) -> &str {
        &self.position_text
    }

    /// When the last event was written, in microseconds since 1970.
    pub fn written(&self) -> i64 {
        self.written
    }

    /// The position after the transaction that is being read.
    pub fn next_position(&self) -> Option<String> {
        self.transaction.had.as_ref().map(ToString::to_string)
    }

    /// Translates the next event of the relay files.
    ///
    /// # Errors
    /// The event is damaged, or its change cannot be written.
    pub fn take(
        &mut self,
        raw: &RawEvent<'_>,
        location: &EventLocation,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        self.transaction.row = 0;
        self.written = i64::from(raw.header().time) * 1_000_000;
        let event = self.decoder.decode(raw)?;
        match &event {
            Event::TransactionPayload(payload) => self.take_payload(payload, location, out)?,
            _ => self.translate_event((raw.header(), &event), location, out)?,
        }
        match self.groups.take(&event) {
            GroupStep::Within => Ok(()),
            GroupStep::Begins(gtid) => {
                self.begin(gtid, &event);
                Ok(())
            }
            GroupStep::Ends(gtid) => self.end(&gtid, out),
        }
    }

    fn take_payload(
        &mut self,
        payload: &TransactionPayload<'_>,
        location: &EventLocation,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        let mut events = payload.events(self.decoder.limits())?;
        while let Some(bytes) = events.next_event()? {
            let raw = RawEvent::parse(bytes, Checksum::None)?;
            let event = self.decoder.decode_within(&raw)?;
            self.translate_event((raw.header(), &event), location, out)?;
        }
        Ok(())
    }

    fn begin(&mut self, gtid: Gtid, event: &Event<'_>) {
        let mut had = self.position.clone();
        had.add(&gtid);
        self.transaction = OpenTransaction {
            gtid_text: gtid.to_string(),
            gtid: Some(gtid),
            had: Some(had),
            ..OpenTransaction::default()
        };
        match event {
            Event::MysqlGtid(it) => self.transaction.committed = it.immediate_commit,
            Event::MariadbGtid(it) => {
                let half = binlog::MariadbGtidEvent::EXTRA_START_ALTER
                    | binlog::MariadbGtidEvent::EXTRA_ROLLBACK_ALTER;
                self.transaction.is_half_alter = it.extra_flags & half != 0;
                self.transaction.thread = it.thread_id;
            }
            _ => {}
        }
    }

    fn end(&mut self, gtid: &Gtid, out: &mut dyn Output) -> Result<(), ChangeError> {
        self.position.add(gtid);
        self.position_text = self.position.to_string();
        self.transaction = OpenTransaction::default();
        if let Some(last) = self.held.take() {
            self.send(last, out)?;
        }
        out.end_of_transaction(&self.position_text)
    }

    /// Sends a change with the current position.
    fn send(&self, mut held: HeldChange, out: &mut dyn Output) -> Result<(), ChangeError> {
        put_position(&mut held.json, &self.position_text);
        out.change(&ChangeRecord {
            json: &held.json,
            position: &self.position_text,
            subject: held.subject.as_ref(),
        })
    }

    /// Holds a change, and sends the change that was held before.
    fn hold(
        &mut self,
        json: String,
        subject: impl FnOnce() -> ChangeSubject,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        let subject = out.needs_subjects().then(subject);
        match self.held.replace(HeldChange { json, subject }) {
            Some(before) => self.send(before, out),
            None => Ok(()),
        }
    }

    /// Translates one event.
    fn translate_event(
        &mut self,
        (header, event): (&EventHeader, &Event<'_>),
        location: &EventLocation,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        match event {
            Event::Rows(rows, Some(table)) if self.is_wanted(table) => {
                self.translate_rows(header, (rows, table), location, out)
            }
            Event::Query(query) => {
                if self.transaction.thread.is_none() {
                    self.transaction.thread = Some(query.thread_id);
                }
                if self.transaction.is_half_alter {
                    return Ok(());
                }
                self.translate_meaning(
                    header,
                    statement_meaning(header, query, &self.wanted),
                    location,
                    out,
                )
            }
            other => self.translate_meaning(
                header,
                StatementMeaning::of_event(header, other, &self.wanted),
                location,
                out,
            ),
        }
    }

    fn is_wanted(&self, table: &TableMap) -> bool {
        let mut system = SYSTEM_SCHEMAS.iter();
        self.wanted.has(&table.schema, &table.table)
            && !system.any(|it| it.eq_ignore_ascii_case(&table.schema))
    }

    fn translate_rows(
        &mut self,
        header: &EventHeader,
        (rows, table): (&RowsEvent<'_>, &Arc<TableMap>),
        location: &EventLocation,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        let moment = Moment {
            had: self.transaction.had.as_ref().unwrap_or(&self.position),
            gtid: self.transaction.gtid.as_ref(),
            time: i64::from(header.time) * 1_000_000,
            has_changes: self.transaction.has_changes,
        };
        let table = self.tables.complete(table, moment, &|| out.is_closed())?;
        for change in rows.changes(&table, self.decoder.limits())? {
            let change = change?;
            let about = (table.schema.as_str(), Some(table.table.as_str()));
            let event = self.event(header, about, location, |source, order, now| {
                row_event(&change, &table, source, order, now)
            });
            let subject = || ChangeSubject {
                table: Some((table.schema.clone(), table.table.clone())),
                key: row_key(&change, &table),
            };
            self.hold(event, subject, out)?;
        }
        Ok(())
    }

    fn translate_meaning(
        &mut self,
        header: &EventHeader,
        meaning: StatementMeaning,
        location: &EventLocation,
        out: &mut dyn Output,
    ) -> Result<(), ChangeError> {
        if meaning.changes_objects {
            self.tables.forget();
            self.transaction.has_changes = true;
        }
        for (schema, table) in &meaning.truncated {
            let about = (schema.as_str(), Some(table.as_str()));
            let event = self.event(header, about, location, truncate_event);
            let subject = || ChangeSubject {
                table: Some((schema.clone(), table.clone())),
                key: None,
            };
            self.hold(event, subject, out)?;
        }
        if let Some(note) = &meaning.note {
            let about = (meaning.schema.as_str(), meaning.table.as_deref());
            let event = self.event(header, about, location, |source, order, now| {
                note_event(note, source, order, now)
            });
            let subject = || ChangeSubject {
                table: None,
                key: None,
            };
            self.hold(event, subject, out)?;
        }
        Ok(())
    }

    /// Builds the JSON of the next change in the transaction.
    fn event(
        &mut self,
        header: &EventHeader,
        (schema, table): (&str, Option<&str>),
        location: &EventLocation,
        write: impl FnOnce(&Source<'_>, Order, i64) -> String,
    ) -> String {
        let transaction = &mut self.transaction;
        transaction.total += 1;
        let key = (schema.to_owned(), table.unwrap_or_default().to_owned());
        let of_table = transaction.of_table.entry(key).or_default();
        *of_table += 1;
        let order = Order {
            total: transaction.total,
            of_table: *of_table,
        };
        let committed = transaction
            .committed
            .and_then(|it| i64::try_from(it / 1000).ok());
        let source = Source {
            origin: &self.origin,
            time_ms: committed.unwrap_or(i64::from(header.time) * 1000),
            schema,
            table,
            server_id: header.server_id,
            gtid: &transaction.gtid_text,
            file: &location.file,
            offset: location.offset,
            row: transaction.row,
            thread: transaction.thread,
        };
        let event = write(&source, order, self.clock.unix_micros() / 1000);
        transaction.row += 1;
        event
    }
}
