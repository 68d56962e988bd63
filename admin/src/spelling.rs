//! From MySQL's spelling to SQLite's: strings in double quotes and with backslashes, system variables,
//! executable comments, DUAL. Everything else is left as it stands.

mod casts;
mod columns;
mod intervals;
mod operands;
mod operators;
mod otherwise;

use sql::{Flags, Lexer, Server, Token, TokenKind};

use crate::fault::Fault;
use crate::history::view::{HOME, NAME};
use crate::sheet::Schema;
use crate::tables::global_variables::variable;
use intervals::intervals;
use operands::check_depth;
use operators::operators;
use otherwise::{Otherwise, otherwise};

pub use otherwise::without_lone_having;

/// As whom the admin port reads statements; of MySQL's versions one that every client knows.
pub const FLAGS: Flags = Flags {
    no_backslash_escapes: false,
    ansi_quotes: false,
    ignore_space: true,
    charset: sql::Charset::UTF8MB4,
    schema: sql::Schema::Plain,
    server: Server::MySql(80_040),
};

/// The function that stands for `@@` in SQLite.
pub const SYSTEM_VARIABLE: &str = "system_variable";

/// The longest name of a system variable, in bytes.
const VARIABLE_BYTES_MAX: usize = 256;

/// A statement's text and the tokens of it that mean something.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

/// The tokens that mean something, up to the semicolon that ends the statement.
///
/// # Errors
/// What is no text, or more than one statement.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    if text.contains('\0') {
        return Err(Fault::no_text());
    }
    let mut lexer = Lexer::new(text.as_bytes(), FLAGS);
    let means = |token: &Token| !matches!(token.kind, TokenKind::Comment | TokenKind::Hint);
    let mut tokens: Vec<Token> = lexer.by_ref().filter(means).collect();
    if lexer.is_lost() {
        return Err(Fault::syntax(
            "A string, a quoted name or a comment does not end",
        ));
    }
    while tokens
        .last()
        .is_some_and(|token| token.kind == TokenKind::Semicolon)
    {
        tokens.pop();
    }
    match tokens
        .iter()
        .any(|token| token.kind == TokenKind::Semicolon)
    {
        true => Err(Fault::syntax("One statement at a time, please")),
        false => Ok(tokens),
    }
}

