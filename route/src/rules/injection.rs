//! Injected statements: a rule sends them before and after a statement, on the same connection. They may only
//! read, or set variables that do not change what a statement does; such variables are set back. All other
//! statements are refused when rules are compiled, so that none ends a transaction or changes session state.

mod purpose;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::{InjectedResults, RuleConfig};
use sql::{Effects, Facts, Flags, Marks, StatementKind, Uses};

use super::fault::Fault;
pub use purpose::Purpose;
use purpose::{InjectionSide, Refusal, STATEMENT};

/// The last statements of a connection, the latest first. If the server keeps none, one row still tells whether
/// performance_schema is on. The columns exist in the oldest servers that have the table.
const EVENTS: &str = "SELECT @@performance_schema AS is_on, h.EVENT_NAME, LEFT(h.SQL_TEXT, 1024) AS SQL_TEXT, \
    h.TIMER_WAIT, h.LOCK_TIME, h.ROWS_EXAMINED, h.ROWS_SENT, h.ROWS_AFFECTED, h.CREATED_TMP_TABLES, \
    h.CREATED_TMP_DISK_TABLES, h.SELECT_FULL_JOIN, h.SELECT_FULL_RANGE_JOIN, h.SELECT_RANGE, h.SELECT_RANGE_CHECK, \
    h.SELECT_SCAN, h.SORT_MERGE_PASSES, h.SORT_RANGE, h.SORT_ROWS, h.SORT_SCAN, h.NO_INDEX_USED, \
    h.NO_GOOD_INDEX_USED FROM (SELECT 1 AS n) AS one LEFT JOIN performance_schema.events_statements_history AS h \
    ON h.THREAD_ID = (SELECT t.THREAD_ID FROM performance_schema.threads AS t \
    WHERE t.PROCESSLIST_ID = CONNECTION_ID()) ORDER BY h.EVENT_ID DESC";

/// The statements that are sent before and after a statement.
#[derive(Debug)]
pub struct Injection {
    /// Sent before it, in this order.
    pub before: Box<[Injected]>,
    /// Sent after it, in this order.
    pub after: Box<[Injected]>,
    /// What is done with the results.
    pub results: InjectedResults,
    /// The longest time of each injected statement.
    pub timeout: Duration,
    /// The most bytes of a result that are read.
    pub bytes_max: usize,
    has_failed: AtomicBool,
}

/// One injected statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// Its text, as configured.
    pub text: Box<str>,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether it reads tables of users: such a read may be the first read of a transaction.
    pub reads_data: bool,
}

