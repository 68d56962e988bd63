//! What earlier versions of the admin port had, or other programs have, and what stands in its place here.

/// Tables that are not here, and what says the same.
const TABLES: &[(&str, &str)] = &[
    (
        "mysql_servers",
        "backends has the servers, and runtime_mysql_servers shows them by ProxySQL's names; UPDATE backends changes them",
    ),
    (
        "mysql_users",
        "accounts has the users, and runtime_mysql_users shows them by ProxySQL's names; UPDATE accounts changes them",
    ),
    (
        "mysql_query_rules",
        "rules has the rules, and runtime_mysql_query_rules shows them by ProxySQL's names; UPDATE rules changes them",
    ),
    ("mysql_query_rules_fast_routing", "rules has the rules"),
    (
        "global_variables",
        "settings has the settings; UPDATE settings changes them",
    ),
    ("runtime_global_variables", "settings has the settings"),
    ("mysql_replication_hostgroups", ROLES),
    ("mysql_group_replication_hostgroups", ROLES),
    ("mysql_galera_hostgroups", ROLES),
    ("mysql_aws_aurora_hostgroups", ROLES),
    ("scheduler", "there is no scheduler"),
    (
        "stats_mysql_users",
        "SELECT user, count(*) FROM sessions GROUP BY user; accounts has how many each may have",
    ),
    ("stats_mysql_errors", "errors has the errors"),
    (
        "stats_mysql_errors_reset",
        "errors has the errors; RESET ERRORS counts them from nothing",
    ),
    ("stats_mysql_query_rules", "rules has the hits of each rule"),
    (
        "stats_mysql_free_connections",
        "pools has how many connections are idle",
    ),
    (
        "stats_mysql_connection_pool_reset",
        "stats_mysql_connection_pool has the counts; FLUSH STATUS counts from nothing",
    ),
    (
        "stats_mysql_query_digest_reset",
        "digests has the statements; RESET DIGESTS counts them from nothing",
    ),
    ("processlist", "sessions has the sessions"),
    ("statistics", "tables have no indexes here"),
    (
        "user_privileges",
        "admin_accounts has the users of this port",
    ),
    ("engines", SCHEMA),
    ("plugins", SCHEMA),
    ("character_sets", SCHEMA),
    ("collations", SCHEMA),
    ("collation_character_set_applicability", SCHEMA),
    ("key_column_usage", SCHEMA),
    ("table_constraints", SCHEMA),
    ("referential_constraints", SCHEMA),
    ("routines", SCHEMA),
    ("parameters", SCHEMA),
    ("triggers", SCHEMA),
    ("views", SCHEMA),
    ("events", SCHEMA),
    ("partitions", SCHEMA),
    ("files", SCHEMA),
];

const ROLES: &str = "a backend whose role is auto tells its role itself";

const SCHEMA: &str = "information_schema has SCHEMATA, TABLES and COLUMNS here";

/// Functions of servers that SQLite has not, and what to write.
const FUNCTIONS: &[(&str, &str)] = &[
    ("now", "datetime('now')"),
    ("sysdate", "datetime('now')"),
    ("utc_timestamp", "datetime('now')"),
    ("curdate", "date('now')"),
    ("curtime", "time('now')"),
    ("unix_timestamp", "unixepoch(x)"),
    ("from_unixtime", "datetime(x, 'unixepoch')"),
    ("date_format", "strftime('%H:%M', x)"),
    ("date_add", "datetime(x, '+5 minutes')"),
    ("date_sub", "datetime(x, '-5 minutes')"),
    ("timestampadd", "datetime(x, '+5 minutes')"),
    ("timestampdiff", "unixepoch(b) - unixepoch(a)"),
    ("timediff", "unixepoch(a) - unixepoch(b)"),
    ("datediff", "julianday(a) - julianday(b)"),
    ("str_to_date", "times are texts as '2026-01-31 12:00:00'"),
    ("extract", "strftime('%H', x)"),
    ("if", "iif(a, b, c)"),
    ("isnull", "x IS NULL"),
    ("left", "substr(x, 1, n)"),
    ("right", "substr(x, -n)"),
    ("mid", "substr(x, from, n)"),
    ("char_length", "length(x)"),
    ("lcase", "lower(x)"),
    ("position", "instr(whole, part)"),
    ("greatest", "max(a, b)"),
    ("truncate", "round(x, n)"),
    ("convert", "CAST(x AS INTEGER)"),
    ("rand", "random()"),
    ("regexp", "x LIKE '%y%', or x GLOB '*[0-9]*'"),
    ("json_table", "json_each(x)"),
    ("md5", DIGESTS),
    ("sha1", DIGESTS),
    ("sha2", DIGESTS),
    ("crc32", DIGESTS),
];

