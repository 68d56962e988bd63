//! Where a stream stands: the transactions that it has had, in the way of either family.

use std::fmt;

pub use binlog::Gtid;
use binlog::{GtidError, MariadbGtidSet, MysqlGtidSet};
use route::Family;

/// The transactions that a stream has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// Of MySQL: a set.
    Mysql(MysqlGtidSet),
    /// Of MariaDB: the last of each domain.
    Mariadb(MariadbGtidSet),
}

impl Position {
    /// Nothing has been read.
    pub fn empty(family: Family) -> Self {
        match family {
            Family::MySql => Self::Mysql(MysqlGtidSet::default()),
            Family::MariaDb => Self::Mariadb(MariadbGtidSet::default()),
        }
    }

    /// As the servers write it: `gtid_executed` of MySQL, `gtid_slave_pos` of MariaDB.
    ///
    /// # Errors
    /// The text is no such set.
    pub fn parse(family: Family, text: &str) -> Result<Self, GtidError> {
        Ok(match family {
            Family::MySql => Self::Mysql(text.parse()?),
            Family::MariaDb => Self::Mariadb(text.parse()?),
        })
    }

    /// Whose servers it is of.
    pub fn family(&self) -> Family {
        match self {
            Self::Mysql(_) => Family::MySql,
            Self::Mariadb(_) => Family::MariaDb,
        }
    }

    /// Whether the stream has had a transaction. None of the other family is in it.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.contains(gtid),
            (Self::Mariadb(set), Gtid::Mariadb(gtid)) => set.contains(gtid),
            _ => false,
        }
    }

    /// The stream has had this transaction. One of the other family changes nothing.
    pub fn add(&mut self, gtid: &Gtid) {
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.add(gtid),
            (Self::Mariadb(set), Gtid::Mariadb(gtid)) => set.add(*gtid),
            _ => {}
        }
    }

    /// Takes in all transactions of another position of the family.
    pub fn union(&mut self, other: &Self) {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.union(other),
            (Self::Mariadb(set), Self::Mariadb(other)) => set.union(other),
            _ => {}
        }
    }

    /// The part of `other` that is not in it; none if there is no such part, or `other` is of the other family.
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
