//! A cache of facts. Statements that differ only in their values have the same kind, names, effects and digest. Only
//! the positions of the names differ.
//!
//! ```text
//!   text ──► skeleton ──► known? ──► facts of the skeleton, with the names' positions in this text
//!                            └─ no ─► Facts::read ──► kept, if the skeleton was seen before
//! ```
//!
//! Only statements about data are kept, and only with tables, columns, plain values and calls that ask nothing of
//! the connection: their facts depend on the kinds of tokens and on names, not on values.

mod skeleton;
#[cfg(test)]
mod tests;

use crate::eight::{eight_at, first_of, upper_case};
use crate::facts::{Facts, Marks, Mention};
use crate::flags::Flags;
use crate::kind::StatementKind;
use crate::lexer::Lexer;
use crate::span::Span;
use skeleton::Skeleton;

/// The most statements that are kept.
const SLOTS: usize = 256;

/// A statement with more names is not kept.
const NAMES_MAX: usize = 64;

/// Facts of statements, by their skeletons: the statements without their values. Each worker has its own.
#[derive(Debug, Default)]
pub struct FactsCache {
    slots: Vec<FactsSlot>,
    /// The skeleton of the text that was looked up last.
    skeleton: Skeleton,
    /// The hash of that skeleton, if it is not in the cache and may be added.
    missed: Option<u64>,
}

/// The result of a look-up besides the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedText {
    /// The hash of the digest, if it was read.
    pub digest: Option<u64>,
}

#[derive(Debug, Default)]
struct FactsSlot {
    /// The hash of the cached skeleton.
    hash: u64,
    known: Option<Box<KnownFacts>>,
    /// The hash of the last skeleton that was seen here and is not cached: when it is seen again, it is cached.
    seen: u64,
}

/// The cached facts of a statement.
#[derive(Debug)]
struct KnownFacts {
    skeleton: Skeleton,
    flags: Flags,
    facts: Facts,
    /// The number of values before each name.
    values_before: Vec<u8>,
    digest: Option<u64>,
}

impl FactsCache {
    /// Looks up a text. If it is cached, `facts` becomes the result of [`Facts::read`]; if not, `facts` is unchanged.
    #[inline]
    pub fn find_known(
        &mut self,
        facts: &mut Facts,
        text: &[u8],
        flags: Flags,
    ) -> Option<CachedText> {
        self.missed = None;
        if !is_about_data(text) || !self.skeleton.read(text) {
            return None;
        }
        let hash = self.skeleton.hash();
        let places = places_of(hash);
        for place in places {
            if let Some(slot) = self.slots.get(place)
                && slot.hash == hash
                && let Some(known) = &slot.known
                && known.flags == flags
                && known.skeleton.is_like(&self.skeleton)
            {
                known.write(facts, &self.skeleton);
                debug_assert_eq!(*facts, crate::facts(text, flags), "facts of another text");
                return Some(CachedText {
                    digest: known.digest,
                });
            }
        }
        self.missed = Some(hash);
        None
    }

    /// Adds the facts, or the digest, of the last looked-up text if they were not in the cache.
    pub fn keep(&mut self, facts: &Facts, text: &[u8], flags: Flags, digest: Option<u64>) {
        let Some(hash) = self.missed.take() else {
            return;
        };
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, FactsSlot::default);
        }
        let places = places_of(hash);
        let has_place = |slot: &FactsSlot| match &slot.known {
            Some(known) => slot.hash == hash && known.flags == flags,
            None => true,
        };
        let place = places
            .into_iter()
            .find(|place| has_place(&self.slots[*place]))
            .unwrap_or(places[0]);
        let slot = &mut self.slots[place];
        // Statements that occur only once do not replace cached ones.
        if slot.seen != hash {
            slot.seen = hash;
            return;
        }
        if let Some(known) = KnownFacts::of(&self.skeleton, facts, text, flags, digest) {
            slot.hash = hash;
            slot.known = Some(Box::new(known));
        }
    }

    /// Notes that the digest of the last looked-up text is needed and not cached: [`Self::keep`] adds it.
    pub fn wants_digest(&mut self) {
        self.missed = Some(self.skeleton.hash());
    }
}

