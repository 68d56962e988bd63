//! One worker's digests, by account, schema and backend, in bounded memory.
//!
//! Eviction is by the clock algorithm: a hand goes around the rows. A row that was used since the hand last came by
//! stays; a row that was not is evicted. So a flood of statements that run only once evicts rows of its own first.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use route::BackendId;

use crate::attribution::Attribution;
use crate::counts::{Counts, Ended};

/// The most bytes of a digest's text; longer texts are cut.
const TEXT_BYTES_MAX: usize = 2048;

/// The most bytes of a sample; longer samples are cut.
pub const SAMPLE_BYTES_MAX: usize = 4096;

/// The most rows that the hand looks at to evict one.
const LOOKS_MAX: usize = 64;

/// The most texts whose statements have not ended yet.
const UNUSED_MAX: usize = 256;

/// The statements with one digest, of one account, in one schema, on one backend.
#[derive(Debug, Clone)]
pub struct DigestRow {
    /// The hash of the normalised text.
    pub digest: u64,
    /// The normalised text; cut behind 2 KiB.
    pub text: Arc<str>,
    /// The account and the schema.
    pub attribution: Arc<Attribution>,
    /// The backend; `None`: the statements reached no backend.
    pub backend: Option<Ran>,
    /// The counts of these statements.
    pub counts: Counts,
    /// The text of the slowest of them with its values, if values may be shown.
    pub sample: Option<Arc<str>>,
}

/// A digest's hash as shown to people.
pub fn hexadecimal(digest: u64) -> String {
    format!("0x{digest:016X}")
}

/// The backend that statements ran on.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The id of the backend.
    pub backend: BackendId,
    /// The name of the backend, which stays here after the backend has gone from the configuration.
    pub name: Arc<str>,
}

/// The key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigestKey {
    digest: u64,
    attribution: u64,
    backend: Option<BackendId>,
}

/// A statement that has ended, and the facts of its key.
pub struct EndedStatement<'a> {
    /// The hash of the digest.
    pub digest: u64,
    /// The normalised text.
    pub text: &'a Arc<str>,
    /// The account and the schema of the session.
    pub attribution: &'a Arc<Attribution>,
    /// The backend that answered, if one did.
    pub backend: Option<BackendId>,
    /// The statement's text with its values, if values may be shown.
    pub sample: Option<&'a [u8]>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct DigestTable {
    rows: Vec<Option<Box<TableSlot>>>,
    free: Vec<u32>,
    index: HashMap<DigestKey, u32, Keyed>,
    texts: HashMap<u64, Text, Keyed>,
    /// The number of texts without a row.
    unused: usize,
    bytes: usize,
    bytes_max: usize,
    hand: usize,
    /// The sum of the counts of all evicted rows.
    remainder: Counts,
    /// The number of evicted rows.
    evicted: u64,
}

#[derive(Debug)]
struct TableSlot {
    key: DigestKey,
    is_used: bool,
    /// The second in which the row was last due to be explained, counted from 1; 0: never.
    planned: u32,
    row: DigestRow,
}

/// The conditions for explaining a digest again.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// The present second, counted from 1.
    pub second: u32,
    /// The seconds between two EXPLAINs of a digest.
    pub interval: u32,
    /// Plans from this second or before are forgotten, so their digests are due.
    pub since: u32,
}

#[derive(Debug)]
struct Text {
    text: Arc<str>,
    rows: u32,
}

/// A row's memory without its variable parts. Its index entry counts twice, because half of the index may be empty.
const ROW_BYTES: usize = size_of::<TableSlot>() + 24 + 2 * (size_of::<(DigestKey, u32)>() + 1);

/// A text's memory without the text itself, counted in the same way.
const TEXT_BYTES: usize = 40 + 2 * (size_of::<(u64, Text)>() + 1);

impl DigestTable {
    /// An empty table of at most this many bytes. The key of its hashes is secret, so that clients cannot cause
    /// collisions.
    pub fn new(bytes_max: usize, key: u64) -> Self {
        Self {
            index: HashMap::with_hasher(Keyed(key)),
            texts: HashMap::with_hasher(Keyed(key)),
            bytes_max,
            ..Self::default()
        }
    }

