//! Statements that do more than their text tells, because of the objects that they name.

use crate::facts::{Access, Effects, Facts, Marks};

/// What a named object does besides reading data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Does {
    /// It writes data or locks rows: a read-only server refuses it.
    pub writes: bool,
    /// Its result depends on the server, or on the session's settings.
    pub asks: bool,
    /// It changes state of its session or its connection, or is not understood: it may do anything.
    pub leaves: bool,
}

impl Does {
    /// It may do anything.
    pub const ANYTHING: Self = Self {
        writes: true,
        asks: true,
        leaves: true,
    };

    /// Whether it reads data and does nothing else.
    pub fn only_reads(self) -> bool {
        self == Self::default()
    }

    /// Returns the effects of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            writes: self.writes || other.writes,
            asks: self.asks || other.asks,
            leaves: self.leaves || other.leaves,
        }
    }
}

impl std::fmt::Display for Does {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self { leaves: true, .. } => "anything",
            Self { writes: true, .. } => "writes",
            Self { asks: true, .. } => "asks",
            _ => "reads",
        })
    }
}

impl Facts {
    /// Adds the effects of the objects that the statement names. If an object may change session state, the
    /// statement may do anything. If an object writes, or its result depends on the server, the statement goes
    /// to the primary.
    pub fn name_more(&mut self, does: Does) {
        if does.leaves {
            self.doubt(Marks::NAMES_WRITER);
        } else if !does.only_reads() {
            self.marks.add(Marks::NAMES_WRITER);
            self.at_least(Access::Unsure);
            for part in &mut self.statements {
                part.access = part.access.max(Access::Unsure);
            }
        }
    }

    /// Marks the statement as one that may do anything, as if it called a stored function. `why` is
    /// [`Marks::NAMES_WRITER`] or [`Marks::REFUSED`].
    pub fn doubt(&mut self, why: Marks) {
        self.marks.add(why);
        self.marks.add(Marks::UNKNOWN_FUNCTION);
        self.effects.add(Effects::ANYTHING);
        self.at_least(Access::Unsure);
        for part in &mut self.statements {
            part.effects.add(Effects::ANYTHING);
            part.access = part.access.max(Access::Unsure);
        }
    }

    /// Whether it has one of these marks.
    pub fn is_doubted(&self) -> bool {
        self.marks.has(Marks::NAMES_WRITER | Marks::REFUSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, facts};

    #[test]
    fn a_doubt_makes_each_statement_of_a_read_unsure_with_all_effects() {
        let mut facts = facts(b"SELECT a FROM v; SELECT b FROM t", Flags::default());
        assert!(!facts.is_doubted());
        facts.doubt(Marks::NAMES_WRITER);
        assert!(facts.is_doubted());
        assert_eq!(facts.access, Access::Unsure);
        assert!(facts.effects.has(Effects::ANYTHING));
        let is_doubted = |part: &crate::StatementFacts| {
            part.access == Access::Unsure && part.effects.has(Effects::ANYTHING)
        };
        assert!(facts.statements.iter().all(is_doubted));
    }

    #[test]
    fn a_doubt_leaves_the_access_of_a_write_unchanged() {
        let mut facts = facts(b"INSERT INTO t VALUES (1)", Flags::default());
        facts.doubt(Marks::NAMES_WRITER);
        assert_eq!(facts.access, Access::Write);
        assert!(facts.effects.has(Effects::ANYTHING));
    }
}
