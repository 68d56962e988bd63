//! The servers' built-in functions and what calling one means to a session.
//!
//! Names were asked of MySQL 9.7 and MariaDB 10.11 themselves (does `name(…)` give error 1305?), and
//! taken from the manuals for other versions. What is not here may be a stored function.

/// What a function's call means to routing and to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Function {
    /// No built-in function.
    #[default]
    None,
    /// Depends on its arguments only.
    Plain,
    /// Depends on the clock, on chance or on the server.
    Volatile,
    /// Depends on who the session is: user, schema, roles.
    Session,
    LastInsertId,
    FoundRows,
    RowCount,
    ConnectionId,
    /// Takes a lock by name.
    TakeLock,
    ReleaseLock,
    ReleaseAllLocks,
    /// Asks about a lock.
    AskLock,
    Sleep,
    Benchmark,
    /// Moves a sequence.
    MoveSequence,
    /// The sequence value this session took last.
    LastValue,
    /// Waits for replication, or tells how far it has come.
    Replication,
    /// A thread's number on the server.
    Thread,
    /// Reads a file on the server.
    LoadFile,
    /// Changes the server.
    Administer,
}

/// Which family has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Both,
    MySql,
    MariaDb,
}

/// Functions that are alike.
pub(crate) struct Builtin {
    pub function: Function,
    pub family: Family,
    pub names: &'static [&'static str],
}

const fn both(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: Family::Both,
        names,
    }
}

const fn mysql(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: Family::MySql,
        names,
    }
}

const fn mariadb(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: Family::MariaDb,
        names,
    }
}

/// Every built-in function, by meaning.
///
/// Old geometry functions with short names (`AREA`, `X`, `WITHIN` …) are left out: where they are
/// gone, stored functions may have their names.
#[rustfmt::skip] // one name a line would hide the page
pub(crate) const FUNCTIONS: &[Builtin] = &[
    both(Function::LastInsertId, &["LAST_INSERT_ID"]),
    both(Function::FoundRows, &["FOUND_ROWS"]),
    both(Function::RowCount, &["ROW_COUNT"]),
    both(Function::ConnectionId, &["CONNECTION_ID"]),
    both(Function::TakeLock, &["GET_LOCK"]),
    both(Function::ReleaseLock, &["RELEASE_LOCK"]),
    both(Function::ReleaseAllLocks, &["RELEASE_ALL_LOCKS"]),
    both(Function::AskLock, &["IS_FREE_LOCK", "IS_USED_LOCK"]),
    both(Function::Sleep, &["SLEEP"]),
    both(Function::Benchmark, &["BENCHMARK"]),
    both(Function::LoadFile, &["LOAD_FILE"]),
    both(Function::Replication, &["MASTER_POS_WAIT"]),
    mysql(
        Function::Replication,
        &[
            "SOURCE_POS_WAIT",
            "WAIT_FOR_EXECUTED_GTID_SET",
            "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
        ],
    ),
    mariadb(
        Function::Replication,
        &[
            "BINLOG_GTID_POS", "MASTER_GTID_WAIT", "WSREP_LAST_SEEN_GTID",
            "WSREP_LAST_WRITTEN_GTID", "WSREP_SYNC_WAIT_UPTO_GTID",
        ],
    ),
    mariadb(Function::MoveSequence, &["NEXTVAL", "SETVAL"]),
    mariadb(Function::LastValue, &["LASTVAL"]),
    both(
        Function::Session,
        &[
            "CURRENT_ROLE", "CURRENT_USER", "DATABASE", "SCHEMA", "SESSION_USER", "SYSTEM_USER",
            "USER",
        ],
    ),
    mysql(Function::Session, &["ROLES_GRAPHML"]),
    mysql(Function::Thread, &["PS_CURRENT_THREAD_ID", "PS_THREAD_ID"]),
    both(
        Function::Volatile,
        &[
            "CURDATE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURTIME",
            "LOCALTIME", "LOCALTIMESTAMP", "NOW", "RAND", "RANDOM_BYTES", "SYSDATE",
            "UNIX_TIMESTAMP", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID", "UUID_SHORT",
            "VERSION",
        ],
    ),
    mysql(Function::Volatile, &["ICU_VERSION"]),
    mariadb(Function::Volatile, &["SYS_GUID", "UUID_V4", "UUID_V7"]),
    mysql(
        Function::Administer,
        &[
            "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_MANAGED",
            "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_SOURCE",
            "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_MANAGED",
            "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_SOURCE",
            "ASYNCHRONOUS_CONNECTION_FAILOVER_RESET",
            "INNODB_REDO_LOG_SHARP_CHECKPOINT",
            "INNODB_SET_OPEN_FILES_LIMIT",
        ],
    ),
    both(Function::Plain, PLAIN),
    both(Function::Plain, PLAIN_GEOMETRY),
    mysql(Function::Plain, PLAIN_MYSQL),
    mariadb(Function::Plain, PLAIN_MARIADB),
];

