//! Hosts whose logins failed too often in a row are blocked until an administrator unblocks them, as by the servers'
//! `max_connect_errors`.
//!
//! Memory is bounded: the host that failed longest ago is forgotten first.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// How many hosts are remembered at once.
const HOSTS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("it is not zero");

/// Failed logins in a row, by host; shared by all workers.
#[derive(Debug)]
pub struct HostErrors(Mutex<LruCache<IpAddr, u32>>);

impl HostErrors {
    /// Notes one more failed login; returns how many there are now in a row.
    pub fn failed(&self, host: IpAddr) -> u32 {
        let host = host.to_canonical();
        let mut hosts = self.locked();
        let errors = hosts.peek(&host).copied().unwrap_or_default();
        let errors = errors.saturating_add(1);
        hosts.push(host, errors);
        errors
    }

    /// A login has succeeded: earlier failures are forgotten.
    pub fn succeeded(&self, host: IpAddr) {
        let mut hosts = self.locked();
        if !hosts.is_empty() {
            hosts.pop(&host.to_canonical());
        }
    }

    /// How many logins have failed in a row.
    pub fn errors(&self, host: IpAddr) -> u32 {
        let hosts = self.locked();
        hosts
            .peek(&host.to_canonical())
            .copied()
            .unwrap_or_default()
    }

    /// All hosts with failed logins, and how many these are, in the order of their addresses.
    pub fn all(&self) -> Vec<(IpAddr, u32)> {
        let hosts = self.locked();
        let mut all: Vec<_> = hosts
            .iter()
            .map(|(host, errors)| (*host, *errors))
            .collect();
        drop(hosts);
        all.sort_unstable();
        all
    }

    /// Forgets all failures: no host is blocked any more. Returns how many hosts had failures.
    pub fn forget_all(&self) -> usize {
        let mut hosts = self.locked();
        let count = hosts.len();
        hosts.clear();
        count
    }

    /// A panic under the lock leaves no half-made change, so a poisoned lock is still good.
    fn locked(&self) -> MutexGuard<'_, LruCache<IpAddr, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for HostErrors {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(HOSTS_MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_are_counted_until_one_succeeds_or_all_are_forgotten() {
        let hosts = HostErrors::default();
        let here = IpAddr::from([10, 0, 0, 1]);
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        let there = IpAddr::from([10, 0, 0, 2]);
        assert_eq!((hosts.failed(here), hosts.failed(mapped)), (1, 2));
        hosts.failed(there);
        assert_eq!(hosts.all(), [(here, 2), (there, 1)]);
        hosts.succeeded(here);
        assert_eq!((hosts.errors(mapped), hosts.errors(there)), (0, 1));
        assert_eq!(hosts.forget_all(), 1);
        assert_eq!(hosts.errors(there), 0);
    }
}
