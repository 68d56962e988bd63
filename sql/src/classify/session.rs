//! Statements about the session: USE, PREPARE, EXECUTE, HANDLER, LOCK, diagnostics.

use crate::classify::QueryPosition;
use crate::doubts::Doubts;
use crate::facts::{Access, Effects, Role};
use crate::flags::Schema;
use crate::kind::{Handler, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::uses::Uses;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// USE schema
    pub fn use_schema(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Use;
        self.facts.effects.add(Effects::SCHEMA);
        let name = self.here.span;
        self.mention_name(Role::Schema);
        self.default_schema.class = Schema::of_name(&name.name(self.text));
        self.default_schema.name = name;
    }

    /// PREPARE s FROM '…', PREPARE s FROM @text
    pub fn prepare(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Prepare;
        self.facts.effects.add(Effects::PREPARED);
        self.mention_name(Role::Prepared);
        if self.take_word(Word::From) {
            self.prepared_text();
        }
    }

    /// Reads the text to prepare. In an expression (MariaDB) only names and calls are noted.
    fn prepared_text(&mut self) {
        let text = self.here.span;
        let is_text = matches!(self.here.kind, TokenKind::String | TokenKind::UserVariable);
        let is_all = matches!(self.ahead.kind, TokenKind::End | TokenKind::Semicolon)
            || self.ahead.word == Word::Using;
        if is_text && is_all {
            self.facts
                .mention(Role::PreparedText, Span::default(), text);
        }
        if !is_all || self.here.kind != TokenKind::String {
            self.facts.doubts.add(Doubts::TEXT);
        }
        self.body(&mut QueryPosition::of_query());
    }

    /// EXECUTE s USING @a, @b; EXECUTE IMMEDIATE '…'
    pub fn execute(&mut self) {
        self.advance();
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        if self.here.word == Word::Immediate && !self.is_statement_name() {
            self.advance();
            self.facts.kind = StatementKind::ExecuteImmediate;
            return self.prepared_text();
        }
        self.facts.kind = StatementKind::Execute;
        self.facts.uses.add(Uses::PREPARED);
        self.mention_name(Role::Prepared);
        // OUT parameters come back in the variables of USING.
        self.sets_variables = true;
        while !self.is_at_end() {
            match self.here.kind {
                TokenKind::UserVariable => self.user_variable(),
                _ => {
                    self.advance();
                }
            }
        }
        self.sets_variables = false;
    }

    /// Whether EXECUTE runs a statement with the name Immediate.
    fn is_statement_name(&self) -> bool {
        self.ahead.word == Word::Using
            || matches!(self.ahead.kind, TokenKind::End | TokenKind::Semicolon)
    }

    /// DEALLOCATE PREPARE s, DROP PREPARE s
    pub fn deallocate(&mut self) {
        self.advance();
        self.take_word(Word::Prepare);
        self.facts.kind = StatementKind::Deallocate;
        self.facts.effects.add(Effects::DEALLOCATED);
        self.mention_name(Role::Prepared);
    }

    /// HANDLER t OPEN, READ, CLOSE
    pub fn handler(&mut self) {
        self.advance();
        let (schema, name) = self.qualified_name();
        self.facts.mention(Role::Handler, schema, name);
        self.facts.at_least(Access::Unsure);
        match self.here.word {
            Word::Open => {
                self.advance();
                self.facts.kind = StatementKind::Handler(Handler::Open);
                self.facts.effects.add(Effects::HANDLER_OPENED);
                self.facts.mention(Role::TableRead, schema, name);
                self.take_word(Word::As);
                if self.is_name() {
                    self.mention_name(Role::Handler);
                }
            }
            Word::Close => {
                self.facts.kind = StatementKind::Handler(Handler::Close);
                self.facts.effects.add(Effects::HANDLER_CLOSED);
            }
            _ => {
                self.facts.kind = StatementKind::Handler(Handler::Read);
                self.facts.uses.add(Uses::HANDLER);
                self.body(&mut QueryPosition::of_query());
            }
        }
    }

    /// LOCK TABLES, LOCK INSTANCE FOR BACKUP, UNLOCK TABLES, UNLOCK INSTANCE
    pub fn lock(&mut self) {
        let is_lock = self.advance().word == Word::Lock;
        self.facts.at_least(Access::Write);
        let is_instance = self.advance().word == Word::Instance;
        let (kind, effects) = match (is_lock, is_instance) {
            (true, true) => (StatementKind::LockInstance, Effects::INSTANCE_LOCKED),
            (false, true) => (StatementKind::UnlockInstance, Effects::INSTANCE_UNLOCKED),
            (false, false) => (StatementKind::UnlockTables, Effects::TABLES_UNLOCKED),
            (true, false) => (
                StatementKind::LockTables,
                Effects::TABLES_LOCKED | Effects::TRANSACTION_ENDED,
            ),
        };
        self.facts.kind = kind;
        self.facts.effects.add(effects);
        if kind == StatementKind::LockTables {
            self.locked_tables();
        }
        self.skip_rest();
    }

    /// a READ, b AS x WRITE, …
    fn locked_tables(&mut self) {
        while self.is_table_name() {
            let (schema, name) = self.qualified_name();
            let mut role = Role::TableRead;
            while !self.is_at_end() && self.here.kind != TokenKind::Comma {
                if self.advance().word == Word::Write {
                    role = Role::TableWritten;
                }
            }
            self.facts.mention(role, schema, name);
            if !self.take_kind(TokenKind::Comma) {
                return;
            }
        }
    }

    /// GET [CURRENT | STACKED] DIAGNOSTICS [CONDITION n] @a = NUMBER, …
    pub fn get_diagnostics(&mut self) {
        self.facts.kind = StatementKind::GetDiagnostics;
        self.facts.uses.add(Uses::DIAGNOSTICS);
        while !self.is_at_end() {
            match (self.here.kind, self.ahead.kind) {
                (TokenKind::UserVariable, TokenKind::Equal) => self.set_user_variable(),
                (TokenKind::UserVariable, _) => self.user_variable(),
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// SIGNAL, RESIGNAL
    pub fn signal(&mut self) {
        self.facts.kind = StatementKind::Signal;
        self.facts.effects.add(Effects::DIAGNOSTICS);
        self.body(&mut QueryPosition::of_query());
    }
}
