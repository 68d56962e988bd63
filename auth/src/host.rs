//! The hosts of accounts: patterns, matched and ordered by the servers' own rules.
//!
//! MySQL: `sql/auth/sql_auth_cache.cc` (`update_hostname`, `compare_hostname`, `ACL_compare`,
//! `get_sort`). MariaDB: `sql/sql_acl.cc` and `sql/privilege.h`'s neighbour `sql_acl_getsort.inl`.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

/// The server family whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// MariaDB's.
    MariaDb,
    /// MySQL's from 8.0.23 on, which has `a.b.c.d/n`.
    MySql,
    /// MySQL's up to 8.0.22.
    MySqlWithoutCidr,
}

/// Whether a server looks up the names of its clients' addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Names {
    /// It looks them up; 127.0.0.1 and ::1 are `localhost` then.
    Resolved,
    /// It was started with skip_name_resolve.
    Skipped,
}

/// How a server finds accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The server family.
    pub dialect: Dialect,
    /// Whether host names are looked up.
    pub names: Names,
}

impl Dialect {
    /// The dialect of a server by its version text, as in `SELECT VERSION()` or a greeting.
    pub fn of_version(version: &str) -> Self {
        if version.contains("MariaDB") {
            return Self::MariaDb;
        }
        match release(version) < (8, 0, 23) {
            true => Self::MySqlWithoutCidr,
            false => Self::MySql,
        }
    }
}

/// The first three numbers of a version.
pub(crate) fn release(version: &str) -> (u32, u32, u32) {
    let mut numbers = version.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next().and_then(|it| it.parse().ok()).unwrap_or(0);
    (next(), next(), next())
}

/// The address and the host name of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    address: Option<IpAddr>,
    name: Option<String>,
}

impl Origin {
    /// A Unix socket.
    pub fn unix() -> Self {
        Self {
            address: None,
            name: Some(LOCALHOST.to_owned()),
        }
    }

    /// TCP. `name` is the confirmed result of a reverse lookup, if there was a lookup.
    pub fn tcp(address: IpAddr, name: Option<String>) -> Self {
        Self {
            address: Some(address.to_canonical()),
            name,
        }
    }

    /// The address; none for a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The host as the servers show it, in errors and in USER().
    pub fn shown(&self, names: Names) -> String {
        match (self.name_by(names), self.address) {
            (Some(name), _) => name.to_owned(),
            (None, Some(address)) => address.to_string(),
            (None, None) => LOCALHOST.to_owned(),
        }
    }

    /// Whether the name is known, or the server does not match by names.
    pub(crate) fn has_name(&self, names: Names) -> bool {
        names == Names::Skipped || self.name_by(names).is_some()
    }

    fn name_by(&self, names: Names) -> Option<&str> {
        match (names, self.address) {
            (_, None) => self.name.as_deref(),
            (Names::Skipped, Some(_)) => None,
            (Names::Resolved, Some(address)) => match is_local(address) {
                true => Some(LOCALHOST),
                false => self.name.as_deref(),
            },
        }
    }
}

const LOCALHOST: &str = "localhost";

/// Whether an address is `localhost`. Other addresses of 127.0.0.0/8 are looked up (`ip_to_hostname`).
fn is_local(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST)
        || address == IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)
}

/// The host part of an account's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    kind: HostPatternKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostPatternKind {
    /// A name, an address or a pattern of either.
    Text,
    /// IPv4 addresses with a network's bits.
    Network { bits: u32, mask: u32, form: Form },
}

/// How a network was written; MySQL sorts by the form, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Address,
    Cidr,
    Netmask,
}

