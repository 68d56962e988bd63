//! Names that earlier versions of the admin port, or other programs, have, and what to use here instead. Each of the
//! texts has a line for each name, with a colon after the name.

/// Tables that do not exist here, and what to use instead.
const TABLES: &str = include_str!("replaced/tables.txt");

/// Functions of servers that SQLite does not have, and what to write instead.
const FUNCTIONS: &str = include_str!("replaced/functions.txt");

/// Statements that do not exist here, by their first words, and what to write instead. Longer beginnings come first.
const STATEMENTS: &str = include_str!("replaced/statements.txt");

/// The names of a text, and what to use instead of each.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| line.split_once(": "))
}

fn found(text: &'static str, is_it: impl Fn(&str) -> bool) -> Option<&'static str> {
    let found = entries(text).find(|(name, _)| is_it(name));
    found.map(|(_, instead)| instead)
}

/// What to use instead of a table that does not exist here.
pub fn table(name: &str) -> Option<&'static str> {
    found(TABLES, |it| it.eq_ignore_ascii_case(name))
}

/// What to write instead of a function that does not exist here.
pub fn function(name: &str) -> Option<&'static str> {
    found(FUNCTIONS, |it| it.eq_ignore_ascii_case(name))
}

/// What to write instead of a statement that does not exist here, by its words in capitals.
pub fn statement(words: &str) -> Option<&'static str> {
    found(STATEMENTS, |begin| {
        let rest = words.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn no_existing_table_is_listed_as_replaced() {
        for (name, _) in entries(TABLES).filter(|(name, _)| *name != "events") {
            assert!(registry::table(None, name).is_none(), "{name}");
        }
    }

    #[test]
    fn each_replaced_table_has_a_name_and_a_replacement() {
        for text in [TABLES, FUNCTIONS, STATEMENTS] {
            assert_eq!(entries(text).count(), text.lines().count());
        }
    }

    #[test]
    fn the_longest_beginning_of_a_statement_is_found() {
        assert_eq!(statement("PROXYSQL FLUSH LOGS"), Some("FLUSH LOGS"));
        assert!(statement("PROXYSQL").is_some() && statement("PROXYSQLS").is_none());
    }
}
