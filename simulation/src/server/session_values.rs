//! Reading system variables in a session, those included that the server computes.

use super::ast::Scope;
use super::error::SqlResult;
use super::session::Session;
use super::value::Value;
use super::variables::{Kind, check_read, double};

impl Session {
    /// `@@name`.
    ///
    /// # Errors
    /// 1193, 1238.
    pub fn read_variable(&self, scope: Scope, name: &str) -> SqlResult<Value> {
        let family = self.family();
        let definitions = &self.server.definitions;
        let id = definitions
            .find(name)
            .ok_or_else(|| family.unknown_variable(name))?;
        let definition = definitions.get(id);
        check_read(family, definition, scope)?;
        if let Some(value) = self.computed(name) {
            return Ok(value);
        }
        let is_global = scope == Scope::Global || !definition.is_session;
        Ok(match is_global {
            true => self.server.global_of(id),
            false => self.variables.get(id).clone(),
        })
    }

    /// The kind of a variable; none if there is no such variable.
    pub fn variable_kind(&self, name: &str) -> Option<Kind> {
        let definitions = &self.server.definitions;
        definitions.id(name).map(|id| definitions.get(id).kind)
    }

    /// What the server computes when it is asked.
    fn computed(&self, name: &str) -> Option<Value> {
        let server = &self.server;
        let diagnostics = &self.diagnostics;
        let is_mariadb = self.family().is_mariadb();
        Some(match name {
            "last_insert_id" | "identity" => Value::Unsigned(diagnostics.last_insert_id),
            "insert_id" => Value::Unsigned(diagnostics.next_insert_id.unwrap_or(0)),
            "warning_count" => Value::Unsigned(diagnostics.warnings().into()),
            "error_count" => Value::Unsigned(diagnostics.errors().into()),
            "pseudo_thread_id" => Value::Unsigned(self.control.id.into()),
            "in_transaction" => Value::Unsigned(self.transaction.is_open().into()),
            "timestamp" => double(self.now()),
            "read_only" => Value::truth(server.state.is_read_only.get()),
            "super_read_only" => Value::truth(server.state.is_super_read_only.get()),
            "server_uuid" => Value::text(&*server.history.uuid),
            "gtid_executed" | "gtid_binlog_pos" | "gtid_binlog_state" => {
                Value::text(server.executed())
            }
            "gtid_slave_pos" => Value::text(server.history.applied().to_string()),
            "gtid_current_pos" if is_mariadb => Value::text(server.executed()),
            _ => return None,
        })
    }

    /// Seconds since the epoch: the server's clock stands at a fixed moment when it is made.
    pub fn now(&self) -> f64 {
        const EPOCH: f64 = 1_767_225_600.0;
        EPOCH + self.server.state.started.get().elapsed().as_secs_f64()
    }
}
