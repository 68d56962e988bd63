//! The names of databases, routines, triggers and events in statements that change them. Tables are found by
//! `sql::facts`.

mod accounts;

use sql::{Flags, Lexer, Token, TokenKind, Word};

use crate::object::{ObjectKind, ObjectName};

pub use accounts::{AccountChange, account_change};

/// The objects that a statement names; none if the name is not found.
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

    /// Goes behind the word that says what the object is.
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
                    // `= name@host`, in which the name may be a word.
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

    /// IF EXISTS, IF NOT EXISTS
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

    /// A name without its quotes.
    fn name(&mut self) -> String {
        let name = self.here.span.name(self.text.as_bytes());
        let name = String::from_utf8_lossy(&name).into_owned();
        self.advance();
        name
    }

    /// `name` or `schema.name`
    fn qualified(&mut self, default_schema: &str) -> (String, String) {
        let first = self.name();
        if self.here.kind != TokenKind::Dot {
            return (default_schema.to_owned(), first);
        }
        self.advance();
        (first, self.name())
    }

    /// ALTER DATABASE may name none: then it is the session's.
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

    /// ALTER EVENT … RENAME TO …
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