impl<'a> Text<'a> {
    /// Joins a text and its tokens.
    pub fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens }
    }

    /// Whether nothing is left.
    pub fn is_empty(self) -> bool {
        self.tokens.is_empty()
    }

    /// The first token, as it is written; empty where nothing is left.
    pub fn first(self) -> &'a str {
        self.tokens.first().map_or("", |token| self.written(token))
    }

    /// Whether the first token is this word, in whatever case.
    pub fn begins_with(self, word: &str) -> bool {
        self.first().eq_ignore_ascii_case(word)
    }

    /// What is behind the first token, if that is this word.
    pub fn behind(self, word: &str) -> Option<Self> {
        self.begins_with(word).then(|| self.rest())
    }

    /// The same, if it is one of these.
    pub fn behind_any(self, words: &[&str]) -> Option<Self> {
        words.iter().find_map(|word| self.behind(word))
    }

    /// The same, or all of it.
    pub fn without(self, words: &[&str]) -> Self {
        self.behind_any(words).unwrap_or(self)
    }

    /// What is behind these words, if it begins with them.
    pub fn behind_words(self, words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        words.try_fold(self, |text, word| text.behind(word))
    }

    /// Everything behind the first token.
    pub fn rest(self) -> Self {
        Self {
            tokens: self.tokens.get(1..).unwrap_or_default(),
            ..self
        }
    }

    /// So many tokens of its beginning.
    pub fn up_to(self, count: usize) -> Self {
        Self {
            tokens: self.tokens.get(..count).unwrap_or(self.tokens),
            ..self
        }
    }

    /// A name, quoted or not, and what is behind it.
    pub fn name(self) -> Option<(String, Self)> {
        let token = self.tokens.first()?;
        if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
            return None;
        }
        let name = token.span.name(self.text.as_bytes());
        Some((String::from_utf8_lossy(&name).into_owned(), self.rest()))
    }

    /// A string's value, and what is behind it.
    pub fn string(self) -> Option<(String, Self)> {
        let token = self.tokens.first()?;
        let value = string(token, self.text)?;
        Some((value, self.rest()))
    }

    /// A whole number, and what is behind it.
    pub fn number(self) -> Option<(u64, Self)> {
        let number = self.first().parse().ok()?;
        Some((number, self.rest()))
    }

    /// All tokens in capitals, with a space between each two.
    pub fn words(self) -> String {
        let words = self.tokens.iter().map(|token| self.written(token));
        words.collect::<Vec<_>>().join(" ").to_ascii_uppercase()
    }

    /// All of it, as it is written.
    pub fn as_written(self) -> &'a str {
        let start = self.tokens.first().map_or(0, |token| token.span.start);
        let end = self.tokens.last().map_or(0, |token| token.span.end);
        let (start, end) = (start as usize, end as usize);
        self.text.get(start..end).unwrap_or_default()
    }

    fn written(self, token: &Token) -> &'a str {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        self.text.get(start..end).unwrap_or_default()
    }

    /// As SQLite reads it.
    ///
    /// # Errors
    /// What has no meaning here: user variables, of system variables those of strange names.
    pub fn in_sqlite(self) -> Result<String, Fault> {
        let mut spelled = String::with_capacity(self.text.len());
        let mut end: Option<usize> = None;
        let mut at = 0;
        check_depth(self)?;
        let mut said = otherwise(self)?;
        intervals(self, &mut said)?;
        // Behind all that makes functions of what it compares.
        operators(self, &mut said)?;
        while let Some(token) = self.tokens.get(at) {
            if let Some(end) = end {
                spelled.push_str(self.gap(end, token.span.start as usize));
            }
            let (piece, count) = self.piece(at, &said)?;
            spelled.push_str(said.in_front(at));
            spelled.push_str(&piece);
            at += count;
            spelled.push_str(said.after(at - 1));
            let last = self.tokens.get(at - 1);
            end = last.map(|token| token.span.end as usize);
        }
        Ok(spelled)
    }

    /// What stands between two tokens: space, where there is anything at all.
    fn gap(self, from: usize, to: usize) -> &'a str {
        let gap = self.text.get(from..to).unwrap_or_default();
        match gap.trim().is_empty() {
            true => gap,
            false => " ",
        }
    }

    /// The token at a place as SQLite reads it, and how many tokens that were.
    fn piece(self, at: usize, said: &Otherwise) -> Result<(String, usize), Fault> {
        if let Some(said) = said.instead(at) {
            return Ok((said.to_owned(), 1));
        }
        let written = |index: usize| self.tokens.get(index).map_or("", |it| self.written(it));
        let is = |index: usize, word: &str| written(index).eq_ignore_ascii_case(word);
        let Some(token) = self.tokens.get(at) else {
            return Ok((String::new(), 1));
        };
        let text = self.written(token);
        let one = |piece: &str| Ok((piece.to_owned(), 1));
        match token.kind {
            TokenKind::String => match string(token, self.text) {
                Some(value) => Ok((quoted(&value), 1)),
                None => Err(Fault::syntax(format!("No string: {text}"))),
            },
            TokenKind::SystemVariable => self.system_variable(at),
            TokenKind::UserVariable => {
                let text = format!("There are no user variables on the admin port: {text}");
                Err(Fault::no_column(text))
            }
            TokenKind::BackslashNull => one("NULL"),
            TokenKind::Introducer => one(""),
            TokenKind::Word if is(at, "FROM") && is(at + 1, "DUAL") => Ok((String::new(), 2)),
            TokenKind::Word if is(at, "COLLATE") => match written(at + 1).to_lowercase() {
                name if name.starts_with("utf8") && name.ends_with("_ci") => {
                    Ok(("COLLATE NOCASE".to_owned(), 2))
                }
                name if name.starts_with("utf8") => Ok(("COLLATE BINARY".to_owned(), 2)),
                _ => one(text),
            },
            TokenKind::Word | TokenKind::Quoted if self.is_kept_elsewhere(at) => one(HOME),
            TokenKind::Word if is(at, "CURRENT_USER") && written(at + 1) != "(" => {
                one("CURRENT_USER()")
            }
            _ => one(text),
        }
    }

    /// Whether this is the schema of a table that SQLite knows in another one.
    fn is_kept_elsewhere(self, at: usize) -> bool {
        let name = |at: usize| {
            let rest = self.tokens.get(at..).unwrap_or_default();
            Text::new(self.text, rest).name().map(|(name, _)| name)
        };
        let (Some(schema), Some(table)) = (name(at), name(at + 2)) else {
            return false;
        };
        let is = |name: String, expected: &str| name.eq_ignore_ascii_case(expected);
        self.text_of(at + 1) == "." && is(schema, Schema::Pilotfish.name()) && is(table, NAME)
    }

    /// `@@name`, `@@session.name` and their like; settings and ProxySQL's variables are looked up in their tables.
    fn system_variable(self, at: usize) -> Result<(String, usize), Fault> {
        let mut name = self.text_of(at).trim_start_matches('@').to_owned();
        let mut count = 1;
        while let separator @ ("." | "-") = self.text_of(at + count) {
            if name.len() > VARIABLE_BYTES_MAX {
                return Err(Fault::no_variable("Unknown system variable"));
            }
            let longer = format!("{name}{separator}{}", self.text_of(at + count + 1));
            if separator == "-" && variable(unscoped(&longer)).is_none() {
                break;
            }
            name = longer;
            count += 2;
        }
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
        if !name.chars().all(is_plain) {
            return Err(Fault::no_variable(format!(
                "Unknown system variable '{name}'"
            )));
        }
        let wanted = unscoped(&name);
        let found = if let Some(setting) = setting(wanted) {
            let name = quoted(setting.name);
            format!(", (SELECT value FROM pilotfish.settings WHERE name = {name})")
        } else if let Some(variable) = variable(wanted) {
            let name = quoted(variable);
            format!(
                ", (SELECT variable_value FROM main.global_variables WHERE variable_name = {name})"
            )
        } else {
            String::new()
        };
        Ok((format!("{SYSTEM_VARIABLE}('{name}'{found})"), count))
    }

    fn kind_of(self, at: usize) -> TokenKind {
        self.tokens
            .get(at)
            .map_or(TokenKind::End, |token| token.kind)
    }

    fn is_word(self, at: usize, word: &str) -> bool {
        self.text_of(at).eq_ignore_ascii_case(word)
    }

    fn text_of(self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| self.written(token))
    }
}

