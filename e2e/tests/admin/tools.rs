//! What graphical tools send when they connect and while one looks around, tool by tool. Whatever they ask
//! for is answered, with the columns that servers have.

use super::{Watched, columns};

/// What each tool sends; `{s}` and `{t}` are the schema and the table that one looks at.
const TOOLS: &[(&str, &[&str])] = &[
    (
        "DBeaver",
        &[
            "/* mysql-connector-j-8.3.0 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout",
            "SET character_set_results = NULL",
            "SET autocommit=1",
            "/* ApplicationName=DBeaver 24.0.0 - Main */ SET SQL_SELECT_LIMIT=DEFAULT",
            "/* ApplicationName=DBeaver 24.0.0 - Metadata */ SELECT DATABASE()",
            "SHOW ENGINES",
            "SHOW CHARSET",
            "SHOW COLLATION",
            "SELECT @@GLOBAL.character_set_server,@@GLOBAL.collation_server",
            "SHOW PLUGINS",
            "SHOW VARIABLES LIKE 'lower_case_table_names'",
            "SELECT * FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = 'information_schema' AND t.TABLE_NAME = 'CHECK_CONSTRAINTS'",
            "show databases",
            "SHOW FULL TABLES FROM `{s}`",
            "SHOW TABLE STATUS FROM `{s}`",
            "SHOW TABLE STATUS FROM `{s}` LIKE '{t}'",
            "SELECT * FROM information_schema.COLUMNS c WHERE c.TABLE_SCHEMA='{s}' AND c.TABLE_NAME='{t}' ORDER BY c.ORDINAL_POSITION",
            "SELECT * FROM INFORMATION_SCHEMA.STATISTICS s WHERE s.TABLE_SCHEMA='{s}' AND s.TABLE_NAME='{t}' ORDER BY s.INDEX_NAME, s.SEQ_IN_INDEX",
            "SELECT kc.CONSTRAINT_NAME,kc.TABLE_NAME,kc.COLUMN_NAME,kc.ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kc WHERE kc.TABLE_SCHEMA='{s}' AND kc.REFERENCED_TABLE_NAME IS NULL AND kc.TABLE_NAME='{t}' ORDER BY kc.CONSTRAINT_NAME,kc.ORDINAL_POSITION",
            "SELECT cc.CONSTRAINT_NAME, cc.CHECK_CLAUSE, tc.TABLE_NAME FROM (SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA='{s}' ORDER BY CONSTRAINT_NAME) cc, (SELECT TABLE_NAME, CONSTRAINT_NAME from INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE = 'CHECK' AND TABLE_SCHEMA='{s}') tc WHERE cc.CONSTRAINT_NAME = tc.CONSTRAINT_NAME",
            "SELECT DISTINCT A.REFERENCED_TABLE_SCHEMA AS PKTABLE_CAT, A.REFERENCED_TABLE_NAME AS PKTABLE_NAME, A.COLUMN_NAME AS FKCOLUMN_NAME, CASE R.UPDATE_RULE WHEN 'CASCADE' THEN 0 ELSE 3 END AS UPDATE_RULE FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE A JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS B USING (CONSTRAINT_NAME, TABLE_NAME) LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS R ON (R.CONSTRAINT_NAME = B.CONSTRAINT_NAME AND R.TABLE_NAME = B.TABLE_NAME) WHERE B.CONSTRAINT_TYPE = 'FOREIGN KEY' AND A.TABLE_SCHEMA = '{s}'",
            "SELECT * FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA='{s}'",
            "SHOW TRIGGERS FROM `{s}`",
            "SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA='{s}'",
            "SHOW EVENTS FROM `{s}`",
            "SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA='{s}' AND ROUTINE_TYPE IN ('PROCEDURE','FUNCTION') ORDER BY ROUTINE_NAME",
            "SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA='{s}' AND TABLE_NAME='{t}' ORDER BY PARTITION_ORDINAL_POSITION,SUBPARTITION_ORDINAL_POSITION",
            "SHOW CREATE TABLE `{s}`.`{t}`",
            "SHOW CREATE DATABASE IF NOT EXISTS `{s}`",
            "SELECT WORD FROM INFORMATION_SCHEMA.KEYWORDS WHERE RESERVED=1 ORDER BY WORD",
            "SHOW FULL PROCESSLIST",
            "SHOW GLOBAL STATUS",
            "SHOW GLOBAL VARIABLES",
            "SHOW PRIVILEGES",
            "SHOW GRANTS FOR 'root'@'%'",
            "SELECT x.* FROM `{s}`.`{t}` x LIMIT 0, 200",
            "SHOW WARNINGS",
            "EXPLAIN SELECT * FROM `{s}`.`{t}`",
        ],
    ),
    (
        "MySQL Workbench",
        &[
            "set autocommit=1",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "SHOW SESSION VARIABLES LIKE 'lower_case_table_names'",
            "SELECT current_user()",
            "SET CHARACTER SET utf8",
            "SET NAMES utf8",
            "SET SQL_SAFE_UPDATES=1",
            "SHOW SESSION VARIABLES LIKE 'sql_mode'",
            "SELECT CONNECTION_ID()",
            "SHOW SESSION STATUS LIKE 'Ssl_cipher'",
            "SHOW VARIABLES LIKE 'version_comment'",
            "SHOW GLOBAL VARIABLES LIKE 'offline_mode'",
            "USE `{s}`",
            "SHOW DATABASES",
            "SHOW FULL TABLES FROM `{s}`",
            "SHOW PROCEDURE STATUS WHERE Db='{s}'",
            "SHOW FUNCTION STATUS WHERE Db='{s}'",
            "SHOW FULL COLUMNS FROM `{s}`.`{t}`",
            "SHOW INDEXES FROM `{s}`.`{t}`",
            "SHOW TRIGGERS FROM `{s}` LIKE '{t}'",
            "SHOW CREATE TABLE `{s}`.`{t}`",
            "SHOW TABLE STATUS FROM `{s}` WHERE Name = '{t}'",
            "SHOW GLOBAL STATUS",
            "SHOW GLOBAL VARIABLES",
            "SHOW PLUGINS",
            "SHOW GRANTS",
            "SHOW GRANTS FOR CURRENT_USER()",
            "SHOW ENGINES",
            "SHOW CHARACTER SET",
            "SHOW COLLATION",
            "SHOW BINARY LOGS",
            "SHOW SLAVE STATUS",
            "SHOW ENGINE INNODB STATUS",
            "SELECT PLUGIN_NAME, PLUGIN_STATUS FROM information_schema.plugins WHERE plugin_type = 'AUTHENTICATION'",
            "SELECT * FROM `{s}`.`{t}` LIMIT 0, 1000",
        ],
    ),
    (
        "HeidiSQL",
        &[
            "SELECT CONNECTION_ID();",
            "/*!40101 SET NAMES utf8mb4 */;",
            "SHOW VARIABLES;",
            "SHOW /*!50002 GLOBAL */ STATUS;",
            "SHOW /*!50002 GLOBAL */ STATUS LIKE 'Com\\_%';",
            "SELECT NOW();",
            "SHOW DATABASES;",
            "SHOW OPEN TABLES FROM `{s}` WHERE `in_use`!=0;",
            "USE `{s}`;",
            "SELECT `DEFAULT_COLLATION_NAME` FROM `information_schema`.`SCHEMATA` WHERE `SCHEMA_NAME`='{s}';",
            "SHOW TABLE STATUS FROM `{s}`;",
            "SHOW FUNCTION STATUS WHERE `Db`='{s}';",
            "SHOW PROCEDURE STATUS WHERE `Db`='{s}';",
            "SHOW TRIGGERS FROM `{s}`;",
            "SELECT *, EVENT_SCHEMA AS `Db`, EVENT_NAME AS `Name` FROM information_schema.`EVENTS` WHERE `EVENT_SCHEMA`='{s}';",
            "SELECT * FROM `information_schema`.`COLUMNS` WHERE TABLE_SCHEMA='{s}' AND TABLE_NAME='{t}' ORDER BY ORDINAL_POSITION;",
            "SHOW INDEXES FROM `{t}` FROM `{s}`;",
            "SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA='{s}' AND TABLE_NAME='{t}' AND REFERENCED_TABLE_NAME IS NOT NULL;",
            "SELECT * FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA='{s}' AND TABLE_NAME='{t}' AND REFERENCED_TABLE_NAME IS NOT NULL;",
            "SELECT tc.CONSTRAINT_NAME, cc.CHECK_CLAUSE FROM `information_schema`.`CHECK_CONSTRAINTS` AS cc, `information_schema`.`TABLE_CONSTRAINTS` AS tc WHERE tc.CONSTRAINT_SCHEMA='{s}' AND tc.TABLE_NAME='{t}' AND tc.CONSTRAINT_TYPE='CHECK' AND tc.CONSTRAINT_SCHEMA=cc.CONSTRAINT_SCHEMA AND tc.CONSTRAINT_NAME=cc.CONSTRAINT_NAME;",
            "SHOW CREATE TABLE `{s}`.`{t}`;",
            "SHOW COLLATION;",
            "SHOW ENGINES;",
            "SELECT `ID`, `USER`, `HOST`, `DB`, `COMMAND`, `TIME`, `STATE`, LEFT(`INFO`, 51200) AS `Info` FROM `information_schema`.`PROCESSLIST`;",
            "SELECT * FROM `{s}`.`{t}` LIMIT 1000;",
        ],
    ),
    (
        "DataGrip",
        &[
            "SET net_write_timeout=600",
            "SELECT @@session.transaction_isolation",
            "SELECT @@session.transaction_read_only",
            "select database(), schema(), left(user(),instr(concat(user(),'@'),'@')-1), @@version_comment",
            "select schema_name, default_character_set_name, default_collation_name from information_schema.schemata order by if(schema() = schema_name, 1, 2), schema_name",
            "select collation_name, character_set_name, is_default collate utf8mb4_general_ci = 'Yes' as is_default from information_schema.collations",
            "select table_name, table_type, table_comment, engine, table_collation, create_options from information_schema.tables where table_schema = '{s}'",
            "select ordinal_position, column_name, column_type, column_default, generation_expression, table_name, column_comment, is_nullable, extra, collation_name from information_schema.columns where table_schema = '{s}' order by table_name, ordinal_position",
            "select table_name, auto_increment from information_schema.tables where table_schema = '{s}' and auto_increment is not null",
            "select table_name, index_name, index_comment, index_type, non_unique, column_name, sub_part, collation, null expression from information_schema.statistics where table_schema = '{s}' and index_schema = '{s}' order by index_schema, table_name, index_name, index_type, seq_in_index",
            "select c.constraint_name, c.constraint_schema, c.table_name, c.constraint_type, c.enforced = 'YES' enforced from information_schema.table_constraints c where c.table_schema = '{s}'",
            "select constraint_name, table_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name from information_schema.key_column_usage where table_schema = '{s}' and referenced_column_name is not null order by table_name, constraint_name, ordinal_position",
            "select constraint_name, table_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints where constraint_schema = '{s}'",
            "select trigger_name, event_object_table, event_manipulation, action_timing, definer from information_schema.triggers where trigger_schema = '{s}'",
            "select event_name, event_comment, definer, event_type = 'RECURRING' recurring, interval_value, interval_field, cast(coalesce(starts, execute_at) as char) starts, cast(ends as char) ends, status, on_completion = 'PRESERVE' preserve, last_executed from information_schema.events where event_schema = '{s}'",
            "select routine_name, routine_type, routine_definition, routine_comment, dtd_identifier, definer, is_deterministic = 'YES' is_deterministic, sql_data_access, security_type from information_schema.routines where routine_schema = '{s}'",
            "select specific_name, ordinal_position, parameter_name, parameter_mode, dtd_identifier from information_schema.parameters where specific_schema = '{s}' and ordinal_position > 0 order by specific_name, ordinal_position",
            "select table_name, partition_name, subpartition_name, partition_ordinal_position, partition_method, partition_expression from information_schema.partitions where partition_name is not null and table_schema = '{s}'",
            "select table_name, view_definition, definer from information_schema.views where table_schema = '{s}'",
            "select grantee, table_name, column_name, privilege_type, is_grantable from information_schema.column_privileges where table_schema = '{s}' union all select grantee, table_name, '' column_name, privilege_type, is_grantable from information_schema.table_privileges where table_schema = '{s}' order by table_name, grantee, privilege_type",
            "/* ApplicationName=DataGrip 2024.1 */ select t.* from {s}.{t} t limit 501",
            "show create table {s}.{t}",
        ],
    ),
    (
        "phpMyAdmin",
        &[
            "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci';",
            "SET lc_messages = 'en_US';",
            "SELECT @@version, @@version_comment",
            "SHOW SESSION VARIABLES LIKE 'collation_connection';",
            "SELECT CURRENT_USER();",
            "SELECT CURRENT_ROLE();",
            "SHOW GRANTS",
            "SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`",
            "SELECT (COUNT(DB_first_level) DIV 100) * 100 from ( SELECT distinct SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE ) t",
            "SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`, (SELECT DB_first_level FROM ( SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE ) t ORDER BY DB_first_level ASC LIMIT 0, 100) t2 WHERE TRUE AND 1 = LOCATE(CONCAT(DB_first_level, '_'), CONCAT(SCHEMA_NAME, '_')) ORDER BY SCHEMA_NAME ASC",
            "SELECT COUNT(*) FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA`='{s}' AND `TABLE_TYPE` IN ('BASE TABLE', 'SYSTEM VERSIONED')",
            "SELECT *, `TABLE_SCHEMA` AS `Db`, `TABLE_NAME` AS `Name`, `TABLE_TYPE` AS `TABLE_TYPE`, `ENGINE` AS `Engine`, `ENGINE` AS `Type`, `VERSION` AS `Version`, `ROW_FORMAT` AS `Row_format`, `TABLE_ROWS` AS `Rows`, `AUTO_INCREMENT` AS `Auto_increment`, `TABLE_COLLATION` AS `Collation`, `CREATE_OPTIONS` AS `Create_options`, `TABLE_COMMENT` AS `Comment` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` COLLATE utf8_bin IN ('{s}') AND t.`TABLE_NAME` COLLATE utf8_bin = '{t}' ORDER BY Name ASC",
            "SELECT `COLUMN_NAME` AS `Field`, `COLUMN_TYPE` AS `Type`, `COLLATION_NAME` AS `Collation`, `IS_NULLABLE` AS `Null`, `COLUMN_KEY` AS `Key`, `COLUMN_DEFAULT` AS `Default`, `EXTRA` AS `Extra`, `PRIVILEGES` AS `Privileges`, `COLUMN_COMMENT` AS `Comment` FROM `information_schema`.`COLUMNS` WHERE `TABLE_SCHEMA` COLLATE utf8_bin = '{s}' AND `TABLE_NAME` COLLATE utf8_bin = '{t}' ORDER BY `ORDINAL_POSITION`",
            "SHOW INDEXES FROM `{s}`.`{t}`",
            "SHOW STORAGE ENGINES",
            "SHOW BINARY LOG STATUS",
            "SHOW MASTER STATUS",
            "SHOW REPLICA STATUS",
            "SELECT `CHARACTER_SET_NAME` AS `Charset`, `DEFAULT_COLLATE_NAME` AS `Default collation`, `DESCRIPTION` AS `Description`, `MAXLEN` AS `Maxlen` FROM `information_schema`.`CHARACTER_SETS`",
            "SELECT `COLLATION_NAME` AS `Collation`, `CHARACTER_SET_NAME` AS `Charset`, `ID` AS `Id`, `IS_DEFAULT` AS `Default`, `IS_COMPILED` AS `Compiled`, `SORTLEN` AS `Sortlen` FROM `information_schema`.`COLLATIONS`",
            "SELECT `PRIVILEGE_TYPE` FROM `INFORMATION_SCHEMA`.`USER_PRIVILEGES` WHERE GRANTEE='''root''@''%''' AND PRIVILEGE_TYPE='PROCESS' LIMIT 1",
            "SELECT `TABLE_NAME` FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{s}' AND TABLE_NAME = '{t}'",
            "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_TIMING, ACTION_STATEMENT, EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, DEFINER FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA COLLATE utf8_bin='{s}'",
            "SELECT `ROUTINE_NAME` AS `Name` FROM `information_schema`.`ROUTINES` WHERE `ROUTINE_SCHEMA` COLLATE utf8_bin = '{s}'",
            "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION SEPARATOR ', ') FROM information_schema.COLUMNS WHERE TABLE_NAME = '{t}'",
            "SELECT COUNT(*) FROM `{s}`.`{t}`",
            "SELECT * FROM `{t}` LIMIT 0, 25",
            "SHOW PROFILES",
        ],
    ),
    (
        "TablePlus",
        &[
            "SET NAMES utf8mb4",
            "SELECT VERSION()",
            "SHOW VARIABLES LIKE 'character_set_%'",
            "SHOW DATABASES",
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COMMENT FROM information_schema.tables WHERE table_schema = '{s}' ORDER BY table_name",
            "SELECT ROUTINE_NAME AS name, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{s}'",
            "SHOW FULL COLUMNS FROM `{s}`.`{t}`",
            "SHOW INDEX FROM `{s}`.`{t}`",
            "SHOW TABLE STATUS FROM `{s}` WHERE Name = '{t}'",
            "SELECT column_name, constraint_name, referenced_table_name FROM information_schema.key_column_usage WHERE table_name = '{t}' AND table_schema = '{s}' AND referenced_table_name IS NOT NULL",
            "SHOW CREATE TABLE `{s}`.`{t}`",
            "SELECT * FROM `{s}`.`{t}` ORDER BY 1 LIMIT 300 OFFSET 0",
            "SHOW FULL PROCESSLIST",
        ],
    ),
];

