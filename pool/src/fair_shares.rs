//! Which accounts keep so many connections of a backend that other accounts could starve, and how many they have to
//! give up. Values only: the sessions are counted elsewhere, once a second.
//!
//! ```text
//!   others have no session here           an account may have every connection
//!   it keeps half of `kept_max` or more   it is bounded for a minute: it gets no connection beyond `kept_max`
//!   others wait, it keeps more than that  its idle sessions give up what is above `kept_max`
//! ```

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::share::{ShareId, kept_max};

/// How long an account stays bounded. Otherwise it could give all connections back, and take them all at once.
pub const BOUNDED_FOR: Duration = Duration::from_secs(60);

/// The use of one backend by the sessions of one account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountUse {
    /// Sessions that run a command.
    pub running: u32,
    /// Idle sessions in a transaction, which keep a connection for it.
    pub idle_transactions: u32,
    /// Idle sessions that keep a connection for something else.
    pub pinned: u32,
    /// Sessions that have kept their connection for a while.
    pub kept: u32,
    /// Of these, the idle ones.
    pub kept_idle: u32,
}

impl std::ops::AddAssign for AccountUse {
    fn add_assign(&mut self, other: Self) {
        self.running += other.running;
        self.idle_transactions += other.idle_transactions;
        self.pinned += other.pinned;
        self.kept += other.kept;
        self.kept_idle += other.kept_idle;
    }
}

/// The bounded accounts of one backend, and until when they stay bounded.
#[derive(Debug, Default)]
pub struct FairShares {
    bounded: FxHashMap<ShareId, Duration>,
}

impl FairShares {
    /// Returns the accounts that are bounded `now`. `uses`: all accounts that do something here; `is_alone`: no
    /// other account has a session.
    pub fn bounded(
        &mut self,
        uses: &[(ShareId, AccountUse)],
        (limit, percent): (u32, u32),
        is_alone: bool,
        now: Duration,
    ) -> Vec<ShareId> {
        let kept_max = kept_max(limit, percent);
        if kept_max == limit {
            self.bounded.clear();
        }
        for (share, found) in uses {
            if kept_max < limit && found.kept >= kept_max.div_ceil(2) {
                self.bounded.insert(*share, now.saturating_add(BOUNDED_FOR));
            }
        }
        self.bounded.retain(|_, until| *until > now);
        let mut bounded: Vec<_> = self.bounded.keys().copied().collect();
        bounded.retain(|_| !is_alone);
        bounded.sort_unstable();
        bounded
    }
}

/// How many idle sessions of an account have to give their connections up while other accounts wait.
pub fn excess(found: AccountUse, (limit, percent): (u32, u32)) -> u32 {
    found.kept_idle.saturating_sub(kept_max(limit, percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: (u32, u32) = (100, 80);

    fn keeps(share: u32, kept: u32) -> (ShareId, AccountUse) {
        let found = AccountUse {
            kept,
            kept_idle: kept,
            ..AccountUse::default()
        };
        (ShareId(share), found)
    }

    #[test]
    fn an_account_that_keeps_much_is_bounded_for_a_minute() {
        let mut shares = FairShares::default();
        let at = |seconds| Duration::from_secs(seconds);
        assert!(
            shares
                .bounded(&[keeps(1, 39)], LIMIT, false, at(1))
                .is_empty()
        );
        let bounded = shares.bounded(&[keeps(1, 40), keeps(2, 3)], LIMIT, false, at(2));
        assert_eq!(bounded, [ShareId(1)]);
        assert_eq!(shares.bounded(&[], LIMIT, false, at(61)), [ShareId(1)]);
        assert!(shares.bounded(&[], LIMIT, false, at(62)).is_empty());
    }

    #[test]
    fn an_account_that_is_alone_may_have_everything() {
        let mut shares = FairShares::default();
        let all = [keeps(1, 100)];
        assert!(shares.bounded(&all, LIMIT, true, Duration::ZERO).is_empty());
        assert_eq!(
            shares.bounded(&all, LIMIT, false, Duration::ZERO),
            [ShareId(1)]
        );
        let without = (100, 100);
        assert!(
            shares
                .bounded(&all, without, false, Duration::ZERO)
                .is_empty()
        );
    }

    #[test]
    fn only_connections_above_the_bound_are_released() {
        assert_eq!(excess(keeps(1, 100).1, LIMIT), 20);
        assert_eq!(excess(keeps(1, 80).1, LIMIT), 0);
        assert_eq!(excess(keeps(1, 100).1, (100, 100)), 0);
        assert_eq!(excess(keeps(1, 4).1, (4, 80)), 0);
    }
}