#[rustfmt::skip] // one name a line would hide the page
const PLAIN: &[&str] = &[
    "ABS", "ACOS", "ADDDATE", "ADDTIME", "AES_DECRYPT", "AES_ENCRYPT", "ASCII", "ASIN", "ATAN",
    "ATAN2", "AVG", "BIN", "BIT_AND", "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "CAST",
    "CEIL", "CEILING", "CHAR", "CHARACTER_LENGTH", "CHARSET", "CHAR_LENGTH", "COALESCE",
    "COERCIBILITY", "COLLATION", "COMPRESS", "CONCAT", "CONCAT_WS", "CONV", "CONVERT",
    "CONVERT_TZ", "COS", "COT", "COUNT", "CRC32", "CUME_DIST", "DATE", "DATEDIFF", "DATE_ADD",
    "DATE_FORMAT", "DATE_SUB", "DAY", "DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR",
    "DEFAULT", "DEGREES", "DENSE_RANK", "ELT", "EXP", "EXPORT_SET", "EXTRACT", "EXTRACTVALUE",
    "FIELD", "FIND_IN_SET", "FIRST_VALUE", "FLOOR", "FORMAT", "FROM_BASE64", "FROM_DAYS",
    "FROM_UNIXTIME", "GET_FORMAT", "GREATEST", "GROUP_CONCAT", "HEX", "HOUR", "IF", "IFNULL",
    "INET6_ATON", "INET6_NTOA", "INET_ATON", "INET_NTOA", "INSERT", "INSTR", "ISNULL", "IS_IPV4",
    "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6", "JSON_ARRAY", "JSON_ARRAYAGG",
    "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_CONTAINS", "JSON_CONTAINS_PATH", "JSON_DEPTH",
    "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS", "JSON_LENGTH", "JSON_MERGE", "JSON_MERGE_PATCH",
    "JSON_MERGE_PRESERVE", "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_OVERLAPS", "JSON_PRETTY",
    "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE", "JSON_SCHEMA_VALID", "JSON_SEARCH", "JSON_SET",
    "JSON_TABLE", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID", "JSON_VALUE", "LAG", "LAST_DAY",
    "LAST_VALUE", "LCASE", "LEAD", "LEAST", "LEFT", "LENGTH", "LN", "LOCATE", "LOG", "LOG10",
    "LOG2", "LOWER", "LPAD", "LTRIM", "MAKEDATE", "MAKETIME", "MAKE_SET", "MATCH", "MAX", "MD5",
    "MICROSECOND", "MID", "MIN", "MINUTE", "MOD", "MONTH", "MONTHNAME", "NAME_CONST", "NTH_VALUE",
    "NTILE", "NULLIF", "OCT", "OCTET_LENGTH", "ORD", "PASSWORD", "PERCENT_RANK", "PERIOD_ADD",
    "PERIOD_DIFF", "PI", "POSITION", "POW", "POWER", "QUARTER", "QUOTE", "RADIANS", "RANK",
    "REGEXP_INSTR", "REGEXP_REPLACE", "REGEXP_SUBSTR", "REPEAT", "REPLACE", "REVERSE", "RIGHT",
    "ROUND", "ROW", "ROW_NUMBER", "RPAD", "RTRIM", "SECOND", "SEC_TO_TIME", "SHA", "SHA1", "SHA2",
    "SIGN", "SIN", "SOUNDEX", "SPACE", "SQRT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP",
    "STRCMP", "STR_TO_DATE", "SUBDATE", "SUBSTR", "SUBSTRING", "SUBSTRING_INDEX", "SUBTIME",
    "SUM", "TAN", "TIME", "TIMEDIFF", "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT",
    "TIME_TO_SEC", "TO_BASE64", "TO_DAYS", "TO_SECONDS", "TRIM", "TRUNCATE", "UCASE",
    "UNCOMPRESS", "UNCOMPRESSED_LENGTH", "UNHEX", "UPDATEXML", "UPPER", "VALUES", "VARIANCE",
    "VAR_POP", "VAR_SAMP", "WEEK", "WEEKDAY", "WEEKOFYEAR", "WEIGHT_STRING", "YEAR", "YEARWEEK",
];