impl KnownFacts {
    /// Prepares facts for the cache. None: the facts may depend on a value.
    fn of(
        skeleton: &Skeleton,
        facts: &Facts,
        text: &[u8],
        flags: Flags,
        digest: Option<u64>,
    ) -> Option<Self> {
        let [part] = facts.statements.as_slice() else {
            return None;
        };
        let is_about_data = matches!(
            facts.kind,
            StatementKind::Select
                | StatementKind::Insert
                | StatementKind::Replace
                | StatementKind::Update
                | StatementKind::Delete
        );
        let is_guess = Marks::LOST | Marks::CONDITIONAL | Marks::CROWDED;
        let has_more = !facts.assignments.is_empty()
            || !facts.comments.is_empty()
            || !facts.questions.is_empty()
            || !part.schema.is_empty()
            || facts.mentions.len() > NAMES_MAX;
        let begins = skeleton.values_before(part.span.start, part.span.start) == Some(0);
        let has_pairs = flags.charset.letters(flags.server).has_pairs;
        if !is_about_data || facts.marks.has(is_guess) || has_more || !begins || has_pairs {
            return None;
        }
        if !skeleton.is_sure(text, Lexer::new(text, flags)) {
            return None;
        }
        let before = |mention: &Mention| {
            let start = match mention.schema.is_empty() {
                true => mention.name.start,
                false => mention.schema.start,
            };
            skeleton.values_before(start, mention.name.end)
        };
        let values_before: Option<Vec<u8>> = facts.mentions.iter().map(before).collect();
        let mut skeleton = skeleton.clone();
        skeleton.fit();
        Some(Self {
            skeleton,
            flags,
            facts: facts.clone(),
            values_before: values_before?,
            digest,
        })
    }

    /// Writes the facts of a text with this skeleton, whose values are at the positions in `other`.
    #[inline]
    fn write(&self, facts: &mut Facts, other: &Skeleton) {
        let known = &self.facts;
        facts.clear();
        (facts.kind, facts.access) = (known.kind, known.access);
        (facts.uses, facts.effects) = (known.uses, known.effects);
        (facts.marks, facts.doubts) = (known.marks, known.doubts);
        for part in &known.statements {
            let mut part = *part;
            let values = self.skeleton.values.iter();
            let inside = values.filter(|value| value.span.end <= part.span.end);
            part.span.end = self.moved(part.span.end, inside.count(), other);
            facts.statements.push(part);
        }
        for (mention, before) in known.mentions.iter().zip(&self.values_before) {
            let moved = |span: Span| match span.is_empty() {
                true => span,
                false => Span {
                    start: self.moved(span.start, usize::from(*before), other),
                    end: self.moved(span.end, usize::from(*before), other),
                },
            };
            facts.mentions.push(Mention {
                role: mention.role,
                schema: moved(mention.schema),
                name: moved(mention.name),
            });
        }
    }

    /// Returns the position of a byte in another text, after the same number of values.
    #[inline]
    fn moved(&self, at: u32, values_before: usize, other: &Skeleton) -> u32 {
        let last = values_before.wrapping_sub(1);
        match (self.skeleton.values.get(last), other.values.get(last)) {
            (Some(here), Some(there)) => (at + there.span.end).wrapping_sub(here.span.end),
            _ => at,
        }
    }
}

impl Skeleton {
    /// Returns the number of values before a range; none if a value is inside it.
    fn values_before(&self, start: u32, end: u32) -> Option<u8> {
        let before = self.values.iter().take_while(|it| it.span.end <= start);
        let before = before.count();
        let next = self.values.get(before);
        let is_apart = next.is_none_or(|next| end <= next.span.start);
        u8::try_from(before).ok().filter(|_| is_apart)
    }
}

/// Returns the two slots that a skeleton may have.
#[inline]
const fn places_of(hash: u64) -> [usize; 2] {
    [(hash as usize) % SLOTS, (hash >> 32) as usize % SLOTS]
}

/// Whether the first word is that of a statement whose facts may be kept.
#[inline]
fn is_about_data(text: &[u8]) -> bool {
    const fn word(bytes: [u8; 6]) -> u64 {
        let [a, b, c, d, e, f] = bytes;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
    const SELECT: u64 = word(*b"SELECT");
    const INSERT: u64 = word(*b"INSERT");
    const UPDATE: u64 = word(*b"UPDATE");
    const DELETE: u64 = word(*b"DELETE");
    const REPLACE: u64 = word(*b"REPLAC");
    let first = first_of(upper_case(eight_at(text, 0)), 6);
    matches!(first, SELECT | INSERT | UPDATE | DELETE | REPLACE)
}
