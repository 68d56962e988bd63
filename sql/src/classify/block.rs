//! Bodies of routines: which semicolon ends the whole statement, and which ends only a statement inside.

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
    /// One bit for each block: whether it is a CASE expression, inside which no statement begins.
    expressions: u64,
}

/// The most open blocks. With more, the statement is marked as lost.
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
    /// After any number of words: the header of a routine, the conditions of a handler.
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

    /// Reads a statement, which may be compound, from its first token on.
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

    /// Notes the uses of a block that runs now. It is already marked as one that may do anything.
    fn note_in_block(&mut self) {
        match self.here.kind {
            // KILL is a reserved word: it is a name only after a dot.
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

    /// Notes the block that a word opens or closes. Returns whether a statement may begin after it; none if
    /// the words were already passed.
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

    /// Whether Oracle's declarations follow AS, and not the text of another language.
    fn is_declaring(&self) -> bool {
        !matches!(self.ahead.kind, TokenKind::String | TokenKind::Dollar)
    }

    /// Passes Oracle's declarations between AS and BEGIN: their semicolons do not end the statement.
    fn declarations(&mut self) {
        self.step();
        while self.here.kind != TokenKind::End && self.here.word != Word::Begin {
            self.step();
        }
    }
}

/// Whether a word begins a routine's body of one statement. After it, IF is a function.
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
