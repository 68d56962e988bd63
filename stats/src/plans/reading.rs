//! Reads the answer of EXPLAIN: each row becomes a line about one table or intermediate result. All versions' tables
//! are read by the names of their columns. If a server sends no rows (MySQL's hypergraph optimizer), its JSON is read.

use serde_json::Value;

use wire::rows::{Row, Rows};

/// The most lines that are kept of one plan.
pub const LINES_MAX: usize = 64;

/// The most bytes of a name or remark; longer ones are cut. No server has such long names.
const NAME_BYTES_MAX: usize = 256;

/// Nodes of JSON that are deeper than this are ignored.
const DEPTH_MAX: u32 = 64;

/// One line of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The number of the SELECT that the line belongs to.
    pub id: Option<u32>,
    /// The kind of that SELECT: SIMPLE, PRIMARY, UNION …
    pub select_type: Option<String>,
    /// The statement's name for the table; `<derived2>` and similar names are intermediate results.
    pub alias: Option<String>,
    /// The schema and the table, if known.
    pub table: Option<(String, String)>,
    /// How the table is read: `ALL`, `index`, `range`, `ref`, `const` …
    pub access: Option<String>,
    /// The indexes that are used, and how many bytes of each, if the server tells.
    pub keys: Vec<(String, Option<u32>)>,
    /// The columns or constants that the index is compared with.
    pub reference: Option<String>,
    /// The estimated number of rows to examine.
    pub rows: Option<u64>,
    /// The server's remarks.
    pub extra: Option<String>,
    /// Columns that conditions search the table by, although it is read whole: columns compared with single values
    /// come first.
    pub columns: Vec<String>,
}

impl Line {
    /// Whether the whole table, or a whole index, is read.
    pub fn is_full_scan(&self) -> bool {
        let access = self.access.as_deref().unwrap_or_default();
        self.is_table()
            && ["ALL", "index"]
                .iter()
                .any(|it| it.eq_ignore_ascii_case(access))
    }

    /// Whether the line is about a table, and not about an intermediate result.
    pub fn is_table(&self) -> bool {
        let alias = self.alias.as_deref();
        alias.is_some_and(|it| !it.starts_with('<')) && self.access.is_some()
    }

    /// Whether rows are filtered out after they are read.
    pub fn is_filtered(&self) -> bool {
        let extra = self.extra.as_deref().unwrap_or_default();
        ["Using where", "join buffer", "pushed"]
            .iter()
            .any(|it| extra.contains(it))
    }
}

/// The lines of an answer in rows.
pub fn lines(rows: &Rows) -> Vec<Line> {
    rows.iter().take(LINES_MAX).map(line).collect()
}

fn line(row: Row<'_>) -> Line {
    let text = |column| row.value(column).filter(|it| !it.is_empty()).map(cut);
    let lengths = row.value("key_len").unwrap_or_default();
    Line {
        id: row.value("id").and_then(|it| it.parse().ok()),
        select_type: text("select_type"),
        alias: text("table"),
        table: None,
        access: text("type"),
        keys: row
            .value("key")
            .map(|keys| keys_of(keys, lengths))
            .unwrap_or_default(),
        reference: text("ref"),
        rows: row.value("rows").and_then(|it| it.parse().ok()),
        extra: text("Extra").map(without_conditions),
        columns: Vec::new(),
    }
}

/// The indexes and lengths of one row. Merged indexes share one cell, and so do their lengths. A name may contain a
/// comma, too.
fn keys_of(keys: &str, lengths: &str) -> Vec<(String, Option<u32>)> {
    let lengths: Vec<Option<u32>> = lengths
        .split(',')
        .map(|it| it.trim().parse().ok())
        .collect();
    let names: Vec<&str> = keys.split(',').collect();
    match names.len() == lengths.len() {
        true => names.into_iter().map(cut).zip(lengths).collect(),
        false => vec![(cut(keys), lengths.first().copied().flatten())],
    }
}