    /// Sets the most bytes that the table may have.
    pub fn resize(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.make_room();
    }

    /// Takes all rows out, and leaves the table empty.
    pub fn take(&mut self) -> Self {
        let Keyed(key) = *self.index.hasher();
        std::mem::replace(self, Self::new(self.bytes_max, key))
    }

    /// The stored text of a digest. A new digest is stored with `text`.
    #[inline]
    pub fn text_of(&mut self, digest: u64, text: &[u8]) -> Arc<str> {
        match self.texts.get(&digest) {
            Some(known) => Arc::clone(&known.text),
            None => self.enter_text(digest, &shortened(text, TEXT_BYTES_MAX).into()),
        }
    }

    /// The stored text of a digest, if the digest is known.
    pub fn known_text(&self, digest: u64) -> Option<Arc<str>> {
        self.texts.get(&digest).map(|known| Arc::clone(&known.text))
    }

    #[cold]
    fn enter_text(&mut self, digest: u64, text: &Arc<str>) -> Arc<str> {
        if self.unused >= UNUSED_MAX {
            self.drop_unused();
        }
        self.unused += 1;
        self.bytes += TEXT_BYTES + text.len();
        let known = Text {
            text: Arc::clone(text),
            rows: 0,
        };
        self.texts.insert(digest, known);
        self.make_room();
        Arc::clone(text)
    }

    fn drop_unused(&mut self) {
        let bytes = &mut self.bytes;
        self.texts.retain(|_, known| {
            let is_used = known.rows > 0;
            if !is_used {
                *bytes = bytes.saturating_sub(TEXT_BYTES + known.text.len());
            }
            is_used
        });
        self.unused = 0;
    }

    /// Counts a statement that has ended. Returns whether it is due to be explained, if `due` asks for that.
    #[inline]
    pub fn note(
        &mut self,
        said: &EndedStatement<'_>,
        ended: &Ended,
        due: Option<Due>,
        name: impl FnOnce(BackendId) -> Option<Arc<str>>,
    ) -> bool {
        let key = DigestKey {
            digest: said.digest,
            attribution: said.attribution.hash(),
            backend: said.backend,
        };
        let at = match self.index.get(&key) {
            Some(at) => *at,
            None => self.enter(key, said, name),
        };
        let Some(Some(place)) = self.rows.get_mut(at as usize) else {
            return false;
        };
        let is_due = due.is_some_and(|due| place.falls_due(due));
        let counts = &mut place.row.counts;
        // A row counts as used only from its second statement on.
        place.is_used |= counts.count > 0;
        let (before, slowest) = (counts.heap_bytes(), counts.max_ns);
        counts.note(ended);
        let after = counts.heap_bytes();
        let mut has_grown = after != before;
        self.bytes += after - before;
        if let Some(sample) = said.sample
            && (counts.max_ns > slowest || place.row.sample.is_none())
        {
            let sample: Arc<str> = shortened(sample, SAMPLE_BYTES_MAX).into();
            let former = place.row.sample.replace(Arc::clone(&sample));
            self.bytes = (self.bytes + sample.len() + 16)
                .saturating_sub(former.map_or(0, |former| former.len() + 16));
            has_grown = true;
        }
        if has_grown {
            self.make_room();
        }
        is_due
    }

