//! The results of the statements that a rule has injected, for the log: one JSON object for each statement of a client.

use std::collections::HashMap;

use config::InjectedResults;
use route::rules::Purpose;
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Capabilities, HEADER_BYTES};

use crate::connection_error::ConnectionError;
use crate::diagnostics::Diagnostics;
use crate::own_reply::OwnReply;
use wire::rows::Rows;

/// The result of one injected statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The statement has a result set.
    Table(ResultTable),
    /// The statement has no result that the rule wants.
    Nothing,
    /// The statement was not sent, for this reason.
    Skipped(&'static str),
    /// The server has answered with this error, or the connection broke.
    Failed(String),
}

/// A small result, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResultTable {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    /// How many bytes the server sent for it.
    #[serde(skip)]
    bytes: u64,
}

/// An injected statement, sent or skipped, and its result.
#[derive(Debug, Clone)]
pub struct Found {
    /// The statement's text.
    pub text: Box<str>,
    /// The purpose of the statement.
    pub purpose: Purpose,
    /// Its result.
    pub finding: Finding,
}

/// The client's statement around which the injected statements were sent.
#[derive(Serialize)]
pub struct Profile<'a> {
    /// The command's name, as the protocol has it.
    pub command: &'static str,
    /// When it began, in RFC 3339.
    pub timestamp: String,
    /// The digest, so that no value is logged; the text as the client sent it, if the profile may show that.
    pub query: &'a str,
    /// The digest's hash, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The connection's id at the backend.
    pub thread_id: u32,
    /// How long the backend took, in milliseconds.
    pub exec_time: f64,
    /// Why there is a profile.
    #[serde(flatten)]
    pub reason: ProfileReason<'a>,
    /// The account.
    pub user: String,
    /// The default schema.
    pub schema: Option<String>,
    /// The backend's name.
    pub backend: Option<&'a str>,
    /// How the statement ended.
    #[serde(flatten)]
    pub ending: ProfiledEnding,
    /// Tags that rules have given to the statement.
    pub tags: Vec<String>,
    /// The cost of the injected statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The status variables that have changed, with their differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Map<String, Value>>,
    /// The result of each injected statement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<InjectionReport<'a>>,
}

/// Why a statement was profiled.
#[derive(Serialize)]
pub struct ProfileReason<'a> {
    /// The rule that injected the statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'a str>,
    /// Why the statement was chosen for a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<&'a str>,
}

/// How a profiled statement ended.
#[derive(Serialize)]
pub struct ProfiledEnding {
    /// The number of the error.
    pub error: Option<u16>,
    /// Rows of the result.
    pub rows: u64,
    /// Rows that the statement changed.
    pub affected_rows: u64,
    /// The number of warnings.
    pub warnings: u16,
}

/// How many statements were injected for one statement, and how long they took.
#[derive(Serialize)]
pub struct Cost {
    /// How many statements were injected.
    pub statements: u32,
    /// How long the injected statements took, in microseconds.
    pub microseconds: u64,
}

