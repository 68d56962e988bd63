//! Finds the names of databases, routines, triggers and events in statements that change them. `sql::facts` finds
//! tables.

mod accounts;

use sql::{Flags, Lexer, Token, TokenKind, Word};

use crate::object::{ObjectKind, ObjectName};

pub use accounts::{AccountChange, account_change};

/// Returns the objects that a statement names; empty if no name is found.
pub fn named_objects(text: &str, flags: Flags, default_schema: &str) -> Vec<ObjectName> {
    let mut names = Names::new(text, flags);
    let Some(kind) = names.kind() else {
        return Vec::new();
    };
    names.skip_condition();
    match kind {
        ObjectKind::Schema => {
            let name = names.schema(default_schema);
            vec![ObjectName {
                schema: name.clone(),
                name,
                kind,
            }]
        }
        _ => {
            let (schema, name) = names.qualified(default_schema);
            let mut objects = vec![ObjectName { schema, name, kind }];
            objects.extend(names.renamed_event(kind, default_schema));
            objects
        }
    }
}

struct Names<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    here: Token,
}

impl<'a> Names<'a> {
    fn new(text: &'a str, flags: Flags) -> Self {
        let mut lexer = Lexer::new(text.as_bytes(), flags);
        let here = lexer.token();
        Self { text, lexer, here }
    }

    fn advance(&mut self) {
        self.here = self.lexer.token();
    }

    fn is_at_end(&self) -> bool {
        self.here.kind == TokenKind::End
    }

    fn is(&self, word: Word) -> bool {
        self.here.kind == TokenKind::Word && self.here.word == word
    }

    /// Returns the kind of object, and advances to the token after the kind's word.
    fn kind(&mut self) -> Option<ObjectKind> {
        while !self.is_at_end() {
            let word = match self.here.kind {
                TokenKind::Word => self.here.word,
                _ => {
                    self.advance();
                    continue;
                }
            };
            self.advance();
            let kind = match word {
                Word::Database | Word::Schema => ObjectKind::Schema,
                Word::Procedure => ObjectKind::Procedure,
                Word::Function => ObjectKind::Function,
                Word::Package if self.word().eq_ignore_ascii_case("body") => {
                    self.advance();
                    ObjectKind::PackageBody
                }
                Word::Package => ObjectKind::Package,
                Word::Trigger => ObjectKind::Trigger,
                Word::Event => ObjectKind::Event,
                Word::Definer => {
                    // Skip `= name@host`, because the name may be one of these words.
                    self.advance();
                    self.advance();
                    continue;
                }
                _ => continue,
            };
            return Some(kind);
        }
        None
    }

    /// Skips IF EXISTS or IF NOT EXISTS.
    fn skip_condition(&mut self) {
        if !self.is(Word::If) {
            return;
        }
        while !self.is_at_end() {
            let is_last = self.is(Word::Exists);
            self.advance();
            if is_last {
                return;
            }
        }
    }

    fn word(&self) -> &'a str {
        let span = self.here.span;
        let range = span.start as usize..span.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    /// Reads a name without its quotes.
    fn name(&mut self) -> String {
        let name = self.here.span.name(self.text.as_bytes());
        let name = String::from_utf8_lossy(&name).into_owned();
        self.advance();
        name
    }

    /// Reads `name` or `schema.name`.
    fn qualified(&mut self, default_schema: &str) -> (String, String) {
        let first = self.name();
        if self.here.kind != TokenKind::Dot {
            return (default_schema.to_owned(), first);
        }
        self.advance();
        (first, self.name())
    }

    /// Reads the schema of ALTER DATABASE. If the statement names none, it means the session's schema.
    fn schema(&mut self, default_schema: &str) -> String {
        const OPTIONS: [&str; 7] = [
            "character",
            "charset",
            "collate",
            "comment",
            "default",
            "encryption",
            "read",
        ];
        let word = self.word().to_ascii_lowercase();
        let is_option = self.here.kind == TokenKind::Word && OPTIONS.contains(&word.as_str());
        match is_option || self.is_at_end() {
            true => default_schema.to_owned(),
            false => self.name(),
        }
    }

    /// Reads the new name in ALTER EVENT … RENAME TO …
    fn renamed_event(&mut self, kind: ObjectKind, default_schema: &str) -> Option<ObjectName> {
        while kind == ObjectKind::Event && !self.is_at_end() {
            if self.is(Word::Do) {
                return None;
            }
            let renames = self.is(Word::Rename);
            self.advance();
            if renames && self.is(Word::To) {
                self.advance();
                let (schema, name) = self.qualified(default_schema);
                return Some(ObjectName { schema, name, kind });
            }
        }
        None
    }
}
