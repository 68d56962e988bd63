//! The servers' built-in functions and the effect of a call on a session.
//!
//! The names were checked with MySQL 9.7 and MariaDB 10.11 and 11.8 (`tests/calls.tsv`), and taken from the manuals
//! for other versions. A name that is not listed, or that came with a later version, may be a stored function.

use crate::server::Server;

/// The meaning of a function's call for routing and for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Function {
    /// No built-in function.
    #[default]
    None,
    /// Depends on its arguments only.
    Plain,
    /// Depends on the clock, on chance or on the server.
    Volatile,
    /// Depends on the session's identity: user, schema, roles.
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
    /// Waits for replication, or returns its position.
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
pub(crate) enum FunctionFamily {
    Both,
    MySql,
    MariaDb,
    /// Only some versions have it: an index into [`NEWER`].
    Since(u8),
}

/// Functions that came or went with a version. Before or after it, one of these names may be a stored function.
pub(crate) struct Newer {
    /// The first version of MySQL that has them, as in executable comments.
    pub mysql: u32,
    /// The first version of MariaDB that has them.
    pub mariadb: u32,
    /// The first version of MySQL that no longer has them.
    pub mysql_end: u32,
    pub names: &'static [&'static str],
}

const fn since(mysql: u32, mariadb: u32, names: &'static [&'static str]) -> Newer {
    Newer {
        mysql,
        mariadb,
        mysql_end: NEVER,
        names,
    }
}

const fn until(mysql_end: u32, mariadb: u32, names: &'static [&'static str]) -> Newer {
    Newer {
        mysql: 0,
        mariadb,
        mysql_end,
        names,
    }
}

/// No version has it.
const NEVER: u32 = u32::MAX;

/// The oldest versions that are assumed if a server's version is unknown. Older servers report their version like all
/// others. The version stays unknown for long only if backends of both families are mixed.
const OLDEST: (u32, u32) = (80_004, 100_600);

impl Newer {
    /// Whether the server has them. If the server is unknown, whether all versions from [`OLDEST`] on have them.
    pub(crate) fn is_in(&self, server: Server) -> bool {
        match server {
            Server::MySql(version) => version >= self.mysql && version < self.mysql_end,
            Server::MariaDb(version) => version >= self.mariadb,
            Server::Unknown => {
                self.mysql <= OLDEST.0 && self.mysql_end == NEVER && self.mariadb <= OLDEST.1
            }
        }
    }
}

