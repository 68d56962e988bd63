//! An action: its path, the role it needs, and the SQL statement that it stands for.

use axum::http::StatusCode;
use axum::routing::MethodFilter;
use config::AdminRole;
use route::KillScope;
use rusqlite::types::Value;

use super::super::body::Object;
use super::super::refusal::Refusal;
use super::lists::List;
use super::values::{self, Parameter};
use admin::statement::{Statement, reading};
use admin::table::Schema;

/// An action of the API.
pub struct Action {
    /// Its name for programs.
    pub name: &'static str,
    /// Its HTTP method.
    pub method: Method,
    /// Its path; a name in braces is a parameter.
    pub path: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// The statement that it stands for.
    pub means: Means,
}

/// The HTTP methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

/// The SQL statement that an action stands for.
pub enum Means {
    /// This statement.
    Statement(&'static str),
    /// KILL of the session that the path names.
    Kill(KillScope),
    /// SET GLOBAL of the body's fields.
    Set,
    /// INSERT of a row with the body's fields.
    Add(&'static List),
    /// UPDATE of the row that the path names, with the body's fields.
    Change(&'static List),
    /// DELETE of the row that the path names.
    Remove(&'static List),
}

/// A statement that is ready to run.
#[derive(Debug, PartialEq)]
pub struct Order {
    /// The statement.
    pub statement: Statement,
    /// The text in SQL.
    pub text: String,
    /// The values of its placeholders.
    pub values: Vec<Value>,
}

impl Method {
    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    /// Whether requests have a body.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Patch)
    }

    pub const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

impl Action {
    /// The role that it needs at least: every user may read.
    pub const fn role(&self) -> AdminRole {
        match self.method {
            Method::Get => AdminRole::Stats,
            Method::Post | Method::Patch | Method::Delete => AdminRole::Admin,
        }
    }

    /// The name of the path's parameter.
    pub fn open(&self) -> Option<&'static str> {
        let (_, rest) = self.path.split_once('{')?;
        rest.split('}').next()
    }
}

impl Means {
    /// The statement, with names in place of the parts that depend on the request.
    pub fn sql(&self) -> String {
        match self {
            Self::Statement(text) => (*text).to_owned(),
            Self::Kill(KillScope::Connection) => "KILL id".to_owned(),
            Self::Kill(KillScope::Statement) => "KILL QUERY id".to_owned(),
            Self::Set => "SET GLOBAL name = value, …".to_owned(),
            Self::Add(list) => list.insert(&["…"]),
            Self::Change(list) => list.update(&["…"]),
            Self::Remove(list) => list.delete(),
        }
    }

    /// The fields that a body may have.
    pub fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Statement(_) | Self::Kill(_) | Self::Remove(_) => Vec::new(),
            Self::Set => Parameter::settings(),
            Self::Add(list) | Self::Change(list) => list.parameters(),
        }
    }

    /// Whether the action can be checked without making the change.
    pub const fn can_be_checked(&self) -> bool {
        matches!(self, Self::Set | Self::Add(_) | Self::Change(_))
    }

    /// The list with the row that the path names.
    pub const fn named_in(&self) -> Option<&'static List> {
        match self {
            Self::Change(list) | Self::Remove(list) => Some(list),
            Self::Statement(_) | Self::Kill(_) | Self::Set | Self::Add(_) => None,
        }
    }

    /// The statement for the path's parameter and the body's fields.
    pub fn order(&self, named: &str, fields: Object) -> Result<Order, Refusal> {
        let wrong = |text: String| Refusal::new(StatusCode::BAD_REQUEST, text);
        let given = values::body_values(&self.parameters(), fields).map_err(wrong)?;
        let of_list = |made: Result<(String, Vec<Value>), String>| {
            made.map_err(wrong).map(|(text, values)| Order {
                statement: Statement::Change(text.clone()),
                text,
                values,
            })
        };
        match self {
            Self::Statement(text) => {
                Ok(Order::plain(reading::read(text, Schema::Pilotfish)?, text))
            }
            Self::Kill(scope) => {
                let text = "The id of a session is a number, as `sessions` has it";
                let id = named.parse().map_err(|_| wrong(text.to_owned()))?;
                Ok(Order::plain(Statement::Kill(id, *scope), &self.sql()))
            }
            Self::Set if given.is_empty() => Err(wrong(
                "The body names no setting: {\"name\": value}".to_owned(),
            )),
            Self::Set => {
                let settings = given.into_iter();
                let settings = settings.map(|(name, value)| (name.to_owned(), value));
                Ok(Order::plain(
                    Statement::Set(settings.collect()),
                    &self.sql(),
                ))
            }
            Self::Add(list) => of_list(list.added(given)),
            Self::Change(list) => of_list(list.changed(named, given)),
            Self::Remove(list) => of_list(Ok((list.delete(), list.key(named)))),
        }
    }
}

impl Order {
    pub fn plain(statement: Statement, text: &str) -> Self {
        Self {
            statement,
            text: text.to_owned(),
            values: Vec::new(),
        }
    }
}
