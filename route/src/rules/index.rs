//! The index of rules, which finds quickly the rules that may match a statement. Rules with digests are found
//! by hash. The other rules have a small prefilter each, which excludes most of them: by kind, user, table
//! names, and the needles of their expressions.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::condition::{Condition, Scene};
use super::kinds::Kinds;
use super::needle::{NeedleNumber, Needles};
use super::needs::Needs;
use super::pattern::Pattern;
use super::rule::Rule;

/// The index; it is made once for all rules.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Rules without digests, in order.
    plain: Box<[Prefilter]>,
    /// Rules with digests, in order for each.
    by_digest: FxHashMap<u64, Box<[Prefilter]>>,
    /// The needles of all expressions, for texts and for digests.
    of_texts: Needles,
    of_digests: Needles,
    needs: Needs,
}

/// The part of a rule that is checked before its conditions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefilter {
    pub kinds: Kinds,
    /// [`name_hash`] of the only user that can match, if there is one.
    user: Option<u32>,
    /// Table name bits, of which the statement must have one; all bits: any statement passes.
    tables: u64,
    /// The needle that the text must contain.
    in_text: Option<NeedleNumber>,
    /// The needle that the digest must contain.
    in_digest: Option<NeedleNumber>,
    pub rule: u32,
}

impl Prefilter {
    fn new(rule: u32, conditions: &[Condition], of_texts: &Needles, of_digests: &Needles) -> Self {
        let mut gate = Self {
            kinds: Kinds::ALL,
            user: None,
            tables: u64::MAX,
            in_text: None,
            in_digest: None,
            rule,
        };
        let number = |needles: &Needles, pattern: &Pattern| needles.number(pattern.needle()?);
        for condition in conditions {
            match condition {
                Condition::Kind(kinds) => gate.kinds = *kinds,
                Condition::User(names) => gate.user = names.only().map(name_hash),
                Condition::Tables(tables) => gate.tables = tables.bits(),
                Condition::Regex(pattern) => gate.in_text = number(of_texts, pattern),
                Condition::DigestRegex(pattern) => gate.in_digest = number(of_digests, pattern),
                _ => {}
            }
        }
        gate
    }

    /// Whether the rule may match, by kind and user. False is certain.
    pub fn is_open(&self, kinds: Kinds, user: u32) -> bool {
        self.kinds.meet(kinds) && self.user.is_none_or(|it| it == user)
    }
}

/// FNV-1a, because names are short. If two names have the same hash, the rule's condition still tells them apart.
pub(crate) fn name_hash(name: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    name.iter().fold(0x811c_9dc5, step)
}

impl Index {
    pub fn new(rules: &[Rule]) -> Self {
        let mut plain = Vec::new();
        let mut by_digest: HashMap<u64, Vec<Prefilter>> = HashMap::new();
        let mut needs = Needs::default();
        let (of_texts, of_digests) = needles(rules);
        for (place, rule) in (0u32..).zip(rules) {
            let gate = Prefilter::new(place, &rule.conditions, &of_texts, &of_digests);
            let mut hashes = None;
            for condition in &rule.conditions {
                match condition {
                    Condition::Digest(these) => hashes = Some(these),
                    Condition::DigestRegex(_) => needs.digest = true,
                    Condition::Tag(_) => needs.attributes = true,
                    Condition::Time(..) => needs.time = true,
                    _ => {}
                }
            }
            match hashes {
                Some(hashes) => hashes
                    .iter()
                    .for_each(|it| by_digest.entry(*it).or_default().push(gate)),
                None => plain.push(gate),
            }
        }
        needs.digest |= !by_digest.is_empty();
        let by_digest = by_digest
            .into_iter()
            .map(|(hash, gates)| (hash, gates.into()));
        Self {
            plain: plain.into(),
            by_digest: by_digest.collect(),
            of_texts,
            of_digests,
            needs,
        }
    }

    pub const fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether the rule of a prefilter may match, by its tables and expressions. False is
    /// certain.
    pub fn may_match(&self, gate: &Prefilter, scene: &Scene<'_>) -> bool {
        if gate.tables != u64::MAX && gate.tables & scene.tables() == 0 {
            return false;
        }
        let has = |in_text| scene.in_text(&self.of_texts).may_have(in_text);
        gate.in_text.is_none_or(has)
            && gate
                .in_digest
                .is_none_or(|it| scene.in_digest(&self.of_digests).may_have(it))
    }

    /// Returns the rules that may match a statement, in order. `hash` returns the digest's hash; it is called
    /// only if a rule has digests.
    pub fn candidates(&self, hash: impl FnOnce() -> u64) -> impl Iterator<Item = &Prefilter> {
        let found = match self.by_digest.is_empty() {
            true => None,
            false => self.by_digest.get(&hash()),
        };
        let mut found = found.map_or(&[][..], |it| it);
        let mut plain = &*self.plain;
        std::iter::from_fn(move || {
            let from = match (plain.first(), found.first()) {
                (Some(one), Some(other)) if other.rule < one.rule => &mut found,
                (None, Some(_)) => &mut found,
                _ => &mut plain,
            };
            let (first, rest) = from.split_first()?;
            *from = rest;
            Some(first)
        })
    }
}

/// Returns the needles of all rules' expressions, for texts and for digests.
fn needles(rules: &[Rule]) -> (Needles, Needles) {
    let conditions = || rules.iter().flat_map(|rule| &rule.conditions);
    let of_texts = conditions().filter_map(|it| match it {
        Condition::Regex(pattern) => pattern.needle(),
        _ => None,
    });
    let of_digests = conditions().filter_map(|it| match it {
        Condition::DigestRegex(pattern) => pattern.needle(),
        _ => None,
    });
    (Needles::new(of_texts), Needles::new(of_digests))
}