#[rustfmt::skip] // one name a line would hide the page
const PLAIN_GEOMETRY: &[&str] = &[
    "GEOMETRYCOLLECTION", "LINESTRING", "MBRCONTAINS", "MBRDISJOINT", "MBREQUALS",
    "MBRINTERSECTS", "MBROVERLAPS", "MBRTOUCHES", "MBRWITHIN", "MULTILINESTRING", "MULTIPOINT",
    "MULTIPOLYGON", "POINT", "POLYGON", "ST_AREA", "ST_ASBINARY", "ST_ASGEOJSON", "ST_ASTEXT",
    "ST_ASWKB", "ST_ASWKT", "ST_BUFFER", "ST_CENTROID", "ST_COLLECT", "ST_CONTAINS",
    "ST_CONVEXHULL", "ST_CROSSES", "ST_DIFFERENCE", "ST_DIMENSION", "ST_DISJOINT", "ST_DISTANCE",
    "ST_DISTANCE_SPHERE", "ST_ENDPOINT", "ST_ENVELOPE", "ST_EQUALS", "ST_EXTERIORRING",
    "ST_GEOHASH", "ST_GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMWKB", "ST_GEOMETRYCOLLECTIONFROMTEXT",
    "ST_GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYFROMTEXT", "ST_GEOMETRYFROMWKB", "ST_GEOMETRYN",
    "ST_GEOMETRYTYPE", "ST_GEOMFROMGEOJSON", "ST_GEOMFROMTEXT", "ST_GEOMFROMWKB",
    "ST_INTERIORRINGN", "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISCLOSED", "ST_ISEMPTY",
    "ST_ISSIMPLE", "ST_ISVALID", "ST_LATFROMGEOHASH", "ST_LENGTH", "ST_LINEFROMTEXT",
    "ST_LINEFROMWKB", "ST_LINESTRINGFROMTEXT", "ST_LINESTRINGFROMWKB", "ST_LONGFROMGEOHASH",
    "ST_MLINEFROMTEXT", "ST_MLINEFROMWKB", "ST_MPOINTFROMTEXT", "ST_MPOINTFROMWKB",
    "ST_MPOLYFROMTEXT", "ST_MPOLYFROMWKB", "ST_MULTILINESTRINGFROMTEXT",
    "ST_MULTILINESTRINGFROMWKB", "ST_MULTIPOINTFROMTEXT", "ST_MULTIPOINTFROMWKB",
    "ST_MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMWKB", "ST_NUMGEOMETRIES", "ST_NUMINTERIORRINGS",
    "ST_NUMPOINTS", "ST_OVERLAPS", "ST_POINTFROMGEOHASH", "ST_POINTFROMTEXT", "ST_POINTFROMWKB",
    "ST_POINTN", "ST_POLYFROMTEXT", "ST_POLYFROMWKB", "ST_POLYGONFROMTEXT", "ST_POLYGONFROMWKB",
    "ST_SIMPLIFY", "ST_SRID", "ST_STARTPOINT", "ST_SYMDIFFERENCE", "ST_TOUCHES", "ST_UNION",
    "ST_VALIDATE", "ST_WITHIN", "ST_X", "ST_Y",
];

