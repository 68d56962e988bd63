//! GTIDs and GTID sets of both families: parsed from texts and events, printed, compared, merged.

mod error;
mod intervals;
mod mariadb;
mod mysql;
mod source_id;

use std::fmt;

pub use error::GtidError;
pub use intervals::Interval;
pub use mariadb::{MariadbGtid, MariadbGtidSet};
pub use mysql::{MysqlGtid, MysqlGtidSet};
pub use source_id::{SourceId, Tag, Uuid};
pub(crate) use source_id::{put_varlen, varlen};

/// The GTID of one transaction, of either family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gtid {
    /// Of MySQL.
    Mysql(MysqlGtid),
    /// Of MariaDB.
    Mariadb(MariadbGtid),
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}
