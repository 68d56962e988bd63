//! Positions in the stream of transactions: MySQL's sets of GTIDs and MariaDB's positions by domain.
//! They are parsed, compared, merged and written. A text comes from a peer and may contain anything.

mod domains;
mod set;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::time::Duration;

pub use domains::DomainPosition;
pub use set::GtidSet;
pub use text::MalformedPosition;

/// The family of a server; the GTIDs of the two families cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// MySQL and its forks other than MariaDB.
    MySql,
    /// MariaDB.
    MariaDb,
}

impl Family {
    /// Returns the family by the server's version text: MariaDB's contains its name.
    pub fn of_version(version: &[u8]) -> Family {
        const MARIADB: &[u8] = b"mariadb";
        let names_it = version
            .windows(MARIADB.len())
            .any(|window| window.eq_ignore_ascii_case(MARIADB));
        match names_it {
            true => Family::MariaDb,
            false => Family::MySql,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::MySql => "MySQL",
            Family::MariaDb => "MariaDB",
        })
    }
}

/// The transactions that a server has executed, or that a read must see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// All transactions in the set.
    MySql(GtidSet),
    /// All transactions up to these.
    MariaDb(DomainPosition),
}

impl Position {
    /// Parses the text of a server of this family: `@@gtid_executed` or a session's tracked GTIDs, or
    /// one of MariaDB's `@@gtid_…_pos` or `@@last_gtid`. An empty text is an empty position.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(family: Family, text: &[u8]) -> Result<Position, MalformedPosition> {
        match family {
            Family::MySql => GtidSet::parse(text).map(Position::MySql),
            Family::MariaDb => DomainPosition::parse(text).map(Position::MariaDb),
        }
    }

    /// Parses a position in the format in which [`Position`] is displayed. A colon means MySQL.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse_any(text: &[u8]) -> Result<Position, MalformedPosition> {
        let family = match text.contains(&b':') {
            true => Family::MySql,
            false => Family::MariaDb,
        };
        Position::parse(family, text)
    }

    /// Returns the server family.
    pub fn family(&self) -> Family {
        match self {
            Position::MySql(_) => Family::MySql,
            Position::MariaDb(_) => Family::MariaDb,
        }
    }

    /// Whether it contains no transaction.
    pub fn is_empty(&self) -> bool {
        match self {
            Position::MySql(set) => set.is_empty(),
            Position::MariaDb(position) => position.is_empty(),
        }
    }

    /// Whether it contains all of `other`. It never contains a position of another family.
    pub fn contains(&self, other: &Position) -> bool {
        match (self, other) {
            (Position::MySql(this), Position::MySql(other)) => this.contains(other),
            (Position::MariaDb(this), Position::MariaDb(other)) => this.contains(other),
            (Position::MySql(_), Position::MariaDb(_))
            | (Position::MariaDb(_), Position::MySql(_)) => false,
        }
    }

    /// Adds `other`. A position of another family replaces this one, because the servers have been
    /// replaced.
    pub fn merge(&mut self, other: &Position) {
        match (&mut *self, other) {
            (Position::MySql(this), Position::MySql(other)) => this.merge(other),
            (Position::MariaDb(this), Position::MariaDb(other)) => this.merge(other),
            (this, other) => *this = other.clone(),
        }
    }

    /// Returns the number of its pieces (ranges or domains), to which its size in memory is proportional.
    pub fn pieces(&self) -> usize {
        match self {
            Position::MySql(set) => set.ranges(),
            Position::MariaDb(position) => position.domains(),
        }
    }

    /// Reduces it to at most `pieces_max` pieces, if possible: gaps between transactions of one server
    /// are filled, the smallest first. So it contains more than before, never less.
    pub fn condense(&mut self, pieces_max: usize) {
        match self {
            Position::MySql(set) => set.condense(pieces_max),
            // One piece for each domain is the minimum.
            Position::MariaDb(_) => (),
        }
    }

    /// Returns the statement that waits on a replica until it has this position, at most `limit`. Its one row
    /// has one column: 0 if the replica has the position, 1 (MySQL) or -1 (MariaDB) after a timeout. Every
    /// other value, and NULL, means that it does not have the position.
    pub fn wait_statement(&self, limit: Duration) -> String {
        let seconds = limit.as_secs_f64();
        match self {
            Position::MySql(set) => {
                format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{set}',{seconds})")
            }
            Position::MariaDb(position) => {
                format!("SELECT MASTER_GTID_WAIT('{position}',{seconds})")
            }
        }
    }
}

impl fmt::Display for Position {
    /// In the servers' format, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::MySql(set) => set.fmt(f),
            Position::MariaDb(position) => position.fmt(f),
        }
    }
}
