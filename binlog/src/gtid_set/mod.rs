//! GTIDs and sets of them, of both families: read from texts and from events, printed, compared, joined.

mod error;
mod intervals;
mod mariadb;
mod mysql;
mod source_id;

pub use error::GtidError;
pub use intervals::Interval;
pub use mariadb::{MariadbGtid, MariadbGtidSet};
pub use mysql::{MysqlGtid, MysqlGtidSet};
pub use source_id::{SourceId, Tag, Uuid};
pub(crate) use source_id::{put_varlen, varlen};
