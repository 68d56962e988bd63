//! The types that a statement's parameters have had.

use std::rc::Rc;

/// The number of sets kept for one statement: usually there is one, or a few that differ by what was NULL.
const SETS_MAX: usize = 8;

/// The sets of parameter types that a statement was executed with since it was prepared, the last one last.
///
/// MySQL converts a value to the type that its parameter had before, if it thinks that fit; text that is no
/// number then becomes 0. So a client can share a statement that others have executed only as far as
/// they used the same types.
#[derive(Debug, Default)]
pub struct TypesSeen {
    sets: Vec<Rc<[u8]>>,
    /// There were more sets.
    is_cut: bool,
}

impl TypesSeen {
    /// Records the types of an EXECUTE.
    pub fn see(&mut self, types: &Rc<[u8]>) {
        if self.sets.last() == Some(types) {
            return;
        }
        self.sets.retain(|known| known != types);
        if self.sets.len() == SETS_MAX {
            self.sets.remove(0);
            self.is_cut = true;
        }
        self.sets.push(Rc::clone(types));
    }

    /// Whether all sets were seen in `other` too.
    pub fn is_within(&self, other: &Self) -> bool {
        !self.is_cut && self.sets.iter().all(|types| other.sets.contains(types))
    }

    /// Whether there were no types.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[u8]) -> TypesSeen {
        let mut seen = TypesSeen::default();
        for types in all {
            seen.see(&Rc::from([*types].as_slice()));
        }
        seen
    }

    #[test]
    fn a_set_of_types_is_within_a_larger_set_only() {
        assert!(seen(&[]).is_within(&seen(&[])));
        assert!(seen(&[1]).is_within(&seen(&[2, 1])));
        assert!(!seen(&[1, 2]).is_within(&seen(&[2])));
        assert!(!seen(&[1, 2, 1]).is_within(&seen(&[1])));
    }

    #[test]
    fn a_type_set_with_too_many_entries_is_within_no_other_set() {
        let many: Vec<u8> = (0..20).collect();
        assert!(!seen(&many).is_within(&seen(&many)));
        assert!(seen(&many[12..]).is_within(&seen(&many)));
    }
}
