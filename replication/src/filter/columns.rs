//! The columns of a table whose values a filter changes for replicas.

use std::borrow::Cow;

use aws_lc_rs::digest::{Context, SHA256};
use binlog::{Column, ColumnClass, ColumnFate, ColumnRewrite, NewValue, OldValue, TableMap};
use config::Secret;
use sql::Charset;

use super::error::FilterError;
use super::policy::TableChange;

/// The length of a hash in hexadecimal digits.
const HASH_DIGITS: usize = 64;

/// The maximum length of a character in bytes, if the column's character set is not known.
const CHARACTER_BYTES_MAX: usize = 4;

/// The filter's plan for the columns of one table.
#[derive(Debug)]
pub struct TableColumns {
    plans: Vec<ColumnPlan>,
    key: Option<Secret>,
}

/// The filter's plan for one column.
#[derive(Debug)]
enum ColumnPlan {
    Keep,
    Omit,
    Null,
    Constant(NewValue<'static>),
    /// A hash in place of characters or bytes; its number of digits.
    HashedBytes(usize),
    /// A hash in place of an integer with this many bytes.
    HashedInteger {
        bytes: usize,
        is_unsigned: bool,
    },
}

/// The settings that name columns.
const DROPPED: &str = "columns_dropped";
const NULL: &str = "columns_null";
const CONSTANT: &str = "columns_constant";
const HASHED: &str = "columns_hashed";

impl TableColumns {
    /// Returns a filter's plan for a table; none if the filter changes no column of the table.
    ///
    /// # Errors
    /// The names of the columns are not known, or a column cannot be changed like this.
    pub fn plan(change: &TableChange, table: &TableMap) -> Result<Option<Self>, FilterError> {
        let settings = &change.settings;
        let constants = settings.columns_constant.iter();
        let constants = constants.filter_map(|it| it.split_once('='));
        let plain =
            |list: &'static str, names: &'_ [String]| -> Vec<(&'static str, String, String)> {
                let all = names.iter();
                all.map(|it| (list, it.clone(), String::new())).collect()
            };
        let mut wanted = plain(DROPPED, &settings.columns_dropped);
        wanted.extend(plain(NULL, &settings.columns_null));
        wanted.extend(plain(HASHED, &settings.columns_hashed));
        wanted.extend(constants.map(|(name, value)| (CONSTANT, name.to_owned(), value.to_owned())));
        if wanted.is_empty() {
            return Ok(None);
        }
        let shown = format!("{}.{}", table.schema, table.table);
        if !table.has_names() {
            return Err(FilterError::NoNames(shown));
        }
        let mut plans: Vec<_> = table.columns.iter().map(|_| ColumnPlan::Keep).collect();
        let mut is_changed = false;
        for (setting, name, value) in wanted {
            let is_it = |column: &Column| {
                let own = column.name.as_deref().unwrap_or_default();
                own.eq_ignore_ascii_case(&name)
            };
            let Some(index) = table.columns.iter().position(is_it) else {
                if change.tables.is_one() {
                    return Err(FilterError::NoColumn {
                        table: shown,
                        column: name,
                        setting,
                    });
                }
                continue;
            };
            let is_key = table.primary_key.iter().any(|it| it.column == index);
            let plan = plan_of(setting, &table.columns[index], is_key, &value);
            let plan = plan.map_err(|reason| FilterError::Column {
                table: shown.clone(),
                column: name,
                setting,
                reason,
            })?;
            if let Some(place) = plans.get_mut(index) {
                *place = plan;
                is_changed = true;
            }
        }
        let key = settings.hash_key.clone();
        Ok(is_changed.then_some(Self { plans, key }))
    }

    /// Returns the hash of a value, with the filter's key.
    fn hash(&self, value: &[u8]) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(self.key.as_ref().map_or("", Secret::expose).as_bytes());
        context.update(value);
        let mut hash = [0; 32];
        hash.copy_from_slice(context.finish().as_ref());
        hash
    }
}

/// Returns the plan for a column, or why the setting does not fit the column.
fn plan_of(
    setting: &'static str,
    column: &Column,
    is_key: bool,
    value: &str,
) -> Result<ColumnPlan, &'static str> {
    if is_key && setting != HASHED {
        return Err("the column is in the primary key, by which replicas find their rows");
    }
    Ok(match setting {
        DROPPED => ColumnPlan::Omit,
        NULL if !column.is_nullable => return Err("the column is NOT NULL"),
        NULL => ColumnPlan::Null,
        CONSTANT => ColumnPlan::Constant(constant(column, value)?),
        _ => hashed(column, is_key)?,
    })
}