/// From the manuals. If a version here is too high, the only harm is that a statement counts as one that may do
/// anything.
#[rustfmt::skip] // one name a line would hide the page
pub(crate) const NEWER: &[Newer] = &[
    since(50_700, 100_203, &[
        "JSON_ARRAY", "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_CONTAINS",
        "JSON_CONTAINS_PATH", "JSON_DEPTH", "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS",
        "JSON_LENGTH", "JSON_MERGE", "JSON_OBJECT", "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE",
        "JSON_SEARCH", "JSON_SET", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID",
    ]),
    since(50_722, 100_225, &["JSON_MERGE_PATCH", "JSON_MERGE_PRESERVE"]),
    since(50_722, 100_500, &["JSON_ARRAYAGG", "JSON_OBJECTAGG"]),
    since(50_722, 101_003, &["JSON_PRETTY"]),
    since(80_004, 100_600, &["JSON_TABLE"]),
    since(80_021, 100_203, &["JSON_VALUE"]),
    since(80_017, 100_901, &["JSON_OVERLAPS"]),
    since(80_017, 110_101, &["JSON_SCHEMA_VALID"]),
    since(80_002, 100_200, &[
        "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "NTH_VALUE",
        "NTILE", "PERCENT_RANK", "RANK", "ROW_NUMBER",
    ]),
    since(80_004, 100_005, &["REGEXP_INSTR", "REGEXP_REPLACE", "REGEXP_SUBSTR"]),
    since(50_700, 100_005, &[
        "FROM_BASE64", "TO_BASE64", "WEIGHT_STRING", "INET6_ATON", "INET6_NTOA", "IS_IPV4",
        "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6",
    ]),
    since(50_700, 101_000, &["RANDOM_BYTES"]),
    since(50_705, 100_502, &["RELEASE_ALL_LOCKS"]),
    since(80_000, 100_005, &["CURRENT_ROLE"]),
    since(50_705, 100_204, &["ST_ASGEOJSON", "ST_GEOMFROMGEOJSON"]),
    since(50_706, 100_510, &["ST_DISTANCE_SPHERE"]),
    since(50_706, 120_100, &[
        "ST_GEOHASH", "ST_ISVALID", "ST_LATFROMGEOHASH", "ST_LONGFROMGEOHASH",
        "ST_POINTFROMGEOHASH", "ST_SIMPLIFY", "ST_VALIDATE",
    ]),
    since(80_024, 120_100, &["ST_COLLECT"]),
    // In newer versions of MySQL a component has them.
    until(90_500, 0, &["MD5", "SHA", "SHA1"]),
    until(90_000, NEVER, &["WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS"]),
    // MySQL's
    since(50_705, NEVER, &["ANY_VALUE", "WAIT_FOR_EXECUTED_GTID_SET"]),
    since(50_706, NEVER, &[
        "MBRCOVEREDBY", "MBRCOVERS", "ST_BUFFER_STRATEGY", "ST_GEOMCOLLFROMTXT", "ST_MAKEENVELOPE",
        "ST_NUMINTERIORRING",
    ]),
    since(50_722, NEVER, &["JSON_STORAGE_SIZE"]),
    since(80_001, NEVER, &[
        "BIN_TO_UUID", "GEOMCOLLECTION", "GROUPING", "IS_UUID", "ROLES_GRAPHML", "ST_SWAPXY",
        "UUID_TO_BIN",
    ]),
    since(80_004, NEVER, &[
        "ICU_VERSION", "JSON_STORAGE_FREE", "REGEXP_LIKE", "STATEMENT_DIGEST",
        "STATEMENT_DIGEST_TEXT",
    ]),
    since(80_013, NEVER, &["ST_LATITUDE", "ST_LONGITUDE", "ST_TRANSFORM"]),
    since(80_016, NEVER, &[
        "FORMAT_BYTES", "FORMAT_PICO_TIME", "PS_CURRENT_THREAD_ID", "PS_THREAD_ID",
    ]),
    since(80_017, NEVER, &["JSON_SCHEMA_VALIDATION_REPORT"]),
    since(80_023, NEVER, &[
        "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_MANAGED",
        "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_SOURCE",
        "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_MANAGED",
        "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_SOURCE",
    ]),
    since(80_024, NEVER, &[
        "ST_FRECHETDISTANCE", "ST_HAUSDORFFDISTANCE", "ST_LINEINTERPOLATEPOINT",
        "ST_LINEINTERPOLATEPOINTS", "ST_POINTATDISTANCE",
    ]),
    since(80_026, NEVER, &["SOURCE_POS_WAIT"]),
    since(80_027, NEVER, &["ASYNCHRONOUS_CONNECTION_FAILOVER_RESET"]),
    since(80_030, NEVER, &["INNODB_REDO_LOG_SHARP_CHECKPOINT"]),
    since(80_200, NEVER, &["INNODB_SET_OPEN_FILES_LIMIT"]),
    since(90_000, NEVER, &[
        "FROM_VECTOR", "STRING_TO_VECTOR", "TO_VECTOR", "VECTOR_DIM", "VECTOR_TO_STRING",
    ]),
    since(90_400, NEVER, &["ETAG", "JSON_DUALITY_OBJECT"]),
    // MariaDB's
    since(NEVER, 100_204, &[
        "JSON_COMPACT", "JSON_DETAILED", "JSON_EXISTS", "JSON_LOOSE", "JSON_QUERY",
    ]),
    since(NEVER, 100_306, &[
        "CHR", "DECODE_ORACLE", "LASTVAL", "LENGTHB", "LPAD_ORACLE", "LTRIM_ORACLE", "MEDIAN",
        "NEXTVAL", "NVL", "NVL2", "PERCENTILE_CONT", "PERCENTILE_DISC", "REPLACE_ORACLE",
        "RPAD_ORACLE", "RTRIM_ORACLE", "SETVAL", "SUBSTR_ORACLE", "TRIM_ORACLE", "VALUE",
    ]),
    since(NEVER, 100_402, &[
        "WSREP_LAST_SEEN_GTID", "WSREP_LAST_WRITTEN_GTID", "WSREP_SYNC_WAIT_UPTO_GTID",
    ]),
    since(NEVER, 100_601, &["ADD_MONTHS", "ROWNUM", "SYS_GUID", "TO_CHAR"]),
    since(NEVER, 100_700, &["JSON_EQUALS", "JSON_NORMALIZE", "NATURAL_SORT_KEY", "SFORMAT"]),
    since(NEVER, 100_800, &["CRC32C"]),
    since(NEVER, 110_200, &[
        "JSON_ARRAY_INTERSECT", "JSON_KEY_VALUE", "JSON_OBJECT_FILTER_KEYS", "JSON_OBJECT_TO_ARRAY",
    ]),
    since(NEVER, 110_300, &["KDF"]),
    since(NEVER, 110_700, &[
        "UUID_V4", "UUID_V7", "VEC_DISTANCE", "VEC_DISTANCE_COSINE", "VEC_DISTANCE_EUCLIDEAN",
        "VEC_FROMTEXT", "VEC_TOTEXT",
    ]),
];

