//! Servers' error messages in the form that may be shown where values of statements must stay hidden.
//!
//! SIGNAL can send any number with any text, so a message is never shown because of its look alone. If it is a known
//! text of its number with names in the variable places, it is shown. If it is another known text of its number, it is
//! shown with the variable places left out. Otherwise it is not shown.

/// Longer messages are cut.
pub const MESSAGE_BYTES_MAX: usize = 512;

/// The text in place of hidden parts.
const LEFT_OUT: &str = "...";

/// The message that may be shown; the SQLSTATE helps to recognise messages of applications.
pub fn shown_of(
    number: u16,
    sqlstate: Option<[u8; 5]>,
    message: String,
    shows_values: bool,
) -> String {
    // SQLSTATE class 45 means that an application raised the error with SIGNAL.
    match sqlstate.is_some_and(|it| it.starts_with(b"45")) && !shows_values {
        true => LEFT_OUT.to_owned(),
        false => shown(number, message, shows_values),
    }
}

/// The message that may be shown.
pub fn shown(number: u16, message: String, shows_values: bool) -> String {
    if shows_values {
        return message;
    }
    let names = texts_of(QUOTES_NAMES, number);
    if names.iter().any(|it| is_written(it, &message)) {
        return message;
    }
    let mut known = names.iter().chain(texts_of(QUOTES_VALUES, number));
    match known.find(|it| fits(it, &message)) {
        Some(known) => known.replace('%', LEFT_OUT),
        None => LEFT_OUT.to_owned(),
    }
}

/// The text of `error N: TEXT` that may be shown. Any other text comes from the proxy itself, and is shown.
pub fn shown_failure(why: &str) -> String {
    let said = why
        .strip_prefix("error ")
        .and_then(|it| it.split_once(": "));
    let said = said.and_then(|(number, text)| Some((number.parse().ok()?, text)));
    match said {
        Some((number, text)) => {
            let shown = shown(number, text.to_owned(), false);
            format!("error {number}: {shown}")
        }
        None => why.to_owned(),
    }
}

type MessageTable = &'static [(u16, &'static [&'static str])];

fn texts_of(list: MessageTable, number: u16) -> &'static [&'static str] {
    let found = list.iter().find(|(it, _)| *it == number);
    found.map_or(&[], |(_, said)| said)
}

/// Whether a message is this known text, with a name in each variable place.
fn is_written(known: &str, message: &str) -> bool {
    let mut pieces = known.split('%');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = message.strip_prefix(first) else {
        return false;
    };
    for piece in pieces {
        let end = match piece {
            "" => Some(rest.len()),
            piece => rest.find(piece),
        };
        let Some(end) = end.filter(|end| is_name(&rest[..*end])) else {
            return false;
        };
        rest = &rest[end + piece.len()..];
    }
    rest.is_empty()
}

/// Whether a text may be a name, or several names with dots between them.
fn is_name(text: &str) -> bool {
    let is_in_name =
        |it: char| it.is_alphanumeric() || matches!(it, '_' | '$' | '.' | '-' | ':' | '#' | '%');
    (1..=200).contains(&text.len()) && text.chars().all(is_in_name)
}

/// Whether a message, which may have been cut, is this known text with anything in the variable places. The variable
/// parts themselves are never shown.
fn fits(known: &str, message: &str) -> bool {
    let is_cut = message.len() >= MESSAGE_BYTES_MAX;
    let mut pieces = known.split('%');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = message.strip_prefix(first) else {
        return false;
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return is_cut,
        }
    }
    rest.is_empty() || is_cut || message.ends_with(known.rsplit('%').next().unwrap_or_default())
}

