//! One worker's digests, by whose they are and where they ran, in bounded memory.
//!
//! Rows lie in places that a hand goes around: one that was used since it last came by stays, one that
//! was not makes room. So a flood of statements that are never said again drives out its own kind first.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use route::BackendId;

use crate::attribution::Attribution;
use crate::counts::{Counts, Ended};

/// Longer texts are cut.
const TEXT_BYTES_MAX: usize = 2048;

/// The same of samples.
pub const SAMPLE_BYTES_MAX: usize = 4096;

/// So many places are looked at to make room for one.
const LOOKS_MAX: usize = 64;

/// So many texts may be there of which no statement has ended yet.
const UNUSED_MAX: usize = 256;

/// Statements that are alike, of one account in one schema on one backend.
#[derive(Debug, Clone)]
pub struct DigestRow {
    /// The hash of the normalised text.
    pub digest: u64,
    /// The normalised text; cut behind 2 KiB.
    pub text: Arc<str>,
    /// Whose they were.
    pub attribution: Arc<Attribution>,
    /// Where they ran; none: they reached no backend.
    pub backend: Option<Ran>,
    /// What they were.
    pub counts: Counts,
    /// The slowest of them as it was said, where that may be seen.
    pub sample: Option<Arc<str>>,
}

/// A digest as people are shown it.
pub fn hexadecimal(digest: u64) -> String {
    format!("0x{digest:016X}")
}

/// Where statements ran.
#[derive(Debug, Clone)]
pub struct Ran {
    /// On which backend.
    pub backend: BackendId,
    /// Its name, which it keeps here after it has gone from the configuration.
    pub name: Arc<str>,
}

/// What one is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigestKey {
    digest: u64,
    attribution: u64,
    backend: Option<BackendId>,
}

/// A statement that has ended, and what it is counted under.
pub struct EndedStatement<'a> {
    /// The hash of the digest.
    pub digest: u64,
    /// The normalised text.
    pub text: &'a Arc<str>,
    /// The account and the schema of the session.
    pub attribution: &'a Arc<Attribution>,
    /// The backend that answered, if one did.
    pub backend: Option<BackendId>,
    /// As it was said, where that may be seen.
    pub sample: Option<&'a [u8]>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct DigestTable {
    rows: Vec<Option<Box<TableSlot>>>,
    free: Vec<u32>,
    index: HashMap<DigestKey, u32, Keyed>,
    texts: HashMap<u64, Text, Keyed>,
    /// Texts without a row.
    unused: usize,
    bytes: usize,
    bytes_max: usize,
    hand: usize,
    /// What has made room, all together.
    remainder: Counts,
    /// How many rows have.
    evicted: u64,
}

#[derive(Debug)]
struct TableSlot {
    key: DigestKey,
    is_used: bool,
    /// In which second it was found due to be explained, counted from 1; 0: never.
    planned: u32,
    row: DigestRow,
}

/// When statements are explained again.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// Now, counted from 1.
    pub second: u32,
    /// So many seconds after the last time.
    pub interval: u32,
    /// What was explained up to this second is forgotten.
    pub since: u32,
}

#[derive(Debug)]
struct Text {
    text: Arc<str>,
    rows: u32,
}

/// A row's memory besides what differs: its entry in the index counts twice, since half of that may be empty.
const ROW_BYTES: usize = size_of::<TableSlot>() + 24 + 2 * (size_of::<(DigestKey, u32)>() + 1);

/// The same of a text.
const TEXT_BYTES: usize = 40 + 2 * (size_of::<(u64, Text)>() + 1);

impl DigestTable {
    /// Empty; holds at most so many bytes, and finds rows by hashes with this key, which nobody outside knows.
    pub fn new(bytes_max: usize, key: u64) -> Self {
        Self {
            index: HashMap::with_hasher(Keyed(key)),
            texts: HashMap::with_hasher(Keyed(key)),
            bytes_max,
            ..Self::default()
        }
    }

    /// It may have so many bytes from now on.
    pub fn resize(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.make_room();
    }

    /// Takes everything out.
    pub fn take(&mut self) -> Self {
        let Keyed(key) = *self.index.hasher();
        std::mem::replace(self, Self::new(self.bytes_max, key))
    }

    /// The text of a digest, as it is kept; `text` has it where it is new.
    #[inline]
    pub fn text_of(&mut self, digest: u64, text: &[u8]) -> Arc<str> {
        match self.texts.get(&digest) {
            Some(known) => Arc::clone(&known.text),
            None => self.enter_text(digest, &shortened(text, TEXT_BYTES_MAX).into()),
        }
    }

    /// The same if it is known.
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

    /// A statement has ended. Whether it is due to be explained, where that is asked.
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
        // What is said for the first time has to be said again to stay.
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

    /// A row for what has none.
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

    /// As long as it has more bytes than it may: one row after the other goes.
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
        // With rows there is one to be found.
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

    /// Copies of those in so many places from here on, and where to go on.
    pub fn piece(&self, from: usize, count: usize) -> (Vec<DigestRow>, Option<usize>) {
        let end = (from + count).min(self.rows.len());
        let places = self.rows.get(from..end).unwrap_or_default();
        let rows = places.iter().flatten().map(|place| place.row.clone());
        (rows.collect(), (end < self.rows.len()).then_some(end))
    }

    /// All of them.
    pub fn into_rows(self) -> Vec<DigestRow> {
        let rows = self.rows.into_iter().flatten();
        rows.map(|place| place.row).collect()
    }

    /// What has made room, all together, and how many rows that were.
    pub fn remainder(&self) -> (Counts, u64) {
        (self.remainder.clone(), self.evicted)
    }

    /// The memory that it has, in bytes.
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

/// A text in characters, cut where it is too long.
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

/// Hashes what are hashes already, so that nobody outside can tell where they lie.
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
        // The two halves of a product, folded.
        let product = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests;