/// The result of one injected statement, as the log and the profile have it.
#[derive(Serialize)]
pub struct InjectionReport<'a> {
    statement: &'a str,
    /// Whether it was sent before or after the client's statement; `None` if both results were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<&'static str>,
    #[serde(flatten)]
    what: InjectionOutcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum InjectionOutcome<'a> {
    Changed(Map<String, Value>),
    Result(&'a ResultTable),
    Skipped(&'static str),
    Error(&'a str),
}

impl ResultTable {
    /// Returns an empty table with these columns.
    pub fn new(columns: &[&str]) -> Self {
        Self {
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Returns a table with these columns and rows.
    pub fn of<const N: usize>(columns: &[&str; N], rows: &[[Option<&str>; N]]) -> Self {
        let row = |row: &[Option<&str>; N]| row.iter().map(|it| it.map(str::to_owned)).collect();
        Self {
            rows: rows.iter().map(row).collect(),
            ..Self::new(columns)
        }
    }

    /// How many rows the table has.
    pub fn rows_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns a value; `None` if it is NULL, or if there is no such row or column.
    pub fn value(&self, row: usize, column: &str) -> Option<&str> {
        let mut columns = self.columns.iter();
        let at = columns.position(|it| it.eq_ignore_ascii_case(column))?;
        self.rows.get(row)?.get(at)?.as_deref()
    }

    /// Returns one row of the table, without these columns.
    pub fn row_without(self, row: usize, columns: &[&str]) -> Self {
        let values = self.rows.into_iter().nth(row).unwrap_or_default();
        let kept = self.columns.into_iter().zip(values);
        let kept = kept.filter(|(name, _)| !columns.iter().any(|it| name.eq_ignore_ascii_case(it)));
        let (columns, values) = kept.unzip();
        Self {
            columns,
            rows: vec![values],
            bytes: self.bytes,
        }
    }

    /// Reads a result set. A reply without rows gives a table without columns.
    pub fn read(own: &OwnReply, capabilities: Capabilities) -> Result<Self, ConnectionError> {
        let Rows { columns, rows } = own.rows(capabilities)?;
        Ok(Self {
            columns,
            rows,
            bytes: own.tally.bytes,
        })
    }

    /// Builds the result of SHOW WARNINGS or SHOW ERRORS from a saved list.
    pub fn of_list(list: Option<&Diagnostics>, purpose: &Purpose) -> Self {
        let mut table = Self::new(&["Level", "Code", "Message"]);
        let conditions = list.map(Diagnostics::conditions).unwrap_or_default();
        let is_wanted = |is_error: bool| *purpose == Purpose::Warnings || is_error;
        table.rows = (conditions.iter())
            .filter(|it| is_wanted(it.is_error()))
            .map(|it| {
                let cells = [&it.level, &it.code, &it.message];
                cells.map(|cell| Some(shown(cell))).to_vec()
            })
            .collect();
        table
    }

    /// Replaces the messages of a warning list by what `shown` returns for each number and message.
    pub fn redact(&mut self, shown: impl Fn(u16, String, bool) -> String) {
        for row in &mut self.rows {
            if let [_, Some(code), message] = row.as_mut_slice() {
                let number = code.parse().unwrap_or_default();
                *message = message.take().map(|it| shown(number, it, false));
            }
        }
    }

    /// Returns what has changed since an earlier table. Both have two columns; the first has the
    /// names. Numbers are subtracted. `None` if the columns differ.
    fn changed_since(&self, before: &Self) -> Option<Map<String, Value>> {
        if self.columns.len() != 2 || before.columns.len() != 2 {
            return None;
        }
        let named = |row: &[Option<String>]| match row {
            [Some(name), value] => Some((name.clone(), value.clone())),
            _ => None,
        };
        let earlier: HashMap<String, Option<String>> =
            before.rows.iter().filter_map(|it| named(it)).collect();
        let mut changed = Map::new();
        for (name, value) in self.rows.iter().filter_map(|it| named(it)) {
            let was = earlier.get(&name).cloned().flatten();
            if was != value {
                changed.insert(name, difference(was.as_deref(), value));
            }
        }
        Some(changed)
    }
}

/// Returns the change of SHOW STATUS, and the reports of the other injected statements.
pub fn collect_reports<'a>(
    before: &'a [Found],
    after: &'a [Found],
    results: InjectedResults,
) -> (Option<Map<String, Value>>, Vec<InjectionReport<'a>>) {
    let mut status = None;
    let mut all = Vec::new();
    let mut compared = Vec::new();
    for (at, found) in after.iter().enumerate() {
        let pair = before.iter().position(|it| it.text == found.text);
        let earlier = pair.filter(|_| results == InjectedResults::Diff);
        let Some((place, earlier)) = earlier.and_then(|at| Some((at, before.get(at)?))) else {
            continue;
        };
        let (Finding::Table(was), Finding::Table(is)) = (&earlier.finding, &found.finding) else {
            continue;
        };
        if let Some(changed) = is.changed_since(was) {
            compared.push((place, at));
            match found.purpose {
                Purpose::Status => status.get_or_insert_with(Map::new).extend(changed),
                _ => all.push(InjectionReport {
                    statement: &found.text,
                    when: None,
                    what: InjectionOutcome::Changed(changed),
                }),
            }
        }
    }
    let sides = [("before", before), ("after", after)];
    for (side, (when, founds)) in sides.into_iter().enumerate() {
        for (at, found) in founds.iter().enumerate() {
            let is_compared = compared.iter().any(|pair| match side {
                0 => pair.0 == at,
                _ => pair.1 == at,
            });
            let what = match &found.finding {
                _ if is_compared => continue,
                Finding::Nothing => continue,
                Finding::Table(table) => InjectionOutcome::Result(table),
                Finding::Skipped(why) => InjectionOutcome::Skipped(why),
                Finding::Failed(why) => InjectionOutcome::Error(why),
            };
            all.push(InjectionReport {
                statement: &found.text,
                when: Some(when),
                what,
            });
        }
    }
    (status, all)
}

/// Subtracts from the change of SHOW SESSION STATUS the part that the injected SHOW itself causes:
/// the server counts the first SHOW when it ends, and the second when it arrives.
pub fn without_own(changed: &mut Map<String, Value>, before: &[Found]) {
    let is_status = |it: &&Found| it.purpose == Purpose::Status;
    let Some(found) = before.iter().find(is_status) else {
        return;
    };
    let Finding::Table(table) = &found.finding else {
        return;
    };
    let bytes_received = HEADER_BYTES + 1 + found.text.len();
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    for (name, own) in [
        ("Com_show_status", 1),
        ("Questions", 1),
        ("Queries", 1),
        ("Bytes_received", count(bytes_received)),
        ("Bytes_sent", i64::try_from(table.bytes).unwrap_or(i64::MAX)),
        // Only MariaDB counts these: the rows of the table that the SHOW is read from.
        ("Rows_tmp_read", count(table.rows.len())),
    ] {
        let Some(all) = changed.get(name).and_then(Value::as_i64) else {
            continue;
        };
        match all.saturating_sub(own) {
            0 => changed.remove(name),
            rest if rest > 0 => changed.insert(name.to_owned(), rest.into()),
            _ => continue,
        };
    }
}

/// Returns the difference of two numbers; if they are not numbers, the later value.
fn difference(was: Option<&str>, is: Option<String>) -> Value {
    let Some(is) = is else {
        return Value::Null;
    };
    let number = was
        .and_then(decimal)
        .zip(decimal(&is))
        .and_then(|(was, is)| minus(is, was));
    match number {
        Some(number) => number,
        None => Value::String(is),
    }
}

/// Reads a decimal number: returns all of its digits, and how many of them follow the point.
fn decimal(text: &str) -> Option<(i64, u32)> {
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_number = |part: &str| part.bytes().all(|it| it.is_ascii_digit());
    if digits.is_empty() || !is_number(digits) || !is_number(behind) {
        return None;
    }
    let all = format!("{whole}{behind}").parse().ok()?;
    Some((all, u32::try_from(behind.len()).ok()?))
}

fn minus(is: (i64, u32), was: (i64, u32)) -> Option<Value> {
    let places = is.1.max(was.1);
    let scaled = |(number, own): (i64, u32)| number.checked_mul(10i64.checked_pow(places - own)?);
    let difference = scaled(is)?.checked_sub(scaled(was)?)?;
    match places {
        0 => Some(difference.into()),
        _ => {
            let number = difference as f64 / 10f64.powi(i32::try_from(places).ok()?);
            serde_json::Number::from_f64(number).map(Value::Number)
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn table(rows: &[(&str, &str)]) -> ResultTable {
        let mut table = ResultTable::new(&["Variable_name", "Value"]);
        let row = |(name, value): &(&str, &str)| {
            vec![Some((*name).to_owned()), Some((*value).to_owned())]
        };
        table.rows = rows.iter().map(row).collect();
        table
    }

    #[test]
    fn numbers_are_subtracted_and_changed_rows_are_reported() {
        let before = table(&[
            ("Handler_read_key", "7"),
            ("Last_query_cost", "10.499000"),
            ("Compression", "OFF"),
            ("Uptime", "5"),
            ("Huge", "99999999999999999999"),
        ]);
        let after = table(&[
            ("Handler_read_key", "21"),
            ("Last_query_cost", "0.5"),
            ("Compression", "ON"),
            ("Uptime", "5"),
            ("Huge", "99999999999999999998"),
            ("New", "1"),
        ]);
        let changed = after.changed_since(&before).unwrap();
        let expected = json!({
            "Handler_read_key": 14,
            "Last_query_cost": -9.999,
            "Compression": "ON",
            "Huge": "99999999999999999998",
            "New": "1",
        });
        assert_eq!(Value::Object(changed), expected);
    }

    #[test]
    fn results_of_another_shape_are_reported_whole() {
        let found = |text: &str, finding| Found {
            text: text.into(),
            purpose: Purpose::Result,
            finding,
        };
        let one = ResultTable::new(&["a"]);
        let before = [
            found("SHOW PLUGINS", Finding::Table(one.clone())),
            found("SHOW X", Finding::Table(table(&[("a", "1")]))),
            found("SET profiling = 1", Finding::Nothing),
        ];
        let after = [
            found("SHOW PLUGINS", Finding::Table(one)),
            found("SHOW X", Finding::Table(table(&[("a", "3")]))),
            found("EXPLAIN {statement}", Finding::Failed("1064".to_owned())),
        ];
        let (status, all) = collect_reports(&before, &after, InjectedResults::Diff);
        assert!(status.is_none());
        let empty = json!({"columns": ["a"], "rows": []});
        let expected = json!([
            {"statement": "SHOW X", "changed": {"a": 2}},
            {"statement": "SHOW PLUGINS", "when": "before", "result": empty},
            {"statement": "SHOW PLUGINS", "when": "after", "result": empty},
            {"statement": "EXPLAIN {statement}", "when": "after", "error": "1064"},
        ]);
        assert_eq!(serde_json::to_value(&all).unwrap(), expected);
    }
}
