//! EXPLAIN, DESCRIBE and ANALYZE: which statement or table they explain, and whether the statement runs.

use crate::doubts::Doubts;
use crate::facts::{Access, Effects, Role};
use crate::kind::{Explain, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// EXPLAIN [ANALYZE] [FORMAT = …] [INTO @x] statement; EXPLAIN FOR CONNECTION n; EXPLAIN t
    pub fn explain(&mut self) {
        self.advance();
        let mut explain = Explain::Plan;
        loop {
            match self.here.word {
                Word::Analyze => explain = Explain::Run,
                Word::Extended | Word::Partitions if self.ahead.kind == TokenKind::Word => {}
                Word::Format if self.ahead.kind == TokenKind::Equal => {
                    self.advance();
                    self.advance();
                }
                _ => break,
            }
            self.advance();
        }
        if self.take_word(Word::Into) && self.here.kind == TokenKind::UserVariable {
            self.set_user_variable();
        }
        self.explained(explain);
    }

    /// ANALYZE statement (MariaDB), or ANALYZE TABLE.
    pub fn analyze(&mut self) {
        let is_of_table = matches!(
            self.ahead.word,
            Word::Table | Word::Tables | Word::Local | Word::NoWriteToBinlog
        );
        if is_of_table {
            return self.administration();
        }
        self.explain_run();
    }

    fn explain_run(&mut self) {
        self.advance();
        if self.take_word(Word::Format) {
            self.advance();
            self.advance();
        }
        self.explained(Explain::Run);
    }

    fn explained(&mut self, explain: Explain) {
        if self.here.word == Word::For {
            return self.explain_of_another(explain);
        }
        if !self.begins_statement() {
            self.facts.kind = StatementKind::Describe;
            self.facts.at_least(Access::Read);
            self.mention_name(Role::TableRead);
            return self.skip_rest();
        }
        let own = self.facts.effects;
        self.statement();
        self.facts.explained = Some(self.facts.kind);
        self.facts.kind = StatementKind::Explain(explain);
        if explain == Explain::Plan {
            self.only_planned(own);
        }
    }

    /// EXPLAIN FOR CONNECTION n; EXPLAIN FOR SCHEMA s statement
    fn explain_of_another(&mut self, explain: Explain) {
        self.advance();
        if matches!(self.here.word, Word::Schema | Word::Database) {
            self.facts.doubts.add(Doubts::SCHEMA);
            self.advance();
            self.advance();
            return self.explained(explain);
        }
        self.facts.kind = StatementKind::Explain(Explain::Connection);
        self.facts.at_least(Access::Write);
        self.skip_rest();
    }

    /// Notes that the statement is only planned, which changes no data. But during planning both families evaluate
    /// constant expressions and derived tables: that sets variables and takes locks.
    fn only_planned(&mut self, own: Effects) {
        const LOCKS: Effects = Effects::NAMED_LOCK_TAKEN
            .with(Effects::NAMED_LOCK_RELEASED)
            .with(Effects::NAMED_LOCKS_RELEASED)
            .with(Effects::SEQUENCE);
        let mut planned = LOCKS | Effects::ANYTHING | Effects::USER_VARIABLES;
        if !matches!(
            self.facts.explained,
            Some(StatementKind::Insert | StatementKind::Replace)
        ) {
            planned.add(Effects::LAST_INSERT_ID);
        }
        let effects = self.facts.effects.both(planned);
        self.facts.access = if effects.has(LOCKS) {
            Access::Write
        } else if effects.has(Effects::ANYTHING) {
            Access::Unsure
        } else {
            Access::Read
        };
        self.facts.effects = own | effects;
    }

    fn begins_statement(&self) -> bool {
        self.here.kind == TokenKind::Open
            || matches!(
                self.here.word,
                Word::Select
                    | Word::With
                    | Word::Values
                    | Word::Table
                    | Word::Insert
                    | Word::Replace
                    | Word::Update
                    | Word::Delete
            )
    }
}