/// The name of a system variable behind its scope.
pub fn unscoped(name: &str) -> &str {
    let scope = ["session.", "global.", "local."].iter().find(|scope| {
        let start = name.get(..scope.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scope))
    });
    let skipped = scope.map_or(0, |scope| scope.len());
    name.get(skipped..).unwrap_or_default()
}

/// The setting of this name, in whatever case.
pub fn setting(name: &str) -> Option<&'static config::Setting<config::Config>> {
    config::settings().find(|setting| setting.name.eq_ignore_ascii_case(name))
}

fn string(token: &Token, text: &str) -> Option<String> {
    if token.kind != TokenKind::String {
        return None;
    }
    let value = sql::unquote(token.span.of(text.as_bytes()), FLAGS)?;
    let value = String::from_utf8(value.into_owned()).ok()?;
    (!value.contains('\0')).then_some(value)
}

/// A text as a string of SQLite's.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A result's column as the client has named it.
pub fn column_name(name: &str) -> String {
    let mut rest = name;
    let mut shown = String::with_capacity(name.len());
    let call = format!("{SYSTEM_VARIABLE}('");
    while let Some((before, behind)) = rest.split_once(&call) {
        let Some((variable, behind)) = behind.split_once('\'') else {
            break;
        };
        let behind = match behind.strip_prefix(", (SELECT ") {
            Some(looked_up) => looked_up.split_once("'))").map(|(_, behind)| behind),
            None => behind.strip_prefix(')'),
        };
        let Some(behind) = behind else {
            break;
        };
        shown.push_str(before);
        shown.push_str("@@");
        shown.push_str(variable);
        rest = behind;
    }
    shown.push_str(rest);
    operators::as_written(&shown)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn spelled(text: &str) -> Result<String, Fault> {
        let tokens = tokens(text)?;
        Text::new(text, &tokens).in_sqlite()
    }

    #[test]
    fn what_sqlite_spells_otherwise_is_spelled_so() {
        for (text, expected) in [
            (
                "select @@version_comment limit 1",
                "select system_variable('version_comment') limit 1",
            ),
            (
                "SELECT  @@session.auto_increment_increment AS a, @@GLOBAL.x",
                "SELECT  system_variable('session.auto_increment_increment') AS a, system_variable('GLOBAL.x')",
            ),
            (
                "SELECT @@global.limits.sessions_max, @@MySQL-Threads -1",
                "SELECT system_variable('global.limits.sessions_max', (SELECT value FROM \
                 pilotfish.settings WHERE name = 'limits.sessions_max')), \
                 system_variable('MySQL-Threads', (SELECT variable_value FROM main.global_variables \
                 WHERE variable_name = 'mysql-threads')) -1",
            ),
            ("SELECT @@version-1", "SELECT system_variable('version')-1"),
            ("/* mysql-connector-j */SELECT 1", "SELECT 1"),
            ("SELECT/**/1 -- one", "SELECT 1"),
            ("SELECT /*!40001 SQL */ 1;", "SELECT SQL 1"),
            (
                r#"SELECT "a'b", 'it\'s', 'a''b'"#,
                "SELECT 'a''b', 'it''s', 'a''b'",
            ),
            ("SELECT 1 FROM dual LIMIT 1", "SELECT 1  LIMIT 1"),
            (
                "SELECT CURRENT_USER, current_user()",
                "SELECT CURRENT_USER(), current_user()",
            ),
            (
                "SELECT `user` FROM sessions # who",
                "SELECT `user` FROM sessions",
            ),
            ("SELECT _utf8mb4'x', \\N", "SELECT 'x', NULL"),
            (
                "SELECT a COLLATE utf8mb4_general_ci, b collate utf8_bin",
                "SELECT a COLLATE NOCASE, b COLLATE BINARY",
            ),
            ("SELECT a COLLATE NOCASE", "SELECT a COLLATE NOCASE"),
            (
                "SELECT * FROM `pilotfish`.digest_history, pilotfish.digests",
                "SELECT * FROM history.digest_history, pilotfish.digests",
            ),
        ] {
            assert_eq!(spelled(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_meaning_here_is_refused() {
        for (text, number) in [
            ("SELECT 1; SELECT 2", 1064),
            ("SELECT 'x", 1064),
            ("SELECT @x", 1054),
            ("SELECT @@`a'b`", 1193),
            ("SELECT 'a\\0b'", 1064),
            ("SELECT 1\0", 1300),
        ] {
            assert_eq!(spelled(text).unwrap_err().code.number, number, "{text}");
        }
    }

    #[test]
    fn columns_are_named_as_they_were_written() {
        let name = "system_variable('session.x') + system_variable('y')";
        assert_eq!(column_name(name), "@@session.x + @@y");
        assert_eq!(column_name("count(*)"), "count(*)");
        for text in ["@@limits.sessions_max + 1", "@@mysql-threads"] {
            let spelled = spelled(&format!("SELECT {text}")).unwrap();
            assert_eq!(column_name(&spelled), format!("SELECT {text}"));
        }
        assert_eq!(column_name("system_variable('x"), "system_variable('x");
    }
}
