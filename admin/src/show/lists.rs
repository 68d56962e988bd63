//! Lists of what servers have beside tables: which words name one, and the query behind it.

use super::proxysql;
use super::{Shown, filtered, of_schema, unknown};
use crate::sheet::Schema;
use crate::spelling::{Text, quoted};
use crate::statement::Statement;

/// A list: the words behind SHOW, a query for it, the column that LIKE means.
pub(super) struct List {
    pub(super) words: &'static [&'static str],
    pub(super) select: &'static str,
    pub(super) like: &'static str,
    /// The column that says in which schema a thing is, where FROM may name one.
    pub(super) schema: Option<&'static str>,
}

const LISTS: &[List] = &[
    List {
        words: &["PLUGINS"],
        select: "SELECT PLUGIN_NAME AS \"Name\", PLUGIN_STATUS AS \"Status\", PLUGIN_TYPE AS \"Type\", \
                 PLUGIN_LIBRARY AS \"Library\", PLUGIN_LICENSE AS \"License\" FROM information_schema.PLUGINS",
        like: "Name",
        schema: None,
    },
    List {
        words: &["ENGINES", "STORAGE ENGINES"],
        select: "SELECT ENGINE AS \"Engine\", SUPPORT AS \"Support\", COMMENT AS \"Comment\", \
                 TRANSACTIONS AS \"Transactions\", XA, SAVEPOINTS AS \"Savepoints\" \
                 FROM information_schema.ENGINES",
        like: "Engine",
        schema: None,
    },
    List {
        words: &["COLLATION"],
        select: "SELECT COLLATION_NAME AS \"Collation\", CHARACTER_SET_NAME AS \"Charset\", ID AS \"Id\", \
                 IS_DEFAULT AS \"Default\", IS_COMPILED AS \"Compiled\", SORTLEN AS \"Sortlen\", \
                 PAD_ATTRIBUTE AS \"Pad_attribute\" FROM information_schema.COLLATIONS",
        like: "Collation",
        schema: None,
    },
    List {
        words: &["CHARSET", "CHARACTER SET"],
        select: "SELECT CHARACTER_SET_NAME AS \"Charset\", DESCRIPTION AS \"Description\", \
                 DEFAULT_COLLATE_NAME AS \"Default collation\", MAXLEN AS \"Maxlen\" \
                 FROM information_schema.CHARACTER_SETS",
        like: "Charset",
        schema: None,
    },
    List {
        words: &["PROCEDURE STATUS", "FUNCTION STATUS"],
        select: "SELECT ROUTINE_SCHEMA AS \"Db\", ROUTINE_NAME AS \"Name\", ROUTINE_TYPE AS \"Type\", \
                 DEFINER AS \"Definer\", LAST_ALTERED AS \"Modified\", CREATED AS \"Created\", \
                 SECURITY_TYPE AS \"Security_type\", ROUTINE_COMMENT AS \"Comment\", \
                 CHARACTER_SET_CLIENT AS \"character_set_client\", \
                 COLLATION_CONNECTION AS \"collation_connection\", \
                 DATABASE_COLLATION AS \"Database Collation\" FROM information_schema.ROUTINES",
        like: "Name",
        schema: None,
    },
    List {
        words: &["TRIGGERS"],
        select: "SELECT TRIGGER_NAME AS \"Trigger\", EVENT_MANIPULATION AS \"Event\", \
                 EVENT_OBJECT_TABLE AS \"Table\", ACTION_STATEMENT AS \"Statement\", \
                 ACTION_TIMING AS \"Timing\", CREATED AS \"Created\", SQL_MODE AS \"sql_mode\", \
                 DEFINER AS \"Definer\", CHARACTER_SET_CLIENT AS \"character_set_client\", \
                 COLLATION_CONNECTION AS \"collation_connection\", \
                 DATABASE_COLLATION AS \"Database Collation\" FROM information_schema.TRIGGERS",
        like: "Table",
        schema: Some("TRIGGER_SCHEMA"),
    },
    List {
        words: &["EVENTS"],
        select: "SELECT EVENT_SCHEMA AS \"Db\", EVENT_NAME AS \"Name\", DEFINER AS \"Definer\", \
                 TIME_ZONE AS \"Time zone\", EVENT_TYPE AS \"Type\", EXECUTE_AT AS \"Execute at\", \
                 INTERVAL_VALUE AS \"Interval value\", INTERVAL_FIELD AS \"Interval field\", \
                 STARTS AS \"Starts\", ENDS AS \"Ends\", STATUS AS \"Status\", ORIGINATOR AS \"Originator\", \
                 CHARACTER_SET_CLIENT AS \"character_set_client\", \
                 COLLATION_CONNECTION AS \"collation_connection\", \
                 DATABASE_COLLATION AS \"Database Collation\" FROM information_schema.EVENTS",
        like: "Name",
        schema: Some("EVENT_SCHEMA"),
    },
    List {
        words: &["TABLE STATUS"],
        select: "SELECT TABLE_NAME AS \"Name\", ENGINE AS \"Engine\", VERSION AS \"Version\", \
                 ROW_FORMAT AS \"Row_format\", TABLE_ROWS AS \"Rows\", AVG_ROW_LENGTH AS \"Avg_row_length\", \
                 DATA_LENGTH AS \"Data_length\", MAX_DATA_LENGTH AS \"Max_data_length\", \
                 INDEX_LENGTH AS \"Index_length\", DATA_FREE AS \"Data_free\", \
                 AUTO_INCREMENT AS \"Auto_increment\", CREATE_TIME AS \"Create_time\", \
                 UPDATE_TIME AS \"Update_time\", CHECK_TIME AS \"Check_time\", \
                 TABLE_COLLATION AS \"Collation\", CHECKSUM AS \"Checksum\", \
                 CREATE_OPTIONS AS \"Create_options\", TABLE_COMMENT AS \"Comment\" \
                 FROM information_schema.TABLES",
        like: "Name",
        schema: Some("TABLE_SCHEMA"),
    },
    List {
        words: &["OPEN TABLES"],
        select: "SELECT TABLE_SCHEMA AS \"Database\", TABLE_NAME AS \"Table\", 0 AS \"In_use\", \
                 0 AS \"Name_locked\" FROM information_schema.TABLES",
        like: "Table",
        schema: Some("TABLE_SCHEMA"),
    },
    List {
        words: &["GRANTS"],
        select: "SELECT 'GRANT ' || group_concat(PRIVILEGE_TYPE, ', ') || ' ON *.* TO ' || GRANTEE \
                 AS \"Grants for CURRENT_USER\" FROM information_schema.USER_PRIVILEGES \
                 WHERE GRANTEE = '''' || substring_index(USER(), '@', 1) || '''@''%''' GROUP BY GRANTEE",
        like: "Grants for CURRENT_USER",
        schema: None,
    },
    List {
        words: &["PRIVILEGES"],
        select: "SELECT DISTINCT PRIVILEGE_TYPE AS \"Privilege\", 'Server Admin' AS \"Context\", \
                 '' AS \"Comment\" FROM information_schema.USER_PRIVILEGES",
        like: "Privilege",
        schema: None,
    },
];

