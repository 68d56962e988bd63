//! Translates MySQL syntax that client libraries use to SQLite's: strings in double quotes and with backslashes, system
//! variables, executable comments, DUAL. The rest of a statement is SQLite's SQL and stays unchanged.

use sql::{Flags, Lexer, Server, Token, TokenKind};

use crate::fault::Fault;
use crate::functions::VARIABLES;
use crate::registry;
use crate::table::Schema;

/// The flags with which the admin port reads statements: those of a MySQL version that every client knows.
pub const FLAGS: Flags = Flags {
    no_backslash_escapes: false,
    ansi_quotes: false,
    ignore_space: true,
    charset: sql::Charset::UTF8MB4,
    schema: sql::Schema::Plain,
    server: Server::MySql(80_040),
};

/// How deep parentheses may be nested.
const DEPTH_MAX: usize = 200;

/// The longest name of a system variable, in bytes.
const VARIABLE_BYTES_MAX: usize = 256;

/// A statement's text and its tokens, without comments and blanks.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

/// The tokens of a text up to the semicolon that ends the statement, without comments and blanks.
///
/// # Errors
/// The text has NULs, or more than one statement.
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
    let ends = |token: &Token| token.kind == TokenKind::Semicolon;
    while tokens.last().is_some_and(ends) {
        tokens.pop();
    }
    match tokens.iter().any(ends) {
        true => Err(Fault::syntax(
            "The admin port takes one statement at a time",
        )),
        false => Ok(tokens),
    }
}

