//! The text that a PREPARE or an EXECUTE IMMEDIATE names: a literal, a variable, or what an expression gives.

use session::Outcome;
use session::state::{Needs, Ran};
use sql::{DynamicSource, Facts, Flags, Lexer, Marks, Role, StatementKind, TokenKind};
use wire::{Command, errors};

use super::value::is_refused;
use crate::session::PooledSession;
use backend::ask::text as query_text;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::table;
use command::ending::Ending;
use command::repeat::Repeat;
use command::target::CommandTarget;
use link::query_command::QueryCommand;
use relay::outcome::SessionError;
use session::effect::Effect;

/// What is known of the text.
pub(super) enum Prepares {
    Text(Vec<u8>),
    /// The server has to say what is wrong.
    Unknown,
    Told(Ending),
}

impl PooledSession {
    /// The text that a statement prepares. Where an expression has given it and must not be evaluated again,
    /// the text is put in its place.
    pub(super) async fn text_to_prepare(
        &mut self,
        query: &mut QueryCommand,
        text: &[u8],
        source: &DynamicSource,
    ) -> Result<Prepares, SessionError> {
        let flags = self.sql_state.session().flags();
        let Some(span) = source.text else {
            return Ok(Prepares::Unknown);
        };
        let raw = span.of(text);
        let is_simple = query.facts.mentions_of(Role::PreparedText).next().is_some();
        let is_variable = is_simple && raw.starts_with(b"@");
        let known = match is_variable {
            true => self.sql_state.session().text_of_variable(raw),
            false if is_simple => sql::unquote(raw, flags).map(std::borrow::Cow::into_owned),
            false => None,
        };
        if let Some(known) = known {
            return Ok(Prepares::Text(known));
        }
        // MySQL knows no expressions here.
        if !is_variable && self.is_mysql() || !is_balanced(raw, flags) {
            return Ok(Prepares::Unknown);
        }
        let clean = sql::code(text, flags);
        let select = [&b"SELECT ("[..], span.of(&clean), b")"].concat();
        let inner = sql::facts(&select, flags);
        if is_refused(&inner) {
            return Ok(Prepares::Unknown);
        }
        let sequence = query.incoming().sequence;
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            let after = self.refuse(&failure, sequence)?;
            return Ok(Prepares::Told(Ending::last(after)));
        }
        Box::pin(self.settle_doubts()).await;
        self.keep_past().await;
        let said = match self.held.lease.take() {
            None => Err(ExchangeError::unsent(ConnectionError::Closed.into())),
            Some(mut lease) => {
                let said = self.ask_text(&mut lease.conn, &inner, &select).await;
                self.held.lease = Some(lease);
                said
            }
        };
        let said = match said {
            Ok(Some(said)) => said,
            Ok(None) => return Ok(Prepares::Unknown),
            Err(cut) => {
                let repeat = Repeat::of(Effect::Nothing, CommandTarget::Same);
                let after = self.cut_short(cut, sequence, Command::QUERY, repeat)?;
                return Ok(Prepares::Told(Ending::last(after)));
            }
        };
        let kills = sql::facts(&said, flags).marks.has(Marks::KILLS);
        // Comments may be in any language.
        let said = if kills { sql::code(&said, flags) } else { said };
        let has_effects = !inner.effects.is_empty();
        if has_effects || kills && query.facts.kind == StatementKind::Prepare {
            if !said.is_ascii() {
                let told = self.refuse_kill(sequence, errors::kill_not_ascii()).await;
                return Ok(Prepares::Told(told));
            }
            let (before, behind) = text.split_at(span.start as usize);
            let behind = &behind[raw.len()..];
            let literal = quoted(&said, flags);
            let text = [before, &literal, behind].concat();
            query.replace_text(&text, flags);
        }
        Ok(Prepares::Text(said))
    }

    /// The value of an expression; none where it has none.
    async fn ask_text(
        &mut self,
        conn: &mut BackendConn,
        facts: &Facts,
        select: &[u8],
    ) -> Result<Option<Vec<u8>>, ExchangeError> {
        self.restore_state_first(conn, &Needs::of(facts, select))
            .await?;
        let argument = query_text(conn, select);
        let own = self.ask_once(conn, Command::QUERY, &argument).await?;
        self.note_own(conn, Ran::Statement, (facts, select), &own);
        if own.outcome != Outcome::Ok {
            return Ok(None);
        }
        let row = table(&own, conn.capabilities).map(|table| table.row);
        Ok(row.ok().and_then(|row| row.into_iter().next()).flatten())
    }
}

/// Whether each parenthesis that closes has been opened: else it is no expression.
fn is_balanced(expression: &[u8], flags: Flags) -> bool {
    let mut depth = 0_u32;
    for token in Lexer::new(expression, flags) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close if depth == 0 => return false,
            TokenKind::Close => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn quoted(text: &[u8], flags: Flags) -> Vec<u8> {
    let mut literal = vec![b'\''];
    for byte in text {
        if *byte == b'\'' || *byte == b'\\' && !flags.no_backslash_escapes {
            literal.push(*byte);
        }
        literal.push(*byte);
    }
    literal.push(b'\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_expressions_are_asked_for() {
        let flags = Flags::default();
        assert!(is_balanced(b"CONCAT('KILL (', f(1))", flags));
        assert!(!is_balanced(b"1) + (2", flags));
        assert!(!is_balanced(b"(1", flags));
    }

    #[test]
    fn a_text_becomes_a_literal_that_says_it() {
        let flags = Flags::default();
        let literal = quoted(b"it's \\ a", flags);
        assert_eq!(literal, b"'it''s \\\\ a'");
        let said = sql::unquote(&literal, flags).unwrap_or_default();
        assert_eq!(said, &b"it's \\ a"[..]);
    }
}
