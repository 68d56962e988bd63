//! KILL USER (MariaDB): the sessions of a user at this proxy. On the server it would end connections, which are
//! shared by then with sessions of others.

use route::KillScope;
use sql::{Flags, Kill as How, KillText, Lexer, TokenKind};
use wire::errors;

use super::Killing;
use crate::session::PooledSession;
use link::query_command::CommandPart;
use registry::session_registry::Kill;
use relay::outcome::SessionError;

/// Whom a KILL USER names.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    User(Vec<u8>),
    /// `CURRENT_USER`
    Own,
    /// A user from one host.
    WithHost,
}

impl PooledSession {
    /// KILL USER, KILL QUERY USER.
    pub(super) async fn kill_user(
        &mut self,
        sequence: u8,
        kill: &KillText,
        part: CommandPart,
    ) -> Result<Killing, SessionError> {
        let own = self.identity.account().id().user().as_bytes().to_vec();
        let user = match named(&kill.target, self.sql_state.session().flags()) {
            Some(Named::User(user)) => user,
            Some(Named::Own) => own.clone(),
            Some(Named::WithHost) => {
                let error = errors::kill_user_with_host();
                let told = self.refuse_kill(sequence, error).await;
                return Ok(Killing::Told(told));
            }
            // The server says what is wrong.
            None => return Ok(Killing::Left),
        };
        let ids = self.env.relay.login.session_registry.of_user(&user);
        if let Some(first) = ids.first()
            && user != own
            && !self.may_kill_others().await
        {
            let error = errors::not_owner(first);
            let told = self.refuse_kill(sequence, error).await;
            return Ok(Killing::Told(told));
        }
        let scope = match kill.kill {
            How::QueryOfUser => KillScope::Statement,
            _ => KillScope::Connection,
        };
        let said = self.env.now().0;
        for id in &ids {
            self.env.relay.login.session_registry.kill(Kill {
                id: *id,
                scope,
                at: None,
                requested_at: said,
            });
        }
        let told = self.reply_killed(sequence, part, ids.len() as u64);
        Ok(Killing::Told(told))
    }
}

/// None: it is no account.
fn named(target: &[u8], flags: Flags) -> Option<Named> {
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
        [] | [TokenKind::Open, TokenKind::Close] if is_own => Some(Named::Own),
        [] => Some(Named::User(name)),
        [TokenKind::UserVariable] => match &*tokens.get(1)?.span.name(target) {
            b"%" => Some(Named::User(name)),
            _ => Some(Named::WithHost),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_as_they_are_written() {
        let user = |name: &[u8]| Some(Named::User(name.to_vec()));
        for (target, expected) in [
            ("bob", user(b"bob")),
            ("'bob'", user(b"bob")),
            ("`bo``b`", user(b"bo`b")),
            ("bob@'%'", user(b"bob")),
            ("'bob'@'10.0.0.1'", Some(Named::WithHost)),
            ("CURRENT_USER", Some(Named::Own)),
            ("current_user()", Some(Named::Own)),
            ("'current_user'", user(b"current_user")),
            ("bob, eve", None),
            ("", None),
        ] {
            let found = named(target.as_bytes(), Flags::default());
            assert_eq!(found, expected, "{target}");
        }
    }
}
