//! SHOW: what it shows, and so which backend must answer it.

use crate::classify::QueryPosition;
use crate::facts::{Access, Role};
use crate::kind::{Show, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::uses::Uses;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// SHOW …
    pub fn show(&mut self) {
        self.advance();
        self.skip_words(&[
            Word::Full,
            Word::Extended,
            Word::Global,
            Word::Session,
            Word::Local,
            Word::All,
        ]);
        let show = self.shown();
        self.facts.kind = StatementKind::Show(show);
        let (access, uses) = match show {
            Show::Warnings
            | Show::SomeWarnings
            | Show::WarningCount
            | Show::Errors
            | Show::SomeErrors
            | Show::ErrorCount => (Access::Session, Uses::DIAGNOSTICS),
            Show::Profiles => (Access::Session, Uses::STATISTICS),
            Show::Variables => (Access::Read, Uses::VARIABLES),
            Show::Status => (Access::Write, Uses::STATISTICS),
            Show::Processlist | Show::Server => (Access::Write, Uses::NONE),
            Show::Grants => (Access::Read, Uses::IDENTITY),
            Show::Schema => (Access::Read, Uses::NONE),
        };
        self.facts.at_least(access);
        self.facts.uses.add(uses);
        if show == Show::Schema {
            self.shown_table();
        }
        // FROM has another meaning in SHOW: only the condition after WHERE is read as a query.
        while !self.is_at_end() && self.here.word != Word::Where {
            self.advance();
        }
        self.body(&mut QueryPosition::of_query());
    }

    fn shown(&self) -> Show {
        match self.here.word {
            Word::Warnings if self.ahead.word == Word::Limit => Show::SomeWarnings,
            Word::Warnings => Show::Warnings,
            Word::Errors if self.ahead.word == Word::Limit => Show::SomeErrors,
            Word::Errors => Show::Errors,
            Word::Count => self.counted(),
            Word::Variables => Show::Variables,
            Word::Status => Show::Status,
            Word::Processlist => Show::Processlist,
            Word::Profile | Word::Profiles => Show::Profiles,
            Word::Grants => Show::Grants,
            Word::Create if self.ahead.word == Word::User => Show::Grants,
            Word::Open | Word::Analyze | Word::Explain => Show::Server,
            // On a replica, events are disabled and are shown as disabled.
            Word::Events => Show::Server,
            Word::Create if self.ahead.word == Word::Event => Show::Server,
            Word::Create
            | Word::Tables
            | Word::Table
            | Word::Columns
            | Word::Fields
            | Word::Index
            | Word::Indexes
            | Word::Keys
            | Word::Databases
            | Word::Schemas
            | Word::Trigger
            | Word::Event
            | Word::Procedure
            | Word::Function
            | Word::Character
            | Word::Charset
            | Word::Char
            | Word::Package
            | Word::Library => Show::Schema,
            _ => self.shown_by_name(),
        }
    }

    /// SHOW COUNT(*) WARNINGS, SHOW COUNT(*) ERRORS
    fn counted(&self) -> Show {
        let is_errors = self.tokens_ahead().any(|token| token.word == Word::Errors);
        if is_errors {
            Show::ErrorCount
        } else {
            Show::WarningCount
        }
    }

    /// Returns what SHOW shows for a word that is no keyword here.
    fn shown_by_name(&self) -> Show {
        let name = self.here.span.of(self.text);
        match name.to_ascii_lowercase().as_slice() {
            b"collation" | b"triggers" => Show::Schema,
            b"privileges" => Show::Grants,
            _ => Show::Server,
        }
    }

    /// Notes the table of SHOW CREATE TABLE, SHOW COLUMNS FROM, SHOW INDEX FROM.
    fn shown_table(&mut self) {
        match self.advance().word {
            Word::Create if matches!(self.here.word, Word::Table | Word::View | Word::Sequence) => {
                self.advance();
            }
            Word::Columns | Word::Fields | Word::Index | Word::Indexes | Word::Keys
                if matches!(self.here.word, Word::From | Word::In) =>
            {
                self.advance();
            }
            _ => return,
        }
        let (schema, name) = self.qualified_name();
        let has_schema_behind =
            matches!(self.here.word, Word::From | Word::In) && self.here.kind == TokenKind::Word;
        let schema = if has_schema_behind {
            self.ahead.span
        } else {
            schema
        };
        self.facts.mention(Role::TableRead, schema, name);
    }
}
