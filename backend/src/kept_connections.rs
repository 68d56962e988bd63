//! How sessions use pooled connections, by account and backend, as all workers count it once a second. It also decides
//! how many of a worker's sessions have to give up their connections, because their account keeps most of them and
//! other accounts wait. The maps are ordered, because sessions give up, and waiting sessions are woken, in their
//! order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use auth::AccountId;
use pool::{AccountUse, ConnectionLimit, FairShares, ShareId, kept_max};
use route::BackendId;

/// One worker's uses. Sessions without a backend are counted under `None`.
pub type Uses = BTreeMap<(AccountId, Option<BackendId>), AccountUse>;

/// The uses of all workers.
#[derive(Default)]
pub(crate) struct KeptConnections {
    pub(crate) by_worker: BTreeMap<usize, Uses>,
    shares: BTreeMap<BackendId, FairShares>,
    ids: BTreeMap<AccountId, ShareId>,
}

impl KeptConnections {
    /// Returns the id of an account within the limits.
    pub(crate) fn share_of(&mut self, account: &AccountId) -> ShareId {
        let next = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        let ids = &mut self.ids;
        *ids.entry(account.clone()).or_insert(ShareId(next))
    }

    /// Returns the accounts that use a backend, over all workers.
    pub(crate) fn at(&self, backend: BackendId) -> Vec<(AccountId, AccountUse)> {
        let mut sums: BTreeMap<AccountId, AccountUse> = BTreeMap::new();
        for ((account, at), found) in self.by_worker.values().flatten() {
            if *at == Some(backend) {
                *sums.entry(account.clone()).or_default() += *found;
            }
        }
        sums.into_iter().collect()
    }

    /// Whether at most one account has sessions.
    fn is_alone(&self) -> bool {
        let accounts = self.by_worker.values().flat_map(BTreeMap::keys);
        let accounts: BTreeSet<_> = accounts.map(|(account, _)| account).collect();
        accounts.len() < 2
    }

    pub(crate) fn bind(
        &mut self,
        (backend, limit): (BackendId, &ConnectionLimit),
        found: &[(AccountId, AccountUse)],
        percent: u32,
        now: Duration,
    ) {
        let is_alone = self.is_alone();
        let uses: Vec<_> = found
            .iter()
            .map(|(account, found)| (self.share_of(account), *found))
            .collect();
        let max = limit.limit();
        let shares = self.shares.entry(backend).or_default();
        let bounded = shares.bounded(&uses, (max, percent), is_alone, now);
        limit.bind(&bounded, kept_max(max, percent));
    }

    /// Marks this many of a worker's sessions as having given up, at most as many as keep a connection while idle.
    pub(crate) fn give_up(
        &mut self,
        worker: usize,
        key: (AccountId, Option<BackendId>),
        count: u32,
    ) -> u32 {
        let uses = self.by_worker.get_mut(&worker);
        let Some(found) = uses.and_then(|uses| uses.get_mut(&key)) else {
            return 0;
        };
        let given_up = count.min(found.kept_idle);
        found.kept_idle -= given_up;
        given_up
    }
}