impl Injection {
    /// Reads a rule's injected statements; none if it has none. Every fault is added to `faults`.
    pub(super) fn of(index: usize, config: &RuleConfig, faults: &mut Vec<Fault>) -> Option<Self> {
        let mut read = |setting: &'static str, place: InjectionSide, texts: &[config::SqlText]| {
            let mut all = Vec::with_capacity(texts.len());
            for text in texts {
                match Injected::read(text.trim(), place) {
                    Ok(injected) => all.push(injected),
                    Err(why) => {
                        let fault = Fault::rule(index, setting, format!("\"{text}\" {why}"));
                        faults.push(fault);
                    }
                }
            }
            all.into_boxed_slice()
        };
        let before = read("before", InjectionSide::Before, &config.before);
        let after = read("after", InjectionSide::After, &config.after);
        let is_something = !before.is_empty() || !after.is_empty();
        let bytes_max = usize::try_from(config.injected_bytes_max).unwrap_or(usize::MAX);
        let (results, timeout) = (config.injected, config.timeout_injected);
        is_something.then(|| Self::new((before, after), results, timeout, bytes_max))
    }

    /// Puts together an injection from its statements and settings.
    pub(super) fn new(
        (before, after): (Box<[Injected]>, Box<[Injected]>),
        results: InjectedResults,
        timeout: Duration,
        bytes_max: usize,
    ) -> Self {
        Self {
            before,
            after,
            results,
            timeout,
            bytes_max,
            has_failed: AtomicBool::new(false),
        }
    }

    /// Notes that an injected statement has failed. Returns whether it is the first failure.
    pub fn fails(&self) -> bool {
        !self.has_failed.swap(true, Ordering::Relaxed)
    }

    /// Whether one of the injected statements is an EXPLAIN of the client's statement.
    pub fn explains(&self) -> bool {
        let mut all = self.before.iter().chain(&self.after);
        all.any(|it| matches!(it.purpose, Purpose::Explain(_)))
    }

    /// Whether statements may be injected around a statement. If it asks about the statement before, the
    /// answer would be about the injected one. If it sets something for the next transaction, the next
    /// injected read would use that up.
    pub fn goes_with(facts: &Facts) -> bool {
        let asks = Uses::FOUND_ROWS
            .with(Uses::ROW_COUNT)
            .with(Uses::DIAGNOSTICS);
        let ends = Effects::NEXT_TRANSACTION
            .with(Effects::XA)
            .with(Effects::DISCONNECTED);
        !facts.uses.has(asks) && !facts.effects.has(ends)
    }

    /// Whether variables may be set around a statement: it neither sets nor shows any.
    pub fn may_set(facts: &Facts) -> bool {
        let sets = Effects::VARIABLES
            .with(Effects::GLOBAL_VARIABLES)
            .with(Effects::OPAQUE);
        !facts.uses.has(Uses::VARIABLES) && !facts.effects.has(sets)
    }

    /// Whether a statement may be explained: it is a single statement, and its planning has no effect.
    /// The servers evaluate some functions and subqueries during planning.
    pub fn may_explain(facts: &Facts) -> bool {
        let is_one = matches!(
            facts.kind,
            StatementKind::Select
                | StatementKind::Insert
                | StatementKind::Replace
                | StatementKind::Update
                | StatementKind::Delete
        );
        let unfit = Marks::LOST
            .with(Marks::CROWDED)
            .with(Marks::CONDITIONAL)
            .with(Marks::UNKNOWN_FUNCTION)
            .with(Marks::INTO_FILE)
            .with(Marks::INTO_VARIABLES);
        let does = Effects::USER_VARIABLES
            .with(Effects::GLOBAL_VARIABLES)
            .with(Effects::ANYTHING)
            .with(Effects::NAMED_LOCK_TAKEN)
            .with(Effects::NAMED_LOCK_RELEASED)
            .with(Effects::NAMED_LOCKS_RELEASED)
            .with(Effects::SEQUENCE)
            .with(Effects::LAST_INSERT_ID);
        let slow = Uses::TIME.with(Uses::NAMED_LOCKS).with(Uses::REPLICATION);
        // An INSERT makes an id when it runs, but not when it is planned.
        let makes_id = matches!(facts.kind, StatementKind::Insert | StatementKind::Replace);
        let mut effects = facts.effects;
        if makes_id {
            effects.remove(Effects::LAST_INSERT_ID);
        }
        is_one && !facts.marks.has(unfit) && !effects.has(does) && !facts.uses.has(slow)
    }
}

impl Injected {
    /// Reads statements of the proxy's own that are sent before a statement.
    pub(super) fn before(texts: &[&str]) -> Box<[Self]> {
        Self::own(texts, InjectionSide::Before)
    }

    /// Reads statements of the proxy's own that are sent after a statement.
    pub(super) fn behind(texts: &[&str]) -> Box<[Self]> {
        Self::own(texts, InjectionSide::After)
    }

    /// The statement that asks performance_schema for the last statements of its own connection.
    pub(super) fn events() -> Self {
        Self {
            text: EVENTS.into(),
            purpose: Purpose::Events,
            reads_data: false,
        }
    }

    fn own(texts: &[&str], place: InjectionSide) -> Box<[Self]> {
        let read = |text: &&str| Self::read(text, place).expect("its author has tried it");
        texts.iter().map(read).collect()
    }

    fn read(text: &str, place: InjectionSide) -> Result<Self, Refusal> {
        let is_explained = text.contains(STATEMENT);
        let facts = sql::facts(text.as_bytes(), Flags::default());
        let (purpose, reads_data) = match is_explained {
            true => (purpose::explained(text)?, false),
            false => (
                purpose::purpose(&facts, text.as_bytes(), place)?,
                purpose::reads_data(&facts, text.as_bytes()),
            ),
        };
        Ok(Self {
            text: text.trim_end_matches(';').trim_end().into(),
            purpose,
            reads_data,
        })
    }

    /// Returns the text to send. An EXPLAIN needs `statement`; none if the statement may not be explained.
    pub fn with(&self, statement: Option<&[u8]>) -> Option<Cow<'_, [u8]>> {
        match &self.purpose {
            Purpose::Explain(head) => {
                statement.map(|statement| Cow::Owned([head.as_bytes(), statement].concat()))
            }
            _ => Some(Cow::Borrowed(self.text.as_bytes())),
        }
    }
}