    /// Adds a row for a key that has none.
    #[cold]
    fn enter(
        &mut self,
        key: DigestKey,
        said: &EndedStatement<'_>,
        name: impl FnOnce(BackendId) -> Option<Arc<str>>,
    ) -> u32 {
        if !self.texts.contains_key(&said.digest) {
            self.enter_text(said.digest, said.text);
        }
        if let Some(text) = self.texts.get_mut(&said.digest) {
            self.unused -= usize::from(text.rows == 0 && self.unused > 0);
            text.rows += 1;
        }
        let backend = said.backend.map(|backend| Ran {
            backend,
            name: name(backend).unwrap_or_else(|| "".into()),
        });
        let place = Box::new(TableSlot {
            key,
            is_used: false,
            planned: 0,
            row: DigestRow {
                digest: said.digest,
                text: Arc::clone(said.text),
                attribution: Arc::clone(said.attribution),
                backend,
                counts: Counts::default(),
                sample: None,
            },
        });
        self.bytes += ROW_BYTES + said.attribution.bytes();
        self.make_room();
        let at = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            u32::try_from(self.rows.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(free) = self.rows.get_mut(at as usize) {
            *free = Some(place);
            self.index.insert(key, at);
        }
        at
    }

    /// Evicts rows, one after another, as long as the table has more bytes than it may.
    fn make_room(&mut self) {
        if self.bytes > self.bytes_max && self.unused > 0 {
            self.drop_unused();
        }
        while self.bytes > self.bytes_max && !self.index.is_empty() {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let mut chosen = None;
        let mut looks = 0;
        // If there is a row, the hand finds one within one round.
        for _ in 0..self.rows.len() {
            self.hand = (self.hand + 1) % self.rows.len();
            let Some(place) = &mut self.rows[self.hand] else {
                continue;
            };
            chosen = Some(self.hand);
            looks += 1;
            if !std::mem::take(&mut place.is_used) || looks >= LOOKS_MAX {
                break;
            }
        }
        let Some(chosen) = chosen else {
            return;
        };
        let Some(place) = self.rows[chosen].take() else {
            return;
        };
        self.free.extend(u32::try_from(chosen));
        self.index.remove(&place.key);
        let row = &place.row;
        let sample = row.sample.as_ref().map_or(0, |sample| sample.len() + 16);
        let freed = ROW_BYTES + row.attribution.bytes() + row.counts.heap_bytes() + sample;
        self.bytes = self.bytes.saturating_sub(freed);
        if let Some(text) = self.texts.get_mut(&row.digest) {
            text.rows = text.rows.saturating_sub(1);
            if text.rows == 0 {
                self.bytes = self.bytes.saturating_sub(TEXT_BYTES + text.text.len());
                self.texts.remove(&row.digest);
            }
        }
        self.evicted += 1;
        self.remainder.add(&row.counts);
    }

    /// Copies of the rows in `count` places from `from` on, and the place to continue at.
    pub fn piece(&self, from: usize, count: usize) -> (Vec<DigestRow>, Option<usize>) {
        let end = (from + count).min(self.rows.len());
        let places = self.rows.get(from..end).unwrap_or_default();
        let rows = places.iter().flatten().map(|place| place.row.clone());
        (rows.collect(), (end < self.rows.len()).then_some(end))
    }

    /// All rows.
    pub fn into_rows(self) -> Vec<DigestRow> {
        let rows = self.rows.into_iter().flatten();
        rows.map(|place| place.row).collect()
    }

    /// The sum of the counts of all evicted rows, and the number of these rows.
    pub fn remainder(&self) -> (Counts, u64) {
        (self.remainder.clone(), self.evicted)
    }

    /// The memory of the table, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.index.len()
    }
}

impl TableSlot {
    fn falls_due(&mut self, due: Due) -> bool {
        let is_due =
            self.planned <= due.since || due.second.saturating_sub(self.planned) >= due.interval;
        if is_due {
            self.planned = due.second;
        }
        is_due
    }
}

/// A text as characters, cut to at most `bytes_max` bytes.
pub fn shortened(text: &[u8], bytes_max: usize) -> String {
    let kept = text.get(..bytes_max).unwrap_or(text);
    let mut shown = String::from_utf8_lossy(kept).into_owned();
    if kept.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

impl std::hash::Hash for DigestKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest ^ self.attribution.rotate_left(32));
        state.write_u32(self.backend.map_or(u32::MAX, |backend| backend.0));
    }
}

/// Hashes keys that contain hashes, with a secret key, so that clients cannot choose their place in the table.
#[derive(Debug, Clone, Default)]
struct Keyed(u64);

impl BuildHasher for Keyed {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

#[derive(Debug)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // Folds the two halves of the product together.
        let product = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests;
