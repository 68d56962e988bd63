//! The events whose bodies are more than a number or a text, one file each.

pub(crate) mod format;
pub(crate) mod gtid_list;
pub(crate) mod heartbeat;
pub(crate) mod incident;
pub(crate) mod load;
pub(crate) mod mariadb_gtid;
pub(crate) mod mysql_gtid;
pub(crate) mod partial_rows;
pub(crate) mod payload;
pub(crate) mod query;
pub(crate) mod rotate;
pub(crate) mod session_values;
pub(crate) mod status_variables;
pub(crate) mod tagged_gtid;
pub(crate) mod view_change;
pub(crate) mod xa_prepare;