/// Lists that servers have and that are empty here: their columns.
const EMPTY: &[(&[&str], &str)] = &[
    (&["PROFILES"], "Query_ID Duration Query"),
    (
        &["BINARY LOGS", "MASTER LOGS"],
        "Log_name File_size Encrypted",
    ),
    (
        &["MASTER STATUS", "BINARY LOG STATUS"],
        "File Position Binlog_Do_DB Binlog_Ignore_DB Executed_Gtid_Set",
    ),
    (&["SLAVE STATUS", "REPLICA STATUS"], REPLICA_STATUS),
    (
        &["SLAVE HOSTS", "REPLICAS"],
        "Server_Id Host Port Source_Id Replica_UUID",
    ),
    (&["ENGINE INNODB STATUS"], "Type Name Status"),
];

const REPLICA_STATUS: &str = "Replica_IO_State Source_Host Source_User Source_Port Connect_Retry \
    Source_Log_File Read_Source_Log_Pos Relay_Log_File Relay_Log_Pos Relay_Source_Log_File Replica_IO_Running \
    Replica_SQL_Running Replicate_Do_DB Replicate_Ignore_DB Replicate_Do_Table Replicate_Ignore_Table \
    Replicate_Wild_Do_Table Replicate_Wild_Ignore_Table Last_Errno Last_Error Skip_Counter Exec_Source_Log_Pos \
    Relay_Log_Space Until_Condition Until_Log_File Until_Log_Pos Source_SSL_Allowed Source_SSL_CA_File \
    Source_SSL_CA_Path Source_SSL_Cert Source_SSL_Cipher Source_SSL_Key Seconds_Behind_Source \
    Source_SSL_Verify_Server_Cert Last_IO_Errno Last_IO_Error Last_SQL_Errno Last_SQL_Error \
    Replicate_Ignore_Server_Ids Source_Server_Id Source_UUID Source_Info_File SQL_Delay SQL_Remaining_Delay \
    Replica_SQL_Running_State Source_Retry_Count Source_Bind Last_IO_Error_Timestamp Last_SQL_Error_Timestamp \
    Source_SSL_Crl Source_SSL_Crlpath Retrieved_Gtid_Set Executed_Gtid_Set Auto_Position Replicate_Rewrite_DB \
    Channel_Name Source_TLS_Version Source_public_key_path Get_Source_public_key Network_Namespace";