impl HostPattern {
    /// Reads a host as it stands in a grant table; an empty one means every host.
    pub fn new(text: &str, dialect: Dialect) -> Self {
        Self {
            text: text.to_owned(),
            kind: HostPatternKind::of(text, dialect),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether only a client's host name can match the pattern.
    pub fn needs_host_name(&self) -> bool {
        let is_name = |byte: u8| !(byte.is_ascii_digit() || b".:%_/".contains(&byte));
        self.text.bytes().any(is_name) && self.text != LOCALHOST && !self.text.contains(':')
    }

    /// The address and the mask, if the pattern is an IPv4 network.
    pub(crate) fn network(&self) -> Option<(u32, u32)> {
        match self.kind {
            HostPatternKind::Network { bits, mask, .. } => Some((bits, mask)),
            HostPatternKind::Text => None,
        }
    }

    /// Whether a client of this origin may use the account.
    pub fn matches(&self, origin: &Origin, names: Names) -> bool {
        if let (HostPatternKind::Network { bits, mask, .. }, Some(IpAddr::V4(address))) =
            (self.kind, origin.address)
        {
            // `bits` is not masked: no address matches 10.1.2.3/8, as with the servers.
            return address.to_bits() & mask == bits;
        }
        let pattern = self.text.as_bytes();
        let name = origin.name_by(names);
        pattern.is_empty()
            || name.is_some_and(|name| is_like(name.as_bytes(), pattern, u8::to_ascii_lowercase))
            || origin.address.is_some_and(|address| {
                is_like(address.to_string().as_bytes(), pattern, |byte| *byte)
            })
    }

    /// The rank by which patterns are sorted, from the most specific to the least.
    pub(crate) fn rank(&self, dialect: Dialect) -> Rank {
        match (dialect, self.kind) {
            (Dialect::MariaDb, _) => Rank {
                network: None,
                pattern: mariadb_breadth(self.text.as_bytes()),
            },
            // MySQL: hosts with an address come before hosts with a name or a pattern. 0.0.0.0 does not
            // count as an address (`a.host.ip != 0`).
            (
                Dialect::MySql,
                HostPatternKind::Network {
                    bits: 1..,
                    mask,
                    form,
                },
            ) => Rank {
                network: Some((form, Reverse(mask))),
                pattern: mysql_breadth(self.text.as_bytes()),
            },
            // An address with more text, such as 10.0.0.1%: its address counts, with a mask of 0.
            (Dialect::MySql, HostPatternKind::Text) if begins_with_address(&self.text) => Rank {
                network: Some((Form::Address, Reverse(0))),
                pattern: mysql_breadth(self.text.as_bytes()),
            },
            (Dialect::MySql | Dialect::MySqlWithoutCidr, _) => Rank {
                network: None,
                pattern: mysql_breadth(self.text.as_bytes()),
            },
        }
    }
}

impl HostPatternKind {
    fn of(text: &str, dialect: Dialect) -> Self {
        let network = match (text.split_once('/'), dialect) {
            (None, Dialect::MySql) => octets(text).map(|bits| (bits, u32::MAX, Form::Address)),
            (None, _) => None,
            (Some((address, mask)), dialect) => octets(address).and_then(|bits| {
                let netmask = octets(mask).filter(|mask| is_accepted(*mask, dialect));
                let netmask = netmask.map(|mask| (bits, mask, Form::Netmask));
                netmask.or_else(|| Some((bits, cidr(mask, dialect)?, Form::Cidr)))
            }),
        };
        match network {
            // Without a mask it is no network (`ip_mask && …`).
            Some((bits, mask @ 1.., form)) => Self::Network { bits, mask, form },
            _ => Self::Text,
        }
    }
}

/// The bits of an address of four numbers up to 255.
fn octets(text: &str) -> Option<u32> {
    let mut numbers = text.split('.').map(|number| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u8>().ok().filter(|_| is_number)
    });
    let mut next = || numbers.next().flatten();
    let address = Ipv4Addr::new(next()?, next()?, next()?, next()?);
    numbers.next().is_none().then(|| address.to_bits())
}

/// Whether an address begins the text and more text follows, but no mask (`calc_ip`).
fn begins_with_address(text: &str) -> bool {
    let end = text.find(|character: char| !(character.is_ascii_digit() || character == '.'));
    end.is_some_and(|end| {
        let (address, rest) = text.split_at(end);
        !rest.starts_with('/') && octets(address).is_some_and(|bits| bits != 0)
    })
}

/// Whether a netmask is valid. MySQL from 8.0.23 on wants its ones side by side; other servers take any mask.
fn is_accepted(mask: u32, dialect: Dialect) -> bool {
    dialect != Dialect::MySql || mask.leading_ones() + mask.trailing_zeros().min(32) >= 32
}

fn cidr(length: &str, dialect: Dialect) -> Option<u32> {
    let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse::<u32>().ok().filter(|_| is_number)?;
    match (dialect, length) {
        // Not 0: its mask is 0, and no address matches.
        (Dialect::MySql, 1..=32) => Some(u32::MAX << (32 - length)),
        _ => None,
    }
}

/// How specific a host is: the lower, the more specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    network: Option<(Form, Reverse<u32>)>,
    pattern: u64,
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |rank: &Self| (rank.network.is_none(), rank.network, rank.pattern);
        key(self).cmp(&key(other))
    }
}

