//! Known words: keywords of both dialects and names of built-in functions, in a hash table that the
//! compiler builds.

use crate::eight::{eight_at, first_of};
use crate::functions::{Builtin, FUNCTIONS, Function, FunctionFamily, NEWER};
use crate::server::Server;

/// An operand may follow the word, so a minus after it is a sign and NULL is a value.
const X: u8 = 1;
/// A parenthesis after the word is grammar, and never the call of a stored function.
const C: u8 = 2;
/// The word is often the name of a column or table: it keeps its case inside queries.
const N: u8 = 4;
/// After the word, words that are often names are names.
const Q: u8 = 8;
/// Rows of values may begin with the word.
const R: u8 = 16;

macro_rules! words {
    ($($variant:ident $name:literal $flags:expr,)*) => {
        /// A keyword of either dialect. Only keywords that the code here names have a variant of their own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Word {
            /// No keyword: a name, or no word at all.
            #[default]
            None,
            /// Any other reserved word.
            Reserved,
            /// Any other reserved word that an operand may follow.
            Operator,
            /// A type's name.
            Type,
            /// A function that is called without parentheses: CURRENT_USER.
            Niladic,
            $($variant,)*
        }

        const WORDS: &[(&str, Word)] = &[$(($name, Word::$variant),)*];
        const WORD_FLAGS: &[u8] = &[0, C, X | C, C | N, C, $($flags,)*];
    };
}

impl Word {
    /// Whether an operand may follow, so that the next token begins an expression.
    pub(crate) const fn expects_operand(self) -> bool {
        WORD_FLAGS[self as usize] & X != 0
    }

    /// Whether a parenthesis after it is grammar.
    pub(crate) const fn takes_parenthesis(self) -> bool {
        WORD_FLAGS[self as usize] & C != 0
    }

    /// Whether columns and tables often have this name.
    pub(crate) const fn is_often_a_name(self) -> bool {
        WORD_FLAGS[self as usize] & N != 0
    }

    /// Whether a query or another statement with columns begins with it.
    pub(crate) const fn begins_query(self) -> bool {
        WORD_FLAGS[self as usize] & Q != 0
    }

    /// Whether rows of values may begin with it.
    pub(crate) const fn begins_rows(self) -> bool {
        WORD_FLAGS[self as usize] & R != 0
    }
}

