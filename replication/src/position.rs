//! The position of a stream: the transactions that it has processed, in the notation of either family.

use std::fmt;

pub use binlog::Gtid;
use binlog::{GtidError, MariadbGtidSet, MysqlGtidSet};
use route::Family;

/// The transactions that a stream has processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// MySQL: a GTID set.
    Mysql(MysqlGtidSet),
    /// MariaDB: the last GTID of each domain.
    Mariadb(MariadbGtidSet),
}

impl Position {
    /// The position of a stream that has processed nothing.
    pub fn empty(family: Family) -> Self {
        match family {
            Family::MySql => Self::Mysql(MysqlGtidSet::default()),
            Family::MariaDb => Self::Mariadb(MariadbGtidSet::default()),
        }
    }

    /// Parses the servers' notation: `gtid_executed` of MySQL, `gtid_slave_pos` of MariaDB.
    ///
    /// # Errors
    /// The text is not a valid position.
    pub fn parse(family: Family, text: &str) -> Result<Self, GtidError> {
        Ok(match family {
            Family::MySql => Self::Mysql(text.parse()?),
            Family::MariaDb => Self::Mariadb(text.parse()?),
        })
    }

    /// The family of the position.
    pub fn family(&self) -> Family {
        match self {
            Self::Mysql(_) => Family::MySql,
            Self::Mariadb(_) => Family::MariaDb,
        }
    }

    /// Whether the position contains a transaction. A GTID of the other family is never contained.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.contains(gtid),
            (Self::Mariadb(set), Gtid::Mariadb(gtid)) => set.contains(gtid),
            _ => false,
        }
    }

    /// Adds a transaction. A GTID of the other family changes nothing.
    pub fn add(&mut self, gtid: &Gtid) {
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.add(gtid),
            (Self::Mariadb(set), Gtid::Mariadb(gtid)) => set.add(*gtid),
            _ => {}
        }
    }

    /// Adds all transactions of another position of the same family.
    pub fn union(&mut self, other: &Self) {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.union(other),
            (Self::Mariadb(set), Self::Mariadb(other)) => set.union(other),
            _ => {}
        }
    }

    /// Returns the part of `other` that this position lacks; none if it lacks nothing, or if the families differ.
    pub fn missing(&self, other: &Self) -> Option<Self> {
        let mut missing = other.clone();
        let is_empty = match (&mut missing, self) {
            (Self::Mysql(set), Self::Mysql(own)) => {
                set.subtract(own);
                set.is_empty()
            }
            (Self::Mariadb(set), Self::Mariadb(own)) => {
                set.subtract(own);
                set.is_empty()
            }
            _ => true,
        };
        (!is_empty).then_some(missing)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(set) => set.fmt(f),
            Self::Mariadb(set) => set.fmt(f),
        }
    }
}
