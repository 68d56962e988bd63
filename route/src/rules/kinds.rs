//! Kinds of statements as a set of bits, read from their names.

use sql::{Explain, Facts, StatementKind};

/// A set of statement kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u128);

impl Kinds {
    /// All kinds.
    pub(crate) const ALL: Self = Self(u128::MAX);
    const NONE: Self = Self(0);

    /// Reads the entries of a setting: `"SELECT"`, `"CREATE"` for all kinds that begin with it,
    /// `"!SHOW"` for all other kinds.
    ///
    /// # Errors
    /// The entry that is no kind.
    pub(crate) fn read(entries: &[String]) -> Result<Self, &str> {
        let mut wanted = Self::NONE;
        let mut unwanted = Self::NONE;
        for entry in entries {
            match entry.strip_prefix('!') {
                Some(name) => unwanted.0 |= Self::named(name).ok_or(name)?.0,
                None => wanted.0 |= Self::named(entry).ok_or(entry.as_str())?.0,
            }
        }
        if entries.iter().all(|entry| entry.starts_with('!')) {
            wanted = Self::ALL;
        }
        Ok(Self(wanted.0 & !unwanted.0))
    }

    /// Returns the kinds whose names begin with these words.
    fn named(name: &str) -> Option<Self> {
        let words: Vec<_> = name.split_ascii_whitespace().collect();
        let is_meant = |kind: &StatementKind| {
            let own = kind.to_string();
            let mut own = own.split(' ');
            words
                .iter()
                .all(|word| own.next().is_some_and(|it| it.eq_ignore_ascii_case(word)))
        };
        let meant = StatementKind::all().filter(is_meant);
        let bits = meant.fold(0, |bits, kind| bits | Self::bit(kind));
        (bits != 0 && !words.is_empty()).then_some(Self(bits))
    }

    fn bit(kind: StatementKind) -> u128 {
        1 << (kind.number() & 127)
    }

    /// Returns the kinds of a command and of its parts.
    pub(crate) fn of(facts: &Facts) -> Self {
        let own = Self::bit(facts.kind);
        match facts.kind {
            // The command runs the statement that it explains.
            StatementKind::Explain(Explain::Run) => {
                Self(own | facts.explained.map_or(0, Self::bit))
            }
            StatementKind::Multi => facts.statements.iter().fold(Self(own), |kinds, part| {
                Self(kinds.0 | Self::bit(part.kind))
            }),
            _ => Self(own),
        }
    }

    /// Whether both sets have a kind in common.
    pub(crate) const fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether this set contains all of `other`.
    pub(crate) const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether the set is empty.
    pub(crate) fn is_void(self) -> bool {
        StatementKind::all().all(|kind| self.0 & Self::bit(kind) == 0)
    }
}

/// Returns the names of all kinds, for the hints of faults.
pub(crate) fn words() -> impl Iterator<Item = String> {
    StatementKind::all()
        .map(|kind| kind.to_string())
        .filter(|it| !it.starts_with('('))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(entries: &[&str], statement: &str) -> bool {
        let entries: Vec<_> = entries.iter().map(|it| (*it).to_owned()).collect();
        let kinds = Kinds::read(&entries).unwrap();
        let facts = sql::facts(statement.as_bytes(), sql::Flags::default());
        kinds.meet(Kinds::of(&facts))
    }

    #[test]
    fn kinds_are_called_by_their_words_or_the_first_of_them() {
        for (entries, statement, is_match) in [
            (&["SELECT"][..], "select 1", true),
            (&["select"], "(SELECT 1)", true),
            (&["SELECT"], "INSERT INTO t SELECT 1", false),
            (&["CREATE"], "CREATE TABLE t(a INT)", true),
            (&["create table"], "CREATE TABLE t(a INT)", true),
            (&["CREATE TABLE"], "CREATE VIEW v AS SELECT 1", false),
            (&["BEGIN"], "START TRANSACTION READ ONLY", true),
            (&["SHOW"], "SHOW TABLES", true),
            (&["!SHOW", "!SELECT"], "SHOW TABLES", false),
            (&["!SHOW", "!SELECT"], "DELETE FROM t", true),
            (&["DELETE"], "SELECT 1; DELETE FROM t", true),
            (&["UPDATE"], "SELECT 1; DELETE FROM t", false),
            (&["DELETE"], "ANALYZE DELETE FROM t", true),
            (&["DELETE"], "EXPLAIN ANALYZE DELETE FROM t", true),
            (&["DELETE"], "EXPLAIN DELETE FROM t", false),
        ] {
            assert_eq!(
                matches(entries, statement),
                is_match,
                "{entries:?} {statement}"
            );
        }
    }

    #[test]
    fn unknown_statement_kinds_are_reported() {
        let read = |entry: &str| Kinds::read(&[entry.to_owned()]).is_err();
        assert!(read("SELCT") && read("") && read("CREATE SELECT") && read("!"));
    }
}
