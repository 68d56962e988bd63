//! The pass over a statement's tokens: the current token, the next token, and a watcher that sees all tokens.

use crate::doubts::Doubts;
use crate::facts::{Facts, Marks};
use crate::flags::{Flags, Schema};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::server::Server;
use crate::span::Span;
use crate::words::Word;

/// Sees every token of the pass in order, except comments.
pub(crate) trait Watcher {
    /// Is called after `token` was passed; `ahead` is the next token.
    fn token(&mut self, text: &[u8], token: Token, ahead: Token);
}

/// A pass without a watcher.
impl Watcher for () {
    #[inline]
    fn token(&mut self, _: &[u8], _: Token, _: Token) {}
}

/// A pass over tokens that notes facts.
pub(crate) struct Scan<'a, W> {
    pub text: &'a [u8],
    lexer: Lexer<'a>,
    /// The previous token.
    pub last: Token,
    /// The current token.
    pub here: Token,
    /// The next token.
    pub ahead: Token,
    pub facts: &'a mut Facts,
    watcher: &'a mut W,
    /// The nesting depth of statements and queries.
    pub nesting: u32,
    /// Whether a named user variable is both read and set: CALL, LOAD DATA.
    pub sets_variables: bool,
    /// Whether blocks run now and are not stored: MariaDB's compound statements.
    pub runs_block: bool,
    /// The default schema after the previous statements.
    pub default_schema: DefaultSchema,
    /// The server that will read the statement.
    pub server: Server,
    /// The common tables that are visible here.
    pub common: Vec<CommonTable>,
    /// Whether spaces between a function's name and its parenthesis are ignored.
    pub ignore_space: bool,
    /// The doubts that statements of the command cause for later ones.
    pub doubts_behind: Doubts,
}

/// The schema of names that do not name one.
pub(crate) struct DefaultSchema {
    pub class: Schema,
    /// Its name in the last USE of the command; empty if there was none.
    pub name: Span,
}

/// A common table: of WITH.
pub(crate) struct CommonTable {
    pub name: Span,
    /// The number of open parentheses around its WITH, within the same pass.
    pub depth: u32,
}

/// The largest nesting depth. Statements that are nested deeper are not read, and count as unsure.
pub(crate) const NESTING_MAX: u32 = 32;

impl<'a, W: Watcher> Scan<'a, W> {
    pub fn new(text: &'a [u8], flags: Flags, facts: &'a mut Facts, watcher: &'a mut W) -> Self {
        let mut scan = Self {
            text,
            lexer: Lexer::new(text, flags),
            last: Token::default(),
            here: Token::default(),
            ahead: Token::default(),
            facts,
            watcher,
            nesting: 0,
            sets_variables: false,
            runs_block: false,
            default_schema: DefaultSchema {
                class: flags.schema,
                name: Span::default(),
            },
            server: flags.server,
            common: Vec::new(),
            ignore_space: flags.ignore_space,
            doubts_behind: Doubts::NONE,
        };
        scan.fetch();
        scan.here = scan.ahead;
        scan.fetch();
        scan
    }

    /// Goes to the next token and returns the passed one. Stays at the end of the statement.
    #[inline]
    pub fn advance(&mut self) -> Token {
        if self.is_at_end() {
            self.here
        } else {
            self.pass()
        }
    }

    /// Goes to the next token, also past a semicolon.
    #[inline]
    pub fn step(&mut self) -> Token {
        if self.here.kind == TokenKind::End {
            return self.here;
        }
        self.pass()
    }

    /// Goes to the next token. The current token must not be the end.
    fn pass(&mut self) -> Token {
        let passed = self.here;
        self.watcher.token(self.text, passed, self.ahead);
        self.last = passed;
        self.here = self.ahead;
        self.fetch();
        if self.ahead.kind == TokenKind::Comma && self.here.kind.is_literal() {
            self.lexer.skip_values();
        }
        passed
    }

    /// At the start of a row: passes its values, and the rows after it that contain only values.
    pub fn skip_rows(&mut self) {
        let mut count = 0;
        while self.here.kind.is_literal() || self.here.word == Word::Null {
            self.advance();
            count += 1;
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
        let is_row = self.here.kind == TokenKind::Close && self.ahead.kind == TokenKind::Comma;
        if is_row && count > 1 {
            self.lexer.skip_rows();
        }
    }

    /// Reads the next token that is no comment into `ahead`.
    #[inline]
    fn fetch(&mut self) {
        loop {
            self.lexer.cut(&mut self.ahead);
            match self.ahead.kind {
                TokenKind::Comment => self.facts.comment(self.ahead.span, false),
                TokenKind::Hint => self.facts.comment(self.ahead.span, true),
                _ => return,
            }
        }
    }

    /// Returns the tokens of the statement from here on, without passing them.
    pub fn tokens_ahead(&self) -> impl Iterator<Item = Token> + use<'a, W> {
        let first = [self.here, self.ahead].into_iter();
        let rest = self
            .lexer
            .filter(|t| !matches!(t.kind, TokenKind::Comment | TokenKind::Hint));
        let is_inside = |t: &Token| !matches!(t.kind, TokenKind::End | TokenKind::Semicolon);
        first.chain(rest).take_while(is_inside)
    }

