//! Statements that EXPLAIN can plan without side effects, and the tables that the names in its result mean:
//! servers name tables by their aliases there.

use std::borrow::Cow;

use crate::facts::{Effects, Facts, Marks, Mention, Role};
use crate::flags::{Flags, Schema};
use crate::kind::StatementKind;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::span::Span;
use crate::uses::Uses;
use crate::words::Word;

/// A statement that may be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<'a> {
    /// The statement itself, which changes data when it runs. None: only [`Self::reading`] is
    /// planned.
    pub writing: Option<&'a [u8]>,
    /// A SELECT of the rows that it reads; none if it cannot be converted to one.
    pub reading: Option<Cow<'a, [u8]>>,
}

/// A table of a statement, and its name in the result of EXPLAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTable {
    /// Its name in the result: its alias, or else its name.
    pub alias: Vec<u8>,
    /// The schema in front of its name, if there is one.
    pub schema: Option<Vec<u8>>,
    /// Its name.
    pub table: Vec<u8>,
}

impl<'a> Planned<'a> {
    /// Reads a command. None: servers might do more than plan it, or its plan is of no use. During planning,
    /// servers evaluate functions that they take for constant, such as user variables and named locks, read
    /// single rows, and run derived tables. Stored functions may do anything.
    pub fn of(text: &'a [u8], facts: &Facts, flags: Flags) -> Option<Self> {
        const UNFIT: Marks = Marks::LOST
            .with(Marks::CROWDED)
            .with(Marks::CONDITIONAL)
            .with(Marks::PLACEHOLDERS)
            .with(Marks::WITH)
            .with(Marks::UNKNOWN_FUNCTION)
            .with(Marks::INTO_FILE)
            .with(Marks::INTO_VARIABLES);
        // Uses that depend on state that the proxy's own session does not have, or that affect other sessions.
        const OWN: Uses = Uses::USER_VARIABLES
            .with(Uses::NAMED_LOCKS)
            .with(Uses::SEQUENCE)
            .with(Uses::TIME)
            .with(Uses::REPLICATION)
            .with(Uses::SERVER_FILE)
            .with(Uses::CLIENT_FILE)
            .with(Uses::THREADS)
            .with(Uses::SERVER)
            .with(Uses::STATISTICS);
        const HARMLESS: Effects = Effects::DIAGNOSTICS
            .with(Effects::FOUND_ROWS)
            .with(Effects::TRANSACTION_BEGUN);
        let [part] = facts.statements[..] else {
            return None;
        };
        let is_unfit = facts.marks.has(UNFIT)
            || facts.uses.has(OWN)
            || !facts.effects.without(HARMLESS).is_empty()
            || !facts.tables().any(|it| is_data(it, text, flags));
        if is_unfit {
            return None;
        }
        let said = NestedTokens::of(part.span, text, flags);
        if said.may_have_derived_table() {
            return None;
        }
        let whole = part.span.of(text);
        let locks = facts.marks.has(Marks::LOCKING);
        match facts.kind {
            StatementKind::Select if locks => Some(Self {
                writing: None,
                reading: Some(Cow::Borrowed(said.without_locks()?)),
            }),
            StatementKind::Select => Some(Self {
                writing: None,
                reading: Some(Cow::Borrowed(whole)),
            }),
            StatementKind::Update | StatementKind::Delete if locks => None,
            StatementKind::Update => said.written(whole, said.update()),
            StatementKind::Delete => said.written(whole, said.delete()),
            _ => None,
        }
    }
}

/// Whether a table contains data of users, and is not one of the server's own.
fn is_data(table: &Mention, text: &[u8], flags: Flags) -> bool {
    let schema = match table.schema.is_empty() {
        true => flags.schema,
        false => Schema::of_name(&table.schema.name(text)),
    };
    schema == Schema::Plain
}

