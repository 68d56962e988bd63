//! What is computed before a statement looks at rows: subqueries, and functions that wait.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use super::super::ast::{Early, Expr, KillScope, WaitingFunction};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::{Computed, Context, lock_name};
use super::super::family::Family;
use super::super::gtid::Executed;
use super::super::locks::{LockFailure, Mode, Span};
use super::super::output::{Outcome, Rows};
use super::super::result_type::ResultType;
use super::super::session::Session;
use super::super::value::Value;
use super::super::waiting::Waited;

/// The longest wait that a number of seconds can mean.
const SECONDS_MAX: f64 = 31_536_000.0;

impl Session {
    /// Computes all, in their order.
    pub(super) async fn compute_early(
        &mut self,
        all: &[Early],
        parameters: &[Value],
    ) -> SqlResult<Vec<Computed>> {
        let mut values = Vec::with_capacity(all.len());
        for early in all {
            let value = match early {
                Early::Subquery(select) => {
                    let rows: Pin<Box<dyn Future<Output = SqlResult<Rows>> + '_>> =
                        Box::pin(self.select_rows(select, parameters));
                    let rows = rows.await?;
                    let kind = rows.columns.first().map(|it| it.kind.nullable());
                    let value = single_value(self.family(), &rows)?;
                    Computed {
                        value,
                        kind: kind.unwrap_or_else(|| self.type_of_waiting()),
                    }
                }
                Early::Call(function, arguments) => {
                    let mut computed = Vec::with_capacity(arguments.len());
                    for argument in arguments {
                        let context = Context::bare(parameters, &values);
                        computed.push(self.evaluate(argument, &context)?);
                    }
                    let kind = self.type_of_waiting();
                    let value = self.call_waiting(*function, &computed).await?;
                    Computed { value, kind }
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    /// The type of functions that wait.
    fn type_of_waiting(&self) -> ResultType {
        ResultType::small(self.family(), 0)
    }

    async fn call_waiting(
        &mut self,
        function: WaitingFunction,
        arguments: &[Value],
    ) -> SqlResult<Value> {
        let second = arguments.get(1);
        match function {
            WaitingFunction::Sleep => self.sleep_for(arguments.first()).await,
            WaitingFunction::GetLock => self.get_lock(arguments).await,
            WaitingFunction::WaitForGtids => {
                let text = arguments.first().map(Value::to_text).unwrap_or_default();
                self.wait_for_gtids(&text, second, false).await
            }
            WaitingFunction::MasterGtidWait => {
                let text = arguments.first().map(Value::to_text).unwrap_or_default();
                self.wait_for_gtids(&text, second, true).await
            }
        }
    }

    async fn sleep_for(&mut self, seconds: Option<&Value>) -> SqlResult<Value> {
        let family = self.family();
        let seconds = match seconds {
            Some(value) if !value.is_null() => value.to_double(),
            _ => return Err(family.wrong_arguments("sleep.")),
        };
        if seconds < 0.0 && family.is_mariadb() {
            return Ok(Value::Int(0));
        }
        if seconds < 0.0 {
            return Err(family.wrong_arguments("sleep."));
        }
        self.control.state.set("User sleep");
        let waited = self
            .sleep(Duration::from_secs_f64(seconds.min(SECONDS_MAX)))
            .await;
        self.control.state.set("");
        let is_query = self.control.killed() != Some(KillScope::Connection);
        match waited {
            // To MySQL that is the end of the pause, not of the statement.
            Waited::Killed if is_query && !family.is_mariadb() => {
                self.control.forget_query_kill();
                Ok(Value::Int(1))
            }
            Waited::Killed => self.interrupted_wait(),
            Waited::Come | Waited::Over => Ok(Value::Int(0)),
        }
    }

    /// A function that is interrupted says so by its value; the statement fails all the same.
    fn interrupted_wait(&self) -> SqlResult<Value> {
        self.check_killed()?;
        Ok(Value::Int(1))
    }

    async fn get_lock(&mut self, arguments: &[Value]) -> SqlResult<Value> {
        let family = self.family();
        let name = arguments.first().unwrap_or(&Value::Null);
        let Some(resource) = lock_name(family, name) else {
            return match family.is_mariadb() {
                true => Ok(Value::Null),
                false => {
                    let shown = match name {
                        Value::Null => "NULL".to_owned(),
                        other => other.to_text(),
                    };
                    let text = format!(
                        "Incorrect user-level lock name '{shown}'. The name is empty, NULL, or can not be expressed in \
                         the current character-set."
                    );
                    Err(SqlError {
                        state: *b"42000",
                        ..SqlError::new(family, 3057, text)
                    })
                }
            };
        };
        if self.take_name(&resource) {
            return Ok(Value::Int(1));
        }
        let seconds = arguments.get(1).map_or(0.0, Value::to_double);
        let limit = match seconds < 0.0 {
            true => Duration::from_secs_f64(SECONDS_MAX),
            false => Duration::from_secs_f64(seconds.min(SECONDS_MAX)),
        };
        match self
            .wait_for_lock(&resource, Mode::Exclusive, Span::Name, limit)
            .await
        {
            Ok(()) => Ok(Value::Int(1)),
            Err(LockFailure::Timeout) => Ok(Value::Int(0)),
            Err(LockFailure::Killed) => {
                self.check_killed()?;
                Ok(Value::Null)
            }
            Err(LockFailure::Deadlock) if family.is_mariadb() => Err(family.deadlock()),
            Err(LockFailure::Deadlock) => {
                let text = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing \
                            locks and restarting lock acquisition.";
                Err(SqlError::new(family, 3058, text))
            }
        }
    }

    /// Waits until groups are executed here (MySQL), or applied here (MariaDB).
    async fn wait_for_gtids(
        &mut self,
        text: &str,
        seconds: Option<&Value>,
        is_applied: bool,
    ) -> SqlResult<Value> {
        let family = self.family();
        let Some(wanted) = Executed::parse(family, text) else {
            return Err(match family.is_mariadb() {
                true => {
                    let text = "Could not parse GTID list";
                    SqlError::new(family, 1941, text)
                }
                false => {
                    let text = format!("Malformed GTID set specification '{text}'.");
                    SqlError::new(family, 1772, text)
                }
            });
        };
        let limit = match seconds {
            None | Some(Value::Null) => SECONDS_MAX,
            Some(value) if value.to_double() <= 0.0 && !family.is_mariadb() => SECONDS_MAX,
            Some(value) if value.to_double() < 0.0 => SECONDS_MAX,
            Some(value) => value.to_double().min(SECONDS_MAX),
        };
        let server = Rc::clone(&self.server);
        let control = Rc::clone(&self.control);
        server.history.wait_for_groups(&control);
        let is_there = || match is_applied {
            true => server.history.applied().contains(&wanted),
            false => server.history.executed().contains(&wanted),
        };
        let waited = self
            .wait_until(Duration::from_secs_f64(limit), is_there)
            .await;
        server.history.stop_waiting(&control);
        match waited {
            Waited::Come => Ok(Value::Int(0)),
            Waited::Over if is_applied => Ok(Value::Int(-1)),
            Waited::Over => Ok(Value::Int(1)),
            Waited::Killed => self.interrupted_wait(),
        }
    }

    /// DO.
    pub(super) async fn do_values(
        &mut self,
        values: &[Expr],
        early: &[Early],
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let early = self.compute_early(early, parameters).await?;
        let context = Context::bare(parameters, &early);
        for value in values {
            self.evaluate(value, &context)?;
        }
        Ok(Outcome::done())
    }
}

/// The value of a subquery: NULL if it has no row.
fn single_value(family: Family, rows: &Rows) -> SqlResult<Value> {
    if rows.columns.len() != 1 {
        return Err(SqlError::new(
            family,
            1241,
            "Operand should contain 1 column(s)",
        ));
    }
    match &rows.rows[..] {
        [] => Ok(Value::Null),
        [row] => Ok(row.first().cloned().unwrap_or(Value::Null)),
        _ => Err(SqlError::new(
            family,
            1242,
            "Subquery returns more than 1 row",
        )),
    }
}
