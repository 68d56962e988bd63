//! Which rules are worth a look: those without digests, with a few words on each that say quickly
//! that it is not meant; those with digests, by hash; of those with expressions, the ones of which a
//! part stands in the text.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::condition::{Condition, Scene};
use super::kinds::Kinds;
use super::needle::{NeedleNumber, Needles};
use super::needs::Needs;
use super::pattern::Pattern;
use super::rule::Rule;

/// Made once for all rules.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Rules without digests, in order.
    plain: Box<[Prefilter]>,
    /// Rules with digests, in order for each.
    by_digest: FxHashMap<u64, Box<[Prefilter]>>,
    /// What stands in all texts, and in all digests, that expressions match.
    of_texts: Needles,
    of_digests: Needles,
    needs: Needs,
}

/// What is looked at before the rule is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefilter {
    pub kinds: Kinds,
    /// [`name_hash`] of the only user that can match, if there is one.
    user: Option<u32>,
    /// The bits of names of tables, of which one has to be there; all, where none has to.
    tables: u64,
    /// What the text has to have.
    in_text: Option<NeedleNumber>,
    /// What the digest has to have.
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

    /// Whether the rule behind it may match; false only when it cannot.
    pub fn is_open(&self, kinds: Kinds, user: u32) -> bool {
        self.kinds.meet(kinds) && self.user.is_none_or(|it| it == user)
    }
}

/// FNV-1a: names are short, and nothing is lost when two are alike.
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

    /// Whether the tables and expressions of the rule behind a gate may match; false only when they
    /// cannot.
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

    /// The rules that may match a statement, in order. The digest's hash is asked for only when a
    /// rule has digests.
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

/// Those of the rules' expressions, for texts and for digests.
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