/// Returns the tables that a statement names, and their names in the result of EXPLAIN.
pub fn sources(text: &[u8], facts: &Facts, flags: Flags) -> Vec<PlannedTable> {
    let tokens: Vec<_> = tokens(text, flags).collect();
    let mentions = facts.mentions.iter();
    let tables = mentions.filter(|it| matches!(it.role, Role::TableRead | Role::TableWritten));
    let mut sources: Vec<PlannedTable> = Vec::new();
    for mention in tables {
        let table = mention.name.name(text).into_owned();
        let at = tokens.iter().position(|it| it.span == mention.name);
        let alias = at.and_then(|at| alias(&tokens[at + 1..], text));
        let source = PlannedTable {
            alias: alias.unwrap_or_else(|| table.clone()),
            schema: (!mention.schema.is_empty()).then(|| mention.schema.name(text).into_owned()),
            table,
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// Returns the alias in the tokens after a table's name.
fn alias(tokens: &[Token], text: &[u8]) -> Option<Vec<u8>> {
    let mut rest = tokens;
    if rest.first()?.word == Word::Partition {
        let close = rest.iter().position(|it| it.kind == TokenKind::Close)?;
        rest = &rest[close + 1..];
    }
    let is_said = rest.first()?.word == Word::As;
    let name = rest.get(usize::from(is_said))?;
    let is_name = match name.kind {
        TokenKind::Quoted => true,
        TokenKind::Word => is_said || name.word == Word::None,
        _ => false,
    };
    is_name.then(|| name.span.name(text).into_owned())
}

fn tokens(text: &[u8], flags: Flags) -> impl Iterator<Item = Token> {
    let lexer = Lexer::new(text, flags);
    lexer.filter(|token| !matches!(token.kind, TokenKind::Comment | TokenKind::Hint))
}

/// A statement's tokens, each with the number of open parentheses around it.
struct NestedTokens<'a> {
    text: &'a [u8],
    end: u32,
    tokens: Vec<(Token, u32)>,
}

impl<'a> NestedTokens<'a> {
    fn of(span: Span, text: &'a [u8], flags: Flags) -> Self {
        let mut depth = 0_u32;
        let within =
            tokens(text, flags).filter(|it| it.span.start >= span.start && it.span.end <= span.end);
        let tokens = within.map(|token| {
            match token.kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            (token, depth)
        });
        Self {
            text,
            end: span.end,
            tokens: tokens.collect(),
        }
    }

    /// Returns the index of the first of these words outside of parentheses, from `from` on.
    fn find(&self, from: usize, words: &[Word]) -> Option<usize> {
        let rest = self.tokens.get(from..)?;
        let found = rest
            .iter()
            .position(|(token, depth)| *depth == 0 && words.contains(&token.word));
        found.map(|at| from + at)
    }

    fn word(&self, at: usize) -> Word {
        self.tokens
            .get(at)
            .map_or(Word::None, |(token, _)| token.word)
    }

    fn start(&self, at: usize) -> u32 {
        self.tokens
            .get(at)
            .map_or(self.end, |(token, _)| token.span.start)
    }

    fn slice(&self, start: u32, end: u32) -> &'a [u8] {
        Span { start, end }.of(self.text)
    }

    /// Whether a part of it is in an executable comment, so that it cannot be cut.
    fn has_code(&self) -> bool {
        let text = self.slice(self.start(0), self.end);
        text.windows(3).any(|it| it == b"/*!" || it == b"*M!")
    }

    /// Returns the text of a SELECT up to its locking clause.
    fn without_locks(&self) -> Option<&'a [u8]> {
        if self.has_code() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = self.find(from, &[Word::For, Word::Lock]) {
            let next = self.word(at + 1);
            let locks = match self.word(at) {
                Word::For => matches!(next, Word::Update | Word::Share),
                _ => next == Word::In,
            };
            if locks {
                return Some(self.slice(self.start(0), self.start(at)));
            }
            from = at + 1;
        }
        None
    }

    /// Whether it may have a derived table: servers run its SELECT to plan the rest. A parenthesis after
    /// a comma may be one of several tables.
    fn may_have_derived_table(&self) -> bool {
        let is_open = |at: usize| {
            let token = self.tokens.get(at).map(|(token, _)| token.kind);
            token == Some(TokenKind::Open)
        };
        let selects = (1..self.tokens.len()).filter(|at| {
            is_open(at - 1) && matches!(self.word(*at), Word::Select | Word::Values | Word::With)
        });
        selects.into_iter().any(|at| {
            let mut before = at - 1;
            while before > 0 && is_open(before) {
                before -= 1;
            }
            const TABLES: &[Word] = &[
                Word::From,
                Word::Join,
                Word::StraightJoin,
                Word::Lateral,
                Word::Update,
                Word::Using,
            ];
            let token = self.tokens.get(before).map(|(token, _)| token.kind);
            token == Some(TokenKind::Comma) || TABLES.contains(&self.word(before))
        })
    }

    /// Returns what is planned for a statement that writes. With several tables only a SELECT is planned, because
    /// planning such a join reads single rows, and locks them. If it cannot be converted to a SELECT, the statement
    /// itself is planned if it is known to have one table.
    fn written(&self, whole: &'a [u8], reading: Option<(Vec<u8>, Tables)>) -> Option<Planned<'a>> {
        let has_select = (self.tokens.iter()).any(|(token, _)| token.word == Word::Select);
        Some(match reading {
            Some((reading, tables)) => Planned {
                writing: Some(whole).filter(|_| tables == Tables::One && !has_select),
                reading: Some(Cow::Owned(reading)),
            },
            None if self.has_portion() && !has_select && !self.has_code() => Planned {
                writing: Some(whole),
                reading: None,
            },
            None => return None,
        })
    }

    /// Whether FOR PORTION OF follows the only table of a write (MariaDB).
    fn has_portion(&self) -> bool {
        let behind = |at: usize| {
            let token = self.tokens.get(at + 1).map(|(token, _)| token);
            token.is_some_and(|it| it.span.of(self.text).eq_ignore_ascii_case(b"portion"))
        };
        let is_joined = self.find(0, &[Word::Join, Word::StraightJoin]).is_some();
        !is_joined && self.find(0, &[Word::For]).is_some_and(behind)
    }

    /// UPDATE [modifiers] tables SET … [WHERE …]
    fn update(&self) -> Option<(Vec<u8>, Tables)> {
        if self.word(0) != Word::Update {
            return None;
        }
        let first = self.behind_modifiers(1);
        let set = self.find(first, &[Word::Set])?;
        let rest = self.find(set, CONDITIONS);
        self.select(first, set, rest)
    }

    /// DELETE [modifiers] FROM table …, DELETE names FROM tables …, DELETE FROM names USING tables …
    fn delete(&self) -> Option<(Vec<u8>, Tables)> {
        if self.word(0) != Word::Delete {
            return None;
        }
        let modified = self.behind_modifiers(1);
        let from = self.find(modified, &[Word::From])?;
        let rest = self.find(from, CONDITIONS);
        let end = rest.unwrap_or(self.tokens.len());
        let using = self.find(from, &[Word::Using]).filter(|at| *at < end);
        // A USING after a JOIN belongs to the join.
        let using = using.filter(|at| self.join(from, *at).is_none());
        let (reading, tables) = self.select(using.unwrap_or(from) + 1, end, rest)?;
        let is_listed = using.is_some() || from > modified;
        Some((reading, if is_listed { Tables::Several } else { tables }))
    }

    fn behind_modifiers(&self, mut at: usize) -> usize {
        const MODIFIERS: &[Word] = &[Word::LowPriority, Word::Ignore, Word::Quick];
        while MODIFIERS.contains(&self.word(at)) {
            at += 1;
        }
        at
    }

    fn join(&self, from: usize, to: usize) -> Option<usize> {
        let joins = self.find(from, &[Word::Join, Word::StraightJoin]);
        joins.filter(|at| *at < to)
    }

    /// SELECT * FROM tables [WHERE …]
    fn select(&self, from: usize, to: usize, rest: Option<usize>) -> Option<(Vec<u8>, Tables)> {
        // A SELECT has no FOR PORTION OF.
        if self.has_code() || self.find(from, &[Word::For]).is_some_and(|at| at < to) {
            return None;
        }
        let listed = self.tokens.get(from..to)?;
        let is_list = listed
            .iter()
            .any(|(token, depth)| *depth == 0 && token.kind == TokenKind::Comma);
        let is_wrapped = listed.first()?.0.kind == TokenKind::Open;
        let tables = match is_list || is_wrapped || self.join(from, to).is_some() {
            true => Tables::Several,
            false => Tables::One,
        };
        let mut text = b"SELECT * FROM ".to_vec();
        text.extend_from_slice(self.slice(self.start(from), self.start(to)));
        if let Some(rest) = rest {
            let end = self.find(rest, &[Word::Returning]);
            text.push(b' ');
            text.extend_from_slice(
                self.slice(self.start(rest), end.map_or(self.end, |at| self.start(at))),
            );
        }
        Some((text, tables))
    }
}

/// The words after the tables of an UPDATE or DELETE.
const CONDITIONS: &[Word] = &[Word::Where, Word::Order, Word::Limit, Word::Returning];

/// Whether a statement has one table or several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    One,
    Several,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;

    fn planned(text: &str) -> Option<(Option<String>, Option<String>)> {
        let flags = Flags::default();
        let facts = facts(text.as_bytes(), flags);
        let planned = Planned::of(text.as_bytes(), &facts, flags)?;
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        Some((
            planned.writing.map(shown),
            planned.reading.map(|it| shown(&it)),
        ))
    }

    #[test]
    fn a_select_is_explained_without_its_locks() {
        for (said, reading) in [
            ("SELECT * FROM t WHERE a=1;", "SELECT * FROM t WHERE a=1"),
            ("/* c */ SELECT a FROM t -- x", "SELECT a FROM t"),
            (
                "SELECT a FROM t WHERE a=1 FOR UPDATE",
                "SELECT a FROM t WHERE a=1 ",
            ),
            (
                "SELECT a FROM t FOR SHARE OF t SKIP LOCKED",
                "SELECT a FROM t ",
            ),
            ("SELECT a FROM t LOCK IN SHARE MODE", "SELECT a FROM t "),
            (
                "SELECT SQL_CALC_FOUND_ROWS a FROM t",
                "SELECT SQL_CALC_FOUND_ROWS a FROM t",
            ),
        ] {
            assert_eq!(planned(said), Some((None, Some(reading.into()))), "{said}");
        }
    }

    #[test]
    fn a_write_to_one_table_is_explained_as_itself_and_as_a_select() {
        for (said, reading) in [
            ("UPDATE t SET a=1 WHERE b=2", "SELECT * FROM t  WHERE b=2"),
            (
                "UPDATE LOW_PRIORITY IGNORE s.t AS x SET a=1 ORDER BY b LIMIT 1",
                "SELECT * FROM s.t AS x  ORDER BY b LIMIT 1",
            ),
            ("UPDATE t SET a=1", "SELECT * FROM t "),
            (
                "DELETE QUICK IGNORE FROM `t` WHERE a=1 RETURNING a",
                "SELECT * FROM `t`  WHERE a=1 ",
            ),
            ("DELETE FROM t", "SELECT * FROM t"),
        ] {
            let both = (Some(said.to_owned()), Some(reading.to_owned()));
            assert_eq!(planned(said), Some(both), "{said}");
        }
    }

    #[test]
    fn a_write_to_a_join_is_explained_as_a_select_only() {
        for (said, reading) in [
            (
                "UPDATE t SET a=(SELECT 1 FROM u WHERE c=1) ORDER BY b LIMIT 1",
                "SELECT * FROM t  ORDER BY b LIMIT 1",
            ),
            (
                "DELETE FROM t WHERE a IN (SELECT b FROM u WHERE c=1)",
                "SELECT * FROM t  WHERE a IN (SELECT b FROM u WHERE c=1)",
            ),
            (
                "UPDATE t JOIN u ON t.a=u.a SET t.b=1 WHERE u.c=2",
                "SELECT * FROM t JOIN u ON t.a=u.a  WHERE u.c=2",
            ),
            ("UPDATE t, u SET t.b=1", "SELECT * FROM t, u "),
            (
                "DELETE t FROM t JOIN u USING (a) WHERE u.c=2",
                "SELECT * FROM t JOIN u USING (a)  WHERE u.c=2",
            ),
            (
                "DELETE FROM t USING t JOIN u ON t.a=u.a WHERE u.c=2",
                "SELECT * FROM t JOIN u ON t.a=u.a  WHERE u.c=2",
            ),
            (
                "DELETE t.*, u.* FROM t, u WHERE t.a=u.a",
                "SELECT * FROM t, u  WHERE t.a=u.a",
            ),
        ] {
            assert_eq!(planned(said), Some((None, Some(reading.into()))), "{said}");
        }
    }

    #[test]
    fn other_statements_are_explained_unchanged_or_not_at_all() {
        let said = "UPDATE t FOR PORTION OF p FROM '2020-01-01' TO '2021-01-01' SET a=1";
        assert_eq!(planned(said), Some((Some(said.into()), None)));
        for said in [
            "SELECT 1",
            "SELECT f(a) FROM t",
            "SELECT a INTO @x FROM t",
            "SELECT a FROM t INTO OUTFILE '/tmp/x'",
            "SELECT @x FROM t",
            "SELECT @x:=a FROM t",
            "SELECT SLEEP(10) FROM t",
            "SELECT BENCHMARK(1000, MD5(a)) FROM t",
            "SELECT GET_LOCK('a', 1) FROM t",
            "SELECT a FROM t WHERE a=?",
            "SELECT a FROM t /*!50000 FOR UPDATE */",
            "SELECT a FROM t /*M! FOR UPDATE */",
            "SELECT a FROM (SELECT a FROM t FOR UPDATE) d",
            "SELECT a FROM (SELECT a FROM t) d",
            "SELECT a FROM t, ((SELECT a FROM t)) d",
            "SELECT a FROM t JOIN (SELECT MAX(a) m FROM u) d ON a=m",
            "WITH d AS (SELECT a FROM t) SELECT a FROM d",
            "WITH c AS (SELECT 1 n) UPDATE t JOIN c ON t.a=c.n SET t.b=1",
            "UPDATE t JOIN u ON t.a=u.a SET t.b='/*!' WHERE u.id=1",
            "UPDATE t USE INDEX FOR JOIN (i) JOIN u ON t.a=u.a SET t.b=1",
            "UPDATE t JOIN (SELECT a FROM u) d ON t.a=d.a SET t.b=1",
            "SELECT a FROM t; SELECT b FROM t",
            "SELECT * FROM information_schema.PROCESSLIST",
            "SELECT table_name FROM information_schema.tables",
            "SELECT LAST_INSERT_ID(a) FROM t",
            "UPDATE t SET a=LAST_INSERT_ID(a+1)",
            "UPDATE t SET a=NEXTVAL(s)",
            "INSERT INTO t SELECT * FROM u",
            "CALL p()",
            "SET @x=1",
            "DROP TABLE t",
            "",
        ] {
            assert_eq!(planned(said), None, "{said}");
        }
    }

    #[test]
    fn tables_have_the_names_that_explain_gives_them() {
        let sources = |text: &str| -> Vec<String> {
            let facts = facts(text.as_bytes(), Flags::default());
            let sources = sources(text.as_bytes(), &facts, Flags::default());
            let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            let each = sources.iter().map(|it| {
                let schema = it.schema.as_deref().map_or("-".into(), shown);
                format!("{}={}.{}", shown(&it.alias), schema, shown(&it.table))
            });
            each.collect()
        };
        for (text, expected) in [
            ("SELECT * FROM t", "t=-.t"),
            (
                "SELECT * FROM world.City c JOIN Country AS `k k` ON 1 WHERE x",
                "c=world.City k k=-.Country",
            ),
            ("SELECT * FROM t WHERE a=1", "t=-.t"),
            (
                "SELECT * FROM t PARTITION (p0, p1) AS x, u USE INDEX (i)",
                "x=-.t u=-.u",
            ),
            ("UPDATE t x SET x.a=1", "x=-.t"),
            ("DELETE FROM t WHERE a=1", "t=-.t"),
            ("SELECT * FROM t LEFT JOIN u ON t.a=u.a", "t=-.t u=-.u"),
            (
                "SELECT * FROM t WHERE a IN (SELECT b FROM u x)",
                "t=-.t x=-.u",
            ),
            ("SELECT * FROM t x ORDER BY a", "x=-.t"),
        ] {
            assert_eq!(sources(text).join(" "), expected, "{text}");
        }
    }
}