words! {
    Against "AGAINST" C,
    Aggregate "AGGREGATE" N,
    All "ALL" X | C,
    Alter "ALTER" 0,
    Analyze "ANALYZE" C,
    And "AND" X | C,
    Any "ANY" X | C,
    As "AS" C,
    Backup "BACKUP" N,
    Begin "BEGIN" 0,
    Between "BETWEEN" X | C,
    Binlog "BINLOG" N,
    Body "BODY" N,
    By "BY" X | C,
    Cache "CACHE" N,
    Call "CALL" Q,
    Case "CASE" X | C,
    Catalog "CATALOG" N,
    Chain "CHAIN" N,
    Change "CHANGE" 0,
    Char "CHAR" C,
    Character "CHARACTER" C,
    Charset "CHARSET" N,
    Check "CHECK" C,
    Checksum "CHECKSUM" N,
    Clone "CLONE" N,
    Close "CLOSE" N,
    Collate "COLLATE" 0,
    Columns "COLUMNS" C | N,
    Commit "COMMIT" 0,
    Committed "COMMITTED" N,
    Component "COMPONENT" N,
    Connection "CONNECTION" N,
    Consistent "CONSISTENT" N,
    Count "COUNT" N,
    Create "CREATE" 0,
    Current "CURRENT" N,
    Cycle "CYCLE" N,
    Data "DATA" N,
    Database "DATABASE" 0,
    Databases "DATABASES" 0,
    Deallocate "DEALLOCATE" 0,
    Default "DEFAULT" X,
    Definer "DEFINER" N,
    Delayed "DELAYED" 0,
    Delete "DELETE" Q,
    Desc "DESC" 0,
    Describe "DESCRIBE" 0,
    Diagnostics "DIAGNOSTICS" N,
    Distinct "DISTINCT" X | C,
    Div "DIV" X | C,
    Do "DO" X,
    Drop "DROP" 0,
    Dual "DUAL" 0,
    Dumpfile "DUMPFILE" N,
    Duplicate "DUPLICATE" 0,
    Else "ELSE" X | C,
    Elseif "ELSEIF" X | C,
    End "END" 0,
    Engine "ENGINE" N,
    Error "ERROR" N,
    Errors "ERRORS" N,
    Escape "ESCAPE" X | C,
    Event "EVENT" N,
    Events "EVENTS" N,
    Except "EXCEPT" C,
    Execute "EXECUTE" 0,
    Exists "EXISTS" X | C,
    Explain "EXPLAIN" C,
    Export "EXPORT" N,
    Extended "EXTENDED" N,
    False "FALSE" 0,
    Fields "FIELDS" N,
    Flush "FLUSH" N,
    Follows "FOLLOWS" N,
    For "FOR" C,
    Format "FORMAT" N,
    From "FROM" C,
    Full "FULL" N,
    Fulltext "FULLTEXT" C,
    Function "FUNCTION" 0,
    Get "GET" 0,
    Global "GLOBAL" N,
    Grant "GRANT" 0,
    Grants "GRANTS" N,
    Group "GROUP" C,
    Handler "HANDLER" N,
    Hard "HARD" N,
    Having "HAVING" X | C,
    Help "HELP" N,
    HighPriority "HIGH_PRIORITY" X,
    Id "ID" N,
    If "IF" X | C,
    Ignore "IGNORE" 0,
    Immediate "IMMEDIATE" N,
    Import "IMPORT" N,
    In "IN" X | C,
    Index "INDEX" C,
    Indexes "INDEXES" N,
    Insert "INSERT" Q,
    Install "INSTALL" N,
    Instance "INSTANCE" N,
    Intersect "INTERSECT" C,
    Interval "INTERVAL" X | C,
    Into "INTO" C,
    Is "IS" 0,
    Isolation "ISOLATION" N,
    Join "JOIN" C,
    Json "JSON" N,
    Key "KEY" C,
    Keys "KEYS" 0,
    Kill "KILL" 0,
    Lateral "LATERAL" C,
    Level "LEVEL" N,
    Library "LIBRARY" N,
    Like "LIKE" X | C,
    Limit "LIMIT" X | C,
    Load "LOAD" 0,
    Local "LOCAL" N,
    Lock "LOCK" 0,
    Locked "LOCKED" 0,
    Logfile "LOGFILE" N,
    Logs "LOGS" N,
    Loop "LOOP" 0,
    LowPriority "LOW_PRIORITY" 0,
    Master "MASTER" N,
    Minus "MINUS" C | N,
    Mode "MODE" 0,
    Names "NAMES" N,
    Next "NEXT" N,
    No "NO" N,
    Not "NOT" X | C,
    NoWriteToBinlog "NO_WRITE_TO_BINLOG" 0,
    Nowait "NOWAIT" 0,
    Null "NULL" 0,
    Of "OF" C,
    Off "OFF" N,
    Offset "OFFSET" X | C,
    On "ON" X | C,
    One "ONE" N,
    Only "ONLY" N,
    Open "OPEN" N,
    Optimize "OPTIMIZE" 0,
    Or "OR" X | C,
    Order "ORDER" 0,
    Outfile "OUTFILE" 0,
    Over "OVER" C,
    Package "PACKAGE" N,
    Partition "PARTITION" C,
    Partitions "PARTITIONS" N,
    Password "PASSWORD" N,
    Persist "PERSIST" N,
    PersistOnly "PERSIST_ONLY" N,
    Phase "PHASE" N,
    Plugin "PLUGIN" N,
    Portion "PORTION" N,
    Precedes "PRECEDES" N,
    Prepare "PREPARE" N,
    Previous "PREVIOUS" N,
    Procedure "PROCEDURE" 0,
    Processlist "PROCESSLIST" N,
    Profile "PROFILE" N,
    Profiles "PROFILES" N,
    Purge "PURGE" 0,
    Query "QUERY" N,
    Quick "QUICK" 0,
    Read "READ" 0,
    Recover "RECOVER" N,
    Recursive "RECURSIVE" 0,
    Release "RELEASE" 0,
    Rename "RENAME" 0,
    Repair "REPAIR" N,
    Repeat "REPEAT" 0,
    Repeatable "REPEATABLE" N,
    Replace "REPLACE" Q,
    Replica "REPLICA" N,
    Replicas "REPLICAS" N,
    Replication "REPLICATION" N,
    Reset "RESET" N,
    Resignal "RESIGNAL" 0,
    Resource "RESOURCE" N,
    Restart "RESTART" N,
    Restrict "RESTRICT" 0,
    Return "RETURN" X | C,
    Returning "RETURNING" X | C,
    Returns "RETURNS" 0,
    Revoke "REVOKE" 0,
    Role "ROLE" N,
    Rollback "ROLLBACK" 0,
    Row "ROW" C | R,
    Savepoint "SAVEPOINT" N,
    Schema "SCHEMA" 0,
    Schemas "SCHEMAS" 0,
    Select "SELECT" X | C | Q,
    Sequence "SEQUENCE" N,
    Serializable "SERIALIZABLE" N,
    Server "SERVER" N,
    Session "SESSION" N,
    Set "SET" X | C,
    Share "SHARE" 0,
    Show "SHOW" 0,
    Shutdown "SHUTDOWN" N,
    Signal "SIGNAL" 0,
    Skip "SKIP" 0,
    Slave "SLAVE" N,
    Slaves "SLAVES" N,
    Snapshot "SNAPSHOT" N,
    Soft "SOFT" N,
    Some "SOME" X | C,
    Spatial "SPATIAL" C,
    SqlCalcFoundRows "SQL_CALC_FOUND_ROWS" X,
    Stage "STAGE" N,
    Start "START" N,
    Statement "STATEMENT" N,
    Status "STATUS" N,
    Stop "STOP" N,
    StraightJoin "STRAIGHT_JOIN" X | C,
    SystemTime "SYSTEM_TIME" N,
    Table "TABLE" C,
    Tables "TABLES" N,
    Tablespace "TABLESPACE" N,
    Temporary "TEMPORARY" N,
    Then "THEN" X | C,
    To "TO" 0,
    Traditional "TRADITIONAL" N,
    Transaction "TRANSACTION" N,
    Trigger "TRIGGER" 0,
    True "TRUE" 0,
    Truncate "TRUNCATE" 0,
    Uncommitted "UNCOMMITTED" N,
    Uninstall "UNINSTALL" N,
    Union "UNION" C,
    Unlock "UNLOCK" 0,
    Until "UNTIL" X,
    Update "UPDATE" Q,
    Use "USE" 0,
    User "USER" N,
    Using "USING" C,
    Value "VALUE" C | N | R,
    Values "VALUES" C | R,
    Variables "VARIABLES" N,
    View "VIEW" N,
    Warnings "WARNINGS" N,
    When "WHEN" X | C,
    Where "WHERE" X | C,
    While "WHILE" X | C,
    Window "WINDOW" 0,
    With "WITH" C | Q,
    Work "WORK" N,
    Write "WRITE" 0,
    Xa "XA" 0,
}