    /// Returns the token after `ahead`.
    pub fn third(&self) -> Token {
        self.tokens_ahead().nth(2).unwrap_or_default()
    }

    /// The settings with which the statement here is read.
    pub fn flags(&self) -> Flags {
        Flags {
            schema: self.default_schema.class,
            ignore_space: self.ignore_space,
            ..self.lexer.flags()
        }
    }

    /// Reads with other settings after the statement that ends here.
    pub fn read_on_as(&mut self, flags: Flags) {
        self.ignore_space = flags.ignore_space;
        let behind = self.here.span.end;
        let skipped = Span {
            start: behind,
            end: self.ahead.span.start,
        };
        // If an executable comment begins or ends between the statements, its place depends on the settings.
        let skipped = skipped.of(self.text);
        let count = |mark: &[u8]| skipped.windows(mark.len()).filter(|it| *it == mark).count();
        let has_code = count(b"/*!") > 0 || count(b"/*M!") > 0;
        if has_code || count(b"/*") != count(b"*/") {
            self.facts.marks.add(Marks::LOST);
        }
        self.lexer.read_on_from(behind as usize, flags);
        self.facts.comments.retain(|it| it.span.start < behind);
        self.fetch();
    }

    /// Notes the lexer's marks at the end.
    pub fn finish(&mut self) {
        if self.lexer.is_lost() {
            self.facts.marks.add(Marks::LOST);
        }
        if self.lexer.is_conditional() {
            self.facts.marks.add(Marks::CONDITIONAL);
        }
    }

    /// Whether the statement ends here.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        matches!(self.here.kind, TokenKind::End | TokenKind::Semicolon)
    }

    /// Passes this word if it is the current token.
    pub fn take_word(&mut self, word: Word) -> bool {
        let is_here = self.here.word == word;
        if is_here {
            self.advance();
        }
        is_here
    }

    /// Passes the current token if it has this kind.
    pub fn take_kind(&mut self, kind: TokenKind) -> bool {
        let is_here = self.here.kind == kind;
        if is_here {
            self.advance();
        }
        is_here
    }

    /// Passes tokens as long as they are among these words.
    pub fn skip_words(&mut self, words: &[Word]) {
        while words.contains(&self.here.word) {
            self.advance();
        }
    }

    /// Goes to the end of the statement.
    pub fn skip_rest(&mut self) {
        while !self.is_at_end() {
            self.advance();
        }
    }

    /// Goes to this word or the end of the statement. Returns whether the word is here.
    pub fn skip_to(&mut self, word: Word) -> bool {
        while !self.is_at_end() && self.here.word != word {
            self.advance();
        }
        self.here.word == word
    }

    /// Passes a parenthesis with its content, if one opens here.
    pub fn skip_parentheses(&mut self) {
        if self.here.kind != TokenKind::Open {
            return;
        }
        let mut depth = 0u32;
        while !self.is_at_end() {
            match self.advance().kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close if depth == 1 => return,
                TokenKind::Close => depth -= 1,
                _ => {}
            }
        }
    }

    /// Whether the current token may be a name.
    pub fn is_name(&self) -> bool {
        matches!(self.here.kind, TokenKind::Word | TokenKind::Quoted)
    }

    /// Whether the name of a table may begin here. In MariaDB it may begin with a dot, which means the default schema.
    pub fn is_table_name(&self) -> bool {
        self.is_name() || self.here.kind == TokenKind::Dot
    }

    /// Passes `name`, `.name`, `schema.name` or `catalog.schema.name`. Returns schema and name.
    pub fn qualified_name(&mut self) -> (Span, Span) {
        let (mut schema, mut name) = (Span::default(), Span::default());
        if self.here.kind == TokenKind::Dot {
            self.advance();
        }
        while self.is_name() {
            schema = name;
            name = self.advance().span;
            if self.here.kind != TokenKind::Dot {
                break;
            }
            self.advance();
        }
        (schema, name)
    }
}
