//! What a KILL is aimed at, as far as its text says.

use crate::facts::{Facts, Role};
use crate::flags::Flags;
use crate::functions::Function;
use crate::kind::{Kill, Kind};
use crate::lexer::{Lexer, Token, TokenKind};

/// The target of a KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The thread, or the query, with this id. MySQL takes the lower 32 bits of it.
    Id(u64),
    /// The connection that says it: `CONNECTION_ID()`.
    Own,
    /// The connections of an account (MariaDB).
    Account,
    /// What an expression gives: the server has to be asked.
    Expression,
}

impl Facts {
    /// What the command kills, if it is a KILL and nothing else.
    pub fn killed(&self, text: &[u8], flags: Flags) -> Option<Killed> {
        let Kind::Kill(kill) = self.kind else {
            return None;
        };
        if matches!(kill, Kill::User | Kill::QueryOfUser) {
            return Some(Killed::Account);
        }
        let target = self.mentions_of(Role::Killed).next()?;
        Some(killed(target.name.of(text), flags))
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

/// Digits, which may stand in quotes.
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
mod tests {
    use super::*;
    use crate::facts;

    #[test]
    fn targets_are_told_by_their_text() {
        for (text, expected) in [
            ("KILL 5", Some(Killed::Id(5))),
            ("kill connection (5);", Some(Killed::Id(5))),
            ("KILL QUERY '5' -- this one", Some(Killed::Id(5))),
            (
                "KILL HARD QUERY ID 18446744073709551615",
                Some(Killed::Id(u64::MAX)),
            ),
            ("KILL 18446744073709551616", Some(Killed::Expression)),
            ("KILL 5.0", Some(Killed::Expression)),
            ("KILL -5", Some(Killed::Expression)),
            ("KILL '5x'", Some(Killed::Expression)),
            ("KILL ''", Some(Killed::Expression)),
            ("KILL 5 + 1", Some(Killed::Expression)),
            ("KILL 0x05", Some(Killed::Expression)),
            ("KILL @x", Some(Killed::Expression)),
            ("KILL CONNECTION_ID()", Some(Killed::Own)),
            ("KILL QUERY connection_id ( /* me */ )", Some(Killed::Own)),
            ("KILL CONNECTION_ID() + 1", Some(Killed::Expression)),
            ("KILL", Some(Killed::Expression)),
            ("KILL USER bob", Some(Killed::Account)),
            ("KILL SOFT QUERY USER 'a'@'%'", Some(Killed::Account)),
            ("KILL 5; KILL 6", None),
            ("SELECT 5", None),
        ] {
            let told = facts(text.as_bytes(), Flags::default());
            assert_eq!(
                told.killed(text.as_bytes(), Flags::default()),
                expected,
                "{text}"
            );
        }
    }
}