/// Reserved words without a variant of their own, which matter only for digests and calls.
#[rustfmt::skip] // one name a line would hide the page
const RESERVED: &[&str] = &[
    "ACCESSIBLE", "ADD", "AFTER", "ASC", "ASENSITIVE", "BEFORE", "BOTH", "CASCADE", "COLUMN",
    "CONDITION", "CONSTRAINT", "CONTINUE", "CROSS", "CUBE", "CURSOR", "DAY_HOUR",
    "DAY_MICROSECOND", "DAY_MINUTE", "DAY_SECOND", "DECLARE", "DETERMINISTIC", "DISTINCTROW",
    "EACH", "ENCLOSED", "ESCAPED", "EXIT", "FETCH", "FORCE", "FOREIGN", "GENERATED", "GROUPS",
    "HOUR_MICROSECOND", "HOUR_MINUTE", "HOUR_SECOND", "INFILE", "INNER", "INOUT", "INSENSITIVE",
    "ITERATE", "LEADING", "LEAVE", "LEFT", "LINEAR", "LINES", "MASTER_BIND",
    "MASTER_SSL_VERIFY_SERVER_CERT", "MATCH", "MAXVALUE", "MINUTE_MICROSECOND", "MINUTE_SECOND",
    "MODIFIES", "NATURAL", "OPTIMIZER_COSTS", "OPTION", "OPTIONALLY", "OUT", "OUTER", "PRIMARY",
    "QUALIFY", "RANGE", "READS", "READ_WRITE", "REFERENCES", "REQUIRE", "RIGHT", "ROLLUP", "ROWS",
    "SECOND_MICROSECOND", "SENSITIVE", "SEPARATOR", "SPECIFIC", "SQL", "SQLEXCEPTION",
    "SQLSTATE", "SQLWARNING", "SSL", "STARTING", "STORED", "TABLESAMPLE", "TERMINATED",
    "TRAILING", "UNDO", "UNIQUE", "USAGE", "VIRTUAL", "YEAR_MONTH", "ZEROFILL", "NESTED",
    "DUALITY", "RELATIONAL", "WITHIN",
];

