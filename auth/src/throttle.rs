//! Repeated failed logins are delayed: those of one user from one address, and those of an address from which
//! logins of many users fail.
//!
//! ```text
//!   failures      1 … free    free + 1   free + 2   …
//!   delay             0        first     2 × first  …  at most max
//! ```
//!
//! One user's failures do not delay other users of the same address. An address counts the users that failed
//! there, and its count delays no login while more logins succeed than users fail.
//!
//! Memory is bounded: the record that was changed longest ago is forgotten first.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;

use crate::digest::sha256;

/// How many failures are free, and how fast the delays grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleLimits {
    /// Failures of one user from one address that cost nothing: people mistype.
    pub free_per_user: u32,
    /// Users that may fail at one address before the address is delayed; many clients may share an address.
    pub free_users_per_address: u32,
    /// The first delay; it doubles from failure to failure.
    pub delay_first: Duration,
    /// The longest delay.
    pub delay_max: Duration,
    /// Failures older than this are forgotten.
    pub forgotten_after: Duration,
    /// How many addresses, and users at addresses, are remembered at once.
    pub entries_max: NonZeroUsize,
}

impl Default for ThrottleLimits {
    fn default() -> Self {
        Self {
            free_per_user: 3,
            free_users_per_address: 20,
            delay_first: Duration::from_millis(100),
            delay_max: Duration::from_secs(10),
            forgotten_after: Duration::from_secs(15 * 60),
            // About 100 bytes each.
            entries_max: NonZeroUsize::new(65_536).expect("it is not zero"),
        }
    }
}

/// Counts failures. Times are durations since any one moment.
#[derive(Debug)]
pub struct Throttle {
    limits: ThrottleLimits,
    records: LruCache<Key, Record>,
}

/// An IPv6 address counts by its /64 network, because one customer has all of its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    address: IpAddr,
    /// A digest of the user's name, because clients may send names of any length.
    user: Option<[u8; 32]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// Of a user: failed logins. Of an address: users that have failed.
    failures: u32,
    /// Of an address: logins that succeeded.
    successes: u32,
    last: Duration,
}

/// Counts of an address are halved beyond this, so that old logins count less than new ones.
const ADDRESS_COUNT_MAX: u32 = 1_000;

impl Throttle {
    /// A throttle without failures.
    pub fn new(limits: ThrottleLimits) -> Self {
        Self {
            limits,
            records: LruCache::new(limits.entries_max),
        }
    }

    /// Notes a failed login; returns how long the answer to the next login of this user waits.
    pub fn failed(&mut self, address: IpAddr, user: &[u8], now: Duration) -> Duration {
        let of_user = self.change(Key::of_user(address, user), now, |record| {
            record.failures = record.failures.saturating_add(1);
        });
        if of_user.failures == 1 {
            self.change(Key::of_address(address), now, |record| record.failures += 1);
        }
        self.delay(address, user, now)
    }

    /// How long the next answer to this user from this address waits. The delay begins before the login is
    /// checked: the time of the answer must not reveal a right guess.
    pub fn delay(&self, address: IpAddr, user: &[u8], now: Duration) -> Duration {
        // The usual case: no name is digested.
        if self.is_empty() {
            return Duration::ZERO;
        }
        let of_user = self.record(&Key::of_user(address, user), now);
        let of_address = self.record(&Key::of_address(address), now);
        let by_user = self.delay_of(of_user.failures, self.limits.free_per_user);
        let by_address = match of_address.successes > of_address.failures {
            true => Duration::ZERO,
            false => self.delay_of(of_address.failures, self.limits.free_users_per_address),
        };
        by_user.max(by_address)
    }

    /// Notes a login that succeeded: this user's failures are forgotten.
    pub fn succeeded(&mut self, address: IpAddr, user: &[u8], now: Duration) {
        let has_failed = self.records.pop(&Key::of_user(address, user)).is_some();
        self.change(Key::of_address(address), now, |record| {
            record.successes += 1;
            record.failures = record.failures.saturating_sub(u32::from(has_failed));
        });
    }