const MANY: u8 = b'%';
const ONE: u8 = b'_';
const ESCAPE: u8 = b'\\';

/// MySQL's `get_sort`, reversed: first no wildcard, then the later the first wildcard the earlier, then
/// `%`, then the empty pattern.
fn mysql_breadth(pattern: &[u8]) -> u64 {
    let sort = match first_wildcard(pattern) {
        None if pattern.is_empty() => 0,
        None => 128,
        Some(_) if pattern == [MANY] => 1,
        Some(at) => (at as u64 + 2).min(127),
    };
    128 - sort
}

fn first_wildcard(pattern: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match byte {
            &ESCAPE if at + 1 < pattern.len() => at += 2,
            &MANY | &ONE => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// MariaDB's `get_magic_sort` of a host: by how many texts a pattern matches. `%` is broadest, by the
/// length that it may stand for, then by the number of `%`; `_` is less broad.
fn mariadb_breadth(pattern: &[u8]) -> u64 {
    const LENGTH_MAX: u64 = 255;
    const DIGIT: u64 = LENGTH_MAX + 1;
    let (mut plain, mut ones, mut many, mut prefix) = (0u64, 0u64, 0u64, 0u64);
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if [MANY, ONE].contains(&byte) && ones + many == 0 {
            prefix = plain;
        }
        match byte {
            MANY => {
                many += 1;
                while bytes.next_if_eq(&MANY).is_some() {}
            }
            ONE => ones += 1,
            ESCAPE => {
                bytes.next();
                plain += 1;
            }
            _ => plain += 1,
        }
    }
    let (ones, many) = (ones.min(31), many.min(31));
    let open = match many {
        0 => 0,
        _ => LENGTH_MAX.saturating_sub(plain + ones),
    };
    match open > ones {
        true => (((open * 2 + 1) * DIGIT + many) * 32 + ones) * DIGIT + prefix,
        false => (((ones * 2) * DIGIT + open) * 32 + many) * DIGIT + prefix,
    }
}

/// LIKE's match: `%` any bytes, `_` one, `\` takes the next as it is.
fn is_like(text: &[u8], pattern: &[u8], fold: impl Fn(&u8) -> u8) -> bool {
    let (mut text, mut pattern) = (text, pattern);
    // Where to retry if the part after the last `%` does not match: one byte further.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, text) {
            ([MANY, rest @ ..], _) => {
                again = Some((rest, text));
                pattern = rest;
                continue;
            }
            ([], []) => return true,
            ([ONE, rest @ ..], [_, after @ ..]) => {
                (pattern, text) = (rest, after);
                continue;
            }
            ([ESCAPE, literal, rest @ ..], [byte, after @ ..]) if fold(literal) == fold(byte) => {
                (pattern, text) = (rest, after);
                continue;
            }
            ([literal, rest @ ..], [byte, after @ ..])
                if fold(literal) == fold(byte) && (*literal != ESCAPE || rest.is_empty()) =>
            {
                (pattern, text) = (rest, after);
                continue;
            }
            _ => {}
        }
        match again {
            Some((rest, [_, after @ ..])) => {
                again = Some((rest, after));
                (pattern, text) = (rest, after);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests;