/// Reserved words, and words of queries, after which an expression may begin.
#[rustfmt::skip] // one name a line would hide the page
const OPERATORS: &[&str] = &[
    "BINARY", "MOD", "REGEXP", "RLIKE", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CACHE",
    "SQL_NO_CACHE", "SQL_SMALL_RESULT", "XOR",
];

/// Names of types, which a length may follow.
#[rustfmt::skip] // one name a line would hide the page
const TYPES: &[&str] = &[
    "BIGINT", "BIT", "BLOB", "BOOL", "BOOLEAN", "CLOB", "DATETIME", "DEC", "DECIMAL", "DOUBLE",
    "ENUM", "FIXED", "FLOAT", "FLOAT4", "FLOAT8", "INT", "INT1", "INT2", "INT3", "INT4", "INT8",
    "INTEGER", "LONG", "LONGBLOB", "LONGTEXT", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT",
    "MIDDLEINT", "NATIONAL", "NCHAR", "NUMBER", "NUMERIC", "NVARCHAR", "PRECISION", "RAW", "REAL",
    "SERIAL", "SIGNED", "SMALLINT", "TEXT", "TINYBLOB", "TINYINT", "TINYTEXT", "UNSIGNED",
    "VARBINARY", "VARCHAR", "VARCHAR2", "VARCHARACTER", "VARYING", "VECTOR", "BERNOULLI",
    "SYSTEM",
];

/// Functions that can also be called without parentheses.
#[rustfmt::skip] // one name a line would hide the page
const NILADIC: &[&str] = &[
    "CURRENT_DATE", "CURRENT_ROLE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER",
    "LOCALTIME", "LOCALTIMESTAMP", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP",
];

/// The entry of a word in the table.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    packed: Packed,
    name: &'static str,
    /// The keyword, or none.
    pub word: Word,
    /// The built-in function, or none.
    pub function: Function,
    /// Which family has the function.
    pub family: FunctionFamily,
}

impl Entry {
    /// Returns the built-in function that a call by this name may reach on a server.
    ///
    /// If the server is unknown and only one family has the function, the name may be that of a stored
    /// function. If the built-in function affects the session, it is returned all the same.
    pub fn function_for(&self, server: Server) -> Function {
        let is_harmless = matches!(
            self.function,
            Function::Plain | Function::Session | Function::Volatile
        );
        match (self.family, server) {
            (FunctionFamily::Since(index), _) => {
                let newer = NEWER.get(usize::from(index));
                match newer.is_none_or(|it| it.is_in(server)) {
                    false if is_harmless || server != Server::Unknown => Function::None,
                    _ => self.function,
                }
            }
            (FunctionFamily::MySql, Server::MariaDb(_))
            | (FunctionFamily::MariaDb, Server::MySql(_)) => Function::None,
            (FunctionFamily::MySql | FunctionFamily::MariaDb, Server::Unknown) if is_harmless => {
                Function::None
            }
            _ => self.function,
        }
    }
}

const NOTHING: Entry = Entry {
    packed: Packed {
        head: 0,
        tail: 0,
        length: 0,
    },
    name: "",
    word: Word::None,
    function: Function::None,
    family: FunctionFamily::Both,
};

