//! Writes events as text, as JSON, or in the form of the article on which MySQL Proxy was based.

use std::io::{self, Write};

use binlog::{
    Description, Event, EventError, EventHeader, Limits, Query, RowChange, RowsEvent, Shown,
    TableMap, describe, describe_row, printable, query_text,
};

/// How events are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// One object a line.
    Json,
    /// `(DDL) thread-id = …`
    Article,
}

/// The location of an event.
pub struct Site<'a> {
    /// The file.
    pub file: &'a str,
    /// The position at which the event begins, or the payload that contains it.
    pub position: u64,
    /// The limits for decompressed columns.
    pub limits: Limits,
}

/// Writes events.
pub struct Printer<W> {
    /// The output.
    pub out: W,
    form: Form,
}

impl<W: Write> Printer<W> {
    /// A printer for one form.
    pub fn new(out: W, form: Form) -> Self {
        Self { out, form }
    }

    /// Writes an event with its rows. The inner result is a fault of the rows.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn event(
        &mut self,
        site: &Site<'_>,
        header: &EventHeader,
        event: &Event<'_>,
    ) -> io::Result<Result<(), EventError>> {
        match (self.form, event) {
            (Form::Article, Event::Query(query)) => self.article(query).map(Ok),
            (Form::Article, _) => Ok(Ok(())),
            (Form::Json, _) => self.json(site, header, event),
            (Form::Text, _) => self.text(site, header, event),
        }
    }

    fn article(&mut self, query: &Query<'_>) -> io::Result<()> {
        let Query {
            thread_id,
            seconds,
            error_code,
            ..
        } = query;
        writeln!(
            self.out,
            "(DDL) thread-id = {thread_id}, exec_time = {seconds}, error-code = {error_code:04}\n\
             QUERY: {}",
            printable(&query_text(query))
        )
    }

    fn json(
        &mut self,
        site: &Site<'_>,
        header: &EventHeader,
        event: &Event<'_>,
    ) -> io::Result<Result<(), EventError>> {
        let mut line = String::from("{");
        let place = Description::default()
            .with("file", Shown::Text(site.file.to_owned()))
            .with("position", Shown::number(site.position))
            .with("next_position", Shown::number(header.next_position));
        place.put_json_members(&mut line);
        line.push(',');
        describe(header, event).put_json_members(&mut line);
        let mut fault = Ok(());
        if let Event::Rows(rows, Some(table)) = event {
            line.push_str(",\"rows\":[");
            fault = self.json_rows(&mut line, rows, table, site.limits)?;
            line.push(']');
        }
        line.push_str("}\n");
        self.out.write_all(line.as_bytes())?;
        Ok(fault)
    }

    /// Writes rows one by one, so that only one row is in memory.
    fn json_rows(
        &mut self,
        line: &mut String,
        rows: &RowsEvent<'_>,
        table: &TableMap,
        limits: Limits,
    ) -> io::Result<Result<(), EventError>> {
        let changes = match rows.changes(table, limits) {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(error)),
        };
        for (index, change) in changes.enumerate() {
            let change = match change {
                Ok(change) => change,
                Err(error) => return Ok(Err(error)),
            };
            if index > 0 {
                line.push(',');
            }
            let images = [("before", &change.before), ("after", &change.after)];
            let mut description = Description::default();
            for (name, row) in images {
                let row = row.as_ref().map(|row| describe_row(row, table));
                description = description.with_some(name, row.map(Shown::Object));
            }
            description.put_json(line);
            self.out.write_all(line.as_bytes())?;
            line.clear();
        }
        Ok(Ok(()))
    }

    fn text(
        &mut self,
        site: &Site<'_>,
        header: &EventHeader,
        event: &Event<'_>,
    ) -> io::Result<Result<(), EventError>> {
        let mut description = describe(header, event);
        let mut statement = None;
        description
            .fields
            .retain(|(name, value)| match (name.as_str(), value) {
                ("query", Shown::Text(text)) => {
                    statement = Some(text.clone());
                    false
                }
                ("type", _) => false,
                _ => true,
            });
        let event_type = header.event_type;
        writeln!(
            self.out,
            "at {}: {event_type}: {description}",
            site.position
        )?;
        if let Some(statement) = statement {
            writeln!(self.out, "  QUERY: {}", printable(&statement))?;
        }
        if let Event::Rows(rows, Some(table)) = event {
            let changes = match rows.changes(table, site.limits) {
                Ok(changes) => changes,
                Err(error) => return Ok(Err(error)),
            };
            for change in changes {
                match change {
                    Ok(change) => self.text_row(&change, table)?,
                    Err(error) => return Ok(Err(error)),
                }
            }
        }
        Ok(Ok(()))
    }

    fn text_row(&mut self, change: &RowChange<'_>, table: &TableMap) -> io::Result<()> {
        let row = |row| describe_row(row, table);
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => {
                writeln!(self.out, "  UPDATE: {}", row(before))?;
                writeln!(self.out, "      TO: {}", row(after))
            }
            (None, Some(after)) => writeln!(self.out, "  INSERT: {}", row(after)),
            (Some(before), None) => writeln!(self.out, "  DELETE: {}", row(before)),
            (None, None) => Ok(()),
        }
    }
}
