//! Finds where transactions begin and end in the events of a stream. Servers never interleave two transactions in a
//! log.
//!
//! ```text
//!   Between ──GTID──► Begun ──BEGIN, XA START, CREATE … START TRANSACTION──► Open ──XID, COMMIT, XA PREPARE──► Between
//!                       └──────────── a statement that stands alone, a payload ───────────────────────────────►
//! ```

use crate::event::Event;
use crate::events::mariadb_gtid::MariadbGtidEvent;
use crate::events::mysql_gtid::MysqlGtidEvent;
use crate::events::query::Query;
use crate::gtid_set::{Gtid, MysqlGtid};

/// The role of an event within its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupStep {
    /// The event belongs to no transaction, or is neither its first nor its last event.
    Within,
    /// The event begins a transaction.
    Begins(Gtid),
    /// The event ends the transaction.
    Ends(Gtid),
}

/// Follows the transactions of a stream.
#[derive(Debug, Default)]
pub struct GroupTracker {
    /// The current transaction.
    gtid: Option<Gtid>,
    /// Whether a COMMIT must follow.
    is_open: bool,
}

impl GroupTracker {
    /// Whether no transaction is incomplete.
    pub fn is_between(&self) -> bool {
        self.gtid.is_none() && !self.is_open
    }

    /// Handles a statement that is too long to be BEGIN or COMMIT.
    pub(crate) fn long_statement(&mut self) {
        if !self.is_open {
            self.end();
        }
    }

    /// Takes an event. Rows events never begin or end a transaction, so the caller may omit them.
    pub fn take(&mut self, event: &Event<'_>) -> GroupStep {
        match event {
            Event::MysqlGtid(event) => self.begin(mysql_gtid(event), false),
            Event::MariadbGtid(event) => {
                let is_open = event.flags & MariadbGtidEvent::FLAG_STANDALONE == 0;
                self.begin(Some(Gtid::Mariadb(event.gtid)), is_open)
            }
            Event::Query(query) => self.statement(query),
            Event::Xid(_)
            | Event::XaPrepare(_)
            | Event::TransactionPayload(_)
            | Event::Incident(_) => self.end(),
            Event::ExecuteLoad(_) if !self.is_open => self.end(),
            _ => GroupStep::Within,
        }
    }

    fn begin(&mut self, gtid: Option<Gtid>, is_open: bool) -> GroupStep {
        self.is_open = is_open;
        self.gtid.clone_from(&gtid);
        gtid.map_or(GroupStep::Within, GroupStep::Begins)
    }

    fn statement(&mut self, query: &Query<'_>) -> GroupStep {
        let text = query.text.trim_ascii();
        if self.is_open {
            return match is_word(text, b"COMMIT") || is_word(text, b"ROLLBACK") {
                true => self.end(),
                false => GroupStep::Within,
            };
        }
        let opens = is_word(text, b"BEGIN")
            || starts_with(text, b"XA START")
            || ends_with(text, b"START TRANSACTION");
        if opens {
            self.is_open = true;
            return GroupStep::Within;
        }
        self.end()
    }

    pub(crate) fn end(&mut self) -> GroupStep {
        self.is_open = false;
        self.gtid.take().map_or(GroupStep::Within, GroupStep::Ends)
    }
}

/// Returns the GTID of the event; none if the transaction is anonymous.
fn mysql_gtid(event: &MysqlGtidEvent) -> Option<Gtid> {
    (event.number > 0).then(|| {
        Gtid::Mysql(MysqlGtid {
            source: event.source.clone(),
            number: event.number,
        })
    })
}

fn is_word(text: &[u8], word: &[u8]) -> bool {
    text.eq_ignore_ascii_case(word)
}

fn starts_with(text: &[u8], words: &[u8]) -> bool {
    let start = text.get(..words.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(words))
}

/// Needed for CREATE TABLE … SELECT, which MySQL writes with START TRANSACTION at its end.
fn ends_with(text: &[u8], words: &[u8]) -> bool {
    let at = text.len().checked_sub(words.len());
    let end = at.and_then(|at| text.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(words))
}