/// Functions of the same kind and family.
pub(crate) struct Builtin {
    pub function: Function,
    pub family: FunctionFamily,
    pub names: &'static [&'static str],
}

const fn both(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: FunctionFamily::Both,
        names,
    }
}

const fn mysql(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: FunctionFamily::MySql,
        names,
    }
}

const fn mariadb(function: Function, names: &'static [&'static str]) -> Builtin {
    Builtin {
        function,
        family: FunctionFamily::MariaDb,
        names,
    }
}

/// Every built-in function, by meaning.
///
/// Old geometry functions with short names (`AREA`, `X`, `WITHIN` …) are left out, because stored functions
/// may have these names on servers that no longer have the built-in ones.
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

/// Names that mean the built-in function only if the parenthesis follows without a space, or with IGNORE_SPACE:
/// `COUNT (1)` calls a stored function (`SYM_FN` of `lex.h`).
#[rustfmt::skip] // one name a line would hide the page
const ADJACENT: &[&str] = &[
    "ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB",
    "EXTRACT", "GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MID", "MIN", "NOW", "POSITION",
    "SESSION_USER", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUBDATE", "SUBSTR", "SUBSTRING", "SUM",
    "SYSTEM_USER", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP",
];

/// Further names of this sort in MySQL.
const ADJACENT_MYSQL: &[&str] = &["JSON_DUALITY_OBJECT", "ST_COLLECT", "SYSDATE"];

/// Further names of this sort in MariaDB.
#[rustfmt::skip] // one name a line would hide the page
const ADJACENT_MARIADB: &[&str] = &[
    "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "LAG", "LEAD", "MEDIAN", "NTH_VALUE", "NTILE", "PERCENTILE_CONT",
    "PERCENTILE_DISC", "PERCENT_RANK", "RANK", "TRIM_ORACLE",
];

/// Whether a name means the built-in function only if the parenthesis follows without a space.
pub(crate) fn needs_adjacent(name: &[u8], server: Server) -> bool {
    is_among(name, ADJACENT) || is_among_own(name, server, ADJACENT_MYSQL, ADJACENT_MARIADB)
}

