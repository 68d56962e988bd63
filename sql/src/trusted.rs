//! Stored functions that the configuration declares to read data and do nothing else.

use std::collections::BTreeSet;

use crate::facts::{Access, Effects, Facts, Marks, Mention, Role};
use crate::kind::StatementKind;
use crate::uses::Uses;

/// Marks of statements that are unsure for another reason than a function.
const UNSURE: Marks = Marks::LOST
    .with(Marks::CROWDED)
    .with(Marks::CONDITIONAL)
    .with(Marks::LOCKING)
    .with(Marks::INTO_FILE)
    .with(Marks::INTO_VARIABLES);

/// Names of functions: `rate` is a function of any schema, `shop.rate` a function of that schema. Case matters
/// only in the schema, as for most servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedFunctions {
    /// Schema, which may be empty, and name in lower case.
    names: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl<'a> FromIterator<&'a str> for TrustedFunctions {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Self {
        let names = names.into_iter().map(|it| {
            let (schema, name) = it.rsplit_once('.').unwrap_or(("", it));
            (schema.as_bytes().to_vec(), lower(name.as_bytes()))
        });
        Self {
            names: names.collect(),
        }
    }
}

impl TrustedFunctions {
    /// Whether a function is trusted. `schema` is empty if the statement names none.
    fn has(&self, schema: &[u8], name: &[u8]) -> bool {
        let name = lower(name);
        let of_any = (Vec::new(), name.clone());
        self.names.contains(&of_any) || self.names.contains(&(schema.to_vec(), name))
    }
}

fn lower(name: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(name).to_lowercase().into_bytes()
}

impl Facts {
    /// Marks a SELECT as a read if all functions that it calls are built in or trusted. `text` is the
    /// statement's text.
    pub fn trust(&mut self, text: &[u8], trusted: &TrustedFunctions) {
        let is_open_to_doubt = self.kind != StatementKind::Select
            || self.access != Access::Unsure
            || self.statements.len() != 1
            || self.marks.has(UNSURE)
            || self.uses.has(Uses::SERVER_FILE);
        if !self.marks.has(Marks::UNKNOWN_FUNCTION) || is_open_to_doubt {
            return;
        }
        let is_trusted = |it: &Mention| trusted.has(&it.schema.name(text), &it.name.name(text));
        if !self.mentions_of(Role::Function).all(is_trusted) {
            return;
        }
        self.access = Access::Read;
        self.effects.remove(Effects::ANYTHING);
        self.marks.remove(Marks::UNKNOWN_FUNCTION);
        for part in &mut self.statements {
            part.access = self.access;
            part.effects.remove(Effects::ANYTHING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, facts};

    fn trusted(text: &str) -> Access {
        let functions = ["rate", "shop.Price"].into_iter().collect();
        let mut facts = facts(text.as_bytes(), Flags::default());
        facts.trust(text.as_bytes(), &functions);
        let is_read = facts.access == Access::Read;
        assert_eq!(
            is_read,
            facts.statements.iter().all(|it| it.access == Access::Read),
            "{text}"
        );
        assert!(!is_read || facts.effects.is_empty(), "{text}");
        facts.access
    }

    #[test]
    fn reads_that_call_trusted_functions_only_are_reads() {
        for text in [
            "SELECT rate(a) FROM t",
            "SELECT RATE(a), shop.rate(b), `Rate`(c) FROM t",
            "SELECT a FROM t WHERE shop.price(a) > `shop`.`PRICE`(b)",
        ] {
            assert_eq!(trusted(text), Access::Read, "{text}");
        }
    }

    #[test]
    fn trusted_functions_do_not_make_other_statements_reads() {
        for (text, access) in [
            ("SELECT rate(a), other(b) FROM t", Access::Unsure),
            ("SELECT price(a) FROM t", Access::Unsure),
            ("SELECT other.price(a) FROM t", Access::Unsure),
            ("SELECT SHOP.price(a) FROM t", Access::Unsure),
            ("SELECT rate(a) FROM t FOR UPDATE", Access::Write),
            ("SELECT rate(GET_LOCK('a', 1)) FROM t", Access::Write),
            ("SELECT rate(LOAD_FILE('a')) FROM t", Access::Unsure),
            (
                "SELECT rate(a) /*!80000 , other(b) */ FROM t",
                Access::Unsure,
            ),
            ("SELECT rate(a) FROM t; SELECT b FROM t", Access::Unsure),
            ("CALL rate(a)", Access::Unsure),
            ("INSERT INTO t SELECT rate(a) FROM t", Access::Write),
        ] {
            assert_eq!(trusted(text), access, "{text}");
        }
    }
}
