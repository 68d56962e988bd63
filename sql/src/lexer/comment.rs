//! Comments, executable comments and hints: `/*! … */`, `/*!50001 … */`, `/*M! … */`, `/*+ … */`.

use memchr::memchr;

use super::{Lexer, Region, Token, TokenKind};
use crate::server::{Gate, Server};
use crate::work;

/// The version in an executable comment.
#[derive(Clone, Copy)]
struct Version {
    number: u32,
    digits: usize,
}

impl Lexer<'_> {
    /// `#` or `-- ` to the end of the line.
    pub(super) fn line_comment(&mut self, opening: usize) -> Token {
        let rest = self.text.get(self.at + opening..).unwrap_or_default();
        let end = memchr(b'\n', rest).map_or(self.text.len(), |at| self.at + opening + at);
        self.check_region(self.at, end);
        self.take_to(TokenKind::Comment, end)
    }

    /// Division or the beginning of a comment; none if its content is code.
    pub(super) fn slash(&mut self) -> Option<Token> {
        if self.peek(1) != b'*' {
            return Some(self.take(TokenKind::Operator, 1));
        }
        match (self.peek(2), self.peek(3)) {
            (b'!', _) => self.executable(3, false),
            (b'M', b'!') => self.executable(4, true),
            (b'+', _) => Some(self.comment(TokenKind::Hint)),
            _ => Some(self.comment(TokenKind::Comment)),
        }
    }

    /// Multiplication, or the end of an executable comment.
    pub(super) fn star(&mut self) -> Option<Token> {
        if self.region == Region::Plain || self.peek(1) != b'/' {
            return Some(self.take(TokenKind::Star, 1));
        }
        self.region = Region::Plain;
        self.at += 2;
        None
    }

    fn comment(&mut self, kind: TokenKind) -> Token {
        match self.behind_comment(self.at + 2) {
            Some(end) => {
                self.check_region(self.at, end);
                self.take_to(kind, end)
            }
            None => self.unterminated(kind),
        }
    }

    /// Returns the end of a comment whose content begins at `at`.
    fn behind_comment(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = self.text.get(at..)?;
            let found = memchr(b'*', rest);
            work::count(found.unwrap_or(rest.len()));
            at += found? + 1;
            if self.text.get(at) == Some(&b'/') {
                return Some(at + 1);
            }
        }
    }

    /// A comment that servers execute from some version on.
    fn executable(&mut self, opening: usize, for_mariadb: bool) -> Option<Token> {
        if for_mariadb && matches!(self.flags.server, Server::MySql(_)) {
            // For MySQL it is an ordinary comment: comments inside it do not nest.
            return Some(self.comment(TokenKind::Comment));
        }
        let version = self.version(self.at + opening);
        match self.gate(version, for_mariadb) {
            Gate::Comment => return Some(self.skipped()),
            Gate::Code => self.enter(Region::Code),
            Gate::Maybe => self.enter(Region::Maybe),
        }
        work::count(opening + version.digits);
        self.at += opening + version.digits;
        None
    }

    fn enter(&mut self, region: Region) {
        // A server that skips the outer comment finds another end of it than a server that executes it.
        self.is_lost |= self.region == Region::Maybe;
        self.is_conditional |= region == Region::Maybe;
        self.region = region;
    }

    fn gate(&self, version: Version, for_mariadb: bool) -> Gate {
        let knows_six_digits = match self.flags.server {
            Server::Unknown => false,
            Server::MySql(own) => own >= 90_000,
            Server::MariaDb(_) => true,
        };
        if version.digits == 6 && !knows_six_digits {
            return Gate::Maybe;
        }
        self.flags.server.gate(version.number, for_mariadb)
    }

    /// Reads five or six digits at `at`; otherwise there is no version. For MySQL the sixth digit is a part of
    /// the version only if a space follows.
    fn version(&self, at: usize) -> Version {
        let text = self.text.get(at..).unwrap_or_default();
        let mut digits = text
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits < 5 {
            return Version {
                number: 0,
                digits: 0,
            };
        }
        let is_mysql = matches!(self.flags.server, Server::MySql(_));
        let is_blank = |byte: &u8| self.letters.is_blank(*byte);
        if is_mysql && !text.get(6).is_some_and(is_blank) {
            digits = 5;
        }
        let value = |sum, byte: &u8| sum * 10 + u32::from(byte - b'0');
        Version {
            number: text[..digits].iter().fold(0, value),
            digits,
        }
    }

    /// An executable comment that the server does not execute: comments inside it nest once.
    fn skipped(&mut self) -> Token {
        let mut at = self.at + 2;
        while let Some(found) = self
            .text
            .get(at..)
            .and_then(|rest| memchr::memchr2(b'*', b'/', rest))
        {
            work::count(found);
            at += found;
            let end = match self.text.get(at..at + 2) {
                Some(b"*/") => return self.take_to(TokenKind::Comment, at + 2),
                Some(b"/*") => self.behind_comment(at + 2),
                _ => Some(at + 1),
            };
            let Some(end) = end else { break };
            at = end;
        }
        self.unterminated(TokenKind::Comment)
    }

    /// Notes a token that some servers would cut at another place: it begins in a comment that they skip
    /// and goes past that comment's end.
    pub(super) fn check_region(&mut self, start: usize, end: usize) {
        if self.region == Region::Maybe {
            let inside = self.text.get(start..end).unwrap_or_default();
            work::count(inside.len());
            self.is_lost |= memchr::memmem::find(inside, b"*/").is_some();
        }
    }
}
