//! Calls of functions, built in or stored.

use crate::classify::Place;
use crate::facts::{Access, Effects, Marks, Role, Uses};
use crate::flags::Server;
use crate::functions::Function;
use crate::lexer::{Token, TokenKind};
use crate::question::{About, Question, Spelling};
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::words::look_up;

impl<W: Watcher> Scan<'_, W> {
    /// A word with a parenthesis behind it.
    pub fn call(&mut self, place: &mut Place) {
        let token = self.here;
        let is_alias = self.is_behind_alias();
        place.open(true);
        self.advance();
        self.advance();
        if place.in_definitions {
            // A default or a condition that is kept; a type.
        } else if token.function != Function::None {
            self.builtin_call(token);
        } else if !token.word.takes_parenthesis() && !is_alias {
            self.unknown_function(Span::default(), token.span);
        }
    }

    /// The call of a built-in function whose first argument, or closing parenthesis, is here.
    fn builtin_call(&mut self, name: Token) {
        let has_arguments = self.here.kind != TokenKind::Close;
        self.builtin(name.function, has_arguments);
        match name.function {
            Function::TakeLock => self.mention_lock(Role::LockTaken),
            Function::ReleaseLock => self.mention_lock(Role::LockReleased),
            function => {
                if let Some(about) = About::of_function(function).filter(|_| !has_arguments) {
                    let end = self.here.span.end;
                    self.ask(about, Spelling::Function, Span { end, ..name.span });
                }
            }
        }
    }

    /// The name of a lock, if it is a plain string.
    fn mention_lock(&mut self, role: Role) {
        let ends = matches!(self.ahead.kind, TokenKind::Comma | TokenKind::Close);
        let is_plain = self.here.kind == TokenKind::String && ends;
        let name = if is_plain {
            self.here.span
        } else {
            Span::default()
        };
        self.facts.mention(role, Span::default(), name);
    }

    /// Notes a question where it stands.
    pub fn ask(&mut self, about: About, spelling: Spelling, span: Span) {
        let part = self.facts.parts.len() as u32;
        self.facts.ask(Question {
            about,
            spelling,
            span,
            part,
        });
    }

    /// A call by a quoted name. Most built-in functions can be called so, but not those that the
    /// grammar knows: `` `now`() `` is a stored one.
    pub fn quoted_call(&mut self, name: Token) {
        let mut known = name;
        known.function = look_up(&name.span.name(self.text)).function_for(self.server);
        let is_grammar = match known.function {
            Function::RowCount => !matches!(self.server, Server::MariaDb(_)),
            Function::None | Function::Plain | Function::Session | Function::Volatile => true,
            _ => false,
        };
        if !is_grammar {
            self.builtin_call(known);
        }
    }

    pub fn unknown_function(&mut self, schema: Span, name: Span) {
        self.facts.marks.add(Marks::UNKNOWN_FUNCTION);
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        self.facts.mention(Role::Function, schema, name);
    }

    /// What a built-in function uses and does.
    pub fn builtin(&mut self, function: Function, has_arguments: bool) {
        let (uses, effects, access) = match function {
            Function::None | Function::Plain => return,
            Function::Volatile => (Uses::VOLATILE, Effects::NONE, Access::Session),
            Function::Session => (Uses::IDENTITY, Effects::NONE, Access::Session),
            Function::LastInsertId if has_arguments => {
                (Uses::NONE, Effects::LAST_INSERT_ID, Access::Session)
            }
            Function::LastInsertId => (Uses::LAST_INSERT_ID, Effects::NONE, Access::Session),
            Function::FoundRows => (Uses::FOUND_ROWS, Effects::NONE, Access::Session),
            Function::RowCount => (Uses::ROW_COUNT, Effects::NONE, Access::Session),
            Function::ConnectionId => (Uses::CONNECTION_ID, Effects::NONE, Access::Session),
            Function::TakeLock => (Uses::NONE, Effects::NAMED_LOCK_TAKEN, Access::Write),
            Function::ReleaseLock => (Uses::NONE, Effects::NAMED_LOCK_RELEASED, Access::Write),
            Function::ReleaseAllLocks => (Uses::NONE, Effects::NAMED_LOCKS_RELEASED, Access::Write),
            Function::AskLock => (Uses::NAMED_LOCKS, Effects::NONE, Access::Write),
            Function::Sleep | Function::Benchmark => (Uses::TIME, Effects::NONE, Access::Session),
            Function::MoveSequence => (Uses::NONE, Effects::SEQUENCE, Access::Write),
            Function::LastValue => (Uses::SEQUENCE, Effects::NONE, Access::Write),
            Function::Replication => (Uses::REPLICATION, Effects::NONE, Access::Session),
            Function::Thread => (Uses::THREADS, Effects::NONE, Access::Session),
            Function::LoadFile => (Uses::SERVER_FILE, Effects::NONE, Access::Unsure),
            Function::Administer => (Uses::NONE, Effects::GLOBAL_VARIABLES, Access::Write),
        };
        self.facts.uses.add(uses);
        self.facts.effects.add(effects);
        self.facts.at_least(access);
    }
}
