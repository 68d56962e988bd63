//! The tables whose rows can be added, changed and removed, and the statements for that. Input from requests is always
//! a value of a placeholder, never a part of a statement's text.

use axum::http::StatusCode;
use rusqlite::types::Value;

use super::super::body::echoed;
use super::super::refusal::Refusal;
use super::values::{BodyValues, Parameter};
use admin::table::Table;
use admin::tables::{accounts, admin_accounts, backends, rules};

/// One table.
pub struct List {
    table: &'static dyn Table,
    /// The word for one row, in messages.
    row_noun: &'static str,
    /// The columns by which a path names a row; two columns are written with `@` between them.
    keys: &'static [&'static str],
    settings: fn() -> Vec<Parameter>,
}

/// See the module.
pub static BACKENDS: List = List {
    table: &backends::TABLE,
    row_noun: "backend",
    keys: &["name"],
    settings: || Parameter::columns(&config::BACKEND),
};

/// See the module.
pub static RULES: List = List {
    table: &rules::TABLE,
    row_noun: "rule",
    keys: &["name"],
    settings: || Parameter::columns(&config::RULE),
};

/// See the module.
pub static ACCOUNTS: List = List {
    table: &accounts::TABLE,
    row_noun: "account",
    keys: &["user", "host"],
    settings: || Parameter::columns(&config::ACCOUNT),
};

/// See the module.
pub static ADMIN_ACCOUNTS: List = List {
    table: &admin_accounts::TABLE,
    row_noun: "user of the admin port",
    keys: &["user"],
    settings: || Parameter::columns(&config::ADMIN_ACCOUNT),
};

impl List {
    /// The fields that a row may have.
    pub fn parameters(&self) -> Vec<Parameter> {
        let place = self.table.alterable().and_then(|it| it.position_column);
        let mut parameters = (self.settings)();
        parameters.extend(place.map(Parameter::position));
        parameters
    }

    /// The INSERT statement with these columns, and a placeholder for each.
    pub fn insert(&self, columns: &[&str]) -> String {
        let names: Vec<_> = columns.iter().map(|it| quoted(it)).collect();
        let places = vec!["?"; columns.len()].join(", ");
        let table = self.table.name();
        format!(
            "INSERT INTO {table} ({}) VALUES ({places})",
            names.join(", ")
        )
    }

    /// The UPDATE statement for these columns of a row.
    pub fn update(&self, columns: &[&str]) -> String {
        let set = columns.iter().map(|it| format!("{} = ?", quoted(it)));
        let set = set.collect::<Vec<_>>().join(", ");
        format!(
            "UPDATE {} SET {set} WHERE {}",
            self.table.name(),
            self.condition()
        )
    }

    /// The DELETE statement for a row.
    pub fn delete(&self) -> String {
        format!(
            "DELETE FROM {} WHERE {}",
            self.table.name(),
            self.condition()
        )
    }

    /// The condition for a row. Names are compared exactly, so that a path names one row only.
    fn condition(&self) -> String {
        let keys = self.keys.iter();
        let keys = keys.map(|key| format!("{} = ? COLLATE BINARY", quoted(key)));
        keys.collect::<Vec<_>>().join(" AND ")
    }

    /// The key values that a path names.
    pub fn key(&self, named: &str) -> Vec<Value> {
        let value = |text: &str| Value::Text(text.to_owned());
        match (self.keys.len(), named.rsplit_once('@')) {
            (2, Some((user, host))) => vec![value(user), value(host)],
            (2, None) => vec![value(named), value("%")],
            _ => vec![value(named)],
        }
    }

    /// The statement that adds a row with these values.
    ///
    /// # Errors
    /// A required value is missing, in words.
    pub fn added(&self, given: BodyValues) -> Result<(String, Vec<Value>), String> {
        let given: Vec<_> = given.into_iter().filter(|(_, it)| it.is_some()).collect();
        let is_given = |of: &Parameter| given.iter().any(|(name, _)| *name == of.name);
        let parameters = self.parameters();
        let mut needed = parameters.iter().filter(|it| it.is_required);
        if let Some(missing) = needed.find(|it| !is_given(it)) {
            return Err(format!("The body needs {:?}", missing.name));
        }
        let (columns, values) = parted(given);
        Ok((self.insert(&columns), values))
    }

    /// The statement that changes a row to these values.
    ///
    /// # Errors
    /// There are no values.
    pub fn changed(&self, named: &str, given: BodyValues) -> Result<(String, Vec<Value>), String> {
        if given.is_empty() {
            return Err(format!("The body says nothing of the {}", self.row_noun));
        }
        let (columns, mut values) = parted(given);
        values.extend(self.key(named));
        Ok((self.update(&columns), values))
    }

    /// The error for a row that does not exist.
    pub fn no_row(&self, named: &str) -> Refusal {
        let (one, table) = (self.row_noun, self.table.name());
        let named = echoed(named);
        let text = format!("There is no {one} {named}; /api/tables/{table} lists what there is");
        Refusal::new(StatusCode::NOT_FOUND, text)
    }
}

fn quoted(column: &str) -> String {
    match column {
        "…" => column.to_owned(),
        column => format!("\"{column}\""),
    }
}

fn parted(given: BodyValues) -> (Vec<&'static str>, Vec<Value>) {
    let value = |text: Option<String>| text.map_or(Value::Null, Value::Text);
    given
        .into_iter()
        .map(|(name, text)| (name, value(text)))
        .unzip()
}
