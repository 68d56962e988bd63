//! What ProxySQL shows besides: lists of its own tables.

use super::lists::List;

/// Each of them.
pub(super) const LISTS: &[List] = &[
    List {
        words: &["MYSQL STATUS"],
        select: "SELECT Variable_Name AS \"Variable_name\", Variable_Value AS \"Value\" \
                 FROM stats.stats_mysql_global ORDER BY 1",
        like: "Variable_name",
        schema: None,
    },
    List {
        words: &["MYSQL USERS"],
        select: "SELECT * FROM main.mysql_users ORDER BY username",
        like: "username",
        schema: None,
    },
    List {
        words: &["MYSQL SERVERS"],
        select: "SELECT * FROM main.mysql_servers ORDER BY hostgroup_id, hostname, port",
        like: "hostname",
        schema: None,
    },
    List {
        words: &["MYSQL VARIABLES"],
        select: "SELECT variable_name AS \"Variable_name\", variable_value AS \"Value\" \
                 FROM main.global_variables WHERE variable_name LIKE 'mysql-%' ORDER BY 1",
        like: "Variable_name",
        schema: None,
    },
    List {
        words: &["ADMIN VARIABLES"],
        select: "SELECT variable_name AS \"Variable_name\", variable_value AS \"Value\" \
                 FROM main.global_variables WHERE variable_name LIKE 'admin-%' ORDER BY 1",
        like: "Variable_name",
        schema: None,
    },
    List {
        words: &["ALL VARIABLES"],
        select: "SELECT variable_name AS \"Variable_name\", variable_value AS \"Value\" \
                 FROM main.global_variables ORDER BY 1",
        like: "Variable_name",
        schema: None,
    },
];