impl<'a> Text<'a> {
    /// Joins a text and its tokens.
    pub fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens }
    }

    /// Whether no token is left.
    pub fn is_empty(self) -> bool {
        self.tokens.is_empty()
    }

    /// The first token, as written; empty if no token is left.
    pub fn first(self) -> &'a str {
        self.tokens.first().map_or("", |token| self.written(token))
    }

    /// Whether the first token is this word, in any case.
    pub fn begins_with(self, word: &str) -> bool {
        self.first().eq_ignore_ascii_case(word)
    }

    /// The text after the first token, if that is this word.
    pub fn behind(self, word: &str) -> Option<Self> {
        self.begins_with(word).then(|| self.rest())
    }

    /// The text after the first token, if that is one of these words.
    pub fn behind_any(self, words: &[&str]) -> Option<Self> {
        words.iter().find_map(|word| self.behind(word))
    }

    /// The text without its first token, if that is one of these words; else the whole text.
    pub fn without(self, words: &[&str]) -> Self {
        self.behind_any(words).unwrap_or(self)
    }

    /// The text after these words, if it begins with them.
    pub fn behind_words(self, words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        words.try_fold(self, |text, word| text.behind(word))
    }

    /// The text after the first token.
    pub fn rest(self) -> Self {
        Self {
            tokens: self.tokens.get(1..).unwrap_or_default(),
            ..self
        }
    }

    /// The first `count` tokens.
    pub fn up_to(self, count: usize) -> Self {
        Self {
            tokens: self.tokens.get(..count).unwrap_or(self.tokens),
            ..self
        }
    }

    /// A name, quoted or not, and the text after it.
    pub fn name(self) -> Option<(String, Self)> {
        let token = self.tokens.first()?;
        if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
            return None;
        }
        let name = token.span.name(self.text.as_bytes());
        Some((String::from_utf8_lossy(&name).into_owned(), self.rest()))
    }

    /// A string's value, and the text after it.
    pub fn string(self) -> Option<(String, Self)> {
        let token = self.tokens.first()?;
        let value = string(token, self.text)?;
        Some((value, self.rest()))
    }

    /// A whole number, and the text after it.
    pub fn number(self) -> Option<(u64, Self)> {
        let number = self.first().parse().ok()?;
        Some((number, self.rest()))
    }

    /// All tokens in capitals, with a space between each two.
    pub fn words(self) -> String {
        let words = self.tokens.iter().map(|token| self.written(token));
        words.collect::<Vec<_>>().join(" ").to_ascii_uppercase()
    }

    /// The whole text, as written.
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

    /// The statement in SQLite's SQL.
    ///
    /// # Errors
    /// User variables, unknown system variables, parentheses that are nested too deep.
    pub fn in_sqlite(self) -> Result<String, Fault> {
        let mut written = String::with_capacity(self.text.len());
        let (mut at, mut end, mut depth) = (0, None, 0_usize);
        let mut is_in_result = false;
        while let Some(token) = self.tokens.get(at) {
            if let Some(end) = end {
                written.push_str(self.gap(end, token.span.start as usize));
            }
            match token.kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                TokenKind::Word if depth == 0 && self.is_word(at, "SELECT") => is_in_result = true,
                TokenKind::Word if depth == 0 && self.is_word(at, "FROM") => is_in_result = false,
                _ => {}
            }
            if depth > DEPTH_MAX {
                return Err(Fault::syntax(format!(
                    "Parentheses are nested deeper than {DEPTH_MAX}"
                )));
            }
            let (piece, count) = self.piece(at, token)?;
            written.push_str(&piece);
            let is_variable = token.kind == TokenKind::SystemVariable;
            if is_variable && depth == 0 && is_in_result && self.is_column(at, at + count) {
                let name = self.between(at, at + count).replace('"', "");
                written.push_str(&format!(" AS \"{name}\""));
            }
            at += count;
            let last = self.tokens.get(at - 1);
            end = last.map(|token| token.span.end as usize);
        }
        Ok(written)
    }

    /// The gap between two tokens: blanks as written, one space in place of anything else, such as a comment.
    fn gap(self, from: usize, to: usize) -> &'a str {
        let gap = self.text.get(from..to).unwrap_or_default();
        match gap.trim().is_empty() {
            true => gap,
            false => " ",
        }
    }

    /// The token at a place in SQLite's SQL, and how many tokens it stands for.
    fn piece(self, at: usize, token: &Token) -> Result<(String, usize), Fault> {
        let text = self.written(token);
        let one = |piece: &str| Ok((piece.to_owned(), 1));
        match token.kind {
            TokenKind::String => match string(token, self.text) {
                Some(value) => Ok((quoted(&value), 1)),
                None => Err(Fault::syntax(format!("Not a string: {text}"))),
            },
            TokenKind::SystemVariable => self.system_variable(at),
            TokenKind::UserVariable => {
                let text = format!("There are no user variables on the admin port: {text}");
                Err(Fault::no_column(text))
            }
            TokenKind::Introducer => one(""),
            TokenKind::Word if self.is_word(at, "FROM") && self.is_word(at + 1, "DUAL") => {
                Ok((String::new(), 2))
            }
            TokenKind::Word if self.is_word(at, "CONVERT") && self.converts_to_integer(at) => {
                one("CAST")
            }
            _ if self.ends_conversion(at) => Ok((" AS INTEGER".to_owned(), 3)),
            TokenKind::Word | TokenKind::Quoted => one(self.other_home(at).unwrap_or(text)),
            _ => one(text),
        }
    }

    /// Whether a CONVERT ends with `, UNSIGNED INTEGER)`, as MariaDB's connector for Java writes it for columns.
    fn converts_to_integer(self, at: usize) -> bool {
        let mut depth = 0_usize;
        for place in at + 1..self.tokens.len() {
            match self.text_of(place) {
                "(" => depth += 1,
                ")" if depth == 1 => return false,
                ")" => depth = depth.saturating_sub(1),
                _ if depth == 0 => return false,
                _ if depth == 1 && self.ends_conversion(place) => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether `, UNSIGNED INTEGER)` begins here.
    fn ends_conversion(self, at: usize) -> bool {
        self.text_of(at) == ","
            && self.is_word(at + 1, "UNSIGNED")
            && self.is_word(at + 2, "INTEGER")
            && self.text_of(at + 3) == ")"
    }

    /// The schema in which SQLite has a table, if this is the name of the table's schema and that is another one.
    fn other_home(self, at: usize) -> Option<&'static str> {
        let name = |at: usize| {
            let rest = self.tokens.get(at..).unwrap_or_default();
            Text::new(self.text, rest).name().map(|(name, _)| name)
        };
        if self.text_of(at + 1) != "." {
            return None;
        }
        let (schema, table) = (name(at)?, name(at + 2)?);
        let table = registry::table(Some(Schema::named(&schema)?), &table)?;
        Some(table.home()).filter(|home| *home != table.schema().name())
    }

    /// `@@name`, `@@session.name` and the like: the fixed value of a variable that clients ask for, or a setting's
    /// value.
    fn system_variable(self, at: usize) -> Result<(String, usize), Fault> {
        let mut name = self.text_of(at).trim_start_matches('@').to_owned();
        let mut count = 1;
        while self.text_of(at + count) == "." && name.len() <= VARIABLE_BYTES_MAX {
            name = format!("{name}.{}", self.text_of(at + count + 1));
            count += 2;
        }
        let wanted = unscoped(&name);
        let mut known = VARIABLES.iter();
        if let Some((_, value)) = known.find(|(name, _)| name.eq_ignore_ascii_case(wanted)) {
            let value = match value.parse::<i64>() {
                Ok(number) => number.to_string(),
                Err(_) => quoted(value),
            };
            return Ok((value, count));
        }
        let Some(setting) = setting(wanted) else {
            let shown: String = wanted.chars().take(VARIABLE_BYTES_MAX).collect();
            return Err(Fault::no_variable(format!(
                "Unknown system variable '{shown}'; SELECT name FROM settings lists the settings"
            )));
        };
        let name = quoted(setting.name);
        let value = format!("(SELECT value FROM pilotfish.settings WHERE name = {name})");
        Ok((value, count))
    }

    /// Whether a column of a result consists of these tokens only, and has no alias.
    fn is_column(self, from: usize, to: usize) -> bool {
        let begins = from == 0 || self.is_word(from - 1, "SELECT") || self.text_of(from - 1) == ",";
        let ends = ["", ",", "FROM", "LIMIT"];
        begins && ends.iter().any(|end| self.is_word(to, end))
    }

    /// The text of these tokens, as written.
    fn between(self, from: usize, to: usize) -> &'a str {
        let tokens = self.tokens.get(from..to).unwrap_or_default();
        Text::new(self.text, tokens).as_written()
    }

    fn is_word(self, at: usize, word: &str) -> bool {
        self.text_of(at).eq_ignore_ascii_case(word)
    }

    fn text_of(self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| self.written(token))
    }
}