#[test]
fn graphical_tools_are_answered() {
    let watched = Watched::alone();
    let mut refusals = Vec::new();
    for mut conn in [watched.root(), watched.look()] {
        for (schema, table) in [
            ("pilotfish", "backends"),
            ("main", "mysql_servers"),
            ("stats", "stats_mysql_query_digest"),
            ("information_schema", "COLUMNS"),
        ] {
            conn.run(&format!("USE {schema}"));
            for (tool, statements) in TOOLS {
                for statement in *statements {
                    let sql = statement.replace("{s}", schema).replace("{t}", table);
                    if let Some(error) = conn.query(&sql).error() {
                        refusals.push(format!("{tool}: {} for {sql}", error.code));
                    }
                }
            }
        }
    }
    assert!(refusals.is_empty(), "{}", refusals.join("\n"));
}

/// A schema's own table is meant where another has one of the same name.
#[test]
fn tables_are_those_of_the_schema_in_use() {
    let watched = Watched::alone();
    let mut look = watched.look();
    for (schema, column) in [
        ("information_schema", "TABLE_SCHEMA"),
        ("pilotfish", "table_name"),
    ] {
        look.run(&format!("USE {schema}"));
        for sql in ["SELECT * FROM columns", "SELECT * FROM COLUMNS LIMIT 1"] {
            assert!(
                columns(&mut look, sql).iter().any(|it| it == column),
                "{schema}: {sql}"
            );
        }
        let described = look.run("DESCRIBE columns").texts();
        assert!(
            described.iter().any(|row| row[0] == column),
            "{schema}: {described:?}"
        );
        let count = "SELECT count(*) > 100 FROM columns";
        assert_eq!(look.value(count), "1", "{schema}");
    }
}