/// Messages that quote names of tables, columns, users and the like, and no values. `%` stands for a name.
///
/// 1052, 1054, 1060 and 1109 are not among them. A server with ANSI_QUOTES takes `"john"`, a value to its author, for
/// the name of a column; and a column that is a literal has the literal as its name.
const QUOTES_NAMES: MessageTable = &[
    (1007, &["Can't create database '%'; database exists"]),
    (1008, &["Can't drop database '%'; database doesn't exist"]),
    (1044, &["Access denied for user '%'@'%' to database '%'"]),
    (
        1045,
        &[
            "Access denied for user '%'@'%' (using password: YES)",
            "Access denied for user '%'@'%' (using password: NO)",
        ],
    ),
    (1046, &["No database selected"]),
    (1048, &["Column '%' cannot be null"]),
    (1049, &["Unknown database '%'"]),
    (1050, &["Table '%' already exists"]),
    (1051, &["Unknown table '%'"]),
    (1061, &["Duplicate key name '%'"]),
    (1072, &["Key column '%' doesn't exist in table"]),
    (
        1091,
        &[
            "Can't DROP '%'; check that column/key exists",
            "Can't DROP COLUMN `%`; check that it exists",
            "Can't DROP INDEX `%`; check that it exists",
        ],
    ),
    (
        1142,
        &[
            "% command denied to user '%'@'%' for table '%'",
            "% command denied to user '%'@'%' for table `%`.`%`",
        ],
    ),
    (
        1143,
        &["% command denied to user '%'@'%' for column '%' in table '%'"],
    ),
    (1146, &["Table '%' doesn't exist"]),
    (1176, &["Key '%' doesn't exist in table '%'"]),
    (1193, &["Unknown system variable '%'"]),
    (
        1203,
        &["User % already has more than 'max_user_connections' active connections"],
    ),
    (
        1226,
        &["User '%' has exceeded the '%' resource (current value: %)"],
    ),
    (
        1227,
        &[
            "Access denied; you need (at least one of) the %, % privilege(s) for this operation",
            "Access denied; you need (at least one of) the % privilege(s) for this operation",
        ],
    ),
    (
        1238,
        &[
            "Variable '%' is a read only variable",
            "Variable '%' is a GLOBAL variable",
            "Variable '%' is a SESSION variable",
        ],
    ),
    (1264, &["Out of range value for column '%' at row %"]),
    (
        1305,
        &[
            "FUNCTION % does not exist",
            "PROCEDURE % does not exist",
            "SAVEPOINT % does not exist",
        ],
    ),
    (1364, &["Field '%' doesn't have a default value"]),
    (1370, &["% command denied to user '%'@'%' for routine '%'"]),
    (1406, &["Data too long for column '%' at row %"]),
    (1615, &["Prepared statement needs to be re-prepared"]),
    (
        3948,
        &[
            "Loading local data is disabled; this must be enabled on both the client and server sides",
        ],
    ),
];

