//! SHOW.

use std::rc::Rc;

use wire::column::{ColumnDefinition, ColumnType};

use super::super::ast::{Filter, Limit, ReplicaStatusForm, Scope, Show, TableName};
use super::super::diagnostics::{Condition, Level};
use super::super::error::SqlResult;
use super::super::evaluate::{Context, like};
use super::super::output::{Outcome, Rows};
use super::super::result_column::ResultColumn;
use super::super::result_type::ResultType;
use super::super::session::Session;
use super::super::table::Row;
use super::super::value::Value;

const NOT_NULL: u16 = ColumnDefinition::NOT_NULL;

impl Session {
    pub(super) fn show(&mut self, show: &Show) -> SqlResult<Outcome> {
        Ok(Outcome::Rows(match show {
            Show::Warnings(limit) => self.conditions(limit.as_ref(), |_| true)?,
            Show::Errors(limit) => {
                self.conditions(limit.as_ref(), |it| it.level == Level::Error)?
            }
            Show::CountWarnings => {
                let count = self.diagnostics.warnings();
                self.count("@@session.warning_count", count)
            }
            Show::CountErrors => {
                let count = self.diagnostics.errors();
                self.count("@@session.error_count", count)
            }
            Show::Variables(scope, filter) => {
                let is_mariadb = self.family().is_mariadb();
                self.diagnostics.no_index_used = is_mariadb || *scope != Scope::Global;
                self.show_variables(*scope, filter)
            }
            Show::Status(_, filter) => self.show_status(filter),
            Show::ReplicaStatus(form) => self.replica_status(*form),
            Show::Processlist(_) => self.processlist(),
            Show::Tables => self.show_tables()?,
            Show::Databases => self.show_schemas(),
            Show::Grants => self.show_grants(),
            Show::Columns(name) => self.show_columns(name)?,
        }))
    }

    fn conditions(
        &mut self,
        limit: Option<&Limit>,
        is_wanted: impl Fn(&Condition) -> bool,
    ) -> SqlResult<Rows> {
        let (offset, count) = self.limits(limit, &Context::bare(&[], &[]))?;
        let all = self
            .diagnostics
            .conditions
            .iter()
            .filter(|it| is_wanted(it));
        let row = |it: &Condition| -> Row {
            Rc::from([
                Value::text(it.level.word()),
                Value::Unsigned(it.number.into()),
                Value::text(&*it.text),
            ])
        };
        let code = ResultType::new(ColumnType::LONG, NOT_NULL | ColumnDefinition::UNSIGNED, 4);
        Ok(Rows {
            columns: vec![
                ResultColumn::new("Level", ResultType::text(NOT_NULL, 7)),
                ResultColumn::new("Code", code),
                ResultColumn::new("Message", ResultType::text(NOT_NULL, 512)),
            ],
            rows: all.skip(offset).take(count).map(row).collect(),
        })
    }

    fn count(&self, name: &str, count: u16) -> Rows {
        let kind = ResultType::long(ColumnDefinition::UNSIGNED);
        Rows {
            columns: vec![ResultColumn::new(name, kind)],
            rows: vec![Rc::from([Value::Unsigned(count.into())])],
        }
    }

    fn show_variables(&self, scope: Scope, filter: &Filter) -> Rows {
        let mut rows: Vec<Row> = Vec::new();
        for (_, definition) in self.server.definitions.iter() {
            if !is_shown(filter, definition.name) || scope == Scope::Global && !definition.is_global
            {
                continue;
            }
            let scope = match definition.is_session {
                true => scope,
                false => Scope::Global,
            };
            if let Ok(value) = self.read_variable(scope, definition.name) {
                let told = Value::text(definition.told(&value));
                rows.push(Rc::from([Value::text(definition.name), told]));
            }
        }
        self.name_and_value(rows)
    }

    fn name_and_value(&self, rows: Vec<Row>) -> Rows {
        Rows {
            columns: vec![
                ResultColumn::new("Variable_name", ResultType::text(NOT_NULL, 64)),
                ResultColumn::new("Value", ResultType::text(0, 1024)),
            ],
            rows,
        }
    }

    fn show_status(&self, filter: &Filter) -> Rows {
        let rows = self
            .status_values()
            .into_iter()
            .filter(|it| is_shown(filter, it.0));
        let row = |(name, value): (&str, u64)| -> Row {
            Rc::from([Value::text(name), Value::text(value.to_string())])
        };
        self.name_and_value(rows.map(row).collect())
    }

    /// Counters of the server.
    pub(super) fn status_values(&self) -> Vec<(&'static str, u64)> {
        let server = &self.server;
        vec![
            ("Questions", server.state.statements.get()),
            ("Threads_connected", server.connections() as u64),
            ("Threads_running", 1),
            ("Uptime", server.state.started.get().elapsed().as_secs()),
        ]
    }

