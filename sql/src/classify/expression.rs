//! The parts of statements: tables, columns and clauses, anywhere inside a query.

use crate::classify::QueryPosition;
use crate::facts::{Access, Effects, Marks, Role};
use crate::functions::Function;
use crate::lexer::TokenKind;
use crate::scan::{NESTING_MAX, Scan, Watcher};
use crate::server::Server;
use crate::span::Span;
use crate::system_tables::of_table;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// Reads any tokens to the end of the statement, and notes tables, calls and variables.
    pub fn body(&mut self, place: &mut QueryPosition) {
        let outside = self.common.len();
        self.walk(place, outside);
        if self.common.len() > outside {
            self.common.truncate(outside);
        }
    }

    /// Reads the tokens for [`Self::body`]. Common tables up to `outside` belong to outer queries.
    #[inline(always)] // it has one caller
    fn walk(&mut self, place: &mut QueryPosition, outside: usize) {
        loop {
            match self.here.kind {
                TokenKind::End | TokenKind::Semicolon => return,
                TokenKind::Word => {
                    if self.here.word == Word::For && place.is_value && place.is_outermost() {
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
                    if self.common.len() > outside {
                        self.leave_query(place.depth(), outside);
                    }
                }
                TokenKind::Dot if place.expects_table => self.table(place),
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

    /// Removes the common tables of a query whose parenthesis has closed.
    #[cold]
    fn leave_query(&mut self, depth: u32, outside: usize) {
        let own = self.common.get(outside..).unwrap_or_default();
        let kept = own.iter().take_while(|table| table.depth <= depth).count();
        self.common.truncate(outside + kept);
    }

    /// `{d '…'}`, `{fn now()}`, `{oj t LEFT JOIN u …}`: the first word is ignored.
    fn odbc_escape(&mut self) {
        self.advance();
        if self.here.kind == TokenKind::Word {
            self.advance();
        }
    }

    #[inline]
    fn word(&mut self, place: &mut QueryPosition) {
        let word = self.here.word;
        if self.ahead.kind == TokenKind::Dot && !self.is_in_front_of_table() {
            return self.name(place);
        }
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

    /// Passes a word, as a call if a parenthesis follows.
    #[inline]
    fn call_or_pass(&mut self, place: &mut QueryPosition) {
        let word = self.here.word;
        if place.in_definitions && self.is_at_references() {
            self.advance();
            return self.mention_name(Role::TableRead);
        }
        place.in_rows = word == Word::Values || word == Word::Null && place.in_rows;
        if self.ahead.kind == TokenKind::Open {
            self.call(place, false);
        } else {
            self.advance();
        }
    }

    fn keyword(&mut self, word: Word, place: &mut QueryPosition) {
        match word {
            Word::Select => place.select(),
            Word::From if !place.is_in_arguments() => place.begin_tables(),
            Word::Join | Word::StraightJoin if place.is_in_list() => place.expects_table = true,
            Word::Using if place.is_in_list() && self.ahead.kind != TokenKind::Open => {
                place.begin_tables();
            }
            Word::Table => {
                place.in_definitions = false;
                place.begin_tables();
            }
            Word::Union if place.in_definitions => return self.merged_tables(),
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
                return self.with_clause(place.depth());
            }
            _ => {}
        }
        self.call_or_pass(place);
    }

    /// Whether this WITH begins a query, and is not WITH ROLLUP, WITH QUERY EXPANSION and similar ones.
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
    fn procedure_analyse(&mut self, place: &mut QueryPosition) {
        place.end_tables();
        self.advance();
        self.advance();
    }

    /// FOR UPDATE, FOR SHARE; and FOR of index hints and of MariaDB's temporal tables.
    fn for_clause(&mut self, place: &mut QueryPosition) {
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
    fn select_into(&mut self, place: &mut QueryPosition) {
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

    /// Reads a table at a place where one is expected.
    fn table(&mut self, place: &mut QueryPosition) {
        if self.here.kind == TokenKind::Word && self.ahead.kind == TokenKind::Open {
            place.expects_table = false;
            return self.call(place, true);
        }
        place.expects_table = false;
        let is_dual = self.here.word == Word::Dual && self.ahead.kind != TokenKind::Dot;
        let (schema, name) = self.qualified_name();
        let role = place.role();
        let may_be_common = schema.is_empty() && role == Role::TableRead;
        let is_table = self.common.is_empty() || !may_be_common || !self.is_common_table(name);
        if !is_dual && is_table {
            self.facts.mention(role, schema, name);
            let (schema, name) = (schema.name(self.text), name.name(self.text));
            self.facts
                .uses
                .add(of_table(&schema, &name, self.default_schema.class));
        }
    }

    /// Whether a reserved word with a dot after it is before a table: in `FROM .t` the dot belongs to the table.
    #[inline]
    fn is_in_front_of_table(&self) -> bool {
        let is_word = matches!(
            self.here.word,
            Word::From | Word::Join | Word::StraightJoin | Word::Using | Word::Table
        );
        is_word || self.here.word == Word::Reserved && self.is_at_references()
    }

    /// Whether a name is that of a common table. In MySQL the case of letters may matter.
    #[cold]
    fn is_common_table(&self, name: Span) -> bool {
        let name = name.name(self.text);
        let mut known = self.common.iter();
        let is_mariadb = matches!(self.server, Server::MariaDb(_));
        known.any(|known| {
            let known = known.name.name(self.text);
            known == name || is_mariadb && known.eq_ignore_ascii_case(&name)
        })
    }

    /// UNION = (t, u), UNION (t, u): the tables of a MERGE table.
    #[cold]
    pub fn merged_tables(&mut self) {
        self.advance();
        self.take_kind(TokenKind::Equal);
        let is_query = matches!(
            self.ahead.word,
            Word::Select | Word::With | Word::Values | Word::Table
        );
        if self.here.kind == TokenKind::Open && !is_query {
            self.advance();
            self.listed_tables(Role::TableRead);
            self.take_kind(TokenKind::Close);
        }
    }

    /// REFERENCES t: the table of a foreign key.
    #[cold]
    pub fn is_at_references(&self) -> bool {
        self.here.word == Word::Reserved
            && self
                .here
                .span
                .of(self.text)
                .eq_ignore_ascii_case(b"references")
    }

    /// Reads a quoted or qualified name: a table if one is expected, a column, or the call of a stored
    /// function.
    fn name(&mut self, place: &mut QueryPosition) {
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

    /// Whether a name here is an alias, because it follows AS or a parenthesis. Its columns may follow in parentheses.
    pub fn is_behind_alias(&self) -> bool {
        self.last.word == Word::As || self.last.kind == TokenKind::Close
    }
}

/// Whether a word may be between FROM, JOIN or UPDATE and the table.
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