/// The name of a system variable without its scope.
pub fn unscoped(name: &str) -> &str {
    let scope = ["session.", "global.", "local."].iter().find(|scope| {
        let start = name.get(..scope.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scope))
    });
    let skipped = scope.map_or(0, |scope| scope.len());
    name.get(skipped..).unwrap_or_default()
}

/// The setting of this name, in any case.
pub fn setting(name: &str) -> Option<&'static config::Setting<config::Config>> {
    let old = config::new_name(&name.to_ascii_lowercase());
    let name = old.unwrap_or(name);
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

/// A text as a string literal of SQLite.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn in_sqlite(text: &str) -> Result<String, Fault> {
        let tokens = tokens(text)?;
        Text::new(text, &tokens).in_sqlite()
    }

    #[test]
    fn the_dialect_of_clients_is_translated_for_sqlite() {
        for (text, expected) in [
            (
                "select @@version_comment limit 1",
                "select 'Pilotfish, the admin port' AS \"@@version_comment\" limit 1",
            ),
            (
                "SELECT  @@session.auto_increment_increment AS a, @@GLOBAL.license",
                "SELECT  1 AS a, 'Apache-2.0' AS \"@@GLOBAL.license\"",
            ),
            (
                "SELECT @@global.limits.sessions_max + 1",
                "SELECT (SELECT value FROM pilotfish.settings WHERE name = 'limits.sessions_max') + 1",
            ),
            (
                "SELECT max(@@autocommit, 2), user FROM sessions ORDER BY 1, @@autocommit",
                "SELECT max(1, 2), user FROM sessions ORDER BY 1, 1",
            ),
            ("/* mysql-connector-j */SELECT 1", "SELECT 1"),
            ("SELECT/**/1 -- one", "SELECT 1"),
            ("SELECT /*!40001 DISTINCT */ 1;", "SELECT DISTINCT 1"),
            (
                r#"SELECT "a'b", 'it\'s', 'a''b'"#,
                "SELECT 'a''b', 'it''s', 'a''b'",
            ),
            ("SELECT 1 FROM dual LIMIT 1", "SELECT 1  LIMIT 1"),
            (
                "SELECT `user` FROM sessions # who",
                "SELECT `user` FROM sessions",
            ),
            ("SELECT _utf8mb4'x'", "SELECT 'x'"),
            (
                "SELECT CONVERT (IF(a, b, c), UNSIGNED INTEGER) d",
                "SELECT CAST (IF(a, b, c) AS INTEGER) d",
            ),
            ("SELECT CONVERT(a, CHAR)", "SELECT CONVERT(a, CHAR)"),
            (
                "SELECT * FROM `pilotfish`.digest_history, pilotfish.digests",
                "SELECT * FROM history.digest_history, pilotfish.digests",
            ),
            (
                "SELECT * FROM pilotfish.`Schema_Changes`",
                "SELECT * FROM schemas.`Schema_Changes`",
            ),
        ] {
            assert_eq!(in_sqlite(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn statements_without_a_meaning_on_the_admin_port_are_refused() {
        for (text, number) in [
            ("SELECT 1; SELECT 2", 1064),
            ("SELECT 'x", 1064),
            ("SELECT @x", 1054),
            ("SELECT @@`a'b`", 1193),
            ("SELECT @@nothing", 1193),
            ("SELECT 'a\\0b'", 1064),
            ("SELECT 1\0", 1300),
        ] {
            assert_eq!(in_sqlite(text).unwrap_err().code.number, number, "{text}");
        }
        let deep = format!("SELECT {}", "(".repeat(1 << 18));
        assert_eq!(in_sqlite(&deep).unwrap_err().code.number, 1064);
        let long = format!("SELECT @@a{}", ".a".repeat(1 << 18));
        assert_eq!(in_sqlite(&long).unwrap_err().code.number, 1193);
    }
}