fn is_among(name: &[u8], names: &[&str]) -> bool {
    let mut names = names.iter();
    names.any(|it| it.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether a name is in the list of the server's family; in either list if the server is unknown.
fn is_among_own(name: &[u8], server: Server, mysql: &[&str], mariadb: &[&str]) -> bool {
    let of_mysql = || !matches!(server, Server::MariaDb(_)) && is_among(name, mysql);
    let of_mariadb = || !matches!(server, Server::MySql(_)) && is_among(name, mariadb);
    of_mysql() || of_mariadb()
}

/// Words that are reserved on other servers but not in MySQL: a stored function of MySQL may have these names.
const FREE_IN_MYSQL: &[&str] = &[
    "CLOB",
    "MASTER_BIND",
    "MASTER_SSL_VERIFY_SERVER_CERT",
    "RAW",
    "SQL_CACHE",
    "VARCHAR2",
    "WITHIN",
];

/// Words that are reserved on other servers but not in MariaDB: a stored function of MariaDB may have these names.
#[rustfmt::skip] // one name a line would hide the page
const FREE_IN_MARIADB: &[&str] = &[
    "AFTER", "BERNOULLI", "CUBE", "DUALITY", "GENERATED", "GROUPS", "MASTER_BIND",
    "MASTER_SSL_VERIFY_SERVER_CERT", "NESTED", "OPTIMIZER_COSTS", "QUALIFY", "RELATIONAL", "ROLLUP", "SYSTEM",
    "TABLESAMPLE", "VECTOR", "VIRTUAL",
];

/// Whether a reserved word of another family may be a function's name on this server.
pub(crate) fn is_free_name(name: &[u8], server: Server) -> bool {
    is_among_own(name, server, FREE_IN_MYSQL, FREE_IN_MARIADB)
}

/// MariaDB's constructors of geometries. A call without arguments, or of POINT without two, calls a stored function.
const CONSTRUCTORS: &[&str] = &[
    "GEOMETRYCOLLECTION",
    "LINESTRING",
    "MULTILINESTRING",
    "MULTIPOINT",
    "MULTIPOLYGON",
    "POLYGON",
];

/// How many arguments a function of MariaDB must have to be the built-in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    Any,
    AtLeastOne,
    Two,
    /// The built-in one is no function but a table.
    NoFunction,
}

/// Returns how many arguments the built-in function of this name must have.
pub(crate) fn arguments_of(name: &[u8], server: Server) -> Arguments {
    let is = |it: &str| it.as_bytes().eq_ignore_ascii_case(name);
    match server {
        Server::MySql(_) => Arguments::Any,
        _ if is("POINT") => Arguments::Two,
        _ if is("JSON_TABLE") => Arguments::NoFunction,
        _ if is_among(name, CONSTRUCTORS) => Arguments::AtLeastOne,
        _ => Arguments::Any,
    }
}

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
    "NTILE", "NULLIF", "OCT", "OCTET_LENGTH", "ORD", "PERCENT_RANK", "PERIOD_ADD",
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
    "ANY_VALUE", "BIN_TO_UUID", "ETAG", "FORMAT_BYTES", "FORMAT_PICO_TIME",
    "FROM_VECTOR", "GEOMCOLLECTION", "GROUPING", "GTID_SUBSET", "GTID_SUBTRACT", "IS_UUID",
    "JSON_DUALITY_OBJECT", "JSON_SCHEMA_VALIDATION_REPORT", "JSON_STORAGE_FREE",
    "JSON_STORAGE_SIZE", "MBRCOVEREDBY", "MBRCOVERS", "REGEXP_LIKE", "STATEMENT_DIGEST",
    "STATEMENT_DIGEST_TEXT", "STRING_TO_VECTOR", "ST_BUFFER_STRATEGY", "ST_FRECHETDISTANCE",
    "ST_GEOMCOLLFROMTXT", "ST_HAUSDORFFDISTANCE", "ST_LATITUDE", "ST_LINEINTERPOLATEPOINT",
    "ST_LINEINTERPOLATEPOINTS", "ST_LONGITUDE", "ST_MAKEENVELOPE", "ST_NUMINTERIORRING",
    "ST_POINTATDISTANCE", "ST_SWAPXY", "ST_TRANSFORM", "TO_VECTOR", "UUID_TO_BIN",
    "VALIDATE_PASSWORD_STRENGTH", "VECTOR_DIM", "VECTOR_TO_STRING",
];

#[rustfmt::skip] // one name a line would hide the page
const PLAIN_MARIADB: &[&str] = &[
    "ADD_MONTHS", "CHR", "COLUMN_ADD", "COLUMN_CHECK", "COLUMN_CREATE", "COLUMN_DELETE",
    "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST", "CRC32C", "DECODE",
    "DECODE_HISTOGRAM", "DECODE_ORACLE", "DES_DECRYPT", "DES_ENCRYPT", "ENCODE", "ENCRYPT",
    "JSON_ARRAY_INTERSECT", "JSON_COMPACT", "JSON_DETAILED", "JSON_EQUALS", "JSON_EXISTS",
    "JSON_KEY_VALUE", "JSON_LOOSE", "JSON_NORMALIZE", "JSON_OBJECT_FILTER_KEYS",
    "JSON_OBJECT_TO_ARRAY", "JSON_QUERY", "KDF", "LENGTHB", "LPAD_ORACLE", "LTRIM_ORACLE",
    "MBREQUAL", "MEDIAN", "NATURAL_SORT_KEY", "NVL", "NVL2", "OLD_PASSWORD", "PASSWORD", "PERCENTILE_CONT",
    "PERCENTILE_DISC", "REPLACE_ORACLE", "ROWNUM", "RPAD_ORACLE", "RTRIM_ORACLE", "SFORMAT",
    "ST_BOUNDARY", "ST_ISRING", "ST_POINTONSURFACE", "ST_RELATE", "SUBSTR_ORACLE", "TO_CHAR",
    "TRIM_ORACLE", "VALUE", "VEC_DISTANCE", "VEC_DISTANCE_COSINE", "VEC_DISTANCE_EUCLIDEAN",
    "VEC_FROMTEXT", "VEC_TOTEXT",
];
