//! System variables: those that real servers of the two families have, with the values of a fresh one.
//!
//! `mariadb.txt` and `mysql.txt` were read from real servers. Each line has a name, a scope, a kind (with `!` if it
//! cannot be set in a session) and a value, with tabs between.

mod meaning;

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ast::Scope;
use super::error::{SqlError, SqlResult};
use super::family::Family;
use super::value::Value;

pub use meaning::{accepted, charset_name};

/// Which values a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ON and OFF, which SELECT gives as 1 and 0.
    Switch,
    /// An integer without a sign.
    Unsigned,
    /// An integer.
    Signed,
    /// A number with six digits behind the point.
    Double,
    /// A text.
    Text,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whether sessions have a value of their own.
    pub is_session: bool,
    /// Whether there is a value for new sessions.
    pub is_global: bool,
    /// Whether SET SESSION is refused.
    pub is_fixed: bool,
    /// The value of a fresh server.
    pub initial: Value,
}

/// The number of a variable.
pub type VariableId = u16;

/// All variables of a family.
#[derive(Debug)]
pub struct Definitions {
    /// Whose they are.
    pub family: Family,
    all: Vec<Definition>,
    ids: FxHashMap<&'static str, VariableId>,
}

impl Definitions {
    /// Those of a family.
    pub fn of(family: Family) -> Self {
        let text = match family {
            Family::MariaDb => include_str!("variables/mariadb.txt"),
            Family::MySql => include_str!("variables/mysql.txt"),
        };
        let all: Vec<Definition> = text.lines().filter_map(definition).collect();
        let ids = (0..).zip(&all).map(|(id, it)| (it.name, id)).collect();
        Self { family, all, ids }
    }

    /// The number of a variable by its name in small letters, which may be that of MySQL.
    pub fn id(&self, name: &str) -> Option<VariableId> {
        let same = match (self.family, name) {
            (Family::MariaDb, "transaction_isolation") => "tx_isolation",
            (Family::MariaDb, "transaction_read_only") => "tx_read_only",
            _ => name,
        };
        self.ids.get(same).copied()
    }

    /// The number of a variable by the name that a statement has for it.
    pub fn find(&self, name: &str) -> Option<VariableId> {
        self.ids.get(name).copied()
    }

    /// A variable by its number.
    pub fn get(&self, id: VariableId) -> &Definition {
        &self.all[usize::from(id)]
    }

    /// All of them, by their names in order.
    pub fn iter(&self) -> impl Iterator<Item = (VariableId, &Definition)> {
        (0..).zip(&self.all)
    }

    /// The values of a fresh server.
    pub fn initial(&self) -> Rc<Vec<Value>> {
        Rc::new(self.all.iter().map(|it| it.initial.clone()).collect())
    }
}

impl Definition {
    /// A value as SHOW VARIABLES and the trackers tell it.
    pub fn told(&self, value: &Value) -> Vec<u8> {
        match (self.kind, value) {
            (Kind::Switch, Value::Int(0)) => b"OFF".to_vec(),
            (Kind::Switch, Value::Int(_)) => b"ON".to_vec(),
            _ => value.to_bytes(),
        }
    }
}

