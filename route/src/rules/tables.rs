//! The tables that rules name: with or without a schema, with wildcards.

use sql::{Doubts, Facts, Mention, Role};

use super::names::{Case, Wild};

/// Tables that are wanted and tables that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    wanted: Box<[Table]>,
    unwanted: Box<[Table]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Table {
    /// None: in any schema.
    schema: Option<Wild>,
    name: Wild,
}

impl Table {
    fn new(entry: &str) -> Self {
        let wild = |text: &str| Wild::new(text.trim(), Case::Folded);
        match entry.split_once('.') {
            Some((schema, name)) => Self {
                schema: Some(wild(schema)),
                name: wild(name),
            },
            None => Self {
                schema: None,
                name: wild(entry),
            },
        }
    }

    fn matches(&self, schema: &[u8], name: &[u8]) -> bool {
        self.name.matches(name) && self.may_be_in(schema)
    }

    fn may_be_in(&self, schema: &[u8]) -> bool {
        self.schema.as_ref().is_none_or(|it| it.matches(schema))
    }

    fn covers(&self, other: &Self) -> bool {
        let schema = match (&self.schema, &other.schema) {
            (None, _) => true,
            (Some(own), Some(other)) => own.covers(other),
            (Some(_), None) => false,
        };
        schema && self.name.covers(&other.name)
    }
}

/// Returns the name bits of all tables of a statement.
pub(crate) fn bits_of(text: &[u8], facts: &Facts) -> u64 {
    let bits = facts.tables().map(|it| name_bit(&it.name.name(text)));
    bits.fold(0, |one, other| one | other)
}

/// Returns one of 64 bits for a name, from its FNV-1a hash; case is ignored.
fn name_bit(name: &[u8]) -> u64 {
    let step = |hash: u32, byte: &u8| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    };
    1 << (name.iter().fold(0x811c_9dc5, step) >> 26)
}

impl Tables {
    /// Reads the entries of a setting. A table with `!` in front is not wanted.
    pub fn new(entries: &[String]) -> Self {
        let unwanted = entries.iter().filter_map(|entry| entry.strip_prefix('!'));
        let wanted = entries.iter().filter(|entry| !entry.starts_with('!'));
        Self {
            unwanted: unwanted.map(Table::new).collect(),
            wanted: wanted.map(|entry| Table::new(entry)).collect(),
        }
    }

    /// Whether this table is wanted. Without entries every table is.
    pub fn has(&self, schema: &str, name: &str) -> bool {
        let is_in = |tables: &[Table]| {
            let (schema, name) = (schema.as_bytes(), name.as_bytes());
            tables.iter().any(|it| it.matches(schema, name))
        };
        (self.wanted.is_empty() || is_in(&self.wanted)) && !is_in(&self.unwanted)
    }

    /// Whether exactly one table is wanted, by its exact name, with or without its schema.
    pub fn is_one(&self) -> bool {
        matches!(&*self.wanted, [table] if table.name.exact().is_some())
    }

    /// Whether the statement names no unwanted table, and at least one wanted table if there are any.
    /// Names without a schema are in `schema`.
    pub(crate) fn matches(&self, text: &[u8], facts: &Facts, schema: &[u8]) -> bool {
        let mut is_wanted = self.wanted.is_empty();
        for Mention {
            schema: own, name, ..
        } in facts.tables()
        {
            let own = own.name(text);
            let schema = if own.is_empty() { schema } else { &own };
            let name = name.name(text);
            let is_in = |tables: &[Table]| tables.iter().any(|it| it.matches(schema, &name));
            if is_in(&self.unwanted) {
                return false;
            }
            is_wanted |= is_in(&self.wanted);
        }
        is_wanted
    }

