//! Digests of reads that replicas have refused because they write.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;
use route::{ClusterId, Moment};

/// How many digests a worker remembers. Beyond that number, the digests not seen for longest are forgotten.
const DIGESTS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// A statement that was refused once may only read by now: after this time it is tried again.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// One worker's memory of refused reads.
pub struct RefusedReads {
    pub(crate) digests: RefCell<LruCache<(ClusterId, u64), Moment>>,
}

impl Default for RefusedReads {
    fn default() -> Self {
        Self {
            digests: RefCell::new(LruCache::new(DIGESTS_MAX)),
        }
    }
}

impl RefusedReads {
    /// Whether no digest is remembered, which is the usual case.
    pub fn is_empty(&self) -> bool {
        self.digests.borrow().is_empty()
    }

    /// How many digests are remembered.
    pub fn len(&self) -> usize {
        self.digests.borrow().len()
    }

    /// Remembers that a server has refused a read with this digest.
    pub fn remember(&self, cluster: ClusterId, digest: u64, now: Moment) {
        self.digests.borrow_mut().put((cluster, digest), now);
    }

    /// Whether a server has recently refused a read with this digest.
    pub fn has(&self, cluster: ClusterId, digest: u64, now: Moment) -> bool {
        let key = (cluster, digest);
        let mut digests = self.digests.borrow_mut();
        match digests.get(&key) {
            Some(since) if now.since(*since) < REMEMBERED => true,
            Some(_) => {
                digests.pop(&key);
                false
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: ClusterId = ClusterId(1);

    #[test]
    fn a_refused_digest_is_remembered_for_an_hour() {
        let refused = RefusedReads::default();
        assert!(refused.is_empty());
        refused.remember(CLUSTER, 7, Moment::START);
        let soon = Moment::START + Duration::from_secs(3_599);
        assert!(refused.has(CLUSTER, 7, soon));
        assert!(!refused.has(CLUSTER, 8, soon));
        assert!(!refused.has(ClusterId(2), 7, soon));
        assert!(!refused.has(CLUSTER, 7, soon + Duration::from_secs(1)));
        assert!(refused.is_empty());
    }

    #[test]
    fn the_number_of_digests_is_bounded() {
        let refused = RefusedReads::default();
        for digest in 0..10_000 {
            refused.remember(CLUSTER, digest, Moment::START);
        }
        assert_eq!(refused.len(), DIGESTS_MAX.get());
        assert!(refused.has(CLUSTER, 9_999, Moment::START));
        assert!(!refused.has(CLUSTER, 0, Moment::START));
    }
}
