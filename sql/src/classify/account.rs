//! Accounts and privileges: GRANT, REVOKE, KILL.

use crate::classify::QueryPosition;
use crate::facts::{Access, Marks, Role};
use crate::kind::{Kill, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// GRANT, REVOKE
    pub fn grant(&mut self) {
        let is_grant = self.here.word == Word::Grant;
        self.granted_table();
        self.writes_and_commits(if is_grant {
            StatementKind::Grant
        } else {
            StatementKind::Revoke
        });
    }

    /// Notes the table of GRANT … ON [TABLE] t. ON `s.*`, a routine or an account names no table.
    fn granted_table(&mut self) {
        let is_proxy = self.ahead.span.of(self.text).eq_ignore_ascii_case(b"proxy");
        if is_proxy || !self.skip_to(Word::On) {
            return;
        }
        self.advance();
        self.take_word(Word::Table);
        let is_routine = matches!(
            self.here.word,
            Word::Procedure | Word::Function | Word::Package | Word::Library
        );
        let is_kind = is_routine && matches!(self.ahead.kind, TokenKind::Word | TokenKind::Quoted);
        if is_kind || !self.is_table_name() {
            return;
        }
        let (schema, name) = self.qualified_name();
        if self.here.kind != TokenKind::Star {
            self.facts.mention(Role::TableRead, schema, name);
        }
    }

    /// KILL [HARD | SOFT] [CONNECTION | QUERY [ID]] n; KILL … USER u
    pub fn kill(&mut self) {
        self.advance();
        self.skip_words(&[Word::Hard, Word::Soft]);
        let is_query = match self.here.word {
            Word::Query => true,
            Word::Connection => false,
            _ => return self.killed(false),
        };
        self.advance();
        self.killed(is_query);
    }

    fn killed(&mut self, is_query: bool) {
        let kill = match self.here.word {
            Word::User if is_query => Kill::QueryOfUser,
            Word::User => Kill::User,
            Word::Id if is_query => Kill::QueryId,
            _ if is_query => Kill::Query,
            _ => Kill::Connection,
        };
        if matches!(kill, Kill::User | Kill::QueryOfUser | Kill::QueryId) {
            self.advance();
        }
        self.facts.kind = StatementKind::Kill(kill);
        self.facts.marks.add(Marks::KILLS);
        let target = self.here.span;
        let asked = self.facts.questions.len();
        self.body(&mut QueryPosition::of_query());
        // The server must use its own thread id here, not the connection id that the client knows.
        self.facts.questions.truncate(asked);
        let target = self.span_from(target);
        self.facts.mention(Role::Killed, Span::default(), target);
        self.facts.at_least(Access::Write);
    }
}