/// Removes the conditions that are pushed to NDB, because they contain values.
fn without_conditions(extra: String) -> String {
    match extra.find("pushed condition (") {
        Some(at) => format!("{}pushed condition", &extra[..at]),
        None => extra,
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// Reads MySQL's newer JSON, which has a tree of operations: `explain_json_format_version` 2.
pub fn json_lines(json: &Value) -> Vec<Line> {
    let mut lines = Vec::new();
    collect(json, 0, &mut lines);
    lines
}

fn collect(node: &Value, depth: u32, lines: &mut Vec<Line>) {
    if depth > DEPTH_MAX || lines.len() >= LINES_MAX {
        return;
    }
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|it| collect(it, depth + 1, lines)),
        Value::Object(fields) => {
            lines.extend(json_line(node));
            fields.values().for_each(|it| collect(it, depth + 1, lines));
        }
        _ => {}
    }
}

fn json_line(node: &Value) -> Option<Line> {
    let text = |field: &str| node.get(field).and_then(Value::as_str);
    let table = text("table_name")?;
    let access = match (text("access_type")?, text("index_access_type")) {
        ("table", _) => "ALL",
        ("index", Some("index_scan")) => "index",
        ("index", Some("index_range_scan")) => "range",
        ("index", Some("full_text_search")) => "fulltext",
        ("index", _) => "ref",
        (other, _) => other,
    };
    let reference = node.get("lookup_references").and_then(Value::as_array);
    let reference = reference.map(|all| {
        let all: Vec<_> = all.iter().filter_map(Value::as_str).collect();
        cut(&all.join(","))
    });
    Some(Line {
        alias: Some(cut(text("alias").unwrap_or(table))),
        table: text("schema_name").map(|schema| (cut(schema), cut(table))),
        access: Some(access.to_owned()),
        keys: text("index_name")
            .map(|it| (cut(it), None))
            .into_iter()
            .collect(),
        reference,
        rows: node
            .get("estimated_rows")
            .and_then(Value::as_f64)
            .map(|it| it as u64),
        ..Line::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::drawn_tests::drawn;

    /// A short form of each line: table, type, indexes with lengths, rows.
    fn descriptions(lines: &[Line]) -> Vec<String> {
        let told = lines.iter().map(|line| {
            let keys = line.keys.iter().map(|(name, length)| match length {
                Some(length) => format!("{name}:{length}"),
                None => name.clone(),
            });
            let rows = line.rows.map_or("-".to_owned(), |it| it.to_string());
            let alias = line.alias.as_deref().unwrap_or("-");
            let access = line.access.as_deref().unwrap_or("-");
            format!(
                "{alias} {access} {} {rows}",
                keys.collect::<Vec<_>>().join("+")
            )
        });
        told.collect()
    }

    #[test]
    fn tables_of_all_versions_are_read() {
        for (origin, table, expected) in [
            (
                "MySQL 5.1, as in the article",
                "| id | select_type | table | type  | possible_keys | key     | key_len | ref   | rows | Extra |
                 |  1 | SIMPLE      | City  | const | PRIMARY       | PRIMARY | 4       | const |    1 |       |",
                vec!["City const PRIMARY:4 1"],
            ),
            (
                "MariaDB 10.11",
                "| id   | select_type  | table      | type        | possible_keys           | key                 | key_len | ref           | rows | Extra |
                 |    1 | PRIMARY      | City       | ALL         | PRIMARY                 | NULL                | NULL    | NULL          | 1806 |       |
                 |    1 | PRIMARY      | City       | eq_ref      | PRIMARY                 | PRIMARY             | 4       | world.City.ID | 1    | Using where |
                 |    3 | UNION        | City       | index_merge | PRIMARY,CountryCode,cc2 | CountryCode,PRIMARY | 3,4     | NULL          | 904  | Using union(CountryCode,PRIMARY); Using where |
                 | NULL | UNION RESULT | <union1,3> | ALL         | NULL                    | NULL                | NULL    | NULL          | NULL |       |",
                vec![
                    "City ALL  1806",
                    "City eq_ref PRIMARY:4 1",
                    "City index_merge CountryCode:3+PRIMARY:4 904",
                    "<union1,3> ALL  -",
                ],
            ),
            (
                "MySQL 9.7",
                "| id | select_type | table | partitions | type  | possible_keys | key     | key_len | ref   | rows | filtered | Extra       |
                 |  1 | UPDATE      | City  | NULL       | range | PRIMARY       | PRIMARY | 4       | const |    1 |   100.00 | Using where |",
                vec!["City range PRIMARY:4 1"],
            ),
            (
                "MySQL 5.7 and later, of what finds nothing",
                "| id | select_type | table | partitions | type | possible_keys | key  | key_len | ref  | rows | filtered | Extra                          |
                 |  1 | SIMPLE      | NULL  | NULL       | NULL | NULL          | NULL | NULL    | NULL | NULL |     NULL | no matching row in const table |",
                vec!["- -  -"],
            ),
            (
                "MariaDB, a hash join with a key of its own making",
                "| id | select_type | table | type     | possible_keys | key       | key_len | ref           | rows | Extra |
                 |  1 | SIMPLE      | t     | hash_ALL | NULL          | #hash#$hj | 5       | world.u.a     | 9    | Using where; Using join buffer (flat, BNLH join) |",
                vec!["t hash_ALL #hash#$hj:5 9"],
            ),
        ] {
            assert_eq!(descriptions(&lines(&drawn(table))), expected, "{origin}");
        }
    }

    #[test]
    fn a_name_with_a_comma_is_one() {
        assert_eq!(keys_of("a,b", "4"), [("a,b".to_owned(), Some(4))]);
        assert_eq!(keys_of("a,b", "4,8").len(), 2);
        assert_eq!(keys_of("a", ""), [("a".to_owned(), None)]);
    }

    #[test]
    fn derived_tables_are_no_full_scans() {
        let line = |alias: Option<&str>, access: Option<&str>| Line {
            alias: alias.map(str::to_owned),
            access: access.map(str::to_owned),
            ..Line::default()
        };
        assert!(line(Some("t"), Some("ALL")).is_full_scan());
        assert!(line(Some("t"), Some("index")).is_full_scan());
        for other in [
            line(Some("t"), Some("ref")),
            line(Some("<derived2>"), Some("ALL")),
            line(None, None),
        ] {
            assert!(!other.is_full_scan());
        }
    }

    #[test]
    fn values_in_remarks_are_not_kept() {
        let extra = "Using where with pushed condition (`test`.`t`.`a` = 'secret')";
        let kept = without_conditions(extra.to_owned());
        assert_eq!(kept, "Using where with pushed condition");
    }

    #[test]
    fn newer_json_is_read_where_there_are_no_rows() {
        // MySQL 9.7 with optimizer_switch='hypergraph_optimizer=on', shortened.
        let json = serde_json::json!({
            "query_plan": {"inputs": [
                {"inputs": [{
                    "index_name": "PRIMARY", "table_name": "City", "access_type": "index",
                    "schema_name": "world", "estimated_rows": 1806.0, "index_access_type": "index_scan"
                }], "condition": "(City.District = 'x')", "access_type": "filter"},
                {"inputs": [{
                    "alias": "c", "index_name": "CountryCode", "table_name": "City", "access_type": "index",
                    "schema_name": "world", "estimated_rows": 0.25, "index_access_type": "index_lookup",
                    "lookup_references": ["const", "world.City.Population"]
                }], "condition": "(c.District = 'y')", "access_type": "filter"},
                {"table_name": "Country", "access_type": "table", "schema_name": "world"}
            ], "access_type": "join"},
            "json_schema_version": "2.0"
        });
        let lines = json_lines(&json);
        assert_eq!(
            descriptions(&lines),
            [
                "City index PRIMARY 1806",
                "c ref CountryCode 0",
                "Country ALL  -"
            ]
        );
        assert_eq!(lines[1].table, Some(("world".into(), "City".into())));
        assert_eq!(
            lines[1].reference.as_deref(),
            Some("const,world.City.Population")
        );
    }

    #[test]
    fn json_of_any_depth_is_read_as_far_as_it_is_sensible() {
        let mut json = serde_json::json!({"table_name": "t", "access_type": "table"});
        for _ in 0..100 {
            json = serde_json::json!({"inputs": [json]});
        }
        assert_eq!(json_lines(&json), []);
        assert_eq!(json_lines(&Value::Null), []);
    }
}