/// Messages with values in them. `%` stands for a value, or for a name that may be a value.
const QUOTES_VALUES: MessageTable = &[
    (1021, &["Disk full %"]),
    (1022, &["Can't write; duplicate key in table '%'"]),
    (1030, &["Got error % from storage engine%"]),
    (1040, &["Too many connections"]),
    (
        1047,
        &[
            "Unknown command",
            "WSREP has not yet prepared node for application use",
        ],
    ),
    (1052, &["Column '%' in % is ambiguous"]),
    (1053, &["Server shutdown in progress"]),
    (1054, &["Unknown column '%' in '%'"]),
    (
        1055,
        &[
            "Expression #% of % is not in GROUP BY clause and contains nonaggregated column '%' which is not \
             functionally dependent on columns in GROUP BY clause; this is incompatible with \
             sql_mode=only_full_group_by",
            "'%' isn't in GROUP BY",
        ],
    ),
    (1060, &["Duplicate column name '%'"]),
    (1062, &["Duplicate entry '%' for key '%'"]),
    (
        1064,
        &[
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
             the right syntax to use near '%' at line %",
            "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version \
             for the right syntax to use near '%' at line %",
        ],
    ),
    (1065, &["Query was empty"]),
    (1066, &["Not unique table/alias: '%'"]),
    (1067, &["Invalid default value for '%'"]),
    (1068, &["Multiple primary key defined"]),
    (
        1093,
        &[
            "You can't specify target table '%' for update in FROM clause",
            "Table '%' is specified twice, both as a target for '%' and as a separate source for data",
        ],
    ),
    (1094, &["Unknown thread id: %"]),
    (1095, &["You are not owner of thread %"]),
    (
        1099,
        &["Table '%' was locked with a READ lock and can't be updated"],
    ),
    (1100, &["Table '%' was not locked with LOCK TABLES"]),
    (1109, &["Unknown table '%' in %"]),
    (1111, &["Invalid use of group function"]),
    (1114, &["The table '%' is full"]),
    (1118, &["Row size too large%"]),
    (1136, &["Column count doesn't match value count at row %"]),
    (
        1140,
        &[
            "In aggregated query without GROUP BY, expression #% of % contains nonaggregated column '%'; this is incompatible with sql_mode=only_full_group_by",
            "Mixing of GROUP columns (MIN(),MAX(),COUNT(),...) with no GROUP columns is illegal if there is no GROUP BY clause",
        ],
    ),
    (1149, &["You have an error in your SQL syntax%"]),
    (
        1153,
        &["Got a packet bigger than 'max_allowed_packet' bytes"],
    ),
    // A message of the proxy itself, with the backend's name and the system's error.
    (1158, &["Lost connection to backend %"]),
    (
        1205,
        &["Lock wait timeout exceeded; try restarting transaction"],
    ),
    (
        1206,
        &["The total number of locks exceeds the lock table size"],
    ),
    (1210, &["Incorrect arguments to %"]),
    (
        1213,
        &["Deadlock found when trying to get lock; try restarting transaction"],
    ),
    (
        1216,
        &["Cannot add or update a child row: a foreign key constraint fails"],
    ),
    (
        1217,
        &["Cannot delete or update a parent row: a foreign key constraint fails"],
    ),
    (1221, &["Incorrect usage of % and %"]),
    (
        1222,
        &["The used SELECT statements have a different number of columns"],
    ),
    (1231, &["Variable '%' can't be set to the value of '%'"]),
    (1232, &["Incorrect argument type to variable '%'"]),
    (
        1235,
        &[
            "This version of MySQL doesn't yet support '%'",
            "This version of MariaDB doesn't yet support '%'",
        ],
    ),
    (1241, &["Operand should contain % column(s)"]),
    (1242, &["Subquery returns more than 1 row"]),
    (1243, &["Unknown prepared statement handler (%) given to %"]),
    (1248, &["Every derived table must have its own alias"]),
    (1265, &["Data truncated for column '%' at row %"]),
    (
        1267,
        &["Illegal mix of collations (%) and (%) for operation '%'"],
    ),
    (1288, &["The target table % of the % is not updatable"]),
    (
        1290,
        &[
            "The MySQL server is running with the % option so it cannot execute this statement",
            "The MariaDB server is running with the % option so it cannot execute this statement",
        ],
    ),
    (
        1292,
        &[
            "Truncated incorrect % value: '%'",
            "Incorrect % value: '%' for column '%' at row %",
            "Incorrect % value: '%'",
        ],
    ),
    (
        1295,
        &["This command is not supported in the prepared statement protocol yet"],
    ),
    (1300, &["Invalid % character string: '%'"]),
    (1317, &["Query execution was interrupted"]),
    (
        1318,
        &["Incorrect number of arguments for % %; expected %, got %"],
    ),
    (1365, &["Division by 0"]),
    (
        1366,
        &[
            "Incorrect % value: '%' for column '%' at row %",
            "Incorrect % value: '%' for column % at row %",
        ],
    ),
    (1390, &["Prepared statement contains too many placeholders"]),
    (1411, &["Incorrect % value: '%' for function %"]),
    (
        1451,
        &["Cannot delete or update a parent row: a foreign key constraint fails (%)"],
    ),
    (
        1452,
        &["Cannot add or update a child row: a foreign key constraint fails (%)"],
    ),
    (
        1461,
        &["Can't create more than max_prepared_stmt_count statements (current value: %)"],
    ),
    (1526, &["Table has no partition for value %"]),
    (
        1568,
        &["Transaction characteristics can't be changed while a transaction is in progress"],
    ),
    (
        1582,
        &["Incorrect parameter count in the call to native function '%'"],
    ),
    (
        1630,
        &[
            "FUNCTION % does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual",
        ],
    ),
    (1690, &["% value is out of range in '%'"]),
    (
        1792,
        &["Cannot execute statement in a READ ONLY transaction."],
    ),
    (1836, &["Running in read-only mode"]),
    (1927, &["Connection was killed"]),
    (
        1969,
        &["Query execution was interrupted (max_statement_time exceeded)"],
    ),
    (
        3024,
        &["Query execution was interrupted, maximum statement execution time exceeded"],
    ),
    (
        3140,
        &["Invalid JSON text: \"%\" at position % in value for column '%'."],
    ),
    (
        3141,
        &["Invalid JSON text in argument % to function %: \"%\" at position %."],
    ),
    (
        3572,
        &["Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."],
    ),
    (3819, &["Check constraint '%' is violated."]),
    (4025, &["CONSTRAINT `%` failed for `%`.`%`"]),
    (
        4031,
        &["The client was disconnected by the server because of inactivity. %"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cr3t";

    #[test]
    fn possible_values_are_removed_from_messages() {
        let near = "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server \
                    version for the right syntax to use near";
        for (number, message, expected) in [
            (
                1062,
                "Duplicate entry 'a@b.org' for key 'mail'".to_owned(),
                "Duplicate entry '...' for key '...'".to_owned(),
            ),
            (
                1317,
                "Query execution was interrupted".to_owned(),
                "Query execution was interrupted".to_owned(),
            ),
            (
                1064,
                format!("{near} 'it's me' at line 1"),
                format!("{near} '...' at line ..."),
            ),
            (
                1064,
                format!("{near} '' at line 1"),
                format!("{near} '...' at line ..."),
            ),
            (
                1064,
                format!("{near} '{}", "x".repeat(512)),
                format!("{near} '...' at line ..."),
            ),
            (
                1366,
                "Incorrect integer value: 'abc' for column `shop`.`t`.`c` at row 12".to_owned(),
                "Incorrect ... value: '...' for column ... at row ...".to_owned(),
            ),
            (
                1045,
                "Access denied for user 'a b'@'%' (using password: NO)".to_owned(),
                "Access denied for user '...'@'...' (using password: NO)".to_owned(),
            ),
        ] {
            assert_eq!(shown(number, message.clone(), false), expected);
            assert_eq!(shown(number, message.clone(), true), message);
        }
    }

    #[test]
    fn messages_of_signal_are_never_shown() {
        for text in [
            "no credit for s3cr3t",
            "s3cr3t",
            "s3cr3t 'x' s3cr3t",
            "Duplicate entry 's3cr3t' for key 's3cr3t s3cr3t'",
            "Duplicate entry 's3cr3t' for key s3cr3t",
            "Table 's3 cr3t s3cr3t' doesn't exist",
            "Query execution was interrupted: s3cr3t",
            "FUNCTION s3cr3t s3cr3t does not exist",
            "Incorrect s3cr3t value: 's3cr3t' for column 'c' at row s3cr3t",
            "%s3cr3t%",
            "Lost connection to backend s3cr3t",
            "You have an error in your SQL syntax s3cr3t",
            "value is out of range in 's3cr3t'",
            "s3cr3t value is out of range in 's3cr3t'",
        ] {
            for number in 0..=u16::MAX {
                let state = Some(*b"HY000");
                let kept = shown_of(number, state, text.to_owned(), false);
                assert!(!kept.contains(SECRET), "{number}: {kept}");
            }
            let long = format!("{text}{}", SECRET.repeat(100));
            assert!(!shown(1062, long, false).contains(SECRET));
        }
        for (number, state) in [(1644, *b"HY000"), (30_001, *b"45000"), (1146, *b"45000")] {
            let said = "Table 's3cr3t' doesn't exist".to_owned();
            assert_eq!(shown_of(number, Some(state), said, false), LEFT_OUT);
        }
        let said = shown_of(1644, None, "no credit for s3cr3t".to_owned(), true);
        assert!(said.contains(SECRET));
    }

    #[test]
    fn the_error_number_decides_about_the_text_of_a_failure() {
        for (why, expected) in [
            (
                "error 1146: Table 'a.b' doesn't exist",
                "error 1146: Table 'a.b' doesn't exist",
            ),
            (
                "error 1062: Duplicate entry 's3cr3t' for key 'x'",
                "error 1062: Duplicate entry '...' for key '...'",
            ),
            ("error 1234: s3cr3t", "error 1234: ..."),
            (
                "its result is longer than rule.injected_bytes_max",
                "its result is longer than rule.injected_bytes_max",
            ),
        ] {
            assert_eq!(shown_failure(why), expected);
        }
    }

    #[test]
    fn each_number_stands_in_a_list_once_and_in_order() {
        for list in [QUOTES_NAMES, QUOTES_VALUES] {
            assert!(list.is_sorted_by(|(a, _), (b, _)| a < b));
        }
    }

    #[test]
    fn names_are_shown_only_in_messages_of_servers() {
        for (number, message) in [
            (1146, "Table 'shop.orders' doesn't exist"),
            (
                1045,
                "Access denied for user 'app'@'10.0.0.5' (using password: YES)",
            ),
            (
                1142,
                "SELECT command denied to user 'app'@'localhost' for table 'orders'",
            ),
            (1305, "FUNCTION shop.rate does not exist"),
            (1406, "Data too long for column 'name' at row 12"),
            (1046, "No database selected"),
            (1193, "Unknown system variable 'autocomit'"),
        ] {
            assert_eq!(shown(number, message.to_owned(), false), message);
        }
        for (number, message, expected) in [
            // A text sent with SIGNAL.
            (1146, "no credit for s3cr3t", "..."),
            (
                1146,
                "Table 's3 cr3t' doesn't exist",
                "Table '...' doesn't exist",
            ),
            (1146, "Table 'orders' doesn't exist: s3cr3t", "..."),
            (1046, "No database selected by s3cr3t", "..."),
            // A value in double quotes, with ANSI_QUOTES.
            (
                1054,
                "Unknown column 's3cr3t' in 'where clause'",
                "Unknown column '...' in '...'",
            ),
            (
                1060,
                "Duplicate column name 's3cr3t'",
                "Duplicate column name '...'",
            ),
            (
                1109,
                "Unknown table 's3cr3t' in field list",
                "Unknown table '...' in ...",
            ),
        ] {
            assert_eq!(shown(number, message.to_owned(), false), expected);
            assert_eq!(shown(number, message.to_owned(), true), message);
        }
    }
}
