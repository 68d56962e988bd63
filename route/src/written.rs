//! The writes that later reads must see: of one session, or of all sessions.

use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;

use crate::Position;

/// The writes of one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Written {
    /// No writes: any replica is suitable.
    #[default]
    Nothing,
    /// Writes up to this position: a replica that has it is suitable.
    UpTo(Position),
    /// Writes with an unknown position: only the primary is suitable.
    Unknown,
}

/// The most pieces of one session's position. If a session writes between other sessions' writes, each write adds
/// a gap. With the gaps filled, a read waits for more than the session's own writes, never for less.
const PIECES_MAX: usize = 16;

impl Written {
    /// Returns the shared value of all sessions that have written nothing.
    pub fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Written>> = LazyLock::new(Arc::default);
        Arc::clone(&NOTHING)
    }

    /// Adds a write at the position that the server has reported.
    pub fn add(&mut self, position: &Position) {
        match self {
            Written::Nothing if position.is_empty() => (),
            Written::Nothing => *self = Written::UpTo(position.clone()),
            Written::UpTo(before) => {
                before.merge(position);
                before.condense(PIECES_MAX);
            }
            Written::Unknown => (),
        }
        // More pieces than that after condensing mean more servers than a cluster can have.
        if matches!(self, Written::UpTo(position) if position.pieces() > PIECES_MAX * 4) {
            *self = Written::Unknown;
        }
    }

    /// Adds a write whose position the server did not report.
    pub fn add_unknown(&mut self) {
        *self = Written::Unknown;
    }

    /// Returns the position, if it is known.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Written::UpTo(position) => Some(position),
            Written::Nothing | Written::Unknown => None,
        }
    }
}

/// The writes of all sessions of this process to a cluster, for reads that must see all of them.
/// Only writes under that level of consistency change it.
#[derive(Debug, Default)]
pub struct WrittenByAll(ArcSwap<Written>);

impl WrittenByAll {
    /// Adds what a session wrote.
    pub fn add(&self, position: &Position) {
        self.0.rcu(|before| {
            let mut written = Written::clone(before);
            written.add(position);
            written
        });
    }

    /// Adds a write with an unknown position.
    pub fn add_unknown(&self) {
        self.0.store(Arc::new(Written::Unknown));
    }

    /// Sets the position that a primary has reported, which contains all writes of `before`. If a session has
    /// written since then, nothing changes, because that write would be lost.
    pub fn know(&self, before: &Arc<Written>, position: Written) {
        self.0.compare_and_swap(before, Arc::new(position));
    }

    /// Returns all writes up to now.
    pub fn now(&self) -> Arc<Written> {
        self.0.load_full()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SERVER: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn position(text: &str) -> Position {
        Position::parse_any(text.as_bytes()).unwrap()
    }

    #[test]
    fn writes_add_up() {
        let mut written = Written::default();
        assert_eq!(written.position(), None);
        written.add(&position("0-1-7"));
        written.add(&position("1-1-3"));
        assert_eq!(written, Written::UpTo(position("0-1-7,1-1-3")));
        written.add_unknown();
        written.add(&position("0-1-9"));
        assert_eq!(written, Written::Unknown);
    }

    #[test]
    fn a_session_that_writes_among_others_needs_no_more_memory_for_it() {
        let mut written = Written::default();
        for number in 1..1000 {
            written.add(&position(&format!("{SERVER}:{}", number * 2)));
        }
        let all = written.position().unwrap();
        assert!(all.pieces() <= PIECES_MAX);
        for number in 1..1000 {
            assert!(all.contains(&position(&format!("{SERVER}:{}", number * 2))));
        }
    }

    #[test]
    fn a_session_with_writes_of_too_many_servers_reads_from_the_primary() {
        let mut written = Written::default();
        for number in 0..1000 {
            written.add(&position(&format!(
                "3e11fa47-71ca-11e1-9e33-{number:012x}:1"
            )));
        }
        assert_eq!(written, Written::Unknown);
    }

    #[test]
    fn a_write_without_a_gtid_takes_the_primarys_position_if_it_was_the_only_one() {
        let all = WrittenByAll::default();
        let at = |text| Written::UpTo(position(text));
        all.add_unknown();
        let before = all.now();
        all.add_unknown();
        all.know(&before, at("0-1-7"));
        assert_eq!(*all.now(), Written::Unknown);
        let before = all.now();
        all.add(&position("0-1-9"));
        all.know(&before, at("0-1-8"));
        assert_eq!(*all.now(), Written::Unknown);
        all.know(&all.now(), at("0-1-9"));
        assert_eq!(*all.now(), at("0-1-9"));
    }

    #[test]
    fn the_shared_position_is_the_latest_write() {
        let all = WrittenByAll::default();
        all.add(&position("0-1-7"));
        all.add(&position("0-1-9"));
        assert_eq!(*all.now(), Written::UpTo(position("0-1-9")));
    }
}