    /// Changes a record, and returns it. A record that is too old begins at zero.
    fn change(&mut self, key: Key, now: Duration, change: impl FnOnce(&mut Record)) -> Record {
        let mut record = self.record(&key, now);
        change(&mut record);
        if key.user.is_none() && record.failures.max(record.successes) > ADDRESS_COUNT_MAX {
            record.failures /= 2;
            record.successes /= 2;
        }
        record.last = now;
        self.records.push(key, record);
        record
    }

    /// How many addresses, and users at addresses, are remembered.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no address and no user is remembered.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn record(&self, key: &Key, now: Duration) -> Record {
        let recent =
            |record: &&Record| now.saturating_sub(record.last) < self.limits.forgotten_after;
        let record = self.records.peek(key).filter(recent);
        record.copied().unwrap_or_default()
    }

    fn delay_of(&self, failures: u32, free: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(free + 1) else {
            return Duration::ZERO;
        };
        let factor = 1u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let delay = self.limits.delay_first.saturating_mul(factor);
        delay.min(self.limits.delay_max)
    }
}

/// One throttle for all workers, so that a client gains nothing if it guesses on several workers. It is locked
/// at logins only, for a few look-ups in a map.
#[derive(Debug)]
pub struct SharedThrottle(Mutex<Throttle>);

impl SharedThrottle {
    /// As [`Throttle::new`].
    pub fn new(limits: ThrottleLimits) -> Self {
        Self(Mutex::new(Throttle::new(limits)))
    }

    /// As [`Throttle::failed`].
    pub fn failed(&self, address: IpAddr, user: &[u8], now: Duration) -> Duration {
        self.locked().failed(address, user, now)
    }

    /// As [`Throttle::delay`].
    pub fn delay(&self, address: IpAddr, user: &[u8], now: Duration) -> Duration {
        self.locked().delay(address, user, now)
    }

    /// As [`Throttle::succeeded`].
    pub fn succeeded(&self, address: IpAddr, user: &[u8], now: Duration) {
        self.locked().succeeded(address, user, now);
    }

    /// A panic under the lock leaves no half-made change, so a poisoned lock is still good.
    fn locked(&self) -> MutexGuard<'_, Throttle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SharedThrottle {
    fn default() -> Self {
        Self::new(ThrottleLimits::default())
    }
}

