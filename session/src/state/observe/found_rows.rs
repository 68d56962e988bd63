//! FOUND_ROWS() after a statement: most statements leave it, and the families differ in which ones set it.
//!
//! Tried with MariaDB 10.11 and MySQL 9.7, statement by statement, each behind a SELECT whose count
//! would show.

use sql::{
    Effects, Explain, Flags, Lexer, Marks, Server, Show, StatementKind, Token, TokenKind, Word,
};

use super::seen::{Ran, Seen};
use super::word_places::places_of;
use crate::state::variables;

/// Longer texts are not read again: the proxy asks the connection for the count.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The result of FOUND_ROWS() after an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// The value from before.
    Before,
    /// This value.
    Rows(u64),
    /// The value that only the connection knows.
    There,
}

/// Returns the result of FOUND_ROWS() after a statement.
pub(super) fn counted(seen: &Seen<'_>, server: Server, flags: Flags) -> Counted {
    if seen.ran != Ran::Statement {
        return Counted::Before;
    }
    if seen.facts.kind == StatementKind::Multi {
        return of_several(seen, server, flags);
    }
    let is_mariadb = variables::is_mariadb(server);
    match seen.is_ok() {
        true if has_cursor(seen) => Counted::There,
        true => of_statement(seen, is_mariadb, flags),
        false => of_failed(seen, is_mariadb),
    }
}

fn of_statement(seen: &Seen<'_>, is_mariadb: bool, flags: Flags) -> Counted {
    let facts = seen.facts;
    let reads_tables = facts.tables().next().is_some();
    let sets_if = |sets| {
        if sets {
            Counted::There
        } else {
            Counted::Before
        }
    };
    match facts.kind {
        _ if seen.has(Effects::FOUND_ROWS) => Counted::There,
        StatementKind::Select | StatementKind::Table | StatementKind::Values => of_rows(seen),
        StatementKind::Show(Show::WarningCount | Show::ErrorCount) => Counted::Rows(1),
        StatementKind::Show(_) if seen.asks_diagnostics() => Counted::Before,
        StatementKind::Show(show) if is_of_tables(show, seen.text, flags) => reported_rows(seen),
        StatementKind::Show(_) => Counted::Before,
        StatementKind::Describe => reported_rows(seen),
        StatementKind::Explain(Explain::Run) => Counted::There,
        StatementKind::Explain(_) if is_mariadb && !reads_tables => Counted::Rows(0),
        StatementKind::Do if !is_mariadb => Counted::Rows(1),
        StatementKind::Do | StatementKind::Set => sets_if(is_mariadb && reads_tables),
        StatementKind::Insert | StatementKind::Replace => {
            sets_if(facts.marks.has(Marks::FROM_SELECT))
        }
        StatementKind::Create(_) => sets_if(is_mariadb && reads_from(seen)),
        StatementKind::Update if is_mariadb => sets_if(is_of_several_tables(seen.text, flags)),
        StatementKind::Update => Counted::There,
        StatementKind::Delete if is_mariadb => sets_if(is_of_several_tables(seen.text, flags)),
        StatementKind::Delete => sets_if(facts.tables().nth(1).is_some()),
        StatementKind::Call
        | StatementKind::Execute
        | StatementKind::ExecuteImmediate
        | StatementKind::Compound => Counted::There,
        _ => Counted::Before,
    }
}

/// ER_UNKNOWN_STMT_HANDLER and ER_SP_DOES_NOT_EXIST: nothing ran.
const UNKNOWN_STATEMENT: u16 = 1243;
const UNKNOWN_ROUTINE: u16 = 1305;

/// A failed statement of MySQL's leaves the count. A SELECT of MariaDB's that ran has counted.
fn of_failed(seen: &Seen<'_>, is_mariadb: bool) -> Counted {
    let reads = matches!(
        seen.facts.kind,
        StatementKind::Select
            | StatementKind::Table
            | StatementKind::Values
            | StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::Create(_)
    );
    let ran = !seen.is_refused()
        && match seen.facts.kind {
            StatementKind::Insert | StatementKind::Replace => {
                seen.facts.marks.has(Marks::FROM_SELECT)
            }
            StatementKind::Create(_) => reads_from(seen),
            _ => true,
        };
    let is_dark = match seen.facts.kind {
        StatementKind::Execute => seen.error != Some(UNKNOWN_STATEMENT),
        StatementKind::Call => seen.error != Some(UNKNOWN_ROUTINE),
        kind => matches!(
            kind,
            StatementKind::ExecuteImmediate | StatementKind::Compound
        ),
    };
    match is_mariadb && reads && ran || is_dark {
        true => Counted::There,
        false => Counted::Before,
    }
}

/// Returns the count of the last statement that has set it.
fn of_several(seen: &Seen<'_>, server: Server, flags: Flags) -> Counted {
    let parts = &seen.facts.statements;
    let is_unread = seen.facts.marks.has(Marks::CROWDED) || seen.text.len() > TEXT_BYTES_MAX;
    if is_unread || !seen.is_ok() {
        let has_started = is_unread || seen.tally.results > 0;
        return if has_started {
            Counted::There
        } else {
            Counted::Before
        };
    }
    for (back, part) in parts.iter().rev().enumerate() {
        let text = part.span.of(seen.text);
        let facts = sql::facts(text, flags);
        let part = Seen {
            facts: &facts,
            text,
            ..*seen
        };
        match counted(&part, server, flags) {
            Counted::Before => {}
            Counted::Rows(rows) if back == 0 || facts.kind == StatementKind::Do => {
                return Counted::Rows(rows);
            }
            _ => return Counted::There,
        }
    }
    Counted::Before
}

