//! A GET DIAGNOSTICS that does not run where the warning list is: which condition it means, and what the server has to
//! be asked for that.

use session::Outcome;
use session::state::Needs;
use sql::{Answers, Condition, Facts, GetDiagnostics, GetForm, Span, StatementKind};
use wire::Command;

use super::warning_list::WarningListLocation;
use crate::session::PooledSession;
use backend::ask::text as query_text;
use backend::own_reply::OwnReply;
use backend::own_reply::table;
use command::target::CommandTarget;

/// How a GET DIAGNOSTICS is answered.
pub(super) enum Get {
    /// The proxy answers; `number`: which condition.
    Told {
        get: GetDiagnostics,
        number: Option<u64>,
    },
    /// The server says that no handler is active, and leaves the list alone.
    Stacked,
    /// The server reports what is wrong with the statement.
    Refused,
    /// The server adds to the list what is wrong with the condition's number.
    Appended,
    /// The condition cannot be found out.
    Unknown,
}

/// The value of a condition's number.
enum Number {
    Known(u64),
    Wrong,
    Unknown,
}

impl PooledSession {
    /// Reads a GET DIAGNOSTICS. `None`: the statement is another one, or runs where the list is.
    pub(super) async fn read_get(
        &mut self,
        facts: &Facts,
        text: &[u8],
        place: &WarningListLocation,
    ) -> Option<Get> {
        if facts.kind != StatementKind::GetDiagnostics || matches!(place, WarningListLocation::Here)
        {
            return None;
        }
        let get = match sql::get_diagnostics(text, self.sql_state.session().flags()) {
            GetForm::Read(get) => get,
            GetForm::Stacked => return Some(Get::Stacked),
            GetForm::Refused => return Some(Get::Refused),
        };
        let number = match get.condition {
            None => None,
            Some(Condition::Number(number)) => Some(number),
            Some(Condition::Value(span)) => match self.number_of(span, text, place).await {
                Number::Known(number) => Some(number),
                Number::Wrong if self.is_mysql() => return Some(Get::Appended),
                Number::Wrong => return Some(Get::Refused),
                Number::Unknown => return Some(Get::Unknown),
            },
        };
        Some(Get::Told { get, number })
    }

    /// Asks the server for the value, in the session's own state. The changes by this statement are not noted: it has
    /// no effect.
    async fn number_of(&mut self, span: Span, text: &[u8], place: &WarningListLocation) -> Number {
        let flags = self.sql_state.session().flags();
        let select = [&b"SELECT CAST(("[..], span.of(text), b") AS SIGNED)"].concat();
        // MariaDB empties the list before it reads these counts.
        let answers = match self.is_mysql() {
            true => self.answers(place),
            false => Answers {
                warning_count: Some(0),
                error_count: Some(0),
                ..self.answers(place)
            },
        };
        let select = sql::rewrite(&select, flags, &answers)
            .text
            .unwrap_or(select);
        if self.hold(CommandTarget::Same).await.is_err() {
            return Number::Unknown;
        }
        let Some(own) = self.ask_in_state(&select).await else {
            self.drop_lease(pool::CloseReason::Broken);
            return Number::Unknown;
        };
        if own.outcome != Outcome::Ok {
            return Number::Wrong;
        }
        let row = table(&own, self.conn_capabilities()).map(|table| table.row);
        match row.ok().and_then(|row| row.into_iter().next()) {
            // NULL counts as 0, and no condition has the number 0.
            Some(None) => Number::Known(0),
            Some(Some(value)) => {
                let number: Option<i64> = std::str::from_utf8(&value)
                    .ok()
                    .and_then(|value| value.parse().ok());
                number.map_or(Number::Unknown, |number| {
                    Number::Known(number.cast_unsigned())
                })
            }
            None => Number::Unknown,
        }
    }

    async fn ask_in_state(&mut self, select: &[u8]) -> Option<OwnReply> {
        let facts = sql::facts(select, self.sql_state.session().flags());
        let mut lease = self.held.take()?;
        let equal = self
            .restore_state_first(&mut lease.conn, &Needs::of(&facts, select))
            .await;
        let own = match equal {
            Ok(()) => {
                let argument = query_text(&lease.conn, select);
                let asked = lease
                    .conn
                    .ask(&self.env.pool_env, Command::QUERY, &argument)
                    .await;
                asked.ok()
            }
            Err(_) => None,
        };
        self.held.put(lease);
        own
    }
}
