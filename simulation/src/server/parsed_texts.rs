//! Statements that were read, by their texts.

use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::parser::{Parsed, Reading};

/// Texts whose statements are remembered, and how long they may be: a proxy asks for all global variables in one statement
/// again and again.
const TEXTS_MAX: usize = 4096;
const BYTES_MAX: usize = 32 * 1024;

/// A cache of the statements of texts that have come twice. Most clients' texts have a number and come only once.
#[derive(Debug, Default)]
pub struct ParsedTexts {
    known: FxHashMap<Box<[u8]>, (Reading, Rc<Parsed>)>,
    /// Hashes of texts that have come once.
    seen: FxHashSet<u64>,
}

impl ParsedTexts {
    /// The statement of a text that was read in the same way.
    pub fn get(&self, text: &[u8], reading: Reading) -> Option<Rc<Parsed>> {
        let (read_as, parsed) = self.known.get(text)?;
        (*read_as == reading).then(|| Rc::clone(parsed))
    }

    /// A text was read.
    pub fn note(&mut self, text: &[u8], reading: Reading, parsed: &Rc<Parsed>) {
        if text.len() > BYTES_MAX {
            return;
        }
        if self.seen.insert(FxBuildHasher.hash_one(text)) {
            if self.seen.len() >= TEXTS_MAX {
                self.seen.clear();
            }
            return;
        }
        if self.known.len() >= TEXTS_MAX {
            self.known.clear();
        }
        self.known.insert(text.into(), (reading, Rc::clone(parsed)));
    }
}
