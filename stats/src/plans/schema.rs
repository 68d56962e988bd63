//! The indexes of a schema, from `information_schema.STATISTICS`, as far as the account that asked may
//! see them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sql::Server;

use wire::rows::Rows;

/// The most rows that are read for a schema: an index has one row per column.
pub const ROWS_MAX: usize = 20_000;

/// One index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Whether no two rows may have the same values.
    pub is_unique: bool,
    /// The kind of index: BTREE, FULLTEXT …
    pub kind: String,
    /// Its columns, in order.
    pub columns: Vec<IndexColumn>,
    /// Whether a foreign key of its table needs this index, or another one that begins with the same columns.
    pub serves_foreign_key: bool,
    /// Why the optimizer ignores the index, if it does; the index is still kept up to date.
    pub hidden: Option<Hidden>,
}

/// Why the optimizer ignores an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// MySQL: ALTER INDEX … INVISIBLE.
    Invisible,
    /// MariaDB: ALTER INDEX … IGNORED.
    Ignored,
}

impl Hidden {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invisible => "invisible",
            Self::Ignored => "ignored",
        }
    }

    /// The word in ALTER INDEX that makes the index usable again.
    pub fn end(self) -> &'static str {
        match self {
            Self::Invisible => "VISIBLE",
            Self::Ignored => "NOT IGNORED",
        }
    }
}

/// One column of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexColumn {
    /// The name; `None`: an expression.
    pub column: Option<String>,
    /// The number of characters that are indexed; `None`: the whole column.
    pub length: Option<u32>,
    /// Whether the order is descending.
    pub is_descending: bool,
}

/// A foreign key: its table, and its columns in order.
type ForeignKey = (String, Vec<String>);

impl Index {
    /// Whether the index finds rows by the order of its columns.
    pub fn is_ordered(&self) -> bool {
        self.kind.eq_ignore_ascii_case("BTREE")
    }

