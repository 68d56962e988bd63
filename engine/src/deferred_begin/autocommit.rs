//! `SET autocommit = 0`, answered as by a server that reports the change.

use route::Transaction;
use session::Tally;
use sql::{Facts, Scope, StatementKind, Target, Uses, Value};
use wire::reply::OkPacket;
use wire::session_track::Change;
use wire::{Command, StatusFlags};

use crate::exchange::observe::observe;
use crate::session::PooledSession;
use backend::exchange_outcome::Done;
use command::ending::Ending;
use command::statement::Statement;

const NAME: &[u8] = b"autocommit";
const OFF: &[u8] = b"OFF";

impl PooledSession {
    /// Whether the statement only switches autocommit off, which is on, in a session that holds nothing.
    pub(super) fn defers_autocommit(&self, statement: &Statement<'_>) -> bool {
        self.settings.config.pool.defer_begin
            && statement.is_text_alone()
            && self.transaction() == Transaction::None
            && is_switched_off(statement.facts(), statement.text())
            && self.is_undirected()
            && self.may_begin_later()
            && self.tracking.reports_no_transactions()
    }

    /// Switches autocommit off for the session, on each connection that it gets from now on.
    pub(super) fn switch_autocommit_off(&mut self, statement: &Statement<'_>) -> Ending {
        let status = self.client.status().with(StatusFlags::AUTOCOMMIT, false);
        // Answers that other sessions have saved would be taken for answers about this statement.
        self.take_up_saved();
        self.tracking.note_variable(NAME, OFF);
        let done = Done {
            tally: Tally {
                results: 1,
                status: Some(status),
                ..Tally::default()
            },
            ..Done::answered_by_proxy()
        };
        let (facts, text) = (statement.facts(), statement.text());
        observe(self, Command::QUERY, facts, text, &done);
        self.client.set_status(status);
        let changes = [
            Change::Variable {
                name: NAME,
                value: OFF,
            },
            Change::StateChanged(true),
        ];
        let ok = OkPacket {
            status,
            ..OkPacket::default()
        };
        let payload = (self.tracking).ok(&ok, self.client.capabilities(), &changes);
        self.reply(statement.sequence(), &payload);
        Ending::more(statement.sequence().wrapping_add(1))
    }
}

/// Whether the statement sets this session's autocommit to 0, and nothing else.
fn is_switched_off(facts: &Facts, text: &[u8]) -> bool {
    let [assignment] = &facts.assignments[..] else {
        return false;
    };
    let (Target::Variable { scope, base, name }, Value::Literal(value)) =
        (assignment.target, assignment.value)
    else {
        return false;
    };
    let is = |words: &[&[u8]]| {
        let value = value.of(text);
        words.iter().any(|word| value.eq_ignore_ascii_case(word))
    };
    facts.kind == StatementKind::Set
        && matches!(scope, Scope::Implicit | Scope::Session)
        && base.is_empty()
        && name.name(text).eq_ignore_ascii_case(NAME)
        && is(&[b"0", OFF, b"FALSE"])
        && !facts.uses.has(Uses::VARIABLES)
        && !facts.is_doubted()
}
