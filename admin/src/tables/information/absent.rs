//! What servers have and the admin port has not: tables with the servers' columns and no rows, since tools ask
//! for them while they show a schema.

use crate::material::Material;
use crate::sheet::{Asks, Cell, ColumnFacts, Kind, Schema, Table};

/// A table of the information schema without rows.
pub struct Absent {
    name: &'static str,
    about: &'static str,
    /// Its columns; numbers have a `#` behind their names.
    columns: &'static [&'static str],
}

impl Table for Absent {
    fn schema(&self) -> Schema {
        Schema::Information
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn asks(&self) -> Asks {
        Asks::Nothing
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        let columns = self.columns.iter();
        let column = |written: &&'static str| {
            let (name, kind) = match written.strip_suffix('#') {
                Some(name) => (name, Kind::Integer),
                None => (*written, Kind::Text),
            };
            let about = "As servers have it.";
            ColumnFacts {
                name,
                kind,
                unit: None,
                about,
            }
        };
        columns.map(column).collect()
    }

    fn rows(&self, _: &Material) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}

/// See its text.
pub static ROUTINES: Absent = Absent {
    name: "ROUTINES",
    about: "Stored routines: there are none.",
    columns: &[
        "SPECIFIC_NAME",
        "ROUTINE_CATALOG",
        "ROUTINE_SCHEMA",
        "ROUTINE_NAME",
        "ROUTINE_TYPE",
        "DATA_TYPE",
        "CHARACTER_MAXIMUM_LENGTH#",
        "CHARACTER_OCTET_LENGTH#",
        "NUMERIC_PRECISION#",
        "NUMERIC_SCALE#",
        "DATETIME_PRECISION#",
        "CHARACTER_SET_NAME",
        "COLLATION_NAME",
        "DTD_IDENTIFIER",
        "ROUTINE_BODY",
        "ROUTINE_DEFINITION",
        "EXTERNAL_NAME",
        "EXTERNAL_LANGUAGE",
        "PARAMETER_STYLE",
        "IS_DETERMINISTIC",
        "SQL_DATA_ACCESS",
        "SQL_PATH",
        "SECURITY_TYPE",
        "CREATED",
        "LAST_ALTERED",
        "SQL_MODE",
        "ROUTINE_COMMENT",
        "DEFINER",
        "CHARACTER_SET_CLIENT",
        "COLLATION_CONNECTION",
        "DATABASE_COLLATION",
    ],
};

/// See its text.
pub static PARAMETERS: Absent = Absent {
    name: "PARAMETERS",
    about: "Parameters of stored routines: there are none.",
    columns: &[
        "SPECIFIC_CATALOG",
        "SPECIFIC_SCHEMA",
        "SPECIFIC_NAME",
        "ORDINAL_POSITION#",
        "PARAMETER_MODE",
        "PARAMETER_NAME",
        "DATA_TYPE",
        "CHARACTER_MAXIMUM_LENGTH#",
        "CHARACTER_OCTET_LENGTH#",
        "NUMERIC_PRECISION#",
        "NUMERIC_SCALE#",
        "DATETIME_PRECISION#",
        "CHARACTER_SET_NAME",
        "COLLATION_NAME",
        "DTD_IDENTIFIER",
        "ROUTINE_TYPE",
    ],
};

/// See its text.
pub static TRIGGERS: Absent = Absent {
    name: "TRIGGERS",
    about: "Triggers: there are none.",
    columns: &[
        "TRIGGER_CATALOG",
        "TRIGGER_SCHEMA",
        "TRIGGER_NAME",
        "EVENT_MANIPULATION",
        "EVENT_OBJECT_CATALOG",
        "EVENT_OBJECT_SCHEMA",
        "EVENT_OBJECT_TABLE",
        "ACTION_ORDER#",
        "ACTION_CONDITION",
        "ACTION_STATEMENT",
        "ACTION_ORIENTATION",
        "ACTION_TIMING",
        "ACTION_REFERENCE_OLD_TABLE",
        "ACTION_REFERENCE_NEW_TABLE",
        "ACTION_REFERENCE_OLD_ROW",
        "ACTION_REFERENCE_NEW_ROW",
        "CREATED",
        "SQL_MODE",
        "DEFINER",
        "CHARACTER_SET_CLIENT",
        "COLLATION_CONNECTION",
        "DATABASE_COLLATION",
    ],
};

/// See its text.
pub static VIEWS: Absent = Absent {
    name: "VIEWS",
    about: "Views: there are none.",
    columns: &[
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "VIEW_DEFINITION",
        "CHECK_OPTION",
        "IS_UPDATABLE",
        "DEFINER",
        "SECURITY_TYPE",
        "CHARACTER_SET_CLIENT",
        "COLLATION_CONNECTION",
    ],
};

/// See its text.
pub static EVENTS: Absent = Absent {
    name: "EVENTS",
    about: "The servers' scheduled events: there are none; the proxy's own are in pilotfish.events.",
    columns: &[
        "EVENT_CATALOG",
        "EVENT_SCHEMA",
        "EVENT_NAME",
        "DEFINER",
        "TIME_ZONE",
        "EVENT_BODY",
        "EVENT_DEFINITION",
        "EVENT_TYPE",
        "EXECUTE_AT",
        "INTERVAL_VALUE",
        "INTERVAL_FIELD",
        "SQL_MODE",
        "STARTS",
        "ENDS",
        "STATUS",
        "ON_COMPLETION",
        "CREATED",
        "LAST_ALTERED",
        "LAST_EXECUTED",
        "EVENT_COMMENT",
        "ORIGINATOR#",
        "CHARACTER_SET_CLIENT",
        "COLLATION_CONNECTION",
        "DATABASE_COLLATION",
    ],
};

