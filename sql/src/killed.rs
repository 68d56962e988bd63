//! The target of a KILL, as far as its text tells it.

use crate::dynamic::{DynamicSource, code};
use crate::facts::{Facts, Role};
use crate::flags::Flags;
use crate::functions::Function;
use crate::kind::{Kill, StatementKind};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::server::Server;
use crate::words::Word;

/// The target of a KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The thread, or the query, with this id. MySQL takes the lower 32 bits of it.
    Id(u64),
    /// The connection that sends it: `CONNECTION_ID()`.
    Own,
    /// The connections of an account (MariaDB).
    Account,
    /// The value of an expression: the server has to evaluate it.
    Expression,
}

/// The parts of a KILL. Its texts have no comments, and no marks of executable comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillText {
    /// The text before KILL: SET STATEMENT … FOR, or only space.
    pub front: Vec<u8>,
    /// KILL and the words after it, up to the target.
    pub words: Vec<u8>,
    /// The target as written.
    pub target: Vec<u8>,
    /// Whether it ends a connection or a statement, and how the target is named.
    pub kill: Kill,
    /// Whether it has HARD or SOFT (MariaDB).
    pub has_grade: bool,
}

impl Facts {
    /// Returns the target of the command, if it is a single KILL.
    pub fn killed(&self, text: &[u8], flags: Flags) -> Option<Killed> {
        let StatementKind::Kill(kill) = self.kind else {
            return None;
        };
        if matches!(kill, Kill::User | Kill::QueryOfUser) {
            return Some(Killed::Account);
        }
        let target = self.mentions_of(Role::Killed).next()?;
        Some(killed(target.name.of(text), flags))
    }

    /// Returns the parts of the command, if it is a single KILL.
    pub fn kill_text(&self, text: &[u8], flags: Flags) -> Option<KillText> {
        let StatementKind::Kill(kill) = self.kind else {
            return None;
        };
        let target = self.mentions_of(Role::Killed).next()?.name;
        let text = code(text, flags);
        let before = text.get(..target.start as usize)?;
        let (mut begin, mut has_grade) = (None, false);
        for token in Lexer::new(before, flags) {
            match token.word {
                Word::Kill => begin = Some(token.span.start as usize),
                Word::Hard | Word::Soft => has_grade = true,
                _ => {}
            }
        }
        let begin = begin?;
        Some(KillText {
            front: before[..begin].to_vec(),
            words: before[begin..].to_vec(),
            target: target.of(&text).to_vec(),
            kill,
            has_grade,
        })
    }
}

impl KillText {
    /// Returns the target.
    pub fn killed(&self, flags: Flags) -> Killed {
        match self.kill {
            Kill::User | Kill::QueryOfUser => Killed::Account,
            Kill::Connection | Kill::Query | Kill::QueryId => killed(&self.target, flags),
        }
    }

    /// Whether the server does not know this form and refuses it for any target.
    pub fn is_refused(&self, flags: Flags) -> bool {
        let is_mariadbs =
            self.has_grade || matches!(self.kill, Kill::User | Kill::QueryOfUser | Kill::QueryId);
        is_mariadbs && matches!(flags.server, Server::MySql(_))
    }

    /// Returns the same KILL with this thread id as its target.
    pub fn of_thread(&self, id: u64) -> Vec<u8> {
        [&self.front, &self.words, id.to_string().as_bytes()].concat()
    }

    /// Returns a statement whose only value is the id of the target.
    pub fn value(&self) -> Vec<u8> {
        [
            &self.front,
            &b"SELECT CAST(("[..],
            &self.target,
            &b") AS SIGNED)"[..],
        ]
        .concat()
    }

    /// Returns a KILL that evaluates the same target and kills nothing, because no thread has the id 0.
    pub fn of_nothing(&self) -> Vec<u8> {
        let (front, words) = (&self.front, &self.words);
        [front, words, &b" 0*("[..], &self.target, &b")"[..]].concat()
    }

    /// Returns the KILL with values in place of its placeholders; none if their numbers differ.
    #[must_use]
    pub fn with_arguments(mut self, source: &DynamicSource, flags: Flags) -> Option<Self> {
        let mut target = Vec::new();
        let mut arguments = source.arguments.iter();
        let mut at = 0;
        for token in Lexer::new(&self.target, flags) {
            if token.kind == TokenKind::Placeholder {
                let (start, end) = (token.span.start as usize, token.span.end as usize);
                target.extend_from_slice(self.target.get(at..start)?);
                target.push(b'(');
                target.extend_from_slice(arguments.next()?);
                target.push(b')');
                at = end;
            }
        }
        target.extend_from_slice(self.target.get(at..)?);
        self.target = target;
        arguments.next().is_none().then_some(self)
    }
}

fn killed(target: &[u8], flags: Flags) -> Killed {
    let tokens = Lexer::new(target, flags);
    let mut tokens = tokens.filter(|t| !matches!(t.kind, TokenKind::Comment | TokenKind::Hint));
    let tokens = [(); 4].map(|()| tokens.next().unwrap_or_default());
    match tokens.map(|token| token.kind) {
        [TokenKind::Number | TokenKind::String, TokenKind::End, ..] => id(tokens[0], target),
        [
            TokenKind::Open,
            TokenKind::Number,
            TokenKind::Close,
            TokenKind::End,
        ] => id(tokens[1], target),
        [
            TokenKind::Word,
            TokenKind::Open,
            TokenKind::Close,
            TokenKind::End,
        ] if tokens[0].function == Function::ConnectionId => Killed::Own,
        _ => Killed::Expression,
    }
}

/// Reads an id from digits, which may be in quotes.
fn id(token: Token, target: &[u8]) -> Killed {
    let digits = token.span.name(target);
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(&digits)
        .ok()
        .and_then(|text| text.parse().ok());
    number
        .filter(|_| is_plain)
        .map_or(Killed::Expression, Killed::Id)
}

#[cfg(test)]
mod tests;