/// The list of these words, if there is one.
pub fn list(text: Text<'_>, schema: Schema) -> Option<Shown> {
    for list in LISTS.iter().chain(proxysql::LISTS) {
        let Some(rest) = list.words.iter().find_map(|words| text.behind_words(words)) else {
            continue;
        };
        return Some(shown(list, rest, schema));
    }
    for (words, columns) in EMPTY {
        let mut words = words.iter();
        if let Some((words, rest)) = words.find_map(|it| Some((*it, text.behind_words(it)?))) {
            // Older names of the same columns.
            let columns = match words.contains("SLAVE") {
                true => columns
                    .replace("Replica_", "Slave_")
                    .replace("Source_", "Master_"),
                false => (*columns).to_owned(),
            };
            let nulls = columns.split_whitespace();
            let nulls: Vec<_> = nulls.map(|name| format!("NULL AS \"{name}\"")).collect();
            let select = format!("SELECT {} LIMIT 0", nulls.join(", "));
            return Some(filtered(&select, "Name", rest.without(&["FOR"])));
        }
    }
    None
}

fn shown(list: &List, rest: Text<'_>, schema: Schema) -> Shown {
    if list.words == ["GRANTS"] && rest.begins_with("FOR") {
        return grants(list, rest.rest());
    }
    let Some(column) = list.schema else {
        return filtered(list.select, list.like, rest);
    };
    let (schema, rest) = of_schema(rest, schema)?;
    let select = format!("{} WHERE {column} = {}", list.select, quoted(schema.name()));
    filtered(&select, list.like, rest)
}

/// What is behind SHOW GRANTS FOR: oneself, or a user of the port, from whatever host.
fn grants(list: &List, rest: Text<'_>) -> Shown {
    if rest.begins_with("CURRENT_USER") {
        return filtered(list.select, list.like, Text::new("", &[]));
    }
    let (user, rest) = rest.name().or_else(|| rest.string()).ok_or_else(unknown)?;
    if !rest.is_empty() && !rest.first().starts_with('@') {
        return Err(unknown());
    }
    let grantee = quoted(&format!("'{user}'@'%'"));
    let title = format!("Grants for {user}@%").replace('"', "\"\"");
    let select = format!(
        "SELECT ifnull((SELECT 'GRANT ' || group_concat(PRIVILEGE_TYPE, ', ') || ' ON *.* TO ' || GRANTEE \
         FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = {grantee} COLLATE BINARY GROUP BY GRANTEE), \
         no_such_grant({grantee})) AS \"{title}\""
    );
    Ok(Statement::Query(select))
}

/// SHOW CREATE DATABASE.
pub fn create_schema(text: Text<'_>) -> Shown {
    let text = text.behind_words("IF NOT EXISTS").unwrap_or(text);
    let (name, rest) = text.name().ok_or_else(unknown)?;
    let schema = Schema::named(&name).ok_or_else(|| crate::fault::Fault::no_schema(&name))?;
    let name = schema.name();
    let select = format!(
        "SELECT '{name}' AS \"Database\", \
         'CREATE DATABASE `{name}` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */' \
         AS \"Create Database\""
    );
    filtered(&select, "Database", rest)
}