/// Without LIMIT and the rules of UNION, the count is that of all rows that were sent.
fn of_rows(seen: &Seen<'_>) -> Counted {
    let is_short = seen.text.len() <= TEXT_BYTES_MAX;
    match seen.tally.had_rows && is_short && !may_be_limited(seen.text) {
        true => Counted::Rows(seen.tally.rows),
        false => Counted::There,
    }
}

/// Words with which FOUND_ROWS() may be greater than the number of rows sent.
const LIMITING: [&[u8]; 3] = [b"LIMIT", b"FETCH", b"PROCEDURE"];

/// The bytes with which these words begin, in both cases.
const BEGINS_LIMITING: [bool; 256] = {
    let mut begins = [false; 256];
    let mut at = 0;
    while at < LIMITING.len() {
        let first = LIMITING[at][0];
        begins[first as usize] = true;
        begins[first.to_ascii_lowercase() as usize] = true;
        at += 1;
    }
    begins
};

/// Whether one of these words stands in a text. One pass, because each SELECT is searched.
fn may_be_limited(text: &[u8]) -> bool {
    let begins = |at: usize, word: &[u8]| {
        let here = text.get(at..at + word.len());
        here.is_some_and(|here| here.eq_ignore_ascii_case(word))
    };
    text.iter().enumerate().any(|(at, letter)| {
        BEGINS_LIMITING[usize::from(*letter)] && LIMITING.iter().any(|word| begins(at, word))
    })
}

fn reported_rows(seen: &Seen<'_>) -> Counted {
    match seen.tally.had_rows {
        true => Counted::Rows(seen.tally.rows),
        false => Counted::There,
    }
}

/// Whether the rows are fetched later through a cursor; they are counted already.
fn has_cursor(seen: &Seen<'_>) -> bool {
    seen.status()
        .is_some_and(|flags| flags.contains(wire::StatusFlags::CURSOR_EXISTS))
}

/// Whether this is CREATE TABLE … SELECT, from tables or not.
fn reads_from(seen: &Seen<'_>) -> bool {
    let mut words = places_of(seen.text, b"SELECT", 2).chain(places_of(seen.text, b"VALUES", 0));
    let creates_table = matches!(
        seen.facts.kind,
        StatementKind::Create(sql::Object::Table | sql::Object::TemporaryTable)
    );
    let reads_tables = seen
        .facts
        .mentions_of(sql::Role::TableRead)
        .next()
        .is_some();
    let may_read = reads_tables || words.next().is_some();
    may_read && creates_table
}

/// Whether a SHOW reads a table of the server that lists what is shown, as most SHOW statements do.
/// The other ones answer without a table.
pub(super) fn is_of_tables(show: Show, text: &[u8], flags: Flags) -> bool {
    let first = || {
        let modifiers: [&[u8]; 7] = [
            b"full",
            b"extended",
            b"global",
            b"session",
            b"local",
            b"all",
            b"storage",
        ];
        let mut words = words(text, flags).skip(1);
        let named = words.find(|word| !modifiers.contains(&word.as_slice()));
        named.unwrap_or_default()
    };
    match show {
        Show::Variables | Show::Status => true,
        Show::Schema => first() != b"create",
        Show::Profiles => first() == b"profile",
        Show::Server => {
            let first = first();
            first == b"open"
                || first == b"plugins"
                || first == b"engines"
                || first.ends_with(b"_statistics")
        }
        Show::Warnings
        | Show::SomeWarnings
        | Show::WarningCount
        | Show::Errors
        | Show::SomeErrors
        | Show::ErrorCount
        | Show::Processlist
        | Show::Grants => false,
    }
}

/// Whether an UPDATE or DELETE has a join, or the form for several tables.
fn is_of_several_tables(text: &[u8], flags: Flags) -> bool {
    let mut depth = 0u32;
    let mut last = Word::None;
    let mut is_delete = false;
    for token in tokens(text, flags) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Comma | TokenKind::Dot if depth > 0 => {}
            TokenKind::Comma => return true,
            _ if depth > 0 => {}
            _ => match token.word {
                Word::Delete => is_delete = true,
                Word::Join | Word::Using => return true,
                // DELETE t FROM …
                Word::From if is_delete && last == Word::None => return true,
                Word::Set | Word::Where | Word::Limit | Word::Order => return false,
                _ => {}
            },
        }
        last = token.word;
    }
    false
}

/// SELECT … FROM (SELECT …).
pub(super) fn has_derived_table(text: &[u8], flags: Flags) -> bool {
    let mut last = Word::None;
    tokens(text, flags).any(|token| {
        let is_opened = token.kind == TokenKind::Open && matches!(last, Word::From | Word::Join);
        last = token.word;
        is_opened
    })
}

fn tokens(text: &[u8], flags: Flags) -> impl Iterator<Item = Token> {
    let is_comment = |token: &Token| matches!(token.kind, TokenKind::Comment | TokenKind::Hint);
    Lexer::new(text, flags).filter(move |token| !is_comment(token))
}

fn words(text: &[u8], flags: Flags) -> impl Iterator<Item = Vec<u8>> {
    tokens(text, flags).map(|token| token.span.of(text).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_limit_rows_are_found_in_any_case_and_anywhere() {
        for text in [
            "SELECT a FROM t LIMIT 1",
            "select a from t limit 1",
            "SELECT a FROM t Fetch FIRST ROW ONLY",
            "SELECT a FROM t PROCEDURE ANALYSE()",
            "LIMIT",
        ] {
            assert!(may_be_limited(text.as_bytes()), "{text}");
        }
        for text in ["", "SELECT profile FROM flips WHERE l = 1", "LIMI", "p"] {
            assert!(!may_be_limited(text.as_bytes()), "{text}");
        }
    }
}