/// A word's length and its first and last eight bytes, without case. Words of up to 16 bytes are complete.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed {
    /// The first eight bytes, with zeros after a shorter word.
    head: u64,
    /// The last eight bytes of a word longer than eight.
    tail: u64,
    length: u8,
}

/// Clears the bit for lower case. Digits become control characters, which no word has, so different words stay
/// different.
const UPPER: u64 = 0xdfdf_dfdf_dfdf_dfdf;

impl Packed {
    /// Packs a word of up to 255 bytes whose first eight are known.
    #[inline]
    const fn of(word: &[u8], first: u64) -> Self {
        let length = word.len();
        let tail = match length {
            0..=8 => 0,
            _ => eight(word, length - 8),
        };
        Self {
            head: first_of(first, length) & UPPER,
            tail: tail & UPPER,
            length: length as u8,
        }
    }

    /// Packs a name of the table.
    const fn of_name(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut first = 0;
        let mut at = 0;
        while at < bytes.len() && at < 8 {
            first |= (bytes[at] as u64) << (8 * at);
            at += 1;
        }
        Self::of(bytes, first)
    }

    #[inline]
    const fn slot(self) -> usize {
        let mixed = (self.head ^ self.tail.rotate_left(29)).wrapping_add(self.length as u64);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOT_BITS)) as usize
    }
}

const fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut eight = 0;
    let mut index = 0;
    while index < 8 {
        eight |= (bytes[at + index] as u64) << (8 * index);
        index += 1;
    }
    eight
}

const SLOT_BITS: u32 = 12;
const SLOTS: usize = 1 << SLOT_BITS;
const ENTRIES_MAX: usize = 1024;

/// The length of the longest known word; longer words are names.
const WORD_BYTES_MAX: usize = 48;

struct Table {
    /// The index into `entries` by hash, 0 if there is no entry; collisions go to the next slot.
    slots: [u16; SLOTS],
    entries: [Entry; ENTRIES_MAX],
    count: usize,
}

static TABLE: Table = Table::build();

impl Table {
    const fn build() -> Self {
        let mut table = Self {
            slots: [0; SLOTS],
            entries: [NOTHING; ENTRIES_MAX],
            count: 1,
        };
        let mut index = 0;
        while index < WORDS.len() {
            let at = table.entry_of(WORDS[index].0);
            table.entries[at].word = WORDS[index].1;
            index += 1;
        }
        table.add_all(RESERVED, Word::Reserved);
        table.add_all(OPERATORS, Word::Operator);
        table.add_all(TYPES, Word::Type);
        table.add_all(NILADIC, Word::Niladic);
        let mut index = 0;
        while index < FUNCTIONS.len() {
            table.add_functions(&FUNCTIONS[index]);
            index += 1;
        }
        let mut index = 0;
        while index < NEWER.len() {
            let mut name = 0;
            while name < NEWER[index].names.len() {
                let at = table.entry_of(NEWER[index].names[name]);
                table.entries[at].family = FunctionFamily::Since(index as u8);
                name += 1;
            }
            index += 1;
        }
        table
    }

    const fn add_all(&mut self, names: &[&'static str], word: Word) {
        let mut index = 0;
        while index < names.len() {
            let at = self.entry_of(names[index]);
            self.entries[at].word = word;
            index += 1;
        }
    }

    const fn add_functions(&mut self, functions: &Builtin) {
        let mut index = 0;
        while index < functions.names.len() {
            let at = self.entry_of(functions.names[index]);
            self.entries[at].function = functions.function;
            self.entries[at].family = functions.family;
            index += 1;
        }
    }

    /// Returns the index of a name's entry, which is added if it does not exist.
    const fn entry_of(&mut self, name: &'static str) -> usize {
        let packed = Packed::of_name(name);
        let mut slot = packed.slot();
        while self.slots[slot] != 0 {
            let at = self.slots[slot] as usize;
            if same_bytes(self.entries[at].name, name) {
                return at;
            }
            slot = (slot + 1) % SLOTS;
        }
        let at = self.count;
        self.entries[at] = Entry {
            packed,
            name,
            ..NOTHING
        };
        self.slots[slot] = at as u16;
        self.count += 1;
        at
    }
}

const fn same_bytes(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut same = one.len() == other.len();
    let mut index = 0;
    while same && index < one.len() {
        same = one[index] == other[index];
        index += 1;
    }
    same
}

/// Returns the entry of a word, without case; an empty entry if the word is only a name.
pub(crate) fn find_word(word: &[u8]) -> &'static Entry {
    find_word_in(word, 0, word.len())
}