#[rustfmt::skip] // one name a line would hide the page
const PLAIN_MYSQL: &[&str] = &[
    "ANY_VALUE", "BIN_TO_UUID", "DISTANCE", "ETAG", "FORMAT_BYTES", "FORMAT_PICO_TIME",
    "FROM_VECTOR", "GEOMCOLLECTION", "GROUPING", "GTID_SUBSET", "GTID_SUBTRACT", "IS_UUID",
    "JSON_DUALITY_OBJECT", "JSON_SCHEMA_VALIDATION_REPORT", "JSON_STORAGE_FREE",
    "JSON_STORAGE_SIZE", "MBRCOVEREDBY", "MBRCOVERS", "REGEXP_LIKE", "STATEMENT_DIGEST",
    "STATEMENT_DIGEST_TEXT", "STRING_TO_VECTOR", "ST_BUFFER_STRATEGY", "ST_FRECHETDISTANCE",
    "ST_GEOMCOLLFROMTXT", "ST_HAUSDORFFDISTANCE", "ST_LATITUDE", "ST_LINEINTERPOLATEPOINT",
    "ST_LINEINTERPOLATEPOINTS", "ST_LONGITUDE", "ST_MAKEENVELOPE", "ST_NUMINTERIORRING",
    "ST_POINTATDISTANCE", "ST_SWAPXY", "ST_TRANSFORM", "TO_VECTOR", "UUID_TO_BIN",
    "VALIDATE_PASSWORD_STRENGTH", "VECTOR_DIM", "VECTOR_DISTANCE", "VECTOR_TO_STRING",
];

#[rustfmt::skip] // one name a line would hide the page
const PLAIN_MARIADB: &[&str] = &[
    "ADD_MONTHS", "CHR", "COLUMN_ADD", "COLUMN_CHECK", "COLUMN_CREATE", "COLUMN_DELETE",
    "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST", "CRC32C", "DECODE",
    "DECODE_HISTOGRAM", "DECODE_ORACLE", "DES_DECRYPT", "DES_ENCRYPT", "ENCODE", "ENCRYPT",
    "JSON_ARRAY_INTERSECT", "JSON_COMPACT", "JSON_DETAILED", "JSON_EQUALS", "JSON_EXISTS",
    "JSON_KEY_VALUE", "JSON_LOOSE", "JSON_NORMALIZE", "JSON_OBJECT_FILTER_KEYS",
    "JSON_OBJECT_TO_ARRAY", "JSON_QUERY", "KDF", "LENGTHB", "LPAD_ORACLE", "LTRIM_ORACLE",
    "MBREQUAL", "MEDIAN", "NATURAL_SORT_KEY", "NVL", "NVL2", "OLD_PASSWORD", "PERCENTILE_CONT",
    "PERCENTILE_DISC", "REPLACE_ORACLE", "ROWNUM", "RPAD_ORACLE", "RTRIM_ORACLE", "SFORMAT",
    "ST_BOUNDARY", "ST_ISRING", "ST_POINTONSURFACE", "ST_RELATE", "SUBSTR_ORACLE", "TO_CHAR",
    "TRIM_ORACLE", "VALUE", "VEC_DISTANCE", "VEC_DISTANCE_COSINE", "VEC_DISTANCE_EUCLIDEAN",
    "VEC_FROMTEXT", "VEC_TOTEXT",
];
