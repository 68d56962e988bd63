//! The objects of a server whose history is kept.

use std::fmt;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A database.
    Schema,
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence of MariaDB.
    Sequence,
    /// A stored procedure.
    Procedure,
    /// A stored function.
    Function,
    /// A package of MariaDB.
    Package,
    /// The body of a package of MariaDB.
    PackageBody,
    /// A trigger.
    Trigger,
    /// A scheduled event.
    Event,
    /// A user or a role. Its name is `user@host`; for a role of MariaDB it is `role@%`.
    Account,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// The schema that contains it. For a schema its own name; empty for an account.
    pub schema: String,
    /// The object's name.
    pub name: String,
    /// The object's kind.
    pub kind: ObjectKind,
}

impl ObjectKind {
    const ALL: [(Self, &'static str); 11] = [
        (Self::Schema, "schema"),
        (Self::Table, "table"),
        (Self::View, "view"),
        (Self::Sequence, "sequence"),
        (Self::Procedure, "procedure"),
        (Self::Function, "function"),
        (Self::Package, "package"),
        (Self::PackageBody, "package body"),
        (Self::Trigger, "trigger"),
        (Self::Event, "event"),
        (Self::Account, "account"),
    ];

    /// The name, as the tables of the history have it.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, it)| *it == name);
        found.map(|(kind, _)| *kind)
    }
}

impl ObjectName {
    /// Returns the statement that shows the object's definition.
    pub fn show_statement(&self) -> String {
        let (schema, name) = (quoted(&self.schema), quoted(&self.name));
        let words = match self.kind {
            ObjectKind::Schema => return format!("SHOW CREATE DATABASE {name}"),
            ObjectKind::Account => {
                let (user, host) = self.user_and_host();
                return format!("SHOW CREATE USER {user}@{host}");
            }
            // SHOW CREATE TABLE also shows views.
            ObjectKind::Table | ObjectKind::View => "TABLE",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Procedure => "PROCEDURE",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Package => "PACKAGE",
            ObjectKind::PackageBody => "PACKAGE BODY",
            ObjectKind::Trigger => "TRIGGER",
            ObjectKind::Event => "EVENT",
        };
        format!("SHOW CREATE {words} {schema}.{name}")
    }

    /// Returns the user and the host of an account, as SQL literals.
    pub fn user_and_host(&self) -> (String, String) {
        let (user, host) = self.name.rsplit_once('@').unwrap_or((&self.name, "%"));
        (literal(user), literal(host))
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ObjectKind::Schema | ObjectKind::Account => f.write_str(&self.name),
            _ => write!(f, "{}.{}", self.schema, self.name),
        }
    }
}

/// Returns a name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns a string literal for a session with `NO_BACKSLASH_ESCAPES`, where quotes are doubled.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
