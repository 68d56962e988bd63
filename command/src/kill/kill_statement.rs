//! A KILL, and the statement that asks a server for the number that the KILL's target stands for.

use std::rc::Rc;

use sql::{Effects, Facts, Flags, KillText, Marks, StatementKind, Uses};
use wire::execute::Execute;

/// A KILL, as a text or as a prepared statement.
pub struct KillStatement<'a> {
    /// The parts of the KILL.
    pub kill: KillText,
    /// The statement, if the server has not read it yet: the server reports what is wrong with it.
    pub unread: Option<Vec<u8>>,
    /// The values of a prepared statement's placeholders.
    pub values: Option<PlaceholderValues<'a>>,
}

/// The values that a client has sent in an EXECUTE.
pub struct PlaceholderValues<'a> {
    /// The EXECUTE.
    pub execute: &'a Execute<'a>,
    /// The types of the values, which the client may have sent with an earlier EXECUTE.
    pub types: Option<Rc<[u8]>>,
}

impl KillStatement<'_> {
    /// A statement that returns the number that the target stands for. MySQL refuses aggregates in a KILL and in
    /// VALUES; MariaDB refuses them when it reads the KILL.
    pub fn question(&self, flags: Flags) -> Vec<u8> {
        let kill = &self.kill;
        match flags.server {
            sql::Server::MySql(version) if version >= 80_019 => {
                let (front, target) = (&kill.front, &kill.target);
                [front, &b"VALUES ROW(CAST(("[..], target, b") AS SIGNED))"].concat()
            }
            _ => kill.value(),
        }
    }
}

/// Whether a server refuses an expression with these facts in a KILL.
pub fn is_refused(facts: &Facts) -> bool {
    facts.tables().next().is_some()
        || facts.marks.has(Marks::UNKNOWN_FUNCTION)
        || facts.uses.has(Uses::SEQUENCE)
}

/// Whether a command kills, or may kill by a text that it prepares or runs.
pub fn may_kill(facts: &Facts) -> bool {
    let runs = |kind| {
        matches!(
            kind,
            StatementKind::Execute | StatementKind::ExecuteImmediate
        )
    };
    facts.marks.has(Marks::KILLS)
        || facts.effects.has(Effects::PREPARED)
        || runs(facts.kind)
        || facts.kind == StatementKind::Multi && facts.statements.iter().any(|part| runs(part.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Facts {
        sql::facts(text.as_bytes(), Flags::default())
    }

    #[test]
    fn a_text_that_is_prepared_or_run_may_kill() {
        for (text, expected) in [
            ("KILL 5", true),
            ("PREPARE s FROM @text", true),
            ("EXECUTE s", true),
            ("EXECUTE IMMEDIATE 'DO 0'", true),
            ("DO 0; EXECUTE s", true),
            ("SELECT 1", false),
            ("DO 0; DO 1", false),
        ] {
            assert_eq!(may_kill(&facts(text)), expected, "{text}");
        }
    }

    #[test]
    fn servers_refuse_tables_and_stored_functions_in_a_kill() {
        for (text, expected) in [
            ("SELECT 1 + 2", false),
            ("SELECT (SELECT id FROM t)", true),
            ("SELECT own_function()", true),
        ] {
            assert_eq!(is_refused(&facts(text)), expected, "{text}");
        }
    }

    #[test]
    fn mysql_is_asked_with_values_which_take_no_aggregates() {
        let text = b"KILL 2 + 3";
        for (server, expected) in [
            (
                sql::Server::MySql(80_400),
                "VALUES ROW(CAST((2 + 3) AS SIGNED))",
            ),
            (sql::Server::MySql(50_700), "SELECT CAST((2 + 3) AS SIGNED)"),
            (
                sql::Server::MariaDb(101_100),
                "SELECT CAST((2 + 3) AS SIGNED)",
            ),
        ] {
            let flags = Flags {
                server,
                ..Flags::default()
            };
            let kill = sql::facts(text, flags).kill_text(text, flags);
            let question = kill.map(|kill| {
                let statement = KillStatement {
                    kill,
                    unread: None,
                    values: None,
                };
                statement.question(flags)
            });
            let question = question.unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&question), expected, "{server:?}");
        }
    }
}