fn definition(line: &'static str) -> Option<Definition> {
    let mut parts = line.split('\t');
    let (name, scope, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let text = parts.next().unwrap_or_default();
    let (kind, is_fixed) = match kind.strip_suffix('!') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let kind = match kind {
        "switch" => Kind::Switch,
        "unsigned" => Kind::Unsigned,
        "signed" => Kind::Signed,
        "double" => Kind::Double,
        _ => Kind::Text,
    };
    Some(Definition {
        name,
        kind,
        is_session: scope != "global",
        is_global: scope != "session",
        is_fixed,
        initial: read(kind, text),
    })
}

/// A value from its text.
fn read(kind: Kind, text: &str) -> Value {
    match (kind, text) {
        (_, "\\N") => Value::Null,
        (Kind::Text, text) => Value::text(text),
        (Kind::Unsigned, text) => Value::Unsigned(text.parse().unwrap_or(0)),
        (Kind::Double, text) => double(text.parse().unwrap_or(0.0)),
        (Kind::Switch | Kind::Signed, text) => Value::Int(text.parse().unwrap_or(0)),
    }
}

/// A number with six digits behind the point.
pub fn double(number: f64) -> Value {
    Value::Decimal((number * 1e6).round() as i128, 6)
}

/// The values of a session: those that it has set, above those that it has inherited.
#[derive(Clone, Debug)]
pub struct SessionVariables {
    inherited: Rc<Vec<Value>>,
    own: BTreeMap<VariableId, Value>,
}

impl SessionVariables {
    /// Those of a session that begins.
    pub fn new(globals: &Rc<Vec<Value>>) -> Self {
        Self {
            inherited: Rc::clone(globals),
            own: BTreeMap::new(),
        }
    }

    /// A value.
    pub fn get(&self, id: VariableId) -> &Value {
        self.own
            .get(&id)
            .unwrap_or(&self.inherited[usize::from(id)])
    }

    /// Sets a value.
    pub fn set(&mut self, id: VariableId, value: Value) {
        self.own.insert(id, value);
    }
}

/// Whether a variable may be read in a scope.
///
/// # Errors
/// 1238.
pub fn check_read(family: Family, of: &Definition, scope: Scope) -> SqlResult<()> {
    match scope {
        Scope::Session if !of.is_session => Err(family.wrong_scope(of.name, "GLOBAL")),
        Scope::Global if !of.is_global => Err(family.wrong_scope(of.name, "SESSION")),
        _ => Ok(()),
    }
}

/// Whether a variable may be set in a scope; gives whether the global value is meant.
///
/// # Errors
/// 1228, 1229, 1238.
pub fn check_set(family: Family, of: &Definition, scope: Scope) -> SqlResult<bool> {
    const FIXED: [&str; 8] = [
        "version",
        "version_comment",
        "server_uuid",
        "gtid_executed",
        "innodb_read_only",
        "log_bin",
        "gtid_binlog_pos",
        "gtid_current_pos",
    ];
    if FIXED.contains(&of.name) || of.is_fixed && !of.is_global {
        return Err(read_only(family, of.name));
    }
    match scope {
        Scope::Global if !of.is_global => Err(family.local_variable(of.name)),
        Scope::Global => Ok(true),
        _ if !of.is_session => Err(family.global_variable(of.name)),
        _ if of.is_fixed => {
            let text = format!(
                "SESSION variable '{}' is read-only. Use SET GLOBAL to assign the value",
                of.name
            );
            Err(SqlError::new(family, 1621, text))
        }
        _ => Ok(false),
    }
}

/// ER_INCORRECT_GLOBAL_LOCAL_VAR, of what cannot be set.
pub fn read_only(family: Family, name: &str) -> SqlError {
    family.wrong_scope(name, "read only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_have_the_variables_that_the_proxy_reads() {
        for family in [Family::MariaDb, Family::MySql] {
            let all = Definitions::of(family);
            for name in [
                "autocommit",
                "character_set_client",
                "character_set_results",
                "collation_connection",
                "sql_mode",
                "foreign_key_checks",
                "unique_checks",
                "wait_timeout",
                "session_track_system_variables",
                "session_track_schema",
                "session_track_state_change",
                "session_track_transaction_info",
                "transaction_isolation",
            ] {
                assert!(all.id(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn values_are_printed_as_show_variables_does() {
        let all = Definitions::of(Family::MySql);
        let told = |name| {
            let found = all.id(name).map(|id| all.get(id));
            found.map(|it| String::from_utf8_lossy(&it.told(&it.initial)).into_owned())
        };
        assert_eq!(told("autocommit").as_deref(), Some("ON"));
        assert_eq!(told("long_query_time").as_deref(), Some("10.000000"));
        assert_eq!(told("wait_timeout").as_deref(), Some("28800"));
    }
}
