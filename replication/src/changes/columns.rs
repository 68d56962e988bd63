//! The columns of a table according to its definition. Needed if the server sends no names and signs of columns.

use binlog::{Column, ColumnType, KeyColumn, NativeType, TableMap};

use super::value::BINARY;
use crate::alter::table::{Element, parse};

/// A collation whose character set is ASCII. Used for character sets that this code does not know.
const ASCII: u16 = 11;

/// A column as SHOW CREATE TABLE prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredColumn {
    name: String,
    /// `int`, `varchar`
    type_name: String,
    is_unsigned: bool,
    collation: Option<u16>,
    /// The values of ENUM and SET.
    labels: Vec<String>,
}

/// A table as SHOW CREATE TABLE prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTable {
    /// The columns in the table's order.
    columns: Vec<DeclaredColumn>,
    /// The columns of the primary key, by their numbers; empty if there is none.
    primary_key: Vec<KeyColumn>,
}

/// Parses a definition; none if neither SHOW CREATE TABLE nor SHOW CREATE SEQUENCE prints such a text.
pub fn declared_table(definition: &str) -> Option<DeclaredTable> {
    if let Some(behind) = definition.strip_prefix("CREATE SEQUENCE ") {
        return Some(declared_sequence(behind));
    }
    let table = parse(definition)?;
    let charset = table.option("DEFAULT CHARSET");
    let charset = charset.and_then(|it| it.split_once('=')).map(|it| it.1);
    let charset = charset.unwrap_or("utf8mb4");
    let columns = table.columns.iter();
    let mut columns: Vec<_> = columns.map(|it| declared(it, charset)).collect();
    let has_period = table
        .other_elements
        .iter()
        .any(|it| it.starts_with("PERIOD FOR SYSTEM_TIME"));
    if table.option("WITH SYSTEM VERSIONING").is_some() && !has_period {
        // For such a table MariaDB adds two columns that SHOW CREATE TABLE does not print.
        columns.extend(["row_start", "row_end"].map(|name| DeclaredColumn {
            name: name.to_owned(),
            type_name: "timestamp".to_owned(),
            is_unsigned: false,
            collation: None,
            labels: Vec::new(),
        }));
    }
    let primary = table.keys.iter().find(|it| it.name.is_empty());
    let primary_key = primary.and_then(|it| primary_key(it.text, &columns));
    Some(DeclaredTable {
        columns,
        primary_key: primary_key.unwrap_or_default(),
    })
}

/// A sequence of MariaDB is a table of these columns. Four of them have the type of its numbers, which is signed and has
/// 64 bits unless the definition says `as TYPE`.
fn declared_sequence(behind: &str) -> DeclaredTable {
    let behind_name = behind.rsplit_once('`').map_or(behind, |(_, it)| it);
    let words: Vec<&str> = behind_name.split_ascii_whitespace().collect();
    let (type_name, is_unsigned) = match words[..] {
        ["as", name, "unsigned", ..] => (name, true),
        ["as", name, ..] => (name, false),
        _ => ("bigint", false),
    };
    let columns = [
        ("next_not_cached_value", type_name, is_unsigned),
        ("minimum_value", type_name, is_unsigned),
        ("maximum_value", type_name, is_unsigned),
        ("start_value", type_name, is_unsigned),
        ("increment", "bigint", false),
        ("cache_size", "bigint", true),
        ("cycle_option", "tinyint", true),
        ("cycle_count", "bigint", false),
    ];
    let column = |(name, type_name, is_unsigned): (&str, &str, bool)| DeclaredColumn {
        name: name.to_owned(),
        type_name: type_name.to_ascii_lowercase(),
        is_unsigned,
        collation: None,
        labels: Vec::new(),
    };
    DeclaredTable {
        columns: columns.map(column).to_vec(),
        primary_key: Vec::new(),
    }
}

