//! The beginnings of queries and of changes of data. The module `expression` reads the rest.

use crate::classify::QueryPosition;
use crate::facts::{Access, Effects, Marks, Role};
use crate::kind::StatementKind;
use crate::lexer::TokenKind;
use crate::scan::{CommonTable, Scan, Watcher};
use crate::span::Span;
use crate::uses::Uses;
use crate::words::Word;

/// The largest number of common tables that are kept, because each table is compared with all of them.
const COMMON_TABLES_MAX: usize = 64;

impl<W: Watcher> Scan<'_, W> {
    /// SELECT, VALUES, TABLE, and the statement after WITH.
    pub fn query(&mut self) {
        self.facts.at_least(Access::Read);
        if self.here.word == Word::With {
            let outside = self.common.len();
            self.with_clause(0);
            self.statement_behind_with();
            return self.common.truncate(outside);
        }
        self.facts.kind = match self.here.word {
            Word::Values => StatementKind::Values,
            Word::Table => StatementKind::Table,
            _ => StatementKind::Select,
        };
        self.body(&mut QueryPosition::of_query());
    }

    fn statement_behind_with(&mut self) {
        match self.here.word {
            Word::Select | Word::Values | Word::Table => self.query(),
            Word::Update => self.update(),
            Word::Delete => self.delete(),
            Word::Insert | Word::Replace => self.insert(),
            _ if self.here.kind == TokenKind::Open => {
                self.facts.kind = StatementKind::Select;
                self.body(&mut QueryPosition::of_query());
            }
            _ => self.not_understood(),
        }
    }

    /// INSERT, REPLACE
    pub fn insert(&mut self) {
        let is_replace = self.advance().word == Word::Replace;
        self.facts.kind = if is_replace {
            StatementKind::Replace
        } else {
            StatementKind::Insert
        };
        self.facts.at_least(Access::Write);
        self.facts.effects.add(Effects::LAST_INSERT_ID);
        self.skip_words(&[
            Word::LowPriority,
            Word::Delayed,
            Word::HighPriority,
            Word::Ignore,
            Word::Into,
        ]);
        self.mention_name(Role::TableWritten);
        if self.take_word(Word::Partition) {
            self.skip_parentheses();
        }
        if self.here.kind == TokenKind::Open && !self.is_query_in_parentheses() {
            self.skip_parentheses();
        }
        let is_query = matches!(self.here.word, Word::Select | Word::With | Word::Table);
        if is_query || self.here.kind == TokenKind::Open {
            self.facts.marks.add(Marks::FROM_SELECT);
        }
        self.body(&mut QueryPosition::of_query());
    }

    /// Whether the parenthesis here opens a query rather than a list of columns.
    fn is_query_in_parentheses(&self) -> bool {
        let first = self
            .tokens_ahead()
            .find(|token| token.kind != TokenKind::Open);
        let word = first.unwrap_or_default().word;
        matches!(word, Word::Select | Word::With | Word::Table | Word::Values)
    }

    /// UPDATE
    pub fn update(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Update;
        self.facts.at_least(Access::Write);
        self.skip_words(&[Word::LowPriority, Word::Ignore]);
        self.body(&mut QueryPosition::of_written_tables());
    }

    /// DELETE. The names before FROM are names or aliases of the tables after it.
    pub fn delete(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Delete;
        self.facts.at_least(Access::Write);
        if self.skip_to(Word::From) {
            self.advance();
            self.body(&mut QueryPosition::of_written_tables());
        }
    }

    /// LOAD DATA, LOAD XML, LOAD INDEX
    pub fn load(&mut self) {
        self.advance();
        if self.here.word == Word::Index {
            return self.cache_index();
        }
        self.facts.kind = StatementKind::Load;
        self.facts.at_least(Access::Write);
        self.facts.effects.add(Effects::LAST_INSERT_ID);
        let mut file = Uses::SERVER_FILE;
        while !self.is_at_end() && self.here.word != Word::Into {
            if self.advance().word == Word::Local {
                file = Uses::CLIENT_FILE;
            }
        }
        self.facts.uses.add(file);
        self.advance();
        self.take_word(Word::Table);
        self.mention_name(Role::TableWritten);
        self.sets_variables = true;
        self.body(&mut QueryPosition::of_query());
        self.sets_variables = false;
    }

    /// CALL
    pub fn call_procedure(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Call;
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        self.mention_name(Role::Procedure);
        self.sets_variables = true;
        self.body(&mut QueryPosition::of_query());
        self.sets_variables = false;
    }

    /// DO
    pub fn evaluate(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Do;
        self.facts.at_least(Access::Read);
        self.body(&mut QueryPosition::of_query());
    }

    /// WITH [RECURSIVE] name [(columns)] AS (query) [, …]
    ///
    /// A common table is visible to the queries after its own query, and with RECURSIVE to its own query too.
    pub fn with_clause(&mut self, depth: u32) {
        self.facts.marks.add(Marks::WITH);
        self.advance();
        let is_recursive = self.take_word(Word::Recursive);
        while self.is_name() {
            let name = self.advance().span;
            self.facts.mention(Role::CommonTable, Span::default(), name);
            self.skip_parentheses();
            self.take_word(Word::As);
            if is_recursive {
                self.see_common_table(name, depth);
            }
            self.nested_query();
            if !is_recursive {
                self.see_common_table(name, depth);
            }
            if self.take_word(Word::Cycle) && self.skip_to(Word::Restrict) {
                self.advance();
            }
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
    }

    fn see_common_table(&mut self, name: Span, depth: u32) {
        // Further common tables count as tables.
        if self.common.len() < COMMON_TABLES_MAX {
            self.common.push(CommonTable { name, depth });
        }
    }

    /// Reads a query in parentheses, if one opens here.
    fn nested_query(&mut self) {
        if !self.take_kind(TokenKind::Open) {
            return;
        }
        self.nesting += 1;
        self.body(&mut QueryPosition::of_nested_query());
        self.nesting -= 1;
        self.take_kind(TokenKind::Close);
    }
}
