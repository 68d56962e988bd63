//! What has been written, as far as reads that come later must see it: by one session, or by all.

use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;

use crate::Position;

/// What one session has written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Written {
    /// Nothing: any replica will do.
    #[default]
    Nothing,
    /// This: a replica that has it will do.
    UpTo(Position),
    /// Something, and nobody knows where in the stream: only the primary will do.
    Unknown,
}

/// Pieces that one session's position is made of at most. A session that writes among many others
/// gathers a gap with each write; filled, they ask for more than its own writes, never for less.
const PIECES_MAX: usize = 16;

impl Written {
    /// Nothing, which all sessions share that have written nothing.
    pub fn nothing() -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Written>> = LazyLock::new(Arc::default);
        Arc::clone(&NOTHING)
    }

    /// The server said that this was written.
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
        // Condensed, more than that means more servers than a cluster has.
        if matches!(self, Written::UpTo(position) if position.pieces() > PIECES_MAX * 4) {
            *self = Written::Unknown;
        }
    }

    /// Something was written of which the server did not say where.
    pub fn add_unknown(&mut self) {
        *self = Written::Unknown;
    }

    /// Its position, where it has one.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Written::UpTo(position) => Some(position),
            Written::Nothing | Written::Unknown => None,
        }
    }
}

/// What all sessions of this process have written to a cluster, for reads that must see all of it.
/// It is touched by writes under that level of consistency only.
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

    /// Adds a write of which nobody knows where it is.
    pub fn add_unknown(&self) {
        self.0.store(Arc::new(Written::Unknown));
    }

    /// A primary has told where it is, and that holds all that had been written `before`, whatever that
    /// was. What was written since then would be lost, so where there is some nothing changes.
    pub fn know(&self, before: &Arc<Written>, position: Written) {
        self.0.compare_and_swap(before, Arc::new(position));
    }

    /// What was written up to now.
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