/// Returns the entry of the word at `start..end` of a text.
#[inline(always)]
pub(crate) fn find_word_in(text: &[u8], start: usize, end: usize) -> &'static Entry {
    let word = text.get(start..end).unwrap_or_default();
    if word.len() > WORD_BYTES_MAX {
        return &TABLE.entries[0];
    }
    let packed = Packed::of(word, eight_at(text, start));
    let mut slot = packed.slot();
    loop {
        let at = TABLE.slots[slot] as usize;
        let entry = &TABLE.entries[at % ENTRIES_MAX];
        let is_same = entry.packed == packed
            && (word.len() <= 16 || entry.name.as_bytes().eq_ignore_ascii_case(word));
        if at == 0 || is_same {
            return entry;
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for (name, word) in WORDS {
            assert_eq!(find_word(name.as_bytes()).word, *word);
            assert_eq!(find_word(name.to_lowercase().as_bytes()).word, *word);
            assert_eq!(find_word(format!("{name}_").as_bytes()).word, Word::None);
        }
    }

    #[test]
    fn every_function_is_found() {
        for builtin in FUNCTIONS {
            for name in builtin.names {
                assert_eq!(
                    find_word(name.as_bytes()).function,
                    builtin.function,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn functions_came_with_versions() {
        let mut named: Vec<&str> = Vec::new();
        for newer in NEWER {
            for name in newer.names {
                let entry = find_word(name.as_bytes());
                assert_ne!(entry.function, Function::None, "{name} is no function");
                assert!(!named.contains(name), "{name} came twice");
                named.push(name);
            }
        }
        for (name, server, is_there) in [
            ("md5", Server::MySql(80_036), true),
            ("md5", Server::MySql(90_704), false),
            ("md5", Server::MariaDb(110_800), true),
            ("md5", Server::Unknown, false),
            ("json_value", Server::MySql(80_020), false),
            ("json_value", Server::MySql(80_021), true),
            ("json_value", Server::MariaDb(100_500), true),
            ("json_value", Server::Unknown, false),
            ("json_extract", Server::Unknown, true),
            ("row_number", Server::MySql(50_744), false),
            ("nvl", Server::MySql(90_700), false),
            ("uuid_to_bin", Server::MariaDb(110_800), false),
            ("password", Server::MySql(90_700), false),
            ("password", Server::MariaDb(101_108), true),
            ("concat", Server::MySql(50_500), true),
            (
                "innodb_redo_log_sharp_checkpoint",
                Server::MySql(80_029),
                false,
            ),
            // The function has an effect, so it counts as built in even if the server is unknown.
            ("nextval", Server::Unknown, true),
        ] {
            let function = find_word(name.as_bytes()).function_for(server);
            assert_eq!(function != Function::None, is_there, "{name} {server:?}");
        }
    }

    #[test]
    fn words_are_reserved_once() {
        let named = WORDS.iter().map(|(name, _)| *name);
        let mut all: Vec<_> = named
            .chain([RESERVED, OPERATORS, TYPES, NILADIC].concat())
            .collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|name| name.len() <= WORD_BYTES_MAX));
    }

    #[test]
    fn similar_words_are_distinguished() {
        for name in [
            "SELECTS",
            "SELEC",
            "S",
            "",
            "SEL\u{1}CT",
            "GROUP_CONCAT_X",
            "\u{13}",
        ] {
            assert_eq!(find_word(name.as_bytes()).word, Word::None, "{name:?}");
        }
        let long = "MASTER_SSL_VERIFY_SERVER_CERT".replace("VERIFY", "VERIFX");
        assert_eq!(find_word(long.as_bytes()).word, Word::None);
    }

    #[test]
    fn chains_of_slots_are_short() {
        let used = TABLE.slots.iter().filter(|at| **at != 0).count();
        assert!(used * 3 < SLOTS, "{used} of {SLOTS}");
    }
}
