//! The format of `proxysql.cnf`: settings `name = value`, groups in braces, lists in parentheses. Separators may be
//! missing, because ProxySQL's own examples leave some out.

use crate::source::Refusal;

/// A setting of a group.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The line of the name.
    pub line: usize,
    /// Its value.
    pub value: Value,
}

/// A value.
#[derive(Debug)]
pub enum Value {
    /// A number, a boolean or a text, as the file has it.
    Scalar(String),
    /// Values in parentheses or brackets.
    List(Vec<(usize, Value)>),
    /// Settings in braces.
    Group(Vec<Setting>),
}

/// How deep groups may be nested.
const DEPTH_MAX: usize = 16;
/// The most values that are read.
const VALUES_MAX: usize = 500_000;

/// Reads a whole file.
///
/// # Errors
/// The first place that does not follow the format.
pub fn read(text: &str) -> Result<Vec<Setting>, Refusal> {
    let mut reader = Reader {
        rest: text,
        line: 1,
        values: 0,
    };
    let settings = reader.settings(0)?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(settings),
        Some(letter) => Err(reader.unexpected(letter)),
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    values: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|&it| it == b'\n').count();
        self.rest = rest;
    }

    fn take(&mut self, letter: char) -> bool {
        let is_next = self.peek() == Some(letter);
        if is_next {
            self.advance(letter.len_utf8());
        }
        is_next
    }

    fn unexpected(&self, letter: char) -> Refusal {
        let text = format!("\"{}\" is not expected here", letter.escape_debug());
        Refusal::at(
            self.line,
            text,
            "see whether a bracket or a quote is missing in the lines above",
        )
    }

    /// Skips blanks, comments and separators.
    fn skip(&mut self) -> Result<(), Refusal> {
        loop {
            let blank = self.rest.len()
                - self
                    .rest
                    .trim_start_matches([' ', '\t', '\r', '\n', ';', ',', '\u{feff}'])
                    .len();
            self.advance(blank);
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(end);
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return Err(Refusal::at(
                        self.line,
                        "a comment has no end",
                        "write */ behind it",
                    ));
                };
                self.advance(end + 2);
            } else if blank == 0 {
                return Ok(());
            }
        }
    }

    fn settings(&mut self, depth: usize) -> Result<Vec<Setting>, Refusal> {
        let mut settings = Vec::new();
        loop {
            self.skip()?;
            if self.rest.starts_with('@') {
                let hint = "write the content of the included file in its place";
                return Err(Refusal::at(self.line, "@include is not followed", hint));
            }
            let is_name =
                |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '*' | '.');
            let length = self.rest.find(|it| !is_name(it)).unwrap_or(self.rest.len());
            if length == 0 {
                return Ok(settings);
            }
            let (name, line) = (self.rest[..length].to_owned(), self.line);
            self.advance(length);
            self.skip()?;
            if !self.take('=') && !self.take(':') {
                let text = format!("\"{name}\" has no value");
                return Err(Refusal::at(line, text, "write = and a value behind it"));
            }
            let value = self.value(depth)?;
            settings.push(Setting { name, line, value });
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Refusal> {
        self.skip()?;
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX {
            let text = "the file has too many values, or groups too deep in one another";
            return Err(Refusal::at(
                self.line,
                text,
                "name the configuration file itself",
            ));
        }
        match self.peek() {
            Some('{') => {
                let line = self.line;
                self.advance(1);
                let settings = self.settings(depth + 1)?;
                self.close('}', line)?;
                Ok(Value::Group(settings))
            }
            Some('(') => self.list(depth, ')'),
            Some('[') => self.list(depth, ']'),
            Some('"') => self.text().map(Value::Scalar),
            Some(letter) => {
                let is_word =
                    |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '+' | '.');
                let length = self.rest.find(|it| !is_word(it)).unwrap_or(self.rest.len());
                if length == 0 {
                    return Err(self.unexpected(letter));
                }
                let word = self.rest[..length].to_owned();
                self.advance(length);
                Ok(Value::Scalar(number(word)))
            }
            None => Err(Refusal::at(
                self.line,
                "a value is missing",
                "write it behind the =",
            )),
        }
    }

    fn list(&mut self, depth: usize, end: char) -> Result<Value, Refusal> {
        let first = self.line;
        self.advance(1);
        let mut values = Vec::new();
        loop {
            self.skip()?;
            if self.take(end) {
                return Ok(Value::List(values));
            }
            if self.rest.is_empty() {
                self.close(end, first)?;
            }
            let line = self.line;
            values.push((line, self.value(depth + 1)?));
        }
    }

    fn close(&mut self, end: char, opened: usize) -> Result<(), Refusal> {
        self.skip()?;
        if self.take(end) {
            return Ok(());
        }
        match self.peek() {
            Some(letter) => Err(self.unexpected(letter)),
            None => {
                let text = format!("the bracket of line {opened} is not closed");
                Err(Refusal::at(
                    self.line,
                    text,
                    format!("write {end} behind the last value"),
                ))
            }
        }
    }

    /// A text in quotes. Several texts in a row are joined to one.
    fn text(&mut self) -> Result<String, Refusal> {
        let mut text = String::new();
        while self.take('"') {
            let line = self.line;
            loop {
                let Some(letter) = self.peek() else {
                    return Err(Refusal::at(line, "a text has no end", "write \" behind it"));
                };
                self.advance(letter.len_utf8());
                match letter {
                    '"' => break,
                    '\\' => {
                        let escaped = self.peek().unwrap_or('\\');
                        self.advance(if self.rest.is_empty() {
                            0
                        } else {
                            escaped.len_utf8()
                        });
                        match escaped {
                            'n' => text.push('\n'),
                            't' => text.push('\t'),
                            'r' => text.push('\r'),
                            'f' => text.push('\u{c}'),
                            '"' | '\\' => text.push(escaped),
                            // Expressions such as \d are common in texts.
                            other => text.extend(['\\', other]),
                        }
                    }
                    other => text.push(other),
                }
            }
            let before = (self.rest, self.line);
            self.skip_blanks();
            if self.peek() != Some('"') {
                (self.rest, self.line) = before;
                break;
            }
        }
        Ok(text)
    }

    fn skip_blanks(&mut self) {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.advance(blank);
    }
}

/// A number in decimal, without the L of a long number.
fn number(word: String) -> String {
    let digits = word.trim_end_matches('L');
    if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
        && let Ok(value) = u64::from_str_radix(hex, 16)
    {
        return value.to_string();
    }
    match digits.parse::<i64>() {
        Ok(_) => digits.to_owned(),
        Err(_) => word,
    }
}
