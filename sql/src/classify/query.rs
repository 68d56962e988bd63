//! Queries and changes of data, and the expressions inside any statement.

use crate::classify::Place;
use crate::facts::{Access, Effects, Marks, Role, Uses};
use crate::flags::Server;
use crate::functions::Function;
use crate::kind::Kind;
use crate::lexer::{Token, TokenKind};
use crate::question::{About, Question, Spelling};
use crate::scan::{NESTING_MAX, Scan, Watcher};
use crate::span::Span;
use crate::system_tables::of_table;
use crate::words::{Word, look_up};

impl<W: Watcher> Scan<'_, W> {
    /// SELECT, VALUES, TABLE, and whatever stands behind WITH.
    pub fn query(&mut self) {
        self.facts.at_least(Access::Read);
        if self.here.word == Word::With {
            self.with_clause();
            return match self.here.word {
                Word::Select | Word::Values | Word::Table => self.query(),
                Word::Update => self.update(),
                Word::Delete => self.delete(),
                Word::Insert | Word::Replace => self.insert(),
                _ if self.here.kind == TokenKind::Open => {
                    self.facts.kind = Kind::Select;
                    self.body(&mut Place::of_query());
                }
                _ => self.not_understood(),
            };
        }
        self.facts.kind = match self.here.word {
            Word::Values => Kind::Values,
            Word::Table => Kind::Table,
            _ => Kind::Select,
        };
        self.body(&mut Place::of_query());
    }

    /// INSERT, REPLACE
    pub fn insert(&mut self) {
        let is_replace = self.advance().word == Word::Replace;
        self.facts.kind = if is_replace {
            Kind::Replace
        } else {
            Kind::Insert
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
        self.body(&mut Place::of_query());
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
        self.facts.kind = Kind::Update;
        self.facts.at_least(Access::Write);
        self.skip_words(&[Word::LowPriority, Word::Ignore]);
        self.body(&mut Place::of_written_tables());
    }

    /// DELETE. The names in front of FROM are names or aliases of tables behind it.
    pub fn delete(&mut self) {
        self.advance();
        self.facts.kind = Kind::Delete;
        self.facts.at_least(Access::Write);
        if self.skip_to(Word::From) {
            self.advance();
            self.body(&mut Place::of_written_tables());
        }
    }

    /// LOAD DATA, LOAD XML, LOAD INDEX
    pub fn load(&mut self) {
        self.advance();
        if self.here.word == Word::Index {
            return self.cache_index();
        }
        self.facts.kind = Kind::Load;
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
        self.body(&mut Place::of_query());
        self.sets_variables = false;
    }

    /// CALL
    pub fn call_procedure(&mut self) {
        self.advance();
        self.facts.kind = Kind::Call;
        self.facts.at_least(Access::Unsure);
        self.facts.effects.add(Effects::ANYTHING);
        self.mention_name(Role::Procedure);
        self.sets_variables = true;
        self.body(&mut Place::of_query());
        self.sets_variables = false;
    }

    /// DO
    pub fn evaluate(&mut self) {
        self.advance();
        self.facts.kind = Kind::Do;
        self.facts.at_least(Access::Read);
        self.body(&mut Place::of_query());
    }

    /// WITH [RECURSIVE] name [(columns)] AS (query) [, …]
    fn with_clause(&mut self) {
        self.facts.marks.add(Marks::WITH);
        self.advance();
        self.take_word(Word::Recursive);
        while self.is_name() {
            let name = self.advance().span;
            self.facts.mention(Role::CommonTable, Span::default(), name);
            self.skip_parentheses();
            self.take_word(Word::As);
            self.nested_query();
            if self.take_word(Word::Cycle) && self.skip_to(Word::Restrict) {
                self.advance();
            }
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
    }

    /// A query in parentheses that are here.
    fn nested_query(&mut self) {
        if !self.take_kind(TokenKind::Open) {
            return;
        }
        self.nesting += 1;
        self.body(&mut Place::of_nested_query());
        self.nesting -= 1;
        self.take_kind(TokenKind::Close);
    }

    /// Any tokens to the end of the statement, noting tables, calls and variables.
    pub fn body(&mut self, place: &mut Place) {
        loop {
            match self.here.kind {
                TokenKind::End | TokenKind::Semicolon => return,
                TokenKind::Word => {
                    if place.is_value && place.is_outermost() && self.here.word == Word::For {
                        return;
                    }
                    self.word(place);
                }
                TokenKind::Quoted => self.name(place),
                TokenKind::Open => {
                    place.open(false);
                    self.advance();
                    if place.in_rows {
                        self.skip_rows();
                    }
                }
                TokenKind::Close if place.is_nested && place.is_outermost() => return,
                TokenKind::Close => {
                    place.close();
                    self.advance();
                }
                TokenKind::Comma if place.is_value && place.is_outermost() => return,
                TokenKind::Comma => {
                    place.comma();
                    self.advance();
                }
                TokenKind::UserVariable => self.user_variable(),
                TokenKind::SystemVariable => self.system_variable(),
                TokenKind::Placeholder => {
                    self.facts.marks.add(Marks::PLACEHOLDERS);
                    self.advance();
                }
                TokenKind::OpenBrace => self.odbc_escape(),
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// `{d '…'}`, `{fn now()}`, `{oj t LEFT JOIN u …}`: the word says nothing.
    fn odbc_escape(&mut self) {
        self.advance();
        if self.here.kind == TokenKind::Word {
            self.advance();
        }
    }

    #[inline]
    fn word(&mut self, place: &mut Place) {
        if self.ahead.kind == TokenKind::Dot {
            return self.name(place);
        }
        let word = self.here.word;
        if place.expects_table && !is_before_table(word) {
            return self.table(place);
        }
        match word {
            Word::None | Word::Type | Word::Operator | Word::Reserved => self.call_or_pass(place),
            Word::Niladic => {
                self.builtin(self.here.function, false);
                self.advance();
            }
            _ => self.keyword(word, place),
        }
    }

    /// Passes a word, as a call when a parenthesis follows.
    #[inline]
    fn call_or_pass(&mut self, place: &mut Place) {
        let word = self.here.word;
        place.in_rows = word == Word::Values || word == Word::Null && place.in_rows;
        if self.ahead.kind == TokenKind::Open {
            self.call(place);
        } else {
            self.advance();
        }
    }

    fn keyword(&mut self, word: Word, place: &mut Place) {
        match word {
            Word::Select => place.select(),
            Word::From if !place.is_in_arguments() => place.begin_tables(),
            Word::Join | Word::StraightJoin if place.is_in_list() => place.expects_table = true,
            Word::Using if place.is_in_list() && self.ahead.kind != TokenKind::Open => {
                place.begin_tables();
            }
            Word::Table if !place.in_definitions => place.begin_tables(),
            Word::On => place.expects_table = false,
            Word::Where
            | Word::Group
            | Word::Having
            | Word::Order
            | Word::Limit
            | Word::Set
            | Word::Union
            | Word::Except
            | Word::Intersect
            | Word::Minus
            | Word::Window
            | Word::Returning
            | Word::Values => place.end_tables(),
            Word::SqlCalcFoundRows => self.facts.effects.add(Effects::FOUND_ROWS),
            Word::Lock if self.ahead.word == Word::In => self.lock_rows(),
            Word::Skip if self.ahead.word == Word::Locked => {
                self.facts.marks.add(Marks::SKIP_LOCKED)
            }
            Word::Nowait => self.facts.marks.add(Marks::NOWAIT),
            Word::Next | Word::Previous if self.ahead.word == Word::Value => {
                return self.sequence();
            }
            Word::Procedure => return self.procedure_analyse(place),
            Word::For => return self.for_clause(place),
            Word::Into => return self.select_into(place),
            Word::With if self.nesting < NESTING_MAX && self.is_with_clause() => {
                return self.with_clause();
            }
            _ => {}
        }
        self.call_or_pass(place);
    }

    /// WITH of a query, not of WITH ROLLUP, WITH QUERY EXPANSION and the like.
    fn is_with_clause(&self) -> bool {
        let third = self.third();
        self.ahead.word == Word::Recursive
            || third.word == Word::As
            || third.kind == TokenKind::Open
    }

    fn lock_rows(&mut self) {
        self.facts.marks.add(Marks::LOCKING);
        self.facts.at_least(Access::Write);
    }

    /// PROCEDURE ANALYSE(…) of MariaDB and MySQL 5.7: a word and a name that call nothing.
    fn procedure_analyse(&mut self, place: &mut Place) {
        place.end_tables();
        self.advance();
        self.advance();
    }

    /// FOR UPDATE, FOR SHARE; and FOR of index hints and of MariaDB's history.
    fn for_clause(&mut self, place: &mut Place) {
        self.advance();
        match self.here.word {
            Word::Update | Word::Share => {
                self.lock_rows();
                place.end_tables();
                self.advance();
            }
            Word::Join | Word::Order | Word::Group => {
                self.advance();
            }
            Word::SystemTime if self.ahead.word == Word::From => {
                self.advance();
                self.advance();
            }
            Word::Portion => {
                self.skip_to(Word::From);
                self.advance();
            }
            _ => {}
        }
    }

    /// SELECT … INTO OUTFILE, INTO DUMPFILE, INTO @x, @y
    fn select_into(&mut self, place: &mut Place) {
        self.advance();
        if place.is_in_list() {
            place.end_tables();
        }
        if matches!(self.here.word, Word::Outfile | Word::Dumpfile) {
            self.facts.marks.add(Marks::INTO_FILE);
            self.facts.at_least(Access::Write);
        }
        while self.here.kind == TokenKind::UserVariable {
            self.facts.marks.add(Marks::INTO_VARIABLES);
            self.set_user_variable();
            if self.ahead.kind != TokenKind::UserVariable || !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
    }

    /// NEXT VALUE FOR s, PREVIOUS VALUE FOR s
    fn sequence(&mut self) {
        let function = match self.advance().word {
            Word::Next => Function::MoveSequence,
            _ => Function::LastValue,
        };
        self.builtin(function, true);
        self.advance();
        if self.take_word(Word::For) {
            self.mention_name(Role::TableRead);
        }
    }

    /// A table where one is expected.
    fn table(&mut self, place: &mut Place) {
        if self.here.kind == TokenKind::Word && self.ahead.kind == TokenKind::Open {
            place.expects_table = false;
            return self.call(place);
        }
        place.expects_table = false;
        let is_dual = self.here.word == Word::Dual && self.ahead.kind != TokenKind::Dot;
        let (schema, name) = self.qualified_name();
        if !is_dual && (!schema.is_empty() || !self.is_common_table(name)) {
            self.facts.mention(place.role(), schema, name);
            let (schema, name) = (schema.name(self.text), name.name(self.text));
            self.facts.uses.add(of_table(&schema, &name, self.schema));
        }
    }

    fn is_common_table(&self, name: Span) -> bool {
        if !self.facts.marks.has(Marks::WITH) {
            return false;
        }
        let name = name.name(self.text);
        let mut known = self.facts.mentions_of(Role::CommonTable);
        known.any(|known| known.name.name(self.text).eq_ignore_ascii_case(&name))
    }

    /// A quoted or qualified name: a table where one is expected, a column, or the call of a stored
    /// function.
    fn name(&mut self, place: &mut Place) {
        if place.expects_table {
            return self.table(place);
        }
        let is_alias = self.is_behind_alias();
        let (schema, name) = self.qualified_name();
        let is_call = !is_alias && !place.in_definitions;
        if self.here.kind == TokenKind::Open {
            let last = self.last;
            place.open(true);
            self.advance();
            if is_call {
                self.unknown_function(schema, name);
            }
            if is_call && schema.is_empty() {
                self.quoted_call(last);
            }
        } else if !schema.is_empty() {
            self.oracle_sequence(name);
        }
    }

    /// `s.nextval`, `s.currval`
    fn oracle_sequence(&mut self, name: Span) {
        let name = name.of(self.text);
        if name.eq_ignore_ascii_case(b"nextval") {
            self.builtin(Function::MoveSequence, true);
        } else if name.eq_ignore_ascii_case(b"currval") {
            self.builtin(Function::LastValue, true);
        }
    }

    /// Behind AS or a parenthesis a name is an alias, and what follows in parentheses its columns.
    fn is_behind_alias(&self) -> bool {
        self.last.word == Word::As || self.last.kind == TokenKind::Close
    }

    /// A word with a parenthesis behind it.
    fn call(&mut self, place: &mut Place) {
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
    fn ask(&mut self, about: About, spelling: Spelling, span: Span) {
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
    fn quoted_call(&mut self, name: Token) {
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

    fn unknown_function(&mut self, schema: Span, name: Span) {
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

    /// `@x`, read or set.
    pub fn user_variable(&mut self) {
        if self.ahead.kind == TokenKind::Assign {
            return self.set_user_variable();
        }
        let name = self.here.span;
        self.facts.uses.add(Uses::USER_VARIABLES);
        self.facts
            .mention(Role::UserVariableRead, Span::default(), name);
        if self.sets_variables {
            self.set_user_variable();
        } else {
            self.advance();
        }
    }

    /// `@x` that is set.
    pub fn set_user_variable(&mut self) {
        let name = self.advance().span;
        self.facts.effects.add(Effects::USER_VARIABLES);
        self.facts
            .mention(Role::UserVariableSet, Span::default(), name);
    }

    /// `@@x`, `@@session.x`, `@@global.keycache.x`
    fn system_variable(&mut self) {
        let first = self.advance().span;
        let (mut scope, mut name) = (Span::default(), first);
        while self.here.kind == TokenKind::Dot {
            self.advance();
            if self.is_name() {
                scope = first;
                name = self.advance().span;
            }
        }
        let own_name = name.name(self.text).to_ascii_lowercase();
        let is_global = scope.name(self.text).eq_ignore_ascii_case(b"global");
        let about = About::of_variable(&own_name).filter(|_| !is_global);
        self.facts.uses.add(match about {
            Some(about) => about.uses(),
            None if own_name == b"insert_id" => Uses::LAST_INSERT_ID,
            None => Uses::VARIABLES,
        });
        self.facts.mention(Role::VariableRead, scope, name);
        if let Some(about) = about {
            let span = self.span_from(first);
            self.ask(about, Spelling::Variable, span);
        }
    }
}

/// Words that may stand between FROM, JOIN or UPDATE and the table.
const fn is_before_table(word: Word) -> bool {
    matches!(
        word,
        Word::Select
            | Word::Values
            | Word::With
            | Word::Lateral
            | Word::Table
            | Word::LowPriority
            | Word::Ignore
            | Word::Quick
            | Word::Where
            | Word::Set
    )
}
