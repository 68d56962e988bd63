//! A parser for SET in all its forms: what is assigned, in which scope, and whether the value
//! can be assigned again on another connection.
//!
//! No SET is refused. An assignment that is not understood becomes [`Target::Opaque`], and its session
//! stays on its backend connection.

pub(crate) mod assignment;
mod value;

pub use assignment::{Assignment, Constancy, Scope, Target, Value};

use crate::classify::{Characteristic, QueryPosition};
use crate::doubts::Doubts;
use crate::facts::{Access, Effects};
use crate::kind::{AccessMode, StatementKind};
use crate::lexer::{Token, TokenKind};
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// SET …
    pub fn set(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Set;
        match (self.here.word, self.ahead.word) {
            (Word::Transaction, _) => self.set_transaction(Scope::NextTransaction),
            (Word::Session | Word::Local, Word::Transaction) => {
                self.advance();
                self.set_transaction(Scope::Session);
            }
            (Word::Global, Word::Transaction) => {
                self.advance();
                self.set_transaction(Scope::Global);
            }
            (Word::Statement, _) if !self.is_assigned_next() => self.set_for_statement(),
            (Word::Default, Word::Role) => self.set_account(Target::DefaultRole),
            (Word::Role, _) if !self.is_assigned_next() => self.set_role(),
            (Word::Resource, Word::Group) => self.set_resource_group(),
            (Word::Password, _) if self.is_password() => self.set_account(Target::Password),
            _ => self.assignments(Scope::Implicit, false),
        }
    }

    /// Whether the word here is a name to which a value is assigned.
    fn is_assigned_next(&self) -> bool {
        matches!(
            self.ahead.kind,
            TokenKind::Equal | TokenKind::Assign | TokenKind::Dot
        )
    }

    fn is_password(&self) -> bool {
        matches!(self.ahead.word, Word::For | Word::To) || self.is_assigned_next()
    }

    /// a = 1, SESSION b = 2, NAMES utf8mb4, @c := 3 …
    fn assignments(&mut self, scope: Scope, is_for_statement: bool) {
        let mut sticky = scope;
        loop {
            let start = self.here.span;
            if !self.assignment(&mut sticky, is_for_statement) {
                self.opaque(start);
                return self.skip_rest();
            }
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
        if !self.is_at_end() && !is_for_statement {
            self.opaque(self.here.span);
            self.skip_rest();
        }
    }

    fn opaque(&mut self, start: Span) {
        self.facts.effects.add(Effects::OPAQUE);
        self.facts.doubts.add(Doubts::UNKNOWN);
        self.note(Target::Opaque, Value::None, start);
    }

    fn note(&mut self, target: Target, value: Value, start: Span) {
        let span = self.span_from(start);
        self.facts.assign(Assignment {
            target,
            value,
            span,
        });
    }

    /// Reads one assignment; false if it is not understood.
    ///
    /// A scope also holds for the following assignments without a scope, but not for `@@x`, as in both
    /// server families.
    fn assignment(&mut self, sticky: &mut Scope, is_for_statement: bool) -> bool {
        let start = self.here.span;
        if self.here.kind == TokenKind::UserVariable {
            return self.set_user_value(start);
        }
        if self.here.kind == TokenKind::SystemVariable {
            return self.set_at_at(start);
        }
        if !self.is_assigned_next() {
            match (self.here.word, self.ahead.word) {
                (Word::Names, _) => return self.set_names(start),
                (Word::Charset, _) => return self.set_character_set(start),
                (Word::Character | Word::Char, Word::Set) => {
                    self.advance();
                    return self.set_character_set(start);
                }
                (word, _) => {
                    if let Some(scope) = scope_of(word) {
                        self.advance();
                        *sticky = scope;
                    }
                }
            }
        }
        let scope = if is_for_statement {
            Scope::Statement
        } else {
            *sticky
        };
        self.set_variable(start, scope)
    }

    /// @x = value
    fn set_user_value(&mut self, start: Span) -> bool {
        let name = self.here.span;
        self.set_user_variable();
        if !self.take_operator() {
            return false;
        }
        let value = self.value(true);
        self.note(Target::User(name), value, start);
        true
    }

    /// @@x = value, @@scope.x = value
    fn set_at_at(&mut self, start: Span) -> bool {
        let first = self.here;
        let scope = match first.span.name(self.text).to_ascii_lowercase().as_slice() {
            b"session" | b"local" => Scope::Session,
            b"global" => Scope::Global,
            b"persist" => Scope::Persist,
            b"persist_only" => Scope::PersistOnly,
            _ => Scope::Implicit,
        };
        if scope != Scope::Implicit && self.ahead.kind == TokenKind::Dot {
            self.advance();
            self.advance();
            return self.set_variable(start, scope);
        }
        if is_of_next_transaction(first, self.text) {
            return self.set_variable(start, Scope::NextTransaction);
        }
        self.set_variable(start, Scope::Implicit)
    }

    /// name = value, keycache.name = value; the current token is the name.
    fn set_variable(&mut self, start: Span, scope: Scope) -> bool {
        let is_name = self.is_name() || self.here.kind == TokenKind::SystemVariable;
        if !is_name {
            return false;
        }
        let (mut base, mut name) = (Span::default(), self.advance().span);
        if self.take_kind(TokenKind::Dot) {
            if !self.is_name() {
                return false;
            }
            base = name;
            name = self.advance().span;
        }
        if !self.take_operator() {
            return false;
        }
        let value = self.value(false);
        self.note_scope(scope);
        self.note_special(name, scope);
        self.note(Target::Variable { scope, base, name }, value, start);
        !matches!(value, Value::None)
    }

    fn take_operator(&mut self) -> bool {
        self.take_kind(TokenKind::Equal) || self.take_kind(TokenKind::Assign)
    }

    fn note_scope(&mut self, scope: Scope) {
        match scope {
            Scope::Implicit | Scope::Session => self.facts.effects.add(Effects::VARIABLES),
            Scope::NextTransaction => self.facts.effects.add(Effects::NEXT_TRANSACTION),
            Scope::Statement => {}
            Scope::Global | Scope::Persist | Scope::PersistOnly => {
                self.facts.effects.add(Effects::GLOBAL_VARIABLES);
                self.facts.at_least(Access::Write);
            }
        }
    }

    /// Notes variables for which SET has further effects.
    fn note_special(&mut self, name: Span, scope: Scope) {
        if !matches!(scope, Scope::Implicit | Scope::Session) {
            return;
        }
        match name.name(self.text).to_ascii_lowercase().as_slice() {
            b"autocommit" => self.facts.effects.add(Effects::TRANSACTION_ENDED),
            b"last_insert_id" | b"identity" => self.facts.effects.add(Effects::LAST_INSERT_ID),
            name if is_bound(name) => self.facts.effects.add(Effects::BOUND_VARIABLES),
            _ => {}
        }
    }

    /// NAMES charset [COLLATE collation], NAMES DEFAULT
    fn set_names(&mut self, start: Span) -> bool {
        self.advance();
        let Some(value) = self.charset_value() else {
            return false;
        };
        self.facts.effects.add(Effects::VARIABLES);
        self.note(Target::Names, value, start);
        true
    }

    /// CHARACTER SET charset, CHARSET charset; the current token is SET or CHARSET.
    fn set_character_set(&mut self, start: Span) -> bool {
        self.advance();
        let Some(value) = self.charset_value() else {
            return false;
        };
        self.facts.effects.add(Effects::VARIABLES);
        self.note(Target::CharacterSet, value, start);
        true
    }

    fn charset_value(&mut self) -> Option<Value> {
        if self.take_word(Word::Default) {
            return Some(Value::Default);
        }
        let charset = self.charset_name()?;
        let collation = match self.take_word(Word::Collate) {
            true if self.take_word(Word::Default) => Span::default(),
            true => self.charset_name()?,
            false => Span::default(),
        };
        Some(Value::Charset { charset, collation })
    }

    fn charset_name(&mut self) -> Option<Span> {
        let is_name = self.is_name() || self.here.kind == TokenKind::String;
        is_name.then(|| self.advance().span)
    }

    /// TRANSACTION …; the current token is TRANSACTION.
    fn set_transaction(&mut self, scope: Scope) {
        self.advance();
        self.note_scope(scope);
        let start = self.here.span;
        self.characteristics(|scan, characteristic| match characteristic {
            Characteristic::Mode(mode) => {
                let is_read_only = mode == AccessMode::ReadOnly;
                scan.note(
                    Target::AccessMode(scope),
                    Value::ReadOnly(is_read_only),
                    start,
                );
            }
            Characteristic::Isolation(level) => {
                scan.note(Target::Isolation(scope), Value::Literal(level), start);
            }
            Characteristic::Unknown(start) => scan.opaque(start),
        });
        self.skip_rest();
    }

    /// STATEMENT a = 1, b = 2 FOR statement (MariaDB): set for that statement only.
    fn set_for_statement(&mut self) {
        self.advance();
        self.assignments(Scope::Statement, true);
        if self.take_word(Word::For) {
            self.statement();
        } else if !self.facts.effects.has(Effects::OPAQUE) {
            self.opaque(self.here.span);
        }
    }

    /// ROLE r, ROLE NONE, ROLE DEFAULT …
    fn set_role(&mut self) {
        let start = self.here.span;
        self.advance();
        let roles = self.here.span;
        self.skip_rest();
        let value = Value::Literal(self.span_from(roles));
        self.facts.effects.add(Effects::ROLE);
        self.note(Target::Role, value, start);
    }

    fn set_resource_group(&mut self) {
        let start = self.here.span;
        self.advance();
        self.advance();
        let group = self.here.span;
        self.skip_rest();
        let value = Value::Literal(self.span_from(group));
        self.facts.effects.add(Effects::RESOURCE_GROUP);
        self.note(Target::ResourceGroup, value, start);
    }

    /// PASSWORD, DEFAULT ROLE: changes of an account, not of the session.
    fn set_account(&mut self, target: Target) {
        let start = self.here.span;
        self.facts.at_least(Access::Write);
        self.commits();
        self.body(&mut QueryPosition::of_definitions());
        self.note(target, Value::None, start);
    }
}

/// Whether a variable belongs to its connection, so that setting it on another connection is useless.
fn is_bound(name: &[u8]) -> bool {
    matches!(
        name,
        b"debug"
            | b"debug_sync"
            | b"gtid_next"
            | b"gtid_seq_no"
            | b"optimizer_trace"
            | b"profiling"
            | b"pseudo_thread_id"
            | b"rand_seed1"
            | b"rand_seed2"
    ) || name.starts_with(b"session_track_")
}

fn scope_of(word: Word) -> Option<Scope> {
    Some(match word {
        Word::Session | Word::Local => Scope::Session,
        Word::Global => Scope::Global,
        Word::Persist => Scope::Persist,
        Word::PersistOnly => Scope::PersistOnly,
        _ => return None,
    })
}

/// `@@transaction_isolation` and similar ones without a scope are set for the next transaction only.
fn is_of_next_transaction(token: Token, text: &[u8]) -> bool {
    let name = token.span.name(text).to_ascii_lowercase();
    let names: [&[u8]; 4] = [
        b"transaction_isolation",
        b"transaction_read_only",
        b"tx_isolation",
        b"tx_read_only",
    ];
    names.contains(&name.as_slice())
}