/// See its text.
pub static PARTITIONS: Absent = Absent {
    name: "PARTITIONS",
    about: "Partitions: no table has any.",
    columns: &[
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "PARTITION_NAME",
        "SUBPARTITION_NAME",
        "PARTITION_ORDINAL_POSITION#",
        "SUBPARTITION_ORDINAL_POSITION#",
        "PARTITION_METHOD",
        "SUBPARTITION_METHOD",
        "PARTITION_EXPRESSION",
        "SUBPARTITION_EXPRESSION",
        "PARTITION_DESCRIPTION",
        "TABLE_ROWS#",
        "AVG_ROW_LENGTH#",
        "DATA_LENGTH#",
        "MAX_DATA_LENGTH#",
        "INDEX_LENGTH#",
        "DATA_FREE#",
        "CREATE_TIME",
        "UPDATE_TIME",
        "CHECK_TIME",
        "CHECKSUM#",
        "PARTITION_COMMENT",
        "NODEGROUP",
        "TABLESPACE_NAME",
    ],
};

/// See its text.
pub static REFERENTIAL_CONSTRAINTS: Absent = Absent {
    name: "REFERENTIAL_CONSTRAINTS",
    about: "Foreign keys: there are none.",
    columns: &[
        "CONSTRAINT_CATALOG",
        "CONSTRAINT_SCHEMA",
        "CONSTRAINT_NAME",
        "UNIQUE_CONSTRAINT_CATALOG",
        "UNIQUE_CONSTRAINT_SCHEMA",
        "UNIQUE_CONSTRAINT_NAME",
        "MATCH_OPTION",
        "UPDATE_RULE",
        "DELETE_RULE",
        "TABLE_NAME",
        "REFERENCED_TABLE_NAME",
    ],
};

/// See its text.
pub static CHECK_CONSTRAINTS: Absent = Absent {
    name: "CHECK_CONSTRAINTS",
    about: "Constraints that check values: there are none; the configuration is checked as a whole.",
    columns: &[
        "CONSTRAINT_CATALOG",
        "CONSTRAINT_SCHEMA",
        "CONSTRAINT_NAME",
        "CHECK_CLAUSE",
    ],
};

/// See its text.
pub static SCHEMA_PRIVILEGES: Absent = Absent {
    name: "SCHEMA_PRIVILEGES",
    about: "Privileges on one schema: there are none; USER_PRIVILEGES has what users may do.",
    columns: &[
        "GRANTEE",
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "PRIVILEGE_TYPE",
        "IS_GRANTABLE",
    ],
};

/// See its text.
pub static TABLE_PRIVILEGES: Absent = Absent {
    name: "TABLE_PRIVILEGES",
    about: "Privileges on one table: there are none; USER_PRIVILEGES has what users may do.",
    columns: &[
        "GRANTEE",
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "PRIVILEGE_TYPE",
        "IS_GRANTABLE",
    ],
};

/// See its text.
pub static COLUMN_PRIVILEGES: Absent = Absent {
    name: "COLUMN_PRIVILEGES",
    about: "Privileges on one column: there are none; USER_PRIVILEGES has what users may do.",
    columns: &[
        "GRANTEE",
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "COLUMN_NAME",
        "PRIVILEGE_TYPE",
        "IS_GRANTABLE",
    ],
};

/// See its text.
pub static KEYWORDS: Absent = Absent {
    name: "KEYWORDS",
    about: "Reserved words: none; a name that SQLite would not read is quoted.",
    columns: &["WORD", "RESERVED#"],
};

/// See its text.
pub static FILES: Absent = Absent {
    name: "FILES",
    about: "Files of tablespaces: there are none.",
    columns: &[
        "FILE_ID#",
        "FILE_NAME",
        "FILE_TYPE",
        "TABLESPACE_NAME",
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "LOGFILE_GROUP_NAME",
        "LOGFILE_GROUP_NUMBER#",
        "ENGINE",
        "FULLTEXT_KEYS",
        "DELETED_ROWS#",
        "UPDATE_COUNT#",
        "FREE_EXTENTS#",
        "TOTAL_EXTENTS#",
        "EXTENT_SIZE#",
        "INITIAL_SIZE#",
        "MAXIMUM_SIZE#",
        "AUTOEXTEND_SIZE#",
        "CREATION_TIME",
        "LAST_UPDATE_TIME",
        "LAST_ACCESS_TIME",
        "RECOVER_TIME#",
        "TRANSACTION_COUNTER#",
        "VERSION#",
        "ROW_FORMAT",
        "TABLE_ROWS#",
        "AVG_ROW_LENGTH#",
        "DATA_LENGTH#",
        "MAX_DATA_LENGTH#",
        "INDEX_LENGTH#",
        "DATA_FREE#",
        "CREATE_TIME",
        "UPDATE_TIME",
        "CHECK_TIME",
        "CHECKSUM#",
        "STATUS",
        "EXTRA",
    ],
};
