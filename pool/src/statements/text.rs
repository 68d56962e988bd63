//! A statement's text, held once per worker and compared by its hash first.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

use system::HashKeys;

/// A text of any length that is cheap to clone, to hash and to compare.
#[derive(Clone)]
pub struct Text(Rc<Inner>);

struct Inner {
    /// Keyed, so that clients cannot choose texts that collide. Equal hashes prove nothing all the
    /// same: the bytes are compared.
    hash: u64,
    bytes: Box<[u8]>,
}

impl Text {
    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.bytes == other.0.bytes)
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:?})", String::from_utf8_lossy(self.bytes()))
    }
}

/// The texts of one worker, each held once however many clients have it. Texts of two workers are
/// not to be compared: their hashes differ.
#[derive(Debug)]
pub struct Texts {
    known: HashSet<Text>,
    keys: HashKeys,
    /// The count at which unused texts are looked for again.
    sweep_at: usize,
    /// The length of all texts, in bytes.
    bytes: usize,
    /// The sum at which unused texts are looked for again.
    sweep_at_bytes: usize,
}

/// Fewer than this are not worth a sweep.
const FEW: usize = 64;
const FEW_BYTES: usize = 1 << 20;

impl Texts {
    /// A table without texts. Clients choose texts, so they are hashed with these keys.
    pub fn new(keys: HashKeys) -> Self {
        Self {
            known: HashSet::new(),
            keys,
            sweep_at: 0,
            bytes: 0,
            sweep_at_bytes: 0,
        }
    }

    /// Returns the text with these bytes.
    pub fn intern(&mut self, bytes: &[u8]) -> Text {
        let text = Text(Rc::new(Inner {
            hash: self.keys.hash_one(bytes),
            bytes: bytes.into(),
        }));
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let is_much = self.bytes + bytes.len() > self.sweep_at_bytes.max(FEW_BYTES);
        if self.known.len() >= self.sweep_at.max(FEW) || is_much {
            self.sweep();
        }
        self.bytes += bytes.len();
        self.known.insert(text.clone());
        text
    }

    /// How many texts are held, some of them perhaps unused.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// The length of all texts in bytes, some of them perhaps unused.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no text is held.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Drops texts that have no other holder. The next sweep comes after as many new texts.
    pub fn sweep(&mut self) {
        self.known.retain(|text| Rc::strong_count(&text.0) > 1);
        self.bytes = self.known.iter().map(|text| text.bytes().len()).sum();
        self.sweep_at = self.known.len() * 2;
        self.sweep_at_bytes = self.bytes * 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_once() {
        let mut texts = Texts::new(system::Entropy::seeded(7).hash_keys().unwrap());
        let one = texts.intern(b"SELECT 1");
        let same = texts.intern(b"SELECT 1");
        let other = texts.intern(b"SELECT 2");
        assert!(Rc::ptr_eq(&one.0, &same.0));
        assert_ne!(one, other);
        assert_eq!(texts.len(), 2);
    }

    #[test]
    fn texts_with_the_same_hash_are_distinguished() {
        let text = |bytes: &[u8]| {
            Text(Rc::new(Inner {
                hash: 7,
                bytes: bytes.into(),
            }))
        };
        assert_ne!(text(b"SELECT a"), text(b"SELECT b"));
        assert_eq!(text(b"SELECT a"), text(b"SELECT a"));
    }

    #[test]
    fn unused_texts_do_not_accumulate() {
        let mut texts = Texts::new(system::Entropy::seeded(7).hash_keys().unwrap());
        let kept = texts.intern(b"kept");
        for number in 0..10_000u32 {
            texts.intern(&number.to_le_bytes());
        }
        assert!(texts.len() <= 2 * FEW, "{}", texts.len());
        assert!(Rc::ptr_eq(&kept.0, &texts.intern(b"kept").0));
    }
}