impl Key {
    fn of_address(address: IpAddr) -> Self {
        let address = match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
            }
            address => address,
        };
        Self {
            address,
            user: None,
        }
    }

    fn of_user(address: IpAddr, user: &[u8]) -> Self {
        Self {
            user: Some(sha256(&[user])),
            ..Self::of_address(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn limits(entries_max: usize) -> ThrottleLimits {
        ThrottleLimits {
            entries_max: NonZeroUsize::new(entries_max).unwrap(),
            ..ThrottleLimits::default()
        }
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn the_first_failed_logins_are_free_and_later_delays_double() {
        let mut throttle = Throttle::new(limits(100));
        let delays: Vec<u128> = (0..12)
            .map(|_| throttle.failed(HERE, b"app", NOW).as_millis())
            .collect();
        assert_eq!(
            delays,
            [
                0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000
            ]
        );
        throttle.succeeded(HERE, b"app", NOW);
        assert_eq!(throttle.delay(HERE, b"app", NOW), Duration::ZERO);
    }

    #[test]
    fn one_users_failures_delay_no_other_user_of_the_address() {
        let mut throttle = Throttle::new(limits(100));
        for _ in 0..1_000 {
            throttle.failed(HERE, b"app", NOW);
        }
        assert_eq!(throttle.delay(HERE, b"other", NOW), Duration::ZERO);
    }

    #[test]
    fn many_users_that_fail_delay_their_address_and_one_success_does_not_help() {
        let mut throttle = Throttle::new(limits(100));
        for guess in 0..22u8 {
            throttle.failed(HERE, &[b'u', guess], NOW);
        }
        let delay = throttle.delay(HERE, b"never tried", NOW);
        assert_eq!(delay, Duration::from_millis(200));
        throttle.succeeded(HERE, b"own account", NOW);
        assert_eq!(throttle.delay(HERE, b"never tried", NOW), delay);
    }

    #[test]
    fn an_address_whose_logins_mostly_succeed_is_not_delayed_for_other_users() {
        let mut throttle = Throttle::new(limits(100));
        for guess in 0..30u8 {
            throttle.failed(HERE, &[b'u', guess], NOW);
            throttle.succeeded(HERE, b"app", NOW);
            throttle.succeeded(HERE, b"web", NOW);
        }
        assert_eq!(throttle.delay(HERE, b"never tried", NOW), Duration::ZERO);
        for _ in 0..10 {
            throttle.failed(HERE, b"guessed", NOW);
        }
        assert!(throttle.delay(HERE, b"guessed", NOW) > Duration::ZERO);
    }

    #[test]
    fn old_failures_are_dropped() {
        let mut throttle = Throttle::new(limits(100));
        for _ in 0..5 {
            throttle.failed(HERE, b"app", NOW);
        }
        let later = NOW + ThrottleLimits::default().forgotten_after;
        assert_eq!(throttle.delay(HERE, b"app", later), Duration::ZERO);
        assert_eq!(throttle.failed(HERE, b"app", later), Duration::ZERO);
    }

    #[test]
    fn an_ipv6_network_of_64_bits_counts_as_one_address() {
        let mut throttle = Throttle::new(limits(100));
        for host in 0..5u16 {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, host);
            throttle.failed(address.into(), b"app", NOW);
        }
        let neighbour = Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 1, 2, 3, 4);
        let stranger = Ipv6Addr::new(0x2001, 0xdb8, 0, 8, 1, 2, 3, 4);
        assert!(throttle.delay(neighbour.into(), b"app", NOW) > Duration::ZERO);
        assert_eq!(throttle.delay(stranger.into(), b"app", NOW), Duration::ZERO);
        let mapped = Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1]);
        throttle.failed(HERE, b"app", NOW);
        assert_eq!(Key::of_address(mapped.into()), Key::of_address(HERE));
    }

    proptest! {
        /// The throttle counts like a naive model while the model is below the bound, and never exceeds the bound.
        #[test]
        fn the_login_throttle_agrees_with_a_simple_model(
            events in prop::collection::vec((0u8..3, 0u8..3, any::<bool>(), 0u64..400), 1..200),
            entries_max in prop::sample::select(vec![4usize, 100]),
        ) {
            let limits = limits(entries_max);
            let mut throttle = Throttle::new(limits);
            let mut model: HashMap<(u8, u8), (u32, Duration)> = HashMap::new();
            let mut now = NOW;
            for (host, user, is_right, seconds) in events {
                now += Duration::from_secs(seconds);
                let address = IpAddr::from([10, 0, 0, host]);
                if is_right {
                    throttle.succeeded(address, &[user], now);
                    model.remove(&(host, user));
                } else {
                    let delay = throttle.failed(address, &[user], now);
                    let entry = model.entry((host, user)).or_insert((0, now));
                    if now - entry.1 >= limits.forgotten_after {
                        entry.0 = 0;
                    }
                    *entry = (entry.0 + 1, now);
                    // Three users are fewer than the number of users of one address that may fail.
                    let expected = match entry.0 > limits.free_per_user {
                        false => Duration::ZERO,
                        true => limits.delay_max.min(Duration::from_millis(
                            100 << (entry.0 - limits.free_per_user - 1).min(20),
                        )),
                    };
                    if entries_max == 100 {
                        prop_assert_eq!(delay, expected);
                    }
                }
                prop_assert!(throttle.len() <= entries_max);
            }
        }
    }
}
