//! The user that a KILL USER names.

use sql::{Flags, Lexer, TokenKind};

/// The account that a KILL USER names.
#[derive(Debug, PartialEq, Eq)]
pub enum KilledUser {
    /// A user from any host.
    Named(Vec<u8>),
    /// `CURRENT_USER`
    Own,
    /// A user from one host.
    WithHost,
}

impl KilledUser {
    /// Reads the target of a KILL USER. `None`: it is no account.
    pub fn read(target: &[u8], flags: Flags) -> Option<Self> {
        let tokens = Lexer::new(target, flags).filter(|it| it.kind != TokenKind::Comment);
        let tokens: Vec<_> = tokens.take(5).collect();
        let kinds: Vec<_> = tokens.iter().map(|token| token.kind).collect();
        let first = tokens.first()?;
        let name = match first.kind {
            TokenKind::String => sql::unquote(first.span.of(target), flags)?.into_owned(),
            TokenKind::Word | TokenKind::Quoted => first.span.name(target).into_owned(),
            _ => return None,
        };
        let is_own = first.kind == TokenKind::Word && name.eq_ignore_ascii_case(b"CURRENT_USER");
        match kinds.get(1..)? {
            [] | [TokenKind::Open, TokenKind::Close] if is_own => Some(Self::Own),
            [] => Some(Self::Named(name)),
            [TokenKind::UserVariable] => match &*tokens.get(1)?.span.name(target) {
                b"%" => Some(Self::Named(name)),
                _ => Some(Self::WithHost),
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_as_they_are_written() {
        let user = |name: &[u8]| Some(KilledUser::Named(name.to_vec()));
        for (target, expected) in [
            ("bob", user(b"bob")),
            ("'bob'", user(b"bob")),
            ("`bo``b`", user(b"bo`b")),
            ("bob@'%'", user(b"bob")),
            ("'bob'@'10.0.0.1'", Some(KilledUser::WithHost)),
            ("CURRENT_USER", Some(KilledUser::Own)),
            ("current_user()", Some(KilledUser::Own)),
            ("'current_user'", user(b"current_user")),
            ("bob, eve", None),
            ("", None),
        ] {
            let found = KilledUser::read(target.as_bytes(), Flags::default());
            assert_eq!(found, expected, "{target}");
        }
    }
}