#[test]
fn what_is_shown_has_the_columns_of_servers() {
    let watched = Watched::alone();
    let mut root = watched.root();
    for (sql, expected) in [
        ("SHOW PLUGINS", "Name Status Type Library License"),
        (
            "SHOW ENGINES",
            "Engine Support Comment Transactions XA Savepoints",
        ),
        (
            "SHOW TRIGGERS",
            "Trigger Event Table Statement Timing Created sql_mode Definer character_set_client collation_connection Database_Collation",
        ),
        (
            "SHOW EVENTS",
            "Db Name Definer Time_zone Type Execute_at Interval_value Interval_field Starts Ends Status Originator character_set_client collation_connection Database_Collation",
        ),
        (
            "SHOW PROCEDURE STATUS",
            "Db Name Type Definer Modified Created Security_type Comment character_set_client collation_connection Database_Collation",
        ),
        (
            "SHOW CHARSET",
            "Charset Description Default_collation Maxlen",
        ),
        (
            "SHOW COLLATION",
            "Collation Charset Id Default Compiled Sortlen Pad_attribute",
        ),
        (
            "SHOW TABLE STATUS",
            "Name Engine Version Row_format Rows Avg_row_length Data_length Max_data_length Index_length Data_free Auto_increment Create_time Update_time Check_time Collation Checksum Create_options Comment",
        ),
        (
            "SHOW INDEX FROM mysql_servers",
            "Table Non_unique Key_name Seq_in_index Column_name Collation Cardinality Sub_part Packed Null Index_type Comment Index_comment Visible Expression",
        ),
        (
            "SHOW FULL COLUMNS FROM pools",
            "Field Type Collation Null Key Default Extra Privileges Comment",
        ),
        ("SHOW FULL TABLES", "Tables_in_pilotfish Table_type"),
        ("SHOW CREATE DATABASE pilotfish", "Database Create_Database"),
        ("SHOW BINARY LOGS", "Log_name File_size Encrypted"),
    ] {
        let names: Vec<_> = columns(&mut root, sql)
            .iter()
            .map(|it| it.replace(' ', "_"))
            .collect();
        assert_eq!(names.join(" "), expected, "{sql}");
    }
    let slave = columns(&mut root, "SHOW SLAVE STATUS");
    let replica = columns(&mut root, "SHOW REPLICA STATUS");
    assert_eq!(
        (&*slave[0], &*replica[0]),
        ("Slave_IO_State", "Replica_IO_State")
    );
    assert_eq!((slave.len(), replica.len()), (60, 60));
    let keys = root.run("SHOW KEYS FROM mysql_servers FROM main").texts();
    let keys: Vec<_> = keys.iter().map(|row| (&*row[2], &*row[4])).collect();
    let primary = |column| ("PRIMARY", column);
    assert_eq!(keys, ["hostgroup_id", "hostname", "port"].map(primary));
    let grants = "GRANT SELECT, PROCESS ON *.* TO 'look'@'%'";
    assert_eq!(watched.look().value("SHOW GRANTS"), grants);
    assert!(root.value("SHOW GRANTS").contains("UPDATE"));
    let created = root.run("SHOW CREATE TABLE main.mysql_servers").texts();
    let expected = "PRIMARY KEY (`hostgroup_id`,`hostname`,`port`)\n) ENGINE=PILOTFISH DEFAULT CHARSET=utf8mb4";
    assert!(created[0][1].contains(expected), "{created:?}");
}