    /// Its columns as a list for SQL.
    pub fn columns(&self) -> String {
        let parts = self.columns.iter().map(|part| {
            let mut shown = part
                .column
                .clone()
                .unwrap_or_else(|| "(expression)".to_owned());
            if let Some(length) = part.length {
                let _ = write!(shown, "({length})");
            }
            if part.is_descending {
                shown.push_str(" DESC");
            }
            shown
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// The queries for the indexes and the foreign keys of a schema.
pub fn questions(schema: &str, server: Server) -> [String; 2] {
    let hidden = match server {
        Server::MySql(version) if version >= 80_000 => ", IS_VISIBLE",
        Server::MariaDb(version) if version >= 100_600 => ", IGNORED",
        Server::MySql(_) | Server::MariaDb(_) | Server::Unknown => "",
    };
    // The name is written in hexadecimal, because that does not depend on the session's quotes.
    let mut name = String::from("_utf8mb4 0x");
    for byte in schema.as_bytes() {
        let _ = write!(name, "{byte:02x}");
    }
    [
        format!(
            "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, COLLATION, \
             INDEX_TYPE{hidden} FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {name} LIMIT {ROWS_MAX}"
        ),
        format!(
            "SELECT TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION, COLUMN_NAME FROM \
             information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {name} AND REFERENCED_TABLE_NAME IS NOT NULL \
             LIMIT {ROWS_MAX}"
        ),
    ]
}

/// The indexes, by table and name.
pub fn indexes(statistics: &Rows, foreign_keys: &Rows) -> Vec<Index> {
    let mut all: BTreeMap<(String, String), (Index, BTreeMap<u32, IndexColumn>)> = BTreeMap::new();
    for row in statistics.iter() {
        let text = |column| row.value(column).unwrap_or_default().to_owned();
        let key = (text("TABLE_NAME"), text("INDEX_NAME"));
        let (index, parts) = all.entry(key.clone()).or_default();
        (index.table, index.name) = key;
        index.is_unique = row.value("NON_UNIQUE") == Some("0");
        index.kind = text("INDEX_TYPE");
        index.hidden = match (row.value("IS_VISIBLE"), row.value("IGNORED")) {
            (Some("NO"), _) => Some(Hidden::Invisible),
            (_, Some("YES")) => Some(Hidden::Ignored),
            _ => None,
        };
        let part = IndexColumn {
            column: row.value("COLUMN_NAME").map(str::to_owned),
            length: row.value("SUB_PART").and_then(|it| it.parse().ok()),
            is_descending: row.value("COLLATION") == Some("D"),
        };
        let at = row.value("SEQ_IN_INDEX").and_then(|it| it.parse().ok());
        parts.insert(at.unwrap_or(u32::MAX), part);
    }
    let keys = keys(foreign_keys);
    let indexes = all.into_values().map(|(mut index, parts)| {
        index.columns = parts.into_values().collect();
        let from = keys.partition_point(|(table, _)| *table < index.table);
        let mut own = keys[from..].iter().take_while(|it| it.0 == index.table);
        index.serves_foreign_key = own.any(|key| serves(&index, key));
        index
    });
    indexes.collect()
}

/// The foreign keys, by table.
fn keys(rows: &Rows) -> Vec<ForeignKey> {
    let mut all: BTreeMap<(String, String), BTreeMap<u32, String>> = BTreeMap::new();
    for row in rows.iter() {
        let text = |column| row.value(column).unwrap_or_default().to_owned();
        let key = (text("TABLE_NAME"), text("CONSTRAINT_NAME"));
        let at = row.value("ORDINAL_POSITION").and_then(|it| it.parse().ok());
        let columns = all.entry(key).or_default();
        columns.insert(at.unwrap_or(u32::MAX), text("COLUMN_NAME"));
    }
    let keys = all.into_iter();
    keys.map(|((table, _), columns)| (table, columns.into_values().collect()))
        .collect()
}

/// Whether an index begins with a foreign key's columns, in any order.
fn serves(index: &Index, (table, columns): &ForeignKey) -> bool {
    let first = index.columns.get(..columns.len());
    let is_one = |part: &IndexColumn| {
        let column = part.column.as_ref();
        part.length.is_none() && column.is_some_and(|column| columns.contains(column))
    };
    index.table == *table && first.is_some_and(|first| first.iter().all(is_one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::drawn_tests::drawn;

    #[test]
    fn rows_become_indexes() {
        // MySQL 9.7; the columns of an index are not sorted.
        let statistics = drawn(
            "| TABLE_NAME | INDEX_NAME  | NON_UNIQUE | SEQ_IN_INDEX | COLUMN_NAME | SUB_PART | COLLATION | INDEX_TYPE |
             | City       | cc2         |          1 |            2 | Name        |       10 | D         | BTREE      |
             | City       | cc2         |          1 |            1 | CountryCode |     NULL | A         | BTREE      |
             | City       | PRIMARY     |          0 |            1 | ID          |     NULL | A         | BTREE      |
             | City       | f           |          1 |            1 | NULL        |     NULL | A         | BTREE      |
             | City       | words       |          1 |            1 | Name        |     NULL | NULL      | FULLTEXT   |",
        );
        let keys = drawn(
            "| TABLE_NAME | CONSTRAINT_NAME | ORDINAL_POSITION | COLUMN_NAME |
             | City       | city_ibfk_1     |                1 | CountryCode |",
        );
        let indexes = indexes(&statistics, &keys);
        let told: Vec<_> = indexes
            .iter()
            .map(|it| {
                (
                    &*it.name,
                    it.columns(),
                    it.is_unique,
                    it.is_ordered(),
                    it.serves_foreign_key,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("PRIMARY", "ID".to_owned(), true, true, false),
                (
                    "cc2",
                    "CountryCode, Name(10) DESC".to_owned(),
                    false,
                    true,
                    true
                ),
                ("f", "(expression)".to_owned(), false, true, false),
                ("words", "Name".to_owned(), false, false, false),
            ]
        );
    }

    #[test]
    fn hidden_indexes_are_marked() {
        let of_mysql = drawn(
            "| TABLE_NAME | INDEX_NAME | NON_UNIQUE | SEQ_IN_INDEX | COLUMN_NAME | INDEX_TYPE | IS_VISIBLE |
             | t          | a          |          1 |            1 | x           | BTREE      | NO         |
             | t          | b          |          1 |            1 | x           | BTREE      | YES        |",
        );
        let of_mariadb = drawn(
            "| TABLE_NAME | INDEX_NAME | NON_UNIQUE | SEQ_IN_INDEX | COLUMN_NAME | INDEX_TYPE | IGNORED |
             | t          | a          |          1 |            1 | x           | BTREE      | YES     |
             | t          | b          |          1 |            1 | x           | BTREE      | NO      |",
        );
        for (rows, hidden) in [(of_mysql, Hidden::Invisible), (of_mariadb, Hidden::Ignored)] {
            let told = indexes(&rows, &Rows::default());
            let told: Vec<_> = told.iter().map(|it| it.hidden).collect();
            assert_eq!(told, [Some(hidden), None]);
        }
        for (server, asked) in [
            (Server::MySql(50_744), "INDEX_TYPE FROM"),
            (Server::MySql(80_036), "INDEX_TYPE, IS_VISIBLE FROM"),
            (Server::MariaDb(100_522), "INDEX_TYPE FROM"),
            (Server::MariaDb(101_108), "INDEX_TYPE, IGNORED FROM"),
        ] {
            let [statistics, _] = questions("s", server);
            assert!(statistics.contains(asked), "{statistics}");
        }
    }

    #[test]
    fn schema_names_are_sent_as_hex_literals() {
        let [statistics, _] = questions("a'; DROP TABLE t; --", Server::Unknown);
        assert!(statistics.contains("_utf8mb4 0x61273b2044524f50205441424c4520743b202d2d LIMIT"));
    }
}
