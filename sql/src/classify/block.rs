//! Bodies of routines: which semicolon ends the statement and which only a statement inside.

use crate::facts::{Effects, Marks, Role};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::uses::Uses;
use crate::words::Word;

/// The blocks that are open: BEGIN, IF, CASE, LOOP … up to END.
#[derive(Default)]
struct BlockNesting {
    count: u32,
    /// A bit each: it is a CASE in an expression, inside which no statement begins.
    expressions: u64,
}

/// More open blocks than this are not told apart.
const BLOCKS_MAX: u32 = 64;

impl BlockNesting {
    fn push(&mut self, is_expression: bool) {
        self.expressions = self.expressions << 1 | u64::from(is_expression);
        self.count += 1;
    }

    fn pop(&mut self) {
        self.expressions >>= 1;
        self.count = self.count.saturating_sub(1);
    }

    const fn is_in_expression(&self) -> bool {
        self.expressions & 1 != 0
    }
}

/// Whether a statement may begin here.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    No,
    Yes,
    /// Behind any number of words: the header of a routine, the conditions of a handler.
    Soon,
}

impl<W: Watcher> Scan<'_, W> {
    /// name(parameters) characteristics body
    pub fn routine(&mut self) {
        self.qualified_name();
        self.skip_parentheses();
        self.blocks(BlockNesting::default(), Start::Soon);
    }

    /// name AS declarations … END
    pub fn package(&mut self) {
        let mut blocks = BlockNesting::default();
        blocks.push(false);
        self.blocks(blocks, Start::Yes);
    }

    /// A statement, which may be compound, at its first token.
    pub fn block(&mut self) {
        self.blocks(BlockNesting::default(), Start::Yes);
    }

    /// Goes to the semicolon that ends all blocks.
    fn blocks(&mut self, mut blocks: BlockNesting, mut start: Start) {
        loop {
            if self.runs_block {
                self.note_in_block();
            }
            start = match self.here.kind {
                TokenKind::End => return,
                TokenKind::Semicolon if blocks.count == 0 => return,
                TokenKind::Semicolon | TokenKind::Colon => Start::Yes,
                TokenKind::Word => match self.block_word(&mut blocks, start) {
                    Some(next) => next,
                    None => continue,
                },
                _ if start == Start::Soon => Start::Soon,
                _ => Start::No,
            };
            self.step();
            if blocks.count >= BLOCKS_MAX {
                self.facts.marks.add(Marks::LOST);
                return self.skip_to_end_of_text();
            }
        }
    }

    /// Notes what a block that runs now uses; that it may do anything is known.
    fn note_in_block(&mut self) {
        match self.here.kind {
            // It is a reserved word: only behind a dot it is a name.
            TokenKind::Word if self.here.word == Word::Kill && self.last.kind != TokenKind::Dot => {
                self.facts.marks.add(Marks::KILLS);
            }
            TokenKind::UserVariable => {
                let (none, name) = (Span::default(), self.here.span);
                self.facts.uses.add(Uses::USER_VARIABLES);
                self.facts.effects.add(Effects::USER_VARIABLES);
                self.facts.mention(Role::UserVariableRead, none, name);
                self.facts.mention(Role::UserVariableSet, none, name);
            }
            TokenKind::SystemVariable => self.facts.uses.add(Uses::VARIABLES),
            TokenKind::Word if self.ahead.kind == TokenKind::Open => {
                self.builtin(self.here.function, false);
            }
            _ => {}
        }
    }

    fn skip_to_end_of_text(&mut self) {
        while self.here.kind != TokenKind::End {
            self.step();
        }
    }

    /// What a word opens or closes, and whether a statement may begin behind it. None where the
    /// words were passed already.
    fn block_word(&mut self, blocks: &mut BlockNesting, start: Start) -> Option<Start> {
        let may_start = start != Start::No;
        Some(match self.here.word {
            Word::Begin => {
                blocks.push(false);
                Start::Yes
            }
            Word::Loop | Word::Repeat if may_start => {
                blocks.push(false);
                Start::Yes
            }
            Word::If | Word::While | Word::For if may_start => {
                blocks.push(false);
                Start::No
            }
            Word::Case => {
                blocks.push(!may_start);
                Start::No
            }
            Word::Then | Word::Else | Word::Do
                if blocks.count > 0 && !blocks.is_in_expression() =>
            {
                Start::Yes
            }
            Word::End => {
                self.end_of_block(blocks);
                return None;
            }
            Word::Handler if self.ahead.word == Word::For => {
                self.advance();
                Start::Soon
            }
            Word::As if start == Start::Soon && self.is_declaring() => {
                self.declarations();
                return None;
            }
            Word::Is if start == Start::Soon => {
                self.declarations();
                return None;
            }
            word if start == Start::Soon && !begins_body(word) => Start::Soon,
            _ => Start::No,
        })
    }

    /// END [IF | CASE | LOOP | …]
    fn end_of_block(&mut self, blocks: &mut BlockNesting) {
        self.advance();
        blocks.pop();
        self.skip_words(&[
            Word::If,
            Word::Case,
            Word::Loop,
            Word::Repeat,
            Word::While,
            Word::For,
        ]);
    }

    /// Whether AS is followed by Oracle's declarations, not by the text of another language.
    fn is_declaring(&self) -> bool {
        !matches!(self.ahead.kind, TokenKind::String | TokenKind::Dollar)
    }

    /// Oracle's declarations between AS and BEGIN: their semicolons end nothing.
    fn declarations(&mut self) {
        self.step();
        while self.here.kind != TokenKind::End && self.here.word != Word::Begin {
            self.step();
        }
    }
}

/// Words that begin a routine's body of one statement; behind them IF is a function.
const fn begins_body(word: Word) -> bool {
    matches!(
        word,
        Word::Alter
            | Word::Call
            | Word::Create
            | Word::Delete
            | Word::Drop
            | Word::Execute
            | Word::Insert
            | Word::Prepare
            | Word::Replace
            | Word::Return
            | Word::Select
            | Word::Set
            | Word::Show
            | Word::Signal
            | Word::Update
            | Word::With
    )
}