fn constant(column: &Column, value: &str) -> Result<NewValue<'static>, &'static str> {
    match column.class() {
        ColumnClass::Integer(bytes) => {
            let number: i128 = value
                .trim()
                .parse()
                .map_err(|_| "the value is no integer")?;
            let bits = 8 * bytes as u32;
            let least = match column.is_unsigned {
                Some(true) => 0,
                _ => -(1_i128 << (bits - 1)),
            };
            let most = match column.is_unsigned {
                Some(true) => (1_i128 << bits) - 1,
                _ => (1_i128 << (bits - 1)) - 1,
            };
            match (least..=most).contains(&number) {
                // The column holds the low bytes of the number.
                true => Ok(NewValue::Integer(number as u64)),
                false => Err("the value is out of the column's range"),
            }
        }
        ColumnClass::Bytes(most) => {
            if value.len() > most {
                return Err("the value is longer than the column");
            }
            match character_bytes(column) {
                None => Err("the column's character set is not one that contains ASCII"),
                Some(_) if !value.is_ascii() && !is_utf8(column) => {
                    Err("the value is not ASCII, and the column is not in UTF-8")
                }
                Some(_) => Ok(NewValue::Bytes(Cow::Owned(value.as_bytes().to_vec()))),
            }
        }
        ColumnClass::Other => Err("the column does not hold characters, bytes or integers"),
    }
}

fn hashed(column: &Column, is_key: bool) -> Result<ColumnPlan, &'static str> {
    match column.class() {
        ColumnClass::Integer(bytes) if is_key && bytes < 8 => {
            Err("two keys could have the same hash of so few bytes")
        }
        ColumnClass::Integer(bytes) => Ok(ColumnPlan::HashedInteger {
            bytes,
            is_unsigned: column.is_unsigned == Some(true),
        }),
        ColumnClass::Bytes(most) => {
            let each = character_bytes(column);
            let each = each.ok_or("the column's character set is not one that contains ASCII")?;
            match (most / each).min(HASH_DIGITS) {
                digits if is_key && digits < HASH_DIGITS / 2 => {
                    Err("two keys could have the same hash of so few characters")
                }
                digits => Ok(ColumnPlan::HashedBytes(digits)),
            }
        }
        ColumnClass::Other => Err("the column does not hold characters, bytes or integers"),
    }
}

/// Returns the maximum length of a character in bytes; none if ASCII characters have more than one byte.
fn character_bytes(column: &Column) -> Option<usize> {
    match column.collation.map(Charset::name_of_collation) {
        Some("ucs2" | "utf16" | "utf16le" | "utf32") => None,
        Some("utf8mb3" | "utf8") => Some(3),
        Some("binary" | "ascii" | "latin1" | "latin2" | "latin5" | "latin7") => Some(1),
        _ => Some(CHARACTER_BYTES_MAX),
    }
}

fn is_utf8(column: &Column) -> bool {
    let name = column.collation.map(Charset::name_of_collation);
    matches!(name, Some("utf8mb4" | "utf8mb3" | "utf8" | "binary"))
}

impl ColumnRewrite for TableColumns {
    fn fate(&self, column: usize) -> ColumnFate {
        match self.plans.get(column) {
            None | Some(ColumnPlan::Keep) => ColumnFate::Keep,
            Some(ColumnPlan::Omit) => ColumnFate::Omit,
            Some(_) => ColumnFate::Replace,
        }
    }

    fn value(&self, column: usize, old: OldValue<'_>) -> NewValue<'_> {
        match (self.plans.get(column), old) {
            (Some(ColumnPlan::Constant(value)), _) => value.clone(),
            (Some(ColumnPlan::HashedBytes(digits)), OldValue::Bytes(bytes)) => {
                let mut text = hexadecimal(&self.hash(&bytes));
                text.truncate(*digits);
                NewValue::Bytes(Cow::Owned(text.into_bytes()))
            }
            (Some(ColumnPlan::HashedInteger { bytes, is_unsigned }), OldValue::Integer(bits)) => {
                NewValue::Integer(self.hash_integer(bits, *bytes, *is_unsigned))
            }
            // If plan and value do not match, NULL reveals nothing.
            _ => NewValue::Null,
        }
    }
}

impl TableColumns {
    /// Returns the first bytes of the hash of the number's decimal digits. The highest bit is 0, so it is positive
    /// in any column.
    fn hash_integer(&self, bits: u64, bytes: usize, is_unsigned: bool) -> u64 {
        let shift = 64 - 8 * bytes as u32;
        let digits = match is_unsigned {
            true => bits.to_string(),
            false => ((bits << shift).cast_signed() >> shift).to_string(),
        };
        let hash = self.hash(digits.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        u64::from_be_bytes(first) >> shift & (u64::MAX >> (shift + 1))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