    fn replica_status(&self, form: ReplicaStatusForm) -> Rows {
        let is_mariadb = self.family().is_mariadb();
        let (replica, source) = match form {
            ReplicaStatusForm::Replica if !is_mariadb => ("Replica", "Source"),
            _ => ("Slave", "Master"),
        };
        let text = || ResultType::text(NOT_NULL, 64);
        let mut columns = Vec::new();
        let mut values = Vec::new();
        let standing = self.server.standing();
        let mut add = |name: String, kind: ResultType, value: Value| {
            columns.push(ResultColumn::new(name, kind));
            values.push(value);
        };
        if form == ReplicaStatusForm::AllSlaves {
            add("Connection_name".to_owned(), text(), Value::text(""));
        }
        let (io, sql) = standing
            .as_ref()
            .map_or(("No", "No"), |it| (it.receiver, it.applier));
        add(format!("{replica}_IO_Running"), text(), Value::text(io));
        add(format!("{replica}_SQL_Running"), text(), Value::text(sql));
        let behind = standing.as_ref().and_then(|it| it.behind);
        let behind = behind.map_or(Value::Null, |it| Value::Int(it as i64));
        add(
            format!("Seconds_Behind_{source}"),
            ResultType::long(0),
            behind,
        );
        if !is_mariadb {
            add("Channel_Name".to_owned(), text(), Value::text(""));
        }
        let rows = standing.map(|_| Rc::from(values));
        Rows {
            columns,
            rows: rows.into_iter().collect(),
        }
    }

    fn processlist(&self) -> Rows {
        let own = &self.login.user;
        let all = self.server.connections.all();
        let shown = all
            .iter()
            .filter(|it| self.is_administrator() || *it.user.borrow() == *own);
        let rows = shown.map(|it| -> Row {
            let schema = it.schema.borrow();
            let statement = it.statement.borrow();
            let optional = |it: Option<&Rc<str>>| it.map_or(Value::Null, |it| Value::text(&**it));
            Rc::from([
                Value::Unsigned(it.id.into()),
                Value::text(&**it.user.borrow()),
                Value::text("127.0.0.1"),
                optional(schema.as_ref()),
                Value::text(if statement.is_some() {
                    "Query"
                } else {
                    "Sleep"
                }),
                Value::Int(0),
                Value::text(it.state.get()),
                optional(statement.as_ref()),
            ])
        });
        let text = |name| ResultColumn::new(name, ResultType::text(0, 64));
        Rows {
            columns: vec![
                ResultColumn::new(
                    "Id",
                    ResultType::long(NOT_NULL | ColumnDefinition::UNSIGNED),
                ),
                text("User"),
                text("Host"),
                text("db"),
                text("Command"),
                ResultColumn::new("Time", ResultType::new(ColumnType::LONG, 0, 7)),
                text("State"),
                text("Info"),
            ],
            rows: rows.collect(),
        }
    }

    fn show_tables(&mut self) -> SqlResult<Rows> {
        self.diagnostics.no_index_used = self.family().is_mariadb();
        let schema = self.schema().ok_or_else(|| self.family().no_schema())?;
        let names = self.server.catalogue.tables(&schema);
        let title = format!("Tables_in_{schema}");
        Ok(Rows {
            columns: vec![ResultColumn::new(title, ResultType::text(NOT_NULL, 64))],
            rows: names
                .iter()
                .map(|it| -> Row { Rc::from([Value::text(&**it)]) })
                .collect(),
        })
    }

    fn show_schemas(&self) -> Rows {
        let names = self.server.catalogue.schemas();
        Rows {
            columns: vec![ResultColumn::new(
                "Database",
                ResultType::text(NOT_NULL, 64),
            )],
            rows: names
                .iter()
                .map(|it| -> Row { Rc::from([Value::text(&**it)]) })
                .collect(),
        }
    }

    fn show_grants(&self) -> Rows {
        let user = &self.login.user;
        let privileges = match self.is_administrator() {
            true => "ALL PRIVILEGES",
            false => {
                "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, LOCK TABLES, CREATE TEMPORARY TABLES"
            }
        };
        let grant = format!("GRANT {privileges} ON *.* TO `{user}`@`%`");
        let title = format!("Grants for {user}@%");
        Rows {
            columns: vec![ResultColumn::new(title, ResultType::text(NOT_NULL, 1024))],
            rows: vec![Rc::from([Value::text(grant)])],
        }
    }

    fn show_columns(&self, name: &TableName) -> SqlResult<Rows> {
        let table = self.find_table(name)?;
        let text = |name| ResultColumn::new(name, ResultType::text(0, 64));
        let rows = table
            .shape
            .columns
            .iter()
            .map(|it| -> Row { Rc::from([Value::text(&*it.name)]) });
        Ok(Rows {
            columns: vec![text("Field")],
            rows: rows.collect(),
        })
    }
}

fn is_shown(filter: &Filter, name: &str) -> bool {
    match filter {
        Filter::All => true,
        Filter::Like(pattern) => like(name.as_bytes(), pattern.as_bytes()),
        Filter::Named(names) => names.iter().any(|it| it.eq_ignore_ascii_case(name)),
    }
}
