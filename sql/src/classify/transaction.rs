//! Transactions: START, COMMIT, ROLLBACK, savepoints, XA.

use crate::facts::{Access, Effects, Role};
use crate::kind::{AccessMode, Begin, Finish, StatementKind, Xa};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// START TRANSACTION …; START REPLICA and the like.
    pub fn start(&mut self) {
        if self.ahead.word != Word::Transaction {
            return self.replication();
        }
        self.advance();
        self.advance();
        let mut begin = Begin::default();
        while !self.is_at_end() {
            match (self.advance().word, self.here.word) {
                (Word::Read, Word::Only) => begin.mode = Some(AccessMode::ReadOnly),
                (Word::Read, Word::Write) => begin.mode = Some(AccessMode::ReadWrite),
                (Word::With, Word::Consistent) => begin.with_snapshot = true,
                _ => {}
            }
        }
        self.facts.kind = StatementKind::Begin(begin);
        self.facts.effects.add(Effects::TRANSACTION_BEGUN);
    }

    /// COMMIT or ROLLBACK [WORK] [AND [NO] CHAIN] [[NO] RELEASE]; ROLLBACK [WORK] TO [SAVEPOINT] s
    pub fn finish_transaction(&mut self) {
        let is_commit = self.advance().word == Word::Commit;
        self.take_word(Word::Work);
        if !is_commit && self.take_word(Word::To) {
            if self.here.word == Word::Savepoint && !self.is_last_token() {
                self.advance();
            }
            self.facts.kind = StatementKind::RollbackTo;
            return self.mention_name(Role::Savepoint);
        }
        let finish = self.finish_words();
        self.facts.kind = if is_commit {
            StatementKind::Commit(finish)
        } else {
            StatementKind::Rollback(finish)
        };
        self.facts.effects.add(Effects::TRANSACTION_ENDED);
        if finish.chain == Some(true) {
            self.facts.effects.add(Effects::CHAINED);
        }
        if finish.release == Some(true) {
            self.facts.effects.add(Effects::DISCONNECTED);
        }
    }

    fn finish_words(&mut self) -> Finish {
        let mut finish = Finish::default();
        let mut is_positive = true;
        while !self.is_at_end() {
            match self.advance().word {
                Word::No => is_positive = false,
                Word::Chain => {
                    finish.chain = Some(is_positive);
                    is_positive = true;
                }
                Word::Release => {
                    finish.release = Some(is_positive);
                    is_positive = true;
                }
                _ => {}
            }
        }
        finish
    }

    fn is_last_token(&self) -> bool {
        matches!(self.ahead.kind, TokenKind::End | TokenKind::Semicolon)
    }

    /// SAVEPOINT s, RELEASE SAVEPOINT s
    pub fn savepoint(&mut self) {
        let is_release = self.advance().word == Word::Release;
        if is_release {
            self.take_word(Word::Savepoint);
            self.facts.kind = StatementKind::ReleaseSavepoint;
        } else {
            self.facts.kind = StatementKind::Savepoint;
            self.facts.effects.add(Effects::SAVEPOINT);
        }
        self.mention_name(Role::Savepoint);
    }

    /// XA …
    pub fn xa(&mut self) {
        self.advance();
        let xa = match self.here.word {
            Word::Start | Word::Begin => Xa::Start,
            Word::End => Xa::End,
            Word::Prepare => Xa::Prepare,
            Word::Commit => Xa::Commit,
            Word::Rollback => Xa::Rollback,
            Word::Recover => Xa::Recover,
            _ => return self.not_understood(),
        };
        self.facts.kind = StatementKind::Xa(xa);
        self.facts.at_least(Access::Write);
        if xa != Xa::Recover {
            self.facts.effects.add(Effects::XA);
        }
        self.skip_rest();
    }

    /// Reads READ ONLY, READ WRITE, ISOLATION LEVEL … of SET TRANSACTION, and calls `note` for each.
    pub fn characteristics(&mut self, mut note: impl FnMut(&mut Self, Characteristic)) {
        loop {
            let start = self.here.span;
            match (self.advance().word, self.here.word) {
                (Word::Read, Word::Only) => self.note_mode(&mut note, AccessMode::ReadOnly),
                (Word::Read, Word::Write) => self.note_mode(&mut note, AccessMode::ReadWrite),
                (Word::Isolation, Word::Level) => {
                    self.advance();
                    let level = self.here.span;
                    while !self.is_at_end() && self.here.kind != TokenKind::Comma {
                        self.advance();
                    }
                    let level = self.span_from(level);
                    note(self, Characteristic::Isolation(level));
                }
                _ => note(self, Characteristic::Unknown(start)),
            }
            if !self.take_kind(TokenKind::Comma) {
                return;
            }
        }
    }

    fn note_mode(&mut self, note: &mut impl FnMut(&mut Self, Characteristic), mode: AccessMode) {
        self.advance();
        note(self, Characteristic::Mode(mode));
    }
}

/// A property that SET TRANSACTION sets.
pub(crate) enum Characteristic {
    Mode(AccessMode),
    /// The level's words.
    Isolation(Span),
    Unknown(Span),
}
