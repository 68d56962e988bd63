//! The conditions of a rule.

use std::cell::OnceCell;
use std::fmt;

use config::{Day, ListenAddress, Share, TimeSpan, Within};
use ipnet::IpNet;
use sql::{Digest, Doubts};

use super::kinds::Kinds;
use super::names::{Findings, Names};
use super::needle::{Found, Needles};
use super::occasion::{Chance, LocalTime, Occasion};
use super::pattern::Pattern;
use super::rule_index::RuleIndex;
use super::tables::{self, Tables};
use super::tags::{self, Enough};

/// One condition; the variants are in the order of their cost.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The statement's kind.
    Kind(Kinds),
    /// Hashes of its digest, in order.
    Digest(Box<[u64]>),
    /// The user.
    User(Names),
    /// The session's schema.
    Schema(Names),
    /// The listener to which the client has connected.
    Listener(Box<[ListenAddress]>),
    /// The networks of the client's address.
    Networks(Box<[IpNet]>),
    /// The time of day, and the day on which that span began.
    Time(Option<TimeSpan>, Box<[Day]>),
    /// Chance: random 64-bit numbers below this value match; none: all match.
    Percentage(Option<u64>, Share),
    /// Tables that the statement names.
    Tables(Tables),
    /// The statement's tags.
    Tag(Names),
    /// Its digest's text.
    DigestRegex(Pattern),
    /// Its text.
    Regex(Pattern),
}

/// An occasion, and values that are computed from it when a condition first needs them.
pub(crate) struct Scene<'a> {
    pub occasion: &'a Occasion<'a>,
    pub kinds: Kinds,
    made: OnceCell<Digest>,
    tables: OnceCell<u64>,
    in_text: OnceCell<Found>,
    in_digest: OnceCell<Found>,
}

impl<'a> Scene<'a> {
    pub fn new(occasion: &'a Occasion<'a>) -> Self {
        Self {
            occasion,
            kinds: Kinds::of(occasion.facts),
            made: OnceCell::new(),
            tables: OnceCell::new(),
            in_text: OnceCell::new(),
            in_digest: OnceCell::new(),
        }
    }

    /// The name bits of the statement's tables.
    pub fn tables(&self) -> u64 {
        let bits = || tables::bits_of(self.occasion.text, self.occasion.facts);
        *self.tables.get_or_init(bits)
    }

    /// The needles in the statement's text.
    pub fn in_text(&self, needles: &Needles) -> &Found {
        self.in_text
            .get_or_init(|| needles.scan(self.occasion.text))
    }

    /// The needles in the digest's text.
    pub fn in_digest(&self, needles: &Needles) -> &Found {
        self.in_digest
            .get_or_init(|| needles.scan(self.digest().text()))
    }

    /// The hash of its digest.
    pub fn digest_hash(&self) -> u64 {
        let hash = self.occasion.digest_hash;
        hash.unwrap_or_else(|| self.digest().hash())
    }

    pub fn digest(&self) -> &Digest {
        let make = || sql::digest(self.occasion.text, self.occasion.flags);
        self.occasion
            .digest
            .unwrap_or_else(|| self.made.get_or_init(make))
    }
}

impl Condition {
    /// The name of its setting.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kind(_) => "kind",
            Self::Digest(_) => "digest",
            Self::User(_) => "user",
            Self::Schema(_) => "schema",
            Self::Listener(_) => "listener",
            Self::Networks(_) => "networks",
            Self::Time(None, _) => "days",
            Self::Time(..) => "time",
            Self::Percentage(..) => "percentage",
            Self::Tables(_) => "tables",
            Self::Tag(_) => "tag",
            Self::DigestRegex(_) => "digest_regex",
            Self::Regex(_) => "regex",
        }
    }

    /// Whether the result is uncertain for a statement with these doubts.
    pub(crate) fn depends_on(&self, doubts: Doubts, occasion: &Occasion<'_>) -> bool {
        let text = doubts.without(Doubts::SCHEMA | Doubts::TABLES);
        let doubts = match self {
            Self::User(_)
            | Self::Listener(_)
            | Self::Networks(_)
            | Self::Time(..)
            | Self::Percentage(..) => Doubts::NONE,
            Self::Schema(_) => doubts.both(Doubts::SCHEMA | Doubts::RELAYED),
            Self::Tables(tables) => tables.doubts(doubts, occasion.text, occasion.facts),
            Self::Tag(_) => text.without(Doubts::MANY_NAMES),
            Self::Kind(_) => {
                text.without(Doubts::MANY_NAMES | Doubts::MANY_COMMENTS | Doubts::TAIL)
            }
            Self::Digest(_) | Self::DigestRegex(_) | Self::Regex(_) => {
                text.without(Doubts::MANY_NAMES | Doubts::MANY_COMMENTS)
            }
        };
        !doubts.is_empty()
    }

    /// Whether the condition holds, for a rule with this index and seed.
    pub(crate) fn holds(&self, scene: &Scene<'_>, rule: RuleIndex, seed: u64) -> bool {
        let occasion = scene.occasion;
        let client = &occasion.client;
        match self {
            Self::Kind(kinds) => kinds.meet(scene.kinds),
            Self::Digest(hashes) => hashes.binary_search(&scene.digest().hash()).is_ok(),
            Self::User(names) => names.matches(client.user),
            Self::Schema(names) => names.matches(client.schema),
            Self::Listener(addresses) => client.listener.is_some_and(|it| addresses.contains(it)),
            Self::Networks(networks) => {
                let is_in = |address| networks.iter().any(|it| it.contains(&address));
                client.address.is_some_and(is_in)
            }
            Self::Time(span, days) => is_then(*span, days, occasion.time),
            Self::Percentage(below, of) => falls(*below, *of, occasion.chance, rule, seed),
            Self::Tables(tables) => tables.matches(occasion.text, occasion.facts, client.schema),
            Self::Tag(names) => bears(names, occasion),
            Self::DigestRegex(pattern) => pattern.is_match(scene.digest().text()),
            Self::Regex(pattern) => pattern.is_match(occasion.text),
        }
    }
}

fn is_then(span: Option<TimeSpan>, days: &[Day], now: LocalTime) -> bool {
    let day = match span.map_or(Within::SameDay, |span| span.locate(now.time)) {
        Within::No => return false,
        Within::SameDay => now.day,
        Within::DayAfter => now.yesterday(),
    };
    days.is_empty() || days.contains(&day)
}

fn falls(below: Option<u64>, of: Share, chance: Chance, rule: RuleIndex, seed: u64) -> bool {
    let Some(below) = below else { return true };
    let (session, statement) = match chance {
        Chance::For(chosen) => return chosen == rule,
        Chance::Thrown { session, statement } => (session, statement),
    };
    let throw = match of {
        Share::Session => session,
        Share::Statement => statement,
    };
    // Different rules select different sessions; the seed makes a rule's selection the same over reloads.
    mixed(throw ^ seed) < below
}

/// Mixes a number so that each bit affects all bits (the last step of SplitMix64).
pub(crate) const fn mixed(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn bears(names: &Names, occasion: &Occasion<'_>) -> bool {
    let mut findings = Findings::default();
    let only_wanted = names.unwanted.is_empty();
    tags::each(occasion.text, occasion.facts, occasion.attributes, |tag| {
        names.scan(tag, &mut findings);
        match findings.unwanted || findings.wanted && only_wanted {
            true => Enough::Yes,
            false => Enough::No,
        }
    });
    names.is_met(findings)
}

impl fmt::Display for Condition {
    /// The setting's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
