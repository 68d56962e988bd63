//! The walk over a statement's tokens: what is here, what is ahead, and who else watches.

use crate::doubts::Doubts;
use crate::facts::{Facts, Marks};
use crate::flags::{Flags, Schema};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::server::Server;
use crate::span::Span;
use crate::words::Word;

/// Sees every token of the walk in order, but for comments.
pub(crate) trait Watcher {
    /// `token` was passed; `ahead` comes next.
    fn token(&mut self, text: &[u8], token: Token, ahead: Token);
}

/// Nobody watches.
impl Watcher for () {
    #[inline]
    fn token(&mut self, _: &[u8], _: Token, _: Token) {}
}

/// A walk that notes facts.
pub(crate) struct Scan<'a, W> {
    pub text: &'a [u8],
    lexer: Lexer<'a>,
    /// The token before.
    pub last: Token,
    /// The token to look at.
    pub here: Token,
    /// The one behind it.
    pub ahead: Token,
    pub facts: &'a mut Facts,
    watcher: &'a mut W,
    /// How deep statements and queries are nested in one another.
    pub nesting: u32,
    /// User variables that are named are read and set: CALL, LOAD DATA.
    pub sets_variables: bool,
    /// Blocks are run, not kept: MariaDB's compound statements.
    pub runs_block: bool,
    /// The default schema, as statements before this one have left it.
    pub default_schema: DefaultSchema,
    /// Who will read the statement.
    pub server: Server,
    /// The common tables that can be seen from here.
    pub common: Vec<CommonTable>,
    /// Blanks between a function's name and its parenthesis say nothing.
    pub ignore_space: bool,
    /// What statements of the command leave in doubt for those behind them.
    pub doubts_behind: Doubts,
}

/// The schema of names that name none.
pub(crate) struct DefaultSchema {
    pub class: Schema,
    /// As the last USE of the command has named it; empty where there was none.
    pub name: Span,
}

/// A common table: of WITH.
pub(crate) struct CommonTable {
    pub name: Span,
    /// How many parentheses are open around its WITH, in the text that is walked over at once.
    pub depth: u32,
}

/// Statements nested deeper are not followed, and unsure.
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

    /// Goes one token on and returns the one that was here. Stays at the end of the statement.
    #[inline]
    pub fn advance(&mut self) -> Token {
        if self.is_at_end() {
            self.here
        } else {
            self.pass()
        }
    }

    /// Goes one token on, over a semicolon too.
    #[inline]
    pub fn step(&mut self) -> Token {
        if self.here.kind == TokenKind::End {
            return self.here;
        }
        self.pass()
    }

    /// Goes one token on, which is not the last.
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

    /// In front of a row: passes its values, and rows behind it that have nothing but values.
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

    /// Puts the next token that is no comment ahead.
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

    /// The tokens of the statement from here on, without going there.
    pub fn tokens_ahead(&self) -> impl Iterator<Item = Token> + use<'a, W> {
        let first = [self.here, self.ahead].into_iter();
        let rest = self
            .lexer
            .filter(|t| !matches!(t.kind, TokenKind::Comment | TokenKind::Hint));
        let is_inside = |t: &Token| !matches!(t.kind, TokenKind::End | TokenKind::Semicolon);
        first.chain(rest).take_while(is_inside)
    }

    /// The token behind the one ahead.
    pub fn third(&self) -> Token {
        self.tokens_ahead().nth(2).unwrap_or_default()
    }

    /// How the statement here is read.
    pub fn flags(&self) -> Flags {
        Flags {
            schema: self.default_schema.class,
            ignore_space: self.ignore_space,
            ..self.lexer.flags()
        }
    }

    /// Reads on otherwise behind the statement that ends here.
    pub fn read_on_as(&mut self, flags: Flags) {
        self.ignore_space = flags.ignore_space;
        let behind = self.here.span.end;
        let skipped = Span {
            start: behind,
            end: self.ahead.span.start,
        };
        // An executable comment may begin or end between the two: where depends on how it was read.
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

    /// Notes what only the lexer knows, at the end.
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

    /// Goes on if this word is here.
    pub fn take_word(&mut self, word: Word) -> bool {
        let is_here = self.here.word == word;
        if is_here {
            self.advance();
        }
        is_here
    }

    /// Goes on if this kind of token is here.
    pub fn take_kind(&mut self, kind: TokenKind) -> bool {
        let is_here = self.here.kind == kind;
        if is_here {
            self.advance();
        }
        is_here
    }

    /// Goes on while one of these words is here.
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

    /// Goes to this word or the end of the statement, and tells whether the word is here.
    pub fn skip_to(&mut self, word: Word) -> bool {
        while !self.is_at_end() && self.here.word != word {
            self.advance();
        }
        self.here.word == word
    }

    /// Goes behind the parenthesis that closes the one here, if one is here.
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

    /// Whether a name may stand here.
    pub fn is_name(&self) -> bool {
        matches!(self.here.kind, TokenKind::Word | TokenKind::Quoted)
    }

    /// Whether the name of a table may stand here. In MariaDB a dot may stand in front: the schema is the default.
    pub fn is_table_name(&self) -> bool {
        self.is_name() || self.here.kind == TokenKind::Dot
    }

    /// Passes `name`, `.name`, `schema.name` or `catalog.schema.name`; the last two are told.
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