/// Returns the table with the names, signs and so on of its definition; none if the definition is of another table.
pub fn complete(map: &TableMap, declared: &DeclaredTable) -> Option<TableMap> {
    let columns = &declared.columns;
    let fits = map.columns.len() == columns.len()
        && map
            .columns
            .iter()
            .zip(columns)
            .all(|(column, it)| it.fits(column));
    if !fits {
        return None;
    }
    let mut table = map.clone();
    if table.primary_key.is_empty() {
        table.primary_key.clone_from(&declared.primary_key);
    }
    for (column, it) in table.columns.iter_mut().zip(columns) {
        column.name = Some(it.name.clone());
        column.is_unsigned.get_or_insert(it.is_unsigned);
        if column.collation.is_none() {
            column.collation = it.collation;
        }
        if column.labels.is_empty() {
            column.labels.clone_from(&it.labels);
        }
        column.native = it.native(column.column_type);
    }
    Some(table)
}

/// Whether the server has sent all data that rows need: names, and with them signs and character sets.
pub fn is_complete(map: &TableMap) -> bool {
    map.has_names()
}

/// Whether a column may have a MariaDB type that TABLE_MAP events show as plain bytes, such as UUID.
pub fn may_have_native(map: &TableMap) -> bool {
    map.columns.iter().any(|it| {
        let has_bytes = it.collation == Some(BINARY);
        let length = it.metadata;
        has_bytes
            && match it.column_type {
                ColumnType::STRING => length == 16 || length == 4,
                ColumnType::VARCHAR => length > 0 && length % 4 == 0,
                _ => false,
            }
    })
}

fn declared(column: &Element<'_>, charset: &str) -> DeclaredColumn {
    let rest = column.text.get(column.name.len()..).unwrap_or_default();
    let rest = rest.trim_start();
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let end = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
    let (type_name, rest) = rest.split_at(end);
    let type_name = type_name.to_ascii_lowercase();
    let (arguments, rest) = arguments(rest);
    let rest = behind_comment(rest.trim_start());
    let own = rest.strip_prefix("CHARACTER SET ").map(first_word);
    let of_collation = || {
        let collation = rest.strip_prefix("COLLATE ").map(first_word)?;
        collation.split('_').next()
    };
    let charset = own.or_else(of_collation).unwrap_or(charset);
    let has_labels = matches!(type_name.as_str(), "enum" | "set");
    DeclaredColumn {
        name: unquoted(column.name, '`'),
        is_unsigned: rest.starts_with("unsigned"),
        collation: collation(&type_name, charset),
        labels: match has_labels {
            true => labels(arguments),
            false => Vec::new(),
        },
        type_name,
    }
}

