//! The target of a KILL with an id.

use route::KillScope;
use sql::{Flags, Kill, Killed};

/// The target of a client's KILL.
pub struct KillTarget {
    /// The id that the client has named.
    pub id: u32,
    /// The target of the kill: the session or its statement.
    pub scope: KillScope,
}

impl KillTarget {
    /// Reads the target of a KILL in a session with a connection of its own; `own` is the id of that connection at its
    /// backend. `None`: the statement is no KILL, or its text does not contain the id.
    pub fn read(text: &[u8], own: u32, flags: Flags) -> Option<Self> {
        let facts = sql::facts(text, flags);
        let kill = facts.kill_text(text, flags)?;
        let scope = scope_of(kill.kill)?;
        let id = match kill.killed(flags) {
            Killed::Own => own,
            Killed::Id(id) => thread_id(id, flags).try_into().ok()?,
            Killed::Account | Killed::Expression => return None,
        };
        Some(Self { id, scope })
    }
}

/// The scope of a KILL with a connection's id; `None`: the KILL names something else.
pub fn scope_of(kill: Kill) -> Option<KillScope> {
    match kill {
        Kill::Connection => Some(KillScope::Connection),
        Kill::Query => Some(KillScope::Statement),
        Kill::QueryId | Kill::User | Kill::QueryOfUser => None,
    }
}

/// The thread id that a server reads from a number: MySQL uses only 32 bits of it.
pub fn thread_id(number: u64, flags: Flags) -> u64 {
    match flags.server {
        sql::Server::MySql(_) => number & u64::from(u32::MAX),
        sql::Server::MariaDb(_) | sql::Server::Unknown => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(server: sql::Server) -> Flags {
        Flags {
            server,
            ..Flags::default()
        }
    }

    fn read(text: &str, flags: Flags) -> Option<(u32, KillScope)> {
        let target = KillTarget::read(text.as_bytes(), 7, flags)?;
        Some((target.id, target.scope))
    }

    #[test]
    fn a_kill_names_an_id_or_its_own_connection() {
        let flags = at(sql::Server::MariaDb(101_100));
        for (text, expected) in [
            ("KILL 5", Some((5, KillScope::Connection))),
            ("KILL QUERY 5", Some((5, KillScope::Statement))),
            (
                "KILL QUERY CONNECTION_ID()",
                Some((7, KillScope::Statement)),
            ),
            ("KILL QUERY ID 5", None),
            ("KILL USER bob", None),
            ("KILL 2 + 3", None),
            ("KILL 4294967301", None),
            ("SELECT 5", None),
        ] {
            assert_eq!(read(text, flags), expected, "{text}");
        }
    }

    #[test]
    fn mysql_takes_the_lower_32_bits_of_an_id() {
        let flags = at(sql::Server::MySql(80_400));
        let expected = Some((5, KillScope::Connection));
        assert_eq!(read("KILL 4294967301", flags), expected);
    }
}