const DIGESTS: &str = "digests of statements are in the tables";

/// Statements that are not here by the words that they begin with, and what to say instead.
const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD MYSQL", WRITES),
    ("LOAD ADMIN", WRITES),
    ("SAVE MYSQL", WRITES),
    ("SAVE ADMIN", WRITES),
    ("PROXYSQL FLUSH LOGS", "FLUSH LOGS"),
    ("PROXYSQL FLUSH MYSQL CLIENT HOSTS", "FLUSH HOSTS"),
    ("PROXYSQL FLUSH CONFIGDB", "REVERT reads the file again"),
    (
        "PROXYSQL PAUSE",
        "UPDATE backends SET draining = 1 keeps new sessions away from a backend",
    ),
    (
        "PROXYSQL SHUTDOWN",
        "SIGTERM ends the proxy, and sessions come to rest first",
    ),
    ("PROXYSQL KILL", "two SIGTERM end the proxy at once"),
    ("PROXYSQL", "SELECT * FROM help lists the statements"),
    (
        "SHOW MYSQL STATUS",
        "SELECT * FROM stats_mysql_global, or SHOW STATUS",
    ),
    ("SHOW MYSQL USERS", "SELECT * FROM accounts"),
    ("SHOW MYSQL SERVERS", "SELECT * FROM backends"),
    ("SHOW MYSQL", "SHOW VARIABLES"),
    ("SHOW ADMIN VARIABLES", "SHOW VARIABLES"),
    ("SHOW ALL VARIABLES", "SHOW VARIABLES"),
    ("SHOW GRANTS", "SELECT user, role FROM admin_accounts"),
    (
        "LOCK",
        "each statement sees one moment, and needs no lock; BEGIN … COMMIT makes one change of several",
    ),
    (
        "UNLOCK",
        "each statement sees one moment, and needs no lock",
    ),
    ("FLUSH", "FLUSH HOSTS, FLUSH LOGS or FLUSH STATUS"),
];

const WRITES: &str = "UPDATE, INSERT and DELETE of backends, accounts, rules and settings take effect at once, and SAVE \
                      writes the file";

fn found(known: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    let mut known = known.iter();
    let found = known.find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, instead)| *instead)
}

/// What says the same as a table that is not here.
pub fn table(name: &str) -> Option<&'static str> {
    found(TABLES, name)
}

/// What to write in place of a function that is not here.
pub fn function(name: &str) -> Option<&'static str> {
    found(FUNCTIONS, name)
}

/// What to say in place of a statement that is not here, by its words in capitals.
pub fn statement(words: &str) -> Option<&'static str> {
    let begins = |begin: &str| {
        let rest = words.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let mut known = STATEMENTS.iter();
    known
        .find(|(it, _)| begins(it))
        .map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn no_table_that_is_here_is_said_to_be_replaced() {
        for (name, _) in TABLES.iter().filter(|(name, _)| *name != "events") {
            assert!(registry::table(None, name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_longest_beginning_of_a_statement_is_found() {
        assert_eq!(statement("PROXYSQL FLUSH LOGS"), Some("FLUSH LOGS"));
        assert!(statement("PROXYSQL").is_some() && statement("PROXYSQLS").is_none());
    }
}
