//! The share of one account under a connection limit, over all keys and workers.
//!
//! An account is *bounded* while its sessions keep many connections between their commands. It then gets no
//! connection beyond [`kept_max`], so that other accounts find one.

use rustc_hash::FxHashMap;

/// The caller's number for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShareId(pub u32);

/// How many of `limit` connections an account may keep when other accounts need some: `percent` of them, rounded up,
/// so that less than a whole connection is not reserved.
pub fn kept_max(limit: u32, percent: u32) -> u32 {
    let reserved = u64::from(limit) * u64::from(100 - percent.min(100)) / 100;
    limit - u32::try_from(reserved).unwrap_or(limit)
}

/// The shares under one limit.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    known: FxHashMap<ShareId, Share>,
    /// How many places a bounded account may have.
    bound: u32,
}

#[derive(Debug, Default)]
struct Share {
    taken: u32,
    is_bounded: bool,
}

impl Shares {
    /// Whether an account has all places that it may have.
    pub(crate) fn is_full(&self, share: Option<ShareId>) -> bool {
        let known = share.and_then(|share| self.known.get(&share));
        known.is_some_and(|it| it.is_bounded && it.taken >= self.bound)
    }

    pub(crate) fn take(&mut self, share: Option<ShareId>) {
        if let Some(share) = share {
            self.known.entry(share).or_default().taken += 1;
        }
    }

    pub(crate) fn give(&mut self, share: Option<ShareId>) {
        let Some(share) = share else {
            return;
        };
        if let Some(known) = self.known.get_mut(&share) {
            known.taken -= 1;
            if known.taken == 0 && !known.is_bounded {
                self.known.remove(&share);
            }
        }
    }

    /// Bounds these accounts, and no others, to `bound` places each. Returns whether that is new.
    pub(crate) fn bind(&mut self, bounded: &[ShareId], bound: u32) -> bool {
        let mut is_new = self.bound != bound;
        self.bound = bound;
        for share in bounded {
            self.known.entry(*share).or_default();
        }
        self.known.retain(|id, share| {
            let is_bounded = bounded.contains(id);
            is_new |= share.is_bounded != is_bounded;
            share.is_bounded = is_bounded;
            share.taken > 0 || is_bounded
        });
        is_new
    }

    pub(crate) fn taken(&self, share: ShareId) -> u32 {
        self.known.get(&share).map_or(0, |share| share.taken)
    }

    pub(crate) fn is_bounded(&self, share: ShareId) -> bool {
        self.known.get(&share).is_some_and(|share| share.is_bounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_connection_is_not_reserved() {
        let found = [1, 4, 5, 9, 10, 100].map(|limit| kept_max(limit, 80));
        assert_eq!(found, [1, 4, 4, 8, 8, 80]);
        assert_eq!(kept_max(100, 100), 100);
        assert_eq!(kept_max(u32::MAX, 1), u32::MAX / 100 + 1);
    }

    #[test]
    fn an_account_share_without_connections_or_bound_is_forgotten() {
        let mut shares = Shares::default();
        let (one, two) = (ShareId(1), ShareId(2));
        shares.take(Some(one));
        assert!(shares.bind(&[one, two], 1));
        assert!(!shares.bind(&[one, two], 1));
        assert!(shares.is_full(Some(one)) && !shares.is_full(Some(two)) && !shares.is_full(None));
        shares.give(Some(one));
        assert!(shares.bind(&[], 1));
        assert!(shares.known.is_empty());
    }
}