/// The columns of a line such as ``PRIMARY KEY (`a`,`b`(10) DESC)``; none if one of them is not known.
fn primary_key(line: &str, columns: &[DeclaredColumn]) -> Option<Vec<KeyColumn>> {
    let mut key = Vec::new();
    let mut rest = &line[line.find('(')? + 1..];
    loop {
        let begin = rest.strip_prefix('`')?;
        // A doubled quote is a part of the name.
        let mut from = 0;
        let end = loop {
            let at = from + begin[from..].find('`')?;
            match begin[at + 1..].starts_with('`') {
                true => from = at + 2,
                false => break at,
            }
        };
        let name = begin[..end].replace("``", "`");
        let column = columns.iter().position(|it| it.name == name)?;
        rest = &begin[end + 1..];
        let (prefix, behind) = arguments(rest);
        key.push(KeyColumn {
            column,
            prefix: prefix.parse().unwrap_or(0),
        });
        let next = behind
            .trim_start_matches(" ASC")
            .trim_start_matches(" DESC");
        match next.strip_prefix(',') {
            Some(next) => rest = next,
            None => return next.starts_with(')').then_some(key),
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Skips a comment such as `/*M!100301 COMPRESSED*/`, which MariaDB prints after a type.
fn behind_comment(text: &str) -> &str {
    let inner = text.strip_prefix("/*");
    let behind = inner.and_then(|it| it.split_once("*/"));
    behind.map_or(text, |(_, behind)| behind.trim_start())
}

/// Returns the text in the parentheses after a type, and the text after them.
fn arguments(text: &str) -> (&str, &str) {
    let Some(inner) = text.strip_prefix('(') else {
        return ("", text);
    };
    let mut is_quoted = false;
    // A doubled quote switches `is_quoted` off and on again.
    let end = inner.find(|it| {
        is_quoted ^= it == '\'';
        it == ')' && !is_quoted
    });
    match end {
        Some(end) => (&inner[..end], &inner[end + 1..]),
        None => (inner, ""),
    }
}

/// `'a','it''s'`
fn labels(arguments: &str) -> Vec<String> {
    let mut is_quoted = false;
    let parts = arguments.split(|it| {
        is_quoted ^= it == '\'';
        it == ',' && !is_quoted
    });
    parts.map(|it| unquoted(it.trim(), '\'')).collect()
}

fn unquoted(text: &str, quote: char) -> String {
    let inner = text.strip_prefix(quote);
    let inner = inner.and_then(|it| it.strip_suffix(quote));
    let doubled = [quote, quote].iter().collect::<String>();
    inner.unwrap_or(text).replace(&doubled, &quote.to_string())
}

/// Returns a collation of the column's character set; none if the type has no character set.
fn collation(type_name: &str, charset: &str) -> Option<u16> {
    match type_name {
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" => {}
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector"
        | "uuid" | "inet4" | "inet6" => return Some(BINARY),
        _ => return None,
    }
    Some(match charset {
        "utf8mb4" => 45,
        "utf8mb3" | "utf8" => 33,
        "latin1" => 8,
        "ucs2" => 35,
        "utf16" => 54,
        "utf16le" => 56,
        "utf32" => 60,
        "binary" => BINARY,
        _ => ASCII,
    })
}

impl DeclaredColumn {
    /// The MariaDB type that the log shows as plain bytes.
    fn native(&self, column_type: ColumnType) -> Option<NativeType> {
        Some(match self.type_name.as_str() {
            "uuid" => NativeType::Uuid,
            "inet4" => NativeType::Inet4,
            "inet6" => NativeType::Inet6,
            "vector" if column_type == ColumnType::VARCHAR => NativeType::Vector,
            _ => return None,
        })
    }

    /// Whether a column of the log may be this declared column.
    fn fits(&self, column: &Column) -> bool {
        let has_name = column.name.as_ref().is_none_or(|it| *it == self.name);
        let has_sign = column.is_unsigned.is_none_or(|it| it == self.is_unsigned);
        let is_integer = matches!(
            column.column_type,
            ColumnType::TINY
                | ColumnType::SHORT
                | ColumnType::INT24
                | ColumnType::LONG
                | ColumnType::LONGLONG
        );
        self.types()
            .is_none_or(|it| it.contains(&column.column_type))
            && (has_sign || !is_integer)
            && has_name
    }

    /// The types that the log may show for the column; none if this code does not know the declared type.
    fn types(&self) -> Option<&'static [ColumnType]> {
        Some(match self.type_name.as_str() {
            "tinyint" => &[ColumnType::TINY],
            "smallint" => &[ColumnType::SHORT],
            "mediumint" => &[ColumnType::INT24],
            "int" => &[ColumnType::LONG],
            "bigint" => &[ColumnType::LONGLONG],
            "float" => &[ColumnType::FLOAT],
            "double" => &[ColumnType::DOUBLE],
            "decimal" => &[ColumnType::NEWDECIMAL, ColumnType::DECIMAL],
            "bit" => &[ColumnType::BIT],
            "year" => &[ColumnType::YEAR],
            "date" => &[ColumnType::DATE, ColumnType::NEWDATE],
            "time" => &[ColumnType::TIME, ColumnType::TIME2],
            "datetime" => &[ColumnType::DATETIME, ColumnType::DATETIME2],
            "timestamp" => &[ColumnType::TIMESTAMP, ColumnType::TIMESTAMP2],
            "char" | "binary" | "uuid" | "inet4" | "inet6" => {
                &[ColumnType::STRING, ColumnType::VAR_STRING]
            }
            "varchar" | "varbinary" => &[
                ColumnType::VARCHAR,
                ColumnType::VAR_STRING,
                ColumnType::VARCHAR_COMPRESSED,
            ],
            "tinytext" | "text" | "mediumtext" | "longtext" | "tinyblob" | "blob"
            | "mediumblob" | "longblob" => &[
                ColumnType::BLOB,
                ColumnType::TINY_BLOB,
                ColumnType::MEDIUM_BLOB,
                ColumnType::LONG_BLOB,
                ColumnType::BLOB_COMPRESSED,
            ],
            "json" => &[ColumnType::JSON],
            "enum" => &[ColumnType::ENUM],
            "set" => &[ColumnType::SET],
            "vector" => &[ColumnType::VECTOR, ColumnType::VARCHAR],
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
            | "multipolygon" | "geometrycollection" | "geomcollection" => &[ColumnType::GEOMETRY],
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_tells_names_signs_character_sets_and_labels() {
        let table = declared_table(
            "CREATE TABLE `t` (\n  `a``b` bigint(20) unsigned zerofill NOT NULL COMMENT 'CHARACTER SET x',\n  \
             `c` enum('p','it''s, (x)','') COLLATE latin1_bin DEFAULT NULL,\n  `d` varchar(10) /*M!100301 COMPRESSED*/ \
             CHARACTER SET gbk DEFAULT NULL,\n  `e` text DEFAULT NULL,\n  `f` blob,\n  PRIMARY KEY (`a``b`,`d`(3) DESC) USING BTREE\n) \
             ENGINE=InnoDB DEFAULT CHARSET=latin1 WITH SYSTEM VERSIONING",
        )
        .unwrap();
        let columns = &table.columns;
        let shown: Vec<_> = columns
            .iter()
            .map(|it| {
                (
                    it.name.as_str(),
                    it.type_name.as_str(),
                    it.is_unsigned,
                    it.collation,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("a`b", "bigint", true, None),
                ("c", "enum", false, Some(8)),
                ("d", "varchar", false, Some(ASCII)),
                ("e", "text", false, Some(8)),
                ("f", "blob", false, Some(BINARY)),
                ("row_start", "timestamp", false, None),
                ("row_end", "timestamp", false, None),
            ]
        );
        assert_eq!(columns[1].labels, ["p", "it's, (x)", ""]);
        let key = |column, prefix| KeyColumn { column, prefix };
        assert_eq!(table.primary_key, [key(0, 0), key(2, 3)]);
        assert_eq!(declared_table("CREATE VIEW v AS SELECT 1"), None);
    }

    #[test]
    fn a_sequence_has_the_columns_that_mariadb_gives_it() {
        let types = |definition: &str| {
            let columns = declared_table(definition).unwrap().columns;
            let next = &columns[0];
            assert_eq!(columns.len(), 8);
            assert_eq!(
                (columns[5].name.as_str(), columns[5].is_unsigned),
                ("cache_size", true)
            );
            (next.name.clone(), next.type_name.clone(), next.is_unsigned)
        };
        let next = |type_name: &str, is_unsigned| {
            (
                "next_not_cached_value".to_owned(),
                type_name.to_owned(),
                is_unsigned,
            )
        };
        assert_eq!(
            types("CREATE SEQUENCE `s` start with 1 minvalue 1 nocycle ENGINE=InnoDB"),
            next("bigint", false)
        );
        assert_eq!(
            types("CREATE SEQUENCE `a`` as int` as tinyint unsigned start with 1 ENGINE=InnoDB"),
            next("tinyint", true)
        );
    }
}
