//! From tokens to facts: the kind of a statement, its uses, effects and names.

mod account;
mod admin;
mod block;
mod call;
mod changes;
mod ddl;
mod explain;
mod expression;
mod query;
mod query_position;
mod session;
mod show;
mod transaction;
mod variable;

pub(crate) use query_position::QueryPosition;
pub(crate) use transaction::Characteristic;

use crate::bounds::PARTS_MAX;
use crate::doubts::Doubts;
use crate::facts::{Access, Effects, Marks, StatementFacts};
use crate::kind::{Begin, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{NESTING_MAX, Scan, Watcher};
use crate::span::Span;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// Reads every statement of the command.
    pub fn command(&mut self) {
        let mut access = Access::Session;
        let mut effects = Effects::NONE;
        let mut count = 0;
        loop {
            while self.here.kind == TokenKind::Semicolon {
                self.step();
            }
            if self.here.kind == TokenKind::End {
                break;
            }
            count += 1;
            let assigned = self.facts.assignments.len();
            self.part();
            if self.here.kind == TokenKind::Semicolon {
                self.follow(assigned);
            }
            access = access.max(self.facts.access);
            effects = effects | self.facts.effects;
        }
        self.facts.access = access;
        self.facts.effects = effects;
        if count > 1 {
            self.facts.kind = StatementKind::Multi;
            self.facts.explained = None;
        }
        self.finish();
        self.doubt();
    }

    /// Raises the access and effects of commands that are conditional or a guess, because they may not be harmless.
    fn doubt(&mut self) {
        if self.facts.marks.has(Marks::LOST) {
            self.facts.effects.add(Effects::ANYTHING);
            self.facts.doubts.add(Doubts::LOST);
        }
        if self.facts.marks.has(Marks::CONDITIONAL) {
            self.facts.doubts.add(Doubts::CONDITIONAL);
        }
        if self.facts.marks.has(Marks::LOST | Marks::CONDITIONAL) {
            self.facts.at_least(Access::Unsure);
            for part in &mut self.facts.statements {
                part.access = part.access.max(Access::Unsure);
            }
        }
    }

    /// Reads one statement. Its kind, access and effects are its own; names and uses are those of the command.
    fn part(&mut self) {
        self.facts.kind = StatementKind::Unknown;
        self.facts.access = Access::Session;
        self.facts.effects = Effects::NONE;
        let (start, flags) = (self.here.span, self.flags());
        let (schema, doubts) = (self.default_schema.name, self.doubts_behind);
        self.facts.doubts.add(doubts);
        self.statement();
        self.skip_rest();
        let part = StatementFacts {
            flags,
            schema,
            doubts,
            span: self.span_from(start),
            kind: self.facts.kind,
            access: self.facts.access,
            effects: self.facts.effects,
        };
        if self.facts.statements.len() < PARTS_MAX {
            self.facts.statements.push(part);
        } else {
            self.facts.marks.add(Marks::CROWDED);
            self.facts.doubts.add(Doubts::MANY_STATEMENTS);
        }
    }

    /// Reads a statement from its first token on.
    pub fn statement(&mut self) {
        self.nesting += 1;
        match self.here.kind {
            _ if self.nesting > NESTING_MAX => self.not_understood(),
            TokenKind::Open => self.parenthesised_query(),
            TokenKind::Word if self.is_label() => self.compound(),
            TokenKind::Word => self.statement_by_word(),
            _ => self.not_understood(),
        }
        self.nesting -= 1;
    }

    fn is_label(&self) -> bool {
        self.ahead.kind == TokenKind::Colon
    }

    fn statement_by_word(&mut self) {
        match self.here.word {
            Word::Select | Word::Values | Word::Table | Word::With => self.query(),
            Word::Insert | Word::Replace => self.insert(),
            Word::Update => self.update(),
            Word::Delete => self.delete(),
            Word::Load => self.load(),
            Word::Call => self.call_procedure(),
            Word::Do => self.evaluate(),
            Word::Set => self.set(),
            Word::Begin => self.begin(),
            Word::Start => self.start(),
            Word::Commit | Word::Rollback => self.finish_transaction(),
            Word::Savepoint | Word::Release => self.savepoint(),
            Word::Xa => self.xa(),
            Word::Use => self.use_schema(),
            Word::Prepare => self.prepare(),
            Word::Execute => self.execute(),
            Word::Deallocate => self.deallocate(),
            Word::Handler => self.handler(),
            Word::Lock | Word::Unlock => self.lock(),
            Word::Show => self.show(),
            Word::Explain | Word::Describe | Word::Desc => self.explain(),
            Word::Analyze => self.analyze(),
            _ => self.rarer_statement(),
        }
    }

    fn rarer_statement(&mut self) {
        match self.here.word {
            Word::Create => self.create(),
            Word::Alter => self.alter(),
            Word::Drop => self.drop_object(),
            Word::Truncate => self.truncate(),
            Word::Rename => self.rename(),
            Word::Grant | Word::Revoke => self.grant(),
            Word::Kill => self.kill(),
            Word::Get => self.get_diagnostics(),
            Word::Signal | Word::Resignal => self.signal(),
            Word::Case | Word::For | Word::If | Word::Loop | Word::Repeat | Word::While => {
                self.compound();
            }
            _ => self.administration(),
        }
    }

    /// Notes an unknown statement, which may do anything.
    pub fn not_understood(&mut self) {
        self.facts.kind = StatementKind::Unknown;
        self.facts.doubts.add(Doubts::UNKNOWN);
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        self.skip_rest();
    }

    /// Ends the transaction, as most DDL and administration do.
    pub fn commits(&mut self) {
        self.facts.effects.add(Effects::TRANSACTION_ENDED);
    }

    /// Notes a statement that writes and ends the transaction, without further facts.
    pub fn writes_and_commits(&mut self, kind: StatementKind) {
        self.facts.kind = kind;
        self.facts.at_least(Access::Write);
        self.commits();
        self.skip_rest();
    }

    /// Reads a query in parentheses: the first word after them decides its kind.
    fn parenthesised_query(&mut self) {
        let first = self
            .tokens_ahead()
            .find(|token| token.kind != TokenKind::Open);
        self.facts.kind = match first.map(|token| token.word) {
            Some(Word::Select | Word::With) => StatementKind::Select,
            Some(Word::Values) => StatementKind::Values,
            Some(Word::Table) => StatementKind::Table,
            _ => return self.not_understood(),
        };
        self.facts.at_least(Access::Read);
        self.body(&mut QueryPosition::of_query());
    }

    fn compound(&mut self) {
        self.facts.kind = StatementKind::Compound;
        self.facts.doubts.add(Doubts::BLOCK);
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        self.runs_block = true;
        self.block();
        self.runs_block = false;
    }

    fn begin(&mut self) {
        let is_transaction = matches!(self.ahead.kind, TokenKind::End | TokenKind::Semicolon);
        if !is_transaction && self.ahead.word != Word::Work {
            // NOT ATOMIC, or a block of MariaDB's Oracle mode.
            return self.compound();
        }
        self.advance();
        self.take_word(Word::Work);
        self.facts.kind = StatementKind::Begin(Begin::default());
        self.facts.effects.add(Effects::TRANSACTION_BEGUN);
    }

    /// Notes a name, if one is here.
    pub fn mention_name(&mut self, role: crate::Role) {
        if self.is_table_name() {
            let (schema, name) = self.qualified_name();
            self.facts.mention(role, schema, name);
        }
    }

    /// Returns the range from `start` to the last passed token; empty if no token was passed.
    pub fn span_from(&self, start: Span) -> Span {
        Span {
            start: start.start,
            end: self.last.span.end.max(start.start),
        }
    }
}
