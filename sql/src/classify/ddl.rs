//! Definitions: CREATE, ALTER, DROP, TRUNCATE, RENAME.

use crate::classify::QueryPosition;
use crate::doubts::Doubts;
use crate::facts::{Access, Effects, Role};
use crate::functions::Function;
use crate::kind::{Object, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// CREATE [OR REPLACE] [DEFINER = …] [TEMPORARY] … TABLE | VIEW | … name …
    pub fn create(&mut self) {
        self.advance();
        self.facts.at_least(Access::Write);
        let object = self.object();
        self.facts.kind = StatementKind::Create(object);
        if object == Object::TemporaryTable {
            self.facts.effects.add(Effects::TEMPORARY_CREATED);
        }
        // CREATE TEMPORARY SEQUENCE commits too.
        if object != Object::TemporaryTable || self.here.word == Word::Sequence {
            self.commits();
        }
        let is_package = self.here.word == Word::Package;
        let is_event = self.here.word == Word::Event;
        self.advance();
        self.if_exists();
        match object {
            Object::Table => self.create_table(Role::TableWritten),
            Object::TemporaryTable => self.create_table(Role::TemporaryCreated),
            Object::View => self.create_view(),
            Object::Sequence => self.sequence_itself(),
            Object::Index => self.on_table(),
            Object::Trigger => self.create_trigger(),
            Object::Event if is_event => self.create_event(),
            Object::Routine if is_package => self.package(),
            Object::Routine => self.routine(),
            _ => self.skip_rest(),
        }
    }

    /// Goes to the word that names the kind of object, and returns that kind.
    fn object(&mut self) -> Object {
        let mut is_temporary = false;
        while !self.is_at_end() {
            let object = match self.here.word {
                Word::Table | Word::Tables | Word::Sequence if is_temporary => {
                    Object::TemporaryTable
                }
                Word::Table | Word::Tables => Object::Table,
                Word::View => Object::View,
                Word::Index | Word::Key => Object::Index,
                Word::Database | Word::Schema => Object::Schema,
                Word::Procedure | Word::Function | Word::Package => Object::Routine,
                Word::Trigger => Object::Trigger,
                Word::Event => Object::Event,
                Word::Sequence => Object::Sequence,
                Word::User | Word::Role => Object::Account,
                Word::Server
                | Word::Tablespace
                | Word::Logfile
                | Word::Resource
                | Word::Library
                | Word::Instance
                | Word::Catalog => Object::Other,
                Word::Definer if self.ahead.kind == TokenKind::Equal => {
                    self.definer();
                    continue;
                }
                word => {
                    is_temporary |= word == Word::Temporary;
                    self.advance();
                    continue;
                }
            };
            return object;
        }
        Object::Other
    }

    /// DEFINER = user@host, CURRENT_USER(), role
    fn definer(&mut self) {
        self.advance();
        self.advance();
        self.advance();
        if self.here.kind == TokenKind::UserVariable {
            self.advance();
        }
        self.skip_parentheses();
    }

    /// IF EXISTS, IF NOT EXISTS, and BODY of a package.
    fn if_exists(&mut self) {
        self.take_word(Word::Body);
        if self.here.word == Word::If && matches!(self.ahead.word, Word::Not | Word::Exists) {
            self.skip_to(Word::Exists);
            self.advance();
        }
    }

    /// name LIKE other; name (…) … [AS] SELECT …
    fn create_table(&mut self, role: Role) {
        self.mention_name(role);
        let opens = self.here.kind == TokenKind::Open;
        let is_like = self.here.word == Word::Like || opens && self.ahead.word == Word::Like;
        if is_like {
            if opens {
                self.advance();
            }
            self.advance();
            self.mention_name(Role::TableRead);
        }
        self.body(&mut QueryPosition::of_definitions());
    }

    fn create_view(&mut self) {
        self.mention_name(Role::TableWritten);
        let (uses, asked) = (self.facts.uses, self.facts.questions.len());
        self.body(&mut QueryPosition::of_definitions());
        // The query of a view does not run now.
        self.facts.uses = uses;
        self.facts.questions.truncate(asked);
        self.facts.effects = Effects::TRANSACTION_ENDED;
        self.facts.access = Access::Write;
    }

    /// CREATE SEQUENCE s …, ALTER SEQUENCE s …
    fn sequence_itself(&mut self) {
        self.mention_name(Role::TableWritten);
        self.skip_rest();
    }

    /// … ON t (…)
    fn on_table(&mut self) {
        if self.skip_to(Word::On) {
            self.advance();
            self.mention_name(Role::TableWritten);
        }
        self.skip_rest();
    }

    /// name BEFORE INSERT ON t FOR EACH ROW [FOLLOWS other] body
    fn create_trigger(&mut self) {
        if self.skip_to(Word::On) {
            self.advance();
            self.mention_name(Role::TableWritten);
        }
        if self.skip_to(Word::Row) {
            self.advance();
            if self.take_word(Word::Follows) || self.take_word(Word::Precedes) {
                self.advance();
            }
            self.block();
        }
    }

    /// name ON SCHEDULE … DO body
    fn create_event(&mut self) {
        if self.skip_to(Word::Do) {
            self.advance();
            self.block();
        }
    }

    /// ALTER …
    pub fn alter(&mut self) {
        self.advance();
        self.facts.at_least(Access::Write);
        self.commits();
        let object = self.object();
        self.facts.kind = StatementKind::Alter(object);
        let is_event = self.here.word == Word::Event;
        self.advance();
        self.if_exists();
        match object {
            Object::Table => self.alter_table(),
            Object::View => self.create_view(),
            Object::Sequence => self.sequence_itself(),
            Object::Event if is_event && self.has_body() => self.create_event(),
            _ => self.skip_rest(),
        }
    }

    fn has_body(&self) -> bool {
        self.tokens_ahead().any(|token| token.word == Word::Do)
    }

    /// ALTER TABLE t …; RENAME TO is noted, because t may be a temporary table.
    fn alter_table(&mut self) {
        self.mention_name(Role::TableWritten);
        while !self.is_at_end() {
            self.other_table();
            let renames = self.advance().word == Word::Rename;
            let is_of_part = matches!(self.here.word, Word::Index | Word::Key);
            let is_of_column = self.here.span.of(self.text).eq_ignore_ascii_case(b"column");
            if renames && !is_of_part && !is_of_column {
                self.facts.effects.add(Effects::TEMPORARY_RENAMED);
                self.skip_words(&[Word::To, Word::As]);
                self.take_kind(TokenKind::Equal);
                self.mention_name(Role::TableWritten);
            }
        }
    }

    /// Notes another table that ALTER TABLE names here, if any: of a foreign key, of a MERGE table, a sequence, or a
    /// table that is exchanged with a partition.
    fn other_table(&mut self) {
        let is_call = self.ahead.kind == TokenKind::Open;
        let function = self.here.function;
        match self.here.word {
            Word::Union => self.merged_tables(),
            Word::Table => {
                self.advance();
                self.mention_name(Role::TableWritten);
            }
            Word::Next | Word::Previous if self.ahead.word == Word::Value => {
                self.advance();
                self.advance();
                if self.take_word(Word::For) {
                    self.mention_name(Role::TableRead);
                }
            }
            _ if self.is_at_references() => {
                self.advance();
                self.mention_name(Role::TableRead);
            }
            _ if is_call && matches!(function, Function::MoveSequence | Function::LastValue) => {
                self.advance();
                self.advance();
                self.mention_name(Role::TableRead);
            }
            _ => {}
        }
    }

    /// DROP …; DROP PREPARE is another statement.
    pub fn drop_object(&mut self) {
        if self.ahead.word == Word::Prepare {
            return self.deallocate();
        }
        self.advance();
        self.facts.at_least(Access::Write);
        let object = self.object();
        self.facts.kind = StatementKind::Drop(object);
        if object != Object::TemporaryTable {
            self.commits();
        }
        self.advance();
        self.if_exists();
        match object {
            Object::Table | Object::TemporaryTable => {
                self.facts.effects.add(Effects::TEMPORARY_DROPPED);
                self.listed_tables(Role::TableDropped);
            }
            Object::View => self.listed_tables(Role::TableWritten),
            Object::Sequence => {
                self.facts.effects.add(Effects::TEMPORARY_DROPPED);
                self.listed_tables(Role::TableDropped);
            }
            Object::Index => self.on_table(),
            Object::Schema => self.drop_schema(),
            Object::Trigger => self.facts.doubts.add(Doubts::UNNAMED),
            _ => {}
        }
        self.skip_rest();
    }

    fn drop_schema(&mut self) {
        self.mention_name(Role::SchemaDropped);
        self.facts.doubts.add(Doubts::WHOLE_SCHEMA);
        self.facts
            .effects
            .add(Effects::SCHEMA | Effects::TEMPORARY_DROPPED);
    }

    /// TRUNCATE [TABLE] t
    pub fn truncate(&mut self) {
        self.advance();
        self.take_word(Word::Table);
        self.mention_name(Role::TableWritten);
        self.writes_and_commits(StatementKind::Truncate);
    }

    /// RENAME TABLE a TO b, c TO d; RENAME USER
    pub fn rename(&mut self) {
        self.advance();
        self.facts.at_least(Access::Write);
        self.commits();
        if !matches!(self.here.word, Word::Table | Word::Tables) {
            self.facts.kind = StatementKind::Rename(Object::Account);
            return self.skip_rest();
        }
        self.advance();
        self.if_exists();
        self.facts.kind = StatementKind::Rename(Object::Table);
        self.facts.effects.add(Effects::TEMPORARY_RENAMED);
        while self.is_table_name() {
            self.mention_name(Role::TableWritten);
            while !self.is_at_end() && !matches!(self.last.word, Word::To) {
                self.advance();
            }
            self.mention_name(Role::TableWritten);
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
        self.skip_rest();
    }
}
