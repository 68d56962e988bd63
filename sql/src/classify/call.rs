//! Calls of functions, built in or stored.

use crate::classify::QueryPosition;
use crate::facts::{Access, Effects, Marks, Role};
use crate::functions::{Arguments, Function, arguments_of, is_free_name, needs_adjacent};
use crate::lexer::{Token, TokenKind};
use crate::question::{About, Question, QuestionForm};
use crate::scan::{Scan, Watcher};
use crate::server::Server;
use crate::span::Span;
use crate::uses::Uses;
use crate::words::{Word, find_word};

/// Arguments with more tokens are not counted.
const ARGUMENT_TOKENS_MAX: usize = 256;

impl<W: Watcher> Scan<'_, W> {
    /// Reads a word with a parenthesis after it. `is_table`: whether a table is expected here.
    pub fn call(&mut self, place: &mut QueryPosition, is_table: bool) {
        let token = self.here;
        let is_alias = self.is_behind_alias();
        // Definitions contain types, and defaults and conditions that are stored and do not run now.
        let is_called = !place.in_definitions;
        let may_be_stored =
            is_called && !is_alias && !self.is_built_in(is_table || place.expects_table);
        place.open(true);
        self.advance();
        self.advance();
        if may_be_stored {
            self.unknown_function(Span::default(), token.span);
        }
        if is_called && token.function != Function::None {
            self.builtin_call(token);
        }
        if matches!(token.function, Function::MoveSequence | Function::LastValue) {
            self.mention_name(Role::TableRead);
        }
    }

    /// Whether the server takes the call here for a built-in function or for grammar, and never for a stored function.
    /// That depends on spaces, on the number of arguments and on the place.
    fn is_built_in(&self, is_table: bool) -> bool {
        let name = self.here;
        if name.function == Function::None {
            return name.word.takes_parenthesis() && self.is_grammar(is_table);
        }
        let gap = self
            .text
            .get(name.span.end as usize..self.ahead.span.start as usize);
        let is_adjacent = match gap.unwrap_or_default() {
            [] => true,
            gap => self.ignore_space && gap.iter().all(u8::is_ascii_whitespace),
        };
        let text = name.span.of(self.text);
        if !is_adjacent && needs_adjacent(text, self.server) {
            return false;
        }
        match arguments_of(text, self.server) {
            Arguments::Any => true,
            Arguments::AtLeastOne => self.third().kind != TokenKind::Close,
            Arguments::Two => self.has_two_arguments(),
            Arguments::NoFunction => is_table,
        }
    }

    /// Whether a word that may also be the name of a stored function is grammar: after a value or a name, no call can
    /// begin.
    fn is_grammar(&self, is_table: bool) -> bool {
        let is_behind_operand = || {
            let last = self.last;
            let is_name =
                last.kind == TokenKind::Word && matches!(last.word, Word::None | Word::Dual);
            is_name
                || last.kind.is_literal()
                || matches!(
                    last.kind,
                    TokenKind::Close
                        | TokenKind::Quoted
                        | TokenKind::Placeholder
                        | TokenKind::UserVariable
                        | TokenKind::SystemVariable
                )
        };
        match self.here.word {
            Word::Against | Word::Columns | Word::Escape | Word::Minus | Word::Of => {
                is_behind_operand()
            }
            Word::Lateral => is_table,
            Word::Reserved | Word::Type | Word::Operator => {
                !is_free_name(self.here.span.of(self.text), self.server) || is_behind_operand()
            }
            _ => true,
        }
    }

    /// Whether the parenthesis ahead contains two arguments.
    fn has_two_arguments(&self) -> bool {
        let (mut depth, mut commas) = (0, 0);
        for token in self.tokens_ahead().skip(1).take(ARGUMENT_TOKENS_MAX) {
            match token.kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close if depth == 1 => return commas == 1,
                TokenKind::Close => depth -= 1,
                TokenKind::Comma if depth == 1 => commas += 1,
                _ => {}
            }
        }
        false
    }

    /// Reads the call of a built-in function; the current token is its first argument or the closing parenthesis.
    fn builtin_call(&mut self, name: Token) {
        let has_arguments = self.here.kind != TokenKind::Close;
        self.builtin(name.function, has_arguments);
        match name.function {
            Function::TakeLock => self.mention_lock(Role::LockTaken),
            Function::ReleaseLock => self.mention_lock(Role::LockReleased),
            function => {
                if let Some(about) = About::of_function(function).filter(|_| !has_arguments) {
                    let end = self.here.span.end;
                    self.ask(about, QuestionForm::Function, Span { end, ..name.span });
                }
            }
        }
    }

    /// Notes the name of a lock, if it is a plain string.
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

    /// Notes a question with its place.
    pub fn ask(&mut self, about: About, form: QuestionForm, span: Span) {
        let part = self.facts.statements.len() as u32;
        self.facts.ask(Question {
            about,
            form,
            span,
            statement_index: part,
        });
    }

    /// Reads a call by a quoted name. Most built-in functions can be called that way, but not those that are
    /// part of the grammar: `` `now`() `` calls a stored function.
    pub fn quoted_call(&mut self, name: Token) {
        let mut known = name;
        known.function = find_word(&name.span.name(self.text)).function_for(self.server);
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

    /// Notes the uses and effects of a built-in function.
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
