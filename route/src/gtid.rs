//! Positions in the stream of transactions: MySQL's sets of GTIDs and MariaDB's positions by domain.
//! Text in, text out, compared and merged; every text is a peer's and may be anything.

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

/// Which of the two families of servers one belongs to; their GTIDs have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// MySQL and what is made of it.
    MySql,
    /// MariaDB.
    MariaDb,
}

impl Family {
    /// By the version that a server greets with, or tells: MariaDB's names it.
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

/// The transactions that a server has executed, or that somebody wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// All these.
    MySql(GtidSet),
    /// All up to these.
    MariaDb(DomainPosition),
}

impl Position {
    /// Reads what a server of this family tells: `@@gtid_executed` or a session's tracked GTIDs, or
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

    /// Reads a position whose family is to be seen by its form, as [`Position`] is displayed.
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

    /// Whose it is.
    pub fn family(&self) -> Family {
        match self {
            Position::MySql(_) => Family::MySql,
            Position::MariaDb(_) => Family::MariaDb,
        }
    }

    /// Is there no transaction in it?
    pub fn is_empty(&self) -> bool {
        match self {
            Position::MySql(set) => set.is_empty(),
            Position::MariaDb(position) => position.is_empty(),
        }
    }

    /// Has who is here all of `other`? Never so of another family.
    pub fn contains(&self, other: &Position) -> bool {
        match (self, other) {
            (Position::MySql(this), Position::MySql(other)) => this.contains(other),
            (Position::MariaDb(this), Position::MariaDb(other)) => this.contains(other),
            (Position::MySql(_), Position::MariaDb(_))
            | (Position::MariaDb(_), Position::MySql(_)) => false,
        }
    }

    /// Adds what `other` has. One of another family takes the place of this: the servers have been
    /// replaced.
    pub fn merge(&mut self, other: &Position) {
        match (&mut *self, other) {
            (Position::MySql(this), Position::MySql(other)) => this.merge(other),
            (Position::MariaDb(this), Position::MariaDb(other)) => this.merge(other),
            (this, other) => *this = other.clone(),
        }
    }

    /// How many pieces it is made of; its size in memory is a multiple of it.
    pub fn pieces(&self) -> usize {
        match self {
            Position::MySql(set) => set.ranges(),
            Position::MariaDb(position) => position.domains(),
        }
    }

    /// Makes it of at most `pieces_max` pieces, if it can be: gaps between transactions of one server
    /// are filled, the smallest first. So it stands for more than before, never for less.
    pub fn condense(&mut self, pieces_max: usize) {
        match self {
            Position::MySql(set) => set.condense(pieces_max),
            // One for each domain is as few as there can be.
            Position::MariaDb(_) => (),
        }
    }

    /// The statement that waits on a replica until it has all of this, `limit` at most. Its one row
    /// has one column: 0 when it has, 1 (MySQL) or -1 (MariaDB) when the time is over; anything
    /// else, and NULL, is no.
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
    /// As the servers write and read it, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::MySql(set) => set.fmt(f),
            Position::MariaDb(position) => position.fmt(f),
        }
    }
}
