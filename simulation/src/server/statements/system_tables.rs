//! Tables of `information_schema` and `performance_schema`, as far as the model has them.

use std::rc::Rc;

use super::super::ast::{ColumnKind, TableName};
use super::super::error::SqlResult;
use super::super::session::Session;
use super::super::table::{Column, Key, Shape, Table};
use super::super::value::Value;

/// Names of columns, and rows.
type Content = (&'static [&'static str], Vec<Vec<Value>>);

impl Session {
    /// Whether a table is the server's own.
    pub(super) fn is_system(&self, name: &TableName) -> bool {
        let own = ["information_schema", "performance_schema"];
        let is_own = |schema: &str| own.iter().any(|it| it.eq_ignore_ascii_case(schema));
        match &name.schema {
            Some(schema) => is_own(schema),
            None => self.control.schema.borrow().as_deref().is_some_and(is_own),
        }
    }

    /// A table of the server's own, filled.
    ///
    /// # Errors
    /// 1109 or 1146 if the model has no such table.
    pub(super) fn system_table(&self, name: &TableName) -> SqlResult<Rc<Table>> {
        let is_mariadb = self.family().is_mariadb();
        let schema = name.schema.clone().unwrap_or_else(|| Rc::from(""));
        let (columns, rows): Content = match name.name.to_ascii_uppercase().as_str() {
            "SYSTEM_VARIABLES" if is_mariadb => self.system_variables(),
            "GLOBAL_STATUS" if is_mariadb => {
                let values = self.status_values().into_iter();
                let row = |(name, value): (&str, u64)| {
                    vec![
                        Value::text(name.to_uppercase()),
                        Value::text(value.to_string()),
                    ]
                };
                (
                    &["VARIABLE_NAME", "VARIABLE_VALUE"],
                    values.map(row).collect(),
                )
            }
            "ENABLED_ROLES" => (&["ROLE_NAME"], Vec::new()),
            "PLUGINS" => (&["PLUGIN_NAME", "PLUGIN_STATUS"], Vec::new()),
            "PROCESSLIST" => self.process_rows(),
            "REPLICATION_GROUP_MEMBERS" if !is_mariadb => {
                (&["MEMBER_ID", "MEMBER_STATE"], Vec::new())
            }
            _ => {
                let shown = match is_mariadb {
                    true => name.name.to_string(),
                    false => name.name.to_ascii_uppercase(),
                };
                let text = format!("Unknown table '{shown}' in information_schema");
                return Err(super::super::error::SqlError::new(
                    self.family(),
                    1109,
                    text,
                ));
            }
        };
        let column = |name: &&str| Column {
            name: Rc::from(*name),
            kind: ColumnKind::Varchar(64),
            not_null: false,
            default: None,
            auto_increment: false,
        };
        let shape = Shape {
            schema,
            name: Rc::clone(&name.name),
            columns: columns.iter().map(column).collect(),
            key: Vec::new(),
        };
        let table = Table::new(0, shape);
        for (number, row) in rows.into_iter().enumerate() {
            table.apply(&Key::Number(number as i128), 0, 0, Some(Rc::from(row)));
        }
        Ok(Rc::new(table))
    }

    fn system_variables(&self) -> Content {
        let all = self.server.definitions.iter().map(|(_, it)| it);
        let rows = all.map(|it| {
            let scope = match (it.is_session, it.is_global) {
                (true, true) => "SESSION",
                (true, false) => "SESSION ONLY",
                _ => "GLOBAL",
            };
            vec![Value::text(it.name.to_uppercase()), Value::text(scope)]
        });
        (&["VARIABLE_NAME", "VARIABLE_SCOPE"], rows.collect())
    }

    fn process_rows(&self) -> Content {
        let own = &self.login.user;
        let all = self.server.connections.all();
        let shown = all
            .iter()
            .filter(|it| self.is_administrator() || *it.user.borrow() == *own);
        let rows = shown.map(|it| {
            let is_busy = it.statement.borrow().is_some();
            vec![
                Value::Unsigned(it.id.into()),
                Value::text(&**it.user.borrow()),
                Value::text(if is_busy { "Query" } else { "Sleep" }),
                Value::text(it.state.get()),
            ]
        });
        (&["ID", "USER", "COMMAND", "STATE"], rows.collect())
    }
}
