//! The digests that sessions have sent recently, for `pilotfish plan`.

use std::cell::{Cell, RefCell};
use std::hash::BuildHasher;
use std::num::NonZeroUsize;

use config::StatementStatsConfig;
use lru::LruCache;
use sql::{Analysis, Flags};
use system::HashKeys;

/// The most bytes of a text; longer texts are not kept, so that a worker's memory is bounded.
const TEXT_BYTES_MAX: usize = 4096;

/// A digest that sessions have sent. It contains no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDigest {
    /// The normalised text.
    pub text: String,
    /// The user that sent it.
    pub user: String,
    /// The default schema of the session.
    pub schema: String,
    /// The number of times that it was sent.
    pub count: u64,
}

/// The most recent digests of one worker; nothing is recorded while they are not wanted.
pub struct SeenDigests {
    is_wanted: Cell<bool>,
    digests: RefCell<LruCache<u64, SeenDigest>>,
    analysis: RefCell<Analysis>,
    keys: HashKeys,
}

impl SeenDigests {
    /// Empty, with the bounds of the configuration. Clients choose the statements, so the hashes use these secret keys.
    pub fn new(config: &StatementStatsConfig, keys: HashKeys) -> Self {
        let seen = Self {
            is_wanted: Cell::new(false),
            digests: RefCell::new(LruCache::new(NonZeroUsize::MIN)),
            analysis: RefCell::default(),
            keys,
        };
        seen.follow(config);
        seen
    }

    /// Applies other settings.
    pub fn follow(&self, config: &StatementStatsConfig) {
        let mut digests = self.digests.borrow_mut();
        self.is_wanted.set(config.plan_file.is_some());
        if !self.is_wanted.get() {
            digests.clear();
        }
        let count = usize::try_from(config.plan_digests_max).ok();
        digests.resize(
            count
                .and_then(NonZeroUsize::new)
                .unwrap_or(NonZeroUsize::MIN),
        );
    }

    /// Whether statements are to be recorded.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.get()
    }

    /// Records a statement.
    pub fn note(&self, text: &[u8], flags: Flags, user: &str, schema: &[u8]) {
        let mut analysis = self.analysis.borrow_mut();
        analysis.read(text, flags);
        let digest = &analysis.digest;
        if digest.text().len() > TEXT_BYTES_MAX {
            return;
        }
        let key = self.keys.hash_one((digest.hash(), user, schema));
        let mut digests = self.digests.borrow_mut();
        let seen = digests.get_or_insert_mut(key, || SeenDigest {
            text: String::from_utf8_lossy(digest.text()).into_owned(),
            user: user.to_owned(),
            schema: String::from_utf8_lossy(schema).into_owned(),
            count: 0,
        });
        seen.count = seen.count.saturating_add(1);
    }

    /// All digests.
    pub fn all(&self) -> Vec<SeenDigest> {
        let digests = self.digests.borrow();
        digests.iter().map(|(_, seen)| seen.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn keys() -> HashKeys {
        system::Entropy::seeded(7).hash_keys().unwrap()
    }

    fn config(count_max: u32) -> StatementStatsConfig {
        StatementStatsConfig {
            plan_file: Some("seen".into()),
            plan_digests_max: count_max,
            ..StatementStatsConfig::default()
        }
    }

    fn texts(seen: &SeenDigests) -> Vec<(String, u64)> {
        let mut all: Vec<_> = seen
            .all()
            .into_iter()
            .map(|it| (it.text, it.count))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn digests_are_counted_without_their_values() {
        let seen = SeenDigests::new(&config(10), keys());
        let note = |text: &str, user| seen.note(text.as_bytes(), Flags::default(), user, b"d");
        note("select * from t where id = 17", "a");
        note("SELECT * FROM t WHERE id = 'secret'", "a");
        note("SELECT * FROM t WHERE id = 1", "b");
        let text = "SELECT * FROM t WHERE id = ?".to_owned();
        assert_eq!(texts(&seen), [(text.clone(), 1), (text, 2)]);
        note(&format!("SELECT {}", "a, ".repeat(2000)), "a");
        assert_eq!(seen.all().len(), 2, "too long");
        seen.follow(&StatementStatsConfig::default());
        assert!(!seen.is_wanted() && seen.all().is_empty());
    }

    #[test]
    fn the_digests_seen_last_are_kept() {
        let seen = SeenDigests::new(&config(2), keys());
        for name in ["a", "b", "a", "c"] {
            let text = format!("SELECT {name}");
            seen.note(text.as_bytes(), Flags::default(), "u", b"");
        }
        let kept = [("SELECT a".to_owned(), 2), ("SELECT c".to_owned(), 1)];
        assert_eq!(texts(&seen), kept);
    }
}
