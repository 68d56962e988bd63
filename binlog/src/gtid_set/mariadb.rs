//! GTIDs of MariaDB: `domain-server-sequence`; and positions such as `0-1-100,1-2-7`, which include everything before.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::error::GtidError;

/// The maximum number of domains in a set from a text.
const DOMAINS_MAX: usize = 1 << 16;

/// One event group of MariaDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MariadbGtid {
    /// `gtid_domain_id`
    pub domain: u32,
    /// The `server_id` of the server that executed the group first.
    pub server: u32,
    /// The group's number within the domain.
    pub sequence: u64,
}

impl fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

impl FromStr for MariadbGtid {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        let mut numbers = text.split('-');
        let mut next = |item: &'static str| {
            let number = numbers.next().filter(|it| is_number(it));
            number.ok_or(GtidError::Invalid(item))
        };
        let (domain, server) = (next("domain")?, next("server id")?);
        let sequence = next("sequence number")?;
        if numbers.next().is_some() {
            return Err(GtidError::Invalid("sequence number"));
        }
        Ok(Self {
            domain: domain.parse().map_err(|_| GtidError::Invalid("domain"))?,
            server: server
                .parse()
                .map_err(|_| GtidError::Invalid("server id"))?,
            sequence: sequence
                .parse()
                .map_err(|_| GtidError::Invalid("sequence number"))?,
        })
    }
}

/// A position in each domain, which includes all event groups up to it, as in `gtid_slave_pos`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariadbGtidSet {
    domains: BTreeMap<u32, MariadbGtid>,
}

impl MariadbGtidSet {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// The last GTID of each domain, in the order of the domains.
    pub fn iter(&self) -> impl Iterator<Item = &MariadbGtid> {
        self.domains.values()
    }

    /// Whether the set contains an event group: the domain has reached its number, on whichever server.
    pub fn contains(&self, gtid: &MariadbGtid) -> bool {
        let last = self.domains.get(&gtid.domain);
        last.is_some_and(|last| gtid.sequence <= last.sequence)
    }

    /// Whether the set contains all of another set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|gtid| self.contains(gtid))
    }

    /// Advances the domain to an event group, unless the domain is further already.
    pub fn add(&mut self, gtid: MariadbGtid) {
        if !self.contains(&gtid) {
            self.domains.insert(gtid.domain, gtid);
        }
    }

    /// Adds another set. In each domain the later position counts.
    pub fn union(&mut self, other: &Self) {
        other.iter().for_each(|gtid| self.add(*gtid));
    }

    /// Removes the domains in which another set is at least as far. The positions that remain are missing in that set.
    pub fn subtract(&mut self, other: &Self) {
        self.domains.retain(|_, gtid| !other.contains(gtid));
    }
}

impl FromIterator<MariadbGtid> for MariadbGtidSet {
    fn from_iter<I: IntoIterator<Item = MariadbGtid>>(gtids: I) -> Self {
        let mut set = Self::default();
        gtids.into_iter().for_each(|gtid| set.add(gtid));
        set
    }
}

impl fmt::Display for MariadbGtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, gtid) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            gtid.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for MariadbGtidSet {
    type Err = GtidError;

    /// Parses the notation of `gtid_slave_pos`. A domain may appear only once.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut set = Self::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let gtid: MariadbGtid = part.parse()?;
            if set.domains.insert(gtid.domain, gtid).is_some() {
                return Err(GtidError::Invalid("domain that stands there twice"));
            }
            if set.domains.len() > DOMAINS_MAX {
                return Err(GtidError::TooLarge(DOMAINS_MAX));
            }
        }
        Ok(set)
    }
}
