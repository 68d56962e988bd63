//! SET.

use std::rc::Rc;

use super::super::ast::{Access, Assignment, Early, Expr, Name, Scope, TransactionScope};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::Context;
use super::super::output::Outcome;
use super::super::session::{Session, UserVariable};
use super::super::settings::Isolation;
use super::super::transaction::Begun;
use super::super::value::Value;
use super::super::variables::{accepted, charset_name, check_set};

/// An assignment whose value is known and allowed.
enum Ready<'a> {
    User(&'a Name, UserVariable),
    Global(Name, Value),
    Session(Name, Value),
    /// MariaDB does not tell of `SET @@x`.
    Untold(Name, Value),
    /// The value for one transaction.
    Next(Option<Isolation>, Option<Access>),
    /// Client, results, connection and its collation.
    Charsets([Value; 4]),
}

impl Session {
    /// SET: nothing is assigned if one of the assignments is not allowed.
    pub(super) async fn set(
        &mut self,
        assignments: &[Assignment],
        early: &[Early],
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let early = self.compute_early(early, parameters).await?;
        let context = Context::bare(parameters, &early);
        let mut ready = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            self.check_assignment(assignment, &context, &mut ready)?;
        }
        for assignment in ready {
            self.assign(assignment);
        }
        Ok(Outcome::done())
    }

    fn check_assignment<'a>(
        &mut self,
        assignment: &'a Assignment,
        context: &Context<'_>,
        ready: &mut Vec<Ready<'a>>,
    ) -> SqlResult<()> {
        ready.push(match assignment {
            Assignment::User(name, value) => {
                let kind = self.type_of(value, context);
                let value = self.evaluate(value, context)?;
                Ready::User(name, self.user_variable(value, kind))
            }
            Assignment::System(scope, name, value) => {
                self.check_system(*scope, name, value.as_ref(), context)?
            }
            Assignment::Names(charset, collation) => {
                self.check_names_of(charset.as_ref(), collation.as_ref(), context)?
            }
            Assignment::CharacterSet(charset) => {
                self.check_character_set(charset.as_ref(), context)?
            }
            Assignment::Isolation(scope, level) => {
                let value = Value::text(level.as_bytes());
                let next = Ready::Next(Some(Isolation::of(level.as_bytes())), None);
                self.check_characteristic(*scope, "transaction_isolation", value, next)?
            }
            Assignment::Access(scope, access) => {
                let value = Value::truth(*access == Access::ReadOnly);
                let next = Ready::Next(None, Some(*access));
                self.check_characteristic(*scope, "transaction_read_only", value, next)?
            }
        });
        Ok(())
    }

    fn check_characteristic<'a>(
        &mut self,
        scope: TransactionScope,
        name: &str,
        value: Value,
        next: Ready<'a>,
    ) -> SqlResult<Ready<'a>> {
        match scope {
            TransactionScope::Next
                if self.transaction.begun == Begun::Explicitly
                    || self.transaction.begun == Begun::Implicitly =>
            {
                Err(self.family().transaction_in_progress())
            }
            TransactionScope::Next => Ok(next),
            TransactionScope::Session => Ok(Ready::Session(Rc::from(name), value)),
            TransactionScope::Global => {
                self.check_administrator()?;
                Ok(Ready::Global(Rc::from(name), value))
            }
        }
    }

    /// ER_SPECIFIC_ACCESS_DENIED_ERROR, if the account is none of an administrator.
    pub(super) fn check_administrator(&self) -> SqlResult<()> {
        if self.is_administrator() {
            return Ok(());
        }
        let privilege = match self.family().is_mariadb() {
            true => "SUPER",
            false => "SUPER or SYSTEM_VARIABLES_ADMIN",
        };
        let text = format!(
            "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation"
        );
        Err(SqlError::new(self.family(), 1227, text))
    }

    fn check_system<'a>(
        &mut self,
        scope: Scope,
        name: &Name,
        value: Option<&Expr>,
        context: &Context<'_>,
    ) -> SqlResult<Ready<'a>> {
        let family = self.family();
        let id = self.server.definitions.find(name);
        let id = id.ok_or_else(|| family.unknown_variable(name))?;
        let is_global = check_set(family, self.server.definitions.get(id), scope)?;
        if is_global {
            self.check_administrator()?;
        }
        let value = match value {
            Some(value) => {
                let value = self.evaluate(value, context)?;
                accepted(family, self.server.definitions.get(id), value)?
            }
            None if is_global => self.server.definitions.get(id).initial.clone(),
            None => self.server.global(name),
        };
        if is_global {
            return Ok(Ready::Global(Rc::clone(name), value));
        }
        let is_characteristic = name.starts_with("tx_") || name.starts_with("transaction_");
        if is_characteristic && scope == Scope::Unsaid {
            if self.transaction.is_open() {
                return Err(family.transaction_in_progress());
            }
            match &**name {
                "tx_isolation" | "transaction_isolation" => {
                    let isolation = Isolation::of(&value.to_bytes());
                    return Ok(Ready::Next(Some(isolation), None));
                }
                "tx_read_only" | "transaction_read_only" => {
                    let access = match value.is_true() {
                        Some(true) => Access::ReadOnly,
                        _ => Access::ReadWrite,
                    };
                    return Ok(Ready::Next(None, Some(access)));
                }
                _ => {}
            }
        }
        Ok(match scope {
            Scope::Unsaid if family.is_mariadb() => Ready::Untold(Rc::clone(name), value),
            _ => Ready::Session(Rc::clone(name), value),
        })
    }

    fn check_names_of<'a>(
        &mut self,
        charset: Option<&Expr>,
        collation: Option<&Name>,
        context: &Context<'_>,
    ) -> SqlResult<Ready<'a>> {
        let family = self.family();
        let Some(charset) = charset else {
            return Ok(Ready::Charsets([
                self.server.global("character_set_client"),
                self.server.global("character_set_results"),
                self.server.global("character_set_connection"),
                self.server.global("collation_connection"),
            ]));
        };
        let shown = self.evaluate(charset, context)?.to_text();
        let charset = charset_name(family, &shown)?;
        if matches!(charset.as_str(), "ucs2" | "utf16" | "utf32") {
            return Err(family.wrong_value("character_set_client", charset));
        }
        let collation = match collation {
            None => family.collation_of(&charset),
            Some(collation) => {
                let id = self.server.definitions.id("collation_connection");
                let id = id.ok_or_else(|| family.unknown_collation(collation))?;
                let definition = self.server.definitions.get(id);
                let value = accepted(family, definition, Value::text(collation.as_bytes()))?;
                let text = value.to_text();
                if text.split('_').next() != Some(charset.as_str()) {
                    let text =
                        format!("COLLATION '{text}' is not valid for CHARACTER SET '{charset}'");
                    return Err(SqlError::new(family, 1253, text));
                }
                text
            }
        };
        let charset = Value::text(charset);
        Ok(Ready::Charsets([
            charset.clone(),
            charset.clone(),
            charset,
            Value::text(collation),
        ]))
    }

    /// SET CHARACTER SET: the connection's is that of the schema.
    fn check_character_set<'a>(
        &mut self,
        charset: Option<&Expr>,
        context: &Context<'_>,
    ) -> SqlResult<Ready<'a>> {
        let family = self.family();
        let charset = match charset {
            Some(charset) => {
                let shown = self.evaluate(charset, context)?.to_text();
                Value::text(charset_name(family, &shown)?)
            }
            None => self.server.global("character_set_client"),
        };
        let schema = Value::text(self.variable_text("character_set_database"));
        let collation = Value::text(self.variable_text("collation_database"));
        Ok(Ready::Charsets([
            charset.clone(),
            charset,
            schema,
            collation,
        ]))
    }

    fn assign(&mut self, assignment: Ready<'_>) {
        match assignment {
            Ready::User(name, variable) => {
                self.user_variables.insert(Rc::clone(name), variable);
                self.tracker.changed();
            }
            Ready::Global(name, value) => self.server.set_global(&name, value),
            Ready::Session(name, value) => self.assign_session(&name, value),
            Ready::Untold(name, value) => {
                let tracking = std::mem::take(&mut self.tracker.is_deaf);
                self.tracker.is_deaf = true;
                self.assign_session(&name, value);
                self.tracker.is_deaf = tracking;
            }
            Ready::Next(isolation, access) => self.assign_next(isolation, access),
            Ready::Charsets([client, results, connection, collation]) => {
                self.set_variable("character_set_client", client);
                self.set_variable("character_set_results", results);
                self.set_variable("character_set_connection", connection);
                self.put_variable("collation_connection", collation);
            }
        }
    }

    fn assign_next(&mut self, isolation: Option<Isolation>, access: Option<Access>) {
        let next = &mut self.transaction.next;
        *next = (isolation.or(next.0), access.or(next.1));
        let mut text = String::new();
        if let Some(isolation) = next.0 {
            text.push_str(&format!(
                "SET TRANSACTION ISOLATION LEVEL {};",
                isolation.words()
            ));
        }
        if let Some(access) = next.1 {
            let words = match access {
                Access::ReadOnly => "READ ONLY",
                Access::ReadWrite => "READ WRITE",
            };
            let space = if text.is_empty() { "" } else { " " };
            text.push_str(&format!("{space}SET TRANSACTION {words};"));
        }
        self.tracker.characteristics(text);
    }

    fn assign_session(&mut self, name: &str, value: Value) {
        match name {
            "autocommit" => self.assign_autocommit(value),
            "last_insert_id" | "identity" => {
                self.diagnostics.last_insert_id = value.to_int() as u64;
                self.set_variable(name, value);
            }
            "insert_id" => {
                self.diagnostics.next_insert_id = Some(value.to_int() as u64).filter(|it| *it > 0);
                self.set_variable(name, value);
            }
            "character_set_connection" => {
                let collation = self.family().collation_of(&value.to_text());
                self.set_variable(name, value);
                self.put_variable("collation_connection", Value::text(collation));
            }
            "collation_connection" => {
                let text = value.to_text();
                let charset = text.split('_').next().unwrap_or_default().to_owned();
                self.set_variable(name, value);
                self.put_variable("character_set_connection", Value::text(charset));
            }
            "session_track_transaction_info" => {
                let before = self.settings.tracking.transaction;
                self.set_variable(name, value);
                self.tracker
                    .retrack(before, self.settings.tracking.transaction);
            }
            _ => self.set_variable(name, value),
        }
    }

    /// autocommit: what is open is committed when it is turned on.
    fn assign_autocommit(&mut self, value: Value) {
        let is_on = value.is_true() == Some(true);
        if is_on && !self.settings.autocommit {
            self.commit();
        }
        self.set_variable("autocommit", value);
    }
}