    /// Returns the doubts about a statement that matter for these tables.
    pub(crate) fn doubts(&self, doubts: Doubts, text: &[u8], facts: &Facts) -> Doubts {
        let all = self.wanted.iter().chain(&self.unwanted);
        let mut none = Doubts::MANY_COMMENTS;
        if !all.clone().any(|table| table.schema.is_some()) {
            none.add(Doubts::SCHEMA);
        }
        let mut dropped = facts.mentions_of(Role::SchemaDropped);
        if !dropped.any(|it| {
            all.clone()
                .any(|table| table.may_be_in(&it.name.name(text)))
        }) {
            none.add(Doubts::WHOLE_SCHEMA);
        }
        doubts.without(none)
    }

    /// Returns name bits; a statement must have one of them to match. All bits if any name may match.
    pub(crate) fn bits(&self) -> u64 {
        let bits = |table: &Table| table.name.exact().map_or(u64::MAX, name_bit);
        let bits = self.wanted.iter().map(bits);
        bits.reduce(|one, other| one | other).unwrap_or(u64::MAX)
    }

    /// Whether it matches everything that `other` matches. It may return false although that is so.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_wanted = |it: &Table| self.wanted.iter().any(|own| own.covers(it));
        let all_wanted = self.wanted.is_empty()
            || !other.wanted.is_empty() && other.wanted.iter().all(is_wanted);
        let is_unwanted_there = |own: &Table| other.unwanted.iter().any(|it| it.covers(own));
        all_wanted && self.unwanted.iter().all(is_unwanted_there)
    }

    /// Whether no table can match, because every wanted table is also unwanted.
    pub(crate) fn is_void(&self) -> bool {
        let is_taken_out = |it: &Table| self.unwanted.iter().any(|other| other.covers(it));
        !self.wanted.is_empty() && self.wanted.iter().all(is_taken_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_bits_exclude_a_rule_only_if_no_table_name_can_match() {
        let bits = |entries: &[&str]| {
            let entries: Vec<_> = entries.iter().map(|it| (*it).to_owned()).collect();
            Tables::new(&entries).bits()
        };
        let statement = b"SELECT * FROM shop.ORDERS, items";
        let facts = sql::facts(statement, sql::Flags::default());
        let own = bits_of(statement, &facts);
        assert_eq!(own.count_ones(), 2);
        assert_eq!(bits(&["orders"]) | bits(&["x.Items"]), own);
        assert_eq!(bits(&["orders", "items", "!other"]), own);
        assert_eq!(bits(&["customers"]) & own, 0);
        for any in [
            &[][..],
            &["shop.*"],
            &["o*"],
            &["!orders"],
            &["orders", "*"],
        ] {
            assert_eq!(bits(any), u64::MAX, "{any:?}");
        }
    }

    fn matches(entries: &[&str], statement: &str) -> bool {
        let entries: Vec<_> = entries.iter().map(|it| (*it).to_owned()).collect();
        let facts = sql::facts(statement.as_bytes(), sql::Flags::default());
        Tables::new(&entries).matches(statement.as_bytes(), &facts, b"shop")
    }

    #[test]
    fn tables_are_found_wherever_they_are_named() {
        for (entries, statement, is_match) in [
            (&["orders"][..], "SELECT * FROM orders", true),
            (&["orders"], "SELECT * FROM archive.orders", true),
            (
                &["orders"],
                "SELECT * FROM t JOIN `Orders` o USING (id)",
                true,
            ),
            (&["orders"], "SELECT orders FROM t", false),
            (&["shop.orders"], "SELECT * FROM orders", true),
            (&["shop.orders"], "SELECT * FROM archive.orders", false),
            (&["shop.*"], "DELETE FROM lines", true),
            (&["log_*"], "INSERT INTO log_2026 VALUES (1)", true),
            (&["log_*"], "SELECT 1", false),
            (&["!log_*"], "SELECT 1", true),
            (&["!log_*"], "SELECT * FROM t, log_1", false),
            (&["t", "!log_*"], "SELECT * FROM t, log_1", false),
            (&["t"], "WITH t AS (SELECT 1) SELECT * FROM u", false),
            (&["u"], "SELECT 1; UPDATE u SET a = 1", true),
        ] {
            assert_eq!(
                matches(entries, statement),
                is_match,
                "{entries:?} {statement}"
            );
        }
    }
}
