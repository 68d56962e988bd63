//! Reads the objects' definitions from the server: `SHOW CREATE …` of one object, and of all when a stream begins.

use std::sync::Arc;

use control::{BackendClient, ClientError, ResultBounds, ResultSet};
use sql::{Charset, Flags, Schema, Server};

use crate::error::StreamError;
use crate::object::{ObjectKind, ObjectName};
use crate::position::Position;
use crate::registration::{Registration, answered};
use crate::store::{Definition, Observed};

/// Limits for one definition: a routine may have 64 KiB or more, an account one row for each table with privileges.
const DEFINITION_BOUNDS: ResultBounds = ResultBounds {
    rows: 100_000,
    bytes: 8 << 20,
};

/// Limits for the list of all objects of a kind.
const LIST_BOUNDS: ResultBounds = ResultBounds {
    rows: 1_000_000,
    bytes: 128 << 20,
};

/// Errors that mean that the object does not exist.
const NOT_THERE: [u16; 10] = [
    1049, // ER_BAD_DB_ERROR
    1051, // ER_BAD_TABLE_ERROR
    1133, // ER_PASSWORD_NO_MATCH
    1141, // ER_NONEXISTING_GRANT
    1146, // ER_NO_SUCH_TABLE
    1305, // ER_SP_DOES_NOT_EXIST
    1360, // ER_TRG_DOES_NOT_EXIST
    1396, // ER_CANNOT_USER
    1539, // ER_EVENT_DOES_NOT_EXIST
    4091, // ER_UNKNOWN_SEQUENCES
];

/// Errors that mean that the object is a table or a view, not a sequence.
const NO_SEQUENCE: [u16; 2] = [
    4089, // ER_NOT_SEQUENCE
    4090, // ER_NOT_SEQUENCE2
];

/// Fixes how the server writes definitions, whatever its defaults are.
const SESSION: &str = "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES', sql_quote_show_create = 1";

/// The schemas that no user creates.
const SYSTEM: &str = "('mysql', 'sys', 'information_schema', 'performance_schema')";

/// Accounts that the servers create themselves.
const SYSTEM_ACCOUNTS: &str = "('mysql.sys', 'mysql.session', 'mysql.infoschema', 'mariadb.sys')";

/// How the server reads and writes texts after [`SESSION`].
const FLAGS: Flags = Flags {
    no_backslash_escapes: true,
    ansi_quotes: false,
    ignore_space: false,
    charset: Charset::UTF8MB4,
    schema: Schema::Plain,
    server: Server::Unknown,
};

/// A connection to a server, on which definitions are read.
pub struct DefinitionReader {
    client: BackendClient,
}

impl DefinitionReader {
    /// Prepares a connection that is logged in.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn begin(mut client: BackendClient) -> Result<Self, StreamError> {
        answered(client.run(SESSION)).await?;
        Ok(Self { client })
    }

    /// Reads the current definition of an object.
    ///
    /// # Errors
    /// The connection is broken. If the server answers with an error, that is no error here.
    pub async fn ask(&mut self, object: &ObjectName) -> Result<Observed, StreamError> {
        if object.kind == ObjectKind::Account {
            return Ok(Observed {
                object: object.clone(),
                definition: self.ask_account(object).await?,
                read_at: None,
            });
        }
        let (kind, definition) = self.ask_as(object).await?;
        // Tables and sequences share one namespace, and a statement such as DROP TABLE may name a sequence.
        let other = match &definition {
            Definition::Is(text) if kind == ObjectKind::Table && is_of_sequence(text) => {
                Some(ObjectKind::Sequence)
            }
            Definition::Gone if kind == ObjectKind::Sequence => Some(ObjectKind::Table),
            _ => None,
        };
        let (kind, definition) = match other {
            Some(kind) => self.ask_as(&of_kind(object, kind)).await?,
            None => (kind, definition),
        };
        Ok(Observed {
            object: of_kind(object, kind),
            definition,
            read_at: None,
        })
    }

    /// Reads the object's definition as this kind. Returns the kind that the server reports.
    async fn ask_as(
        &mut self,
        object: &ObjectName,
    ) -> Result<(ObjectKind, Definition), StreamError> {
        Ok(match self.answer(&object.show_statement()).await? {
            Answer::Result(result) => parse_definition(object.kind, &result),
            Answer::NotThere => (object.kind, Definition::Gone),
            Answer::Refused(text) => (object.kind, Definition::Unreadable(text)),
        })
    }

    /// Reads the current end of the server's log, and stores it in all the definitions that were just read.
    ///
    /// # Errors
    /// The query fails.
    pub async fn note_end(&mut self, observed: &mut [Observed]) -> Result<Position, StreamError> {
        let end = Registration::new(&mut self.client).end_of_log().await?;
        let text: Arc<str> = end.to_string().into();
        for it in observed {
            it.read_at = Some(Arc::clone(&text));
        }
        Ok(end)
    }

    /// Reads an account with its privileges, without its password.
    async fn ask_account(&mut self, account: &ObjectName) -> Result<Definition, StreamError> {
        let (user, host) = account.user_and_host();
        let created = match self.answer(&account.show_statement()).await? {
            Answer::Result(result) => lines(&result),
            Answer::Refused(text) => return Ok(Definition::Unreadable(text)),
            Answer::NotThere if host == "'%'" => return self.ask_role(&user).await,
            Answer::NotThere => return Ok(Definition::Gone),
        };
        let shown = format!("SHOW GRANTS FOR {user}@{host}");
        let grants = match self.answer(&shown).await? {
            Answer::Result(result) => lines(&result),
            Answer::NotThere => Vec::new(),
            Answer::Refused(text) => vec![format!("-- The privileges are not known: {text}")],
        };
        Ok(Definition::Is([created, grants].concat().join(";\n")))
    }

    /// A role of MariaDB has no host, and the server shows only its privileges.
    async fn ask_role(&mut self, role: &str) -> Result<Definition, StreamError> {
        Ok(
            match self.answer(&format!("SHOW GRANTS FOR {role}")).await? {
                Answer::Result(result) => {
                    let created = vec![format!("CREATE ROLE {role}")];
                    Definition::Is([created, lines(&result)].concat().join(";\n"))
                }
                Answer::NotThere => Definition::Gone,
                Answer::Refused(text) => Definition::Unreadable(text),
            },
        )
    }

    async fn answer(&mut self, statement: &str) -> Result<Answer, StreamError> {
        let asked = self.client.query(statement, DEFINITION_BOUNDS);
        match answered(asked).await {
            Ok(result) => Ok(Answer::Result(result)),
            Err(StreamError::Client(ClientError {
                server: Some(error),
                text,
            })) => Ok(match is_not_there(error.number) {
                true => Answer::NotThere,
                false => Answer::Refused(text),
            }),
            Err(error) => Err(error),
        }
    }

    /// Lists all accounts that users have created; none if the stream's account may not read `mysql.user`.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn accounts(&mut self) -> Result<Option<Vec<ObjectName>>, StreamError> {
        let list = format!(
            "SELECT '', CONCAT(User, '@', IF(Host = '', '%', Host)), 'account' FROM mysql.user \
             WHERE User NOT IN {SYSTEM_ACCOUNTS} ORDER BY 2"
        );
        match answered(self.client.query(&list, LIST_BOUNDS)).await {
            Ok(result) => Ok(Some(
                result.rows.iter().filter_map(|row| named(row)).collect(),
            )),
            Err(StreamError::Client(ClientError {
                server: Some(_), ..
            })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists all objects except accounts, in an order in which they can be created.
    ///
    /// # Errors
    /// A query fails.
    pub async fn list(&mut self) -> Result<Vec<ObjectName>, StreamError> {
        let lists = [
            format!(
                "SELECT SCHEMA_NAME, SCHEMA_NAME, 'schema' FROM information_schema.SCHEMATA \
                 WHERE SCHEMA_NAME NOT IN {SYSTEM} ORDER BY 1"
            ),
            format!(
                "SELECT TABLE_SCHEMA, TABLE_NAME, CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' \
                 WHEN 'SEQUENCE' THEN 'sequence' ELSE 'table' END FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA NOT IN {SYSTEM} AND TABLE_TYPE NOT LIKE 'TEMPORARY%' ORDER BY 1, 2"
            ),
            format!(
                "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, lower(ROUTINE_TYPE) FROM information_schema.ROUTINES \
                 WHERE ROUTINE_SCHEMA NOT IN {SYSTEM} ORDER BY 1, 2"
            ),
            format!(
                "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, 'trigger' FROM information_schema.TRIGGERS \
                 WHERE TRIGGER_SCHEMA NOT IN {SYSTEM} ORDER BY 1, 2"
            ),
            format!(
                "SELECT EVENT_SCHEMA, EVENT_NAME, 'event' FROM information_schema.EVENTS \
                 WHERE EVENT_SCHEMA NOT IN {SYSTEM} ORDER BY 1, 2"
            ),
        ];
        let mut objects = Vec::new();
        for statement in lists {
            let result = answered(self.client.query(&statement, LIST_BOUNDS)).await?;
            objects.extend(result.rows.iter().filter_map(|row| named(row)));
        }
        Ok(objects)
    }
}

/// The server's answer about an object.
enum Answer {
    /// Rows.
    Result(ResultSet),
    /// The object does not exist.
    NotThere,
    /// An error; its message.
    Refused(String),
}

/// Whether an error means that there is no object of this kind.
fn is_not_there(error: u16) -> bool {
    NOT_THERE.contains(&error) || NO_SEQUENCE.contains(&error)
}

/// Returns the same object with another kind.
fn of_kind(object: &ObjectName, kind: ObjectKind) -> ObjectName {
    ObjectName {
        kind,
        ..object.clone()
    }
}

/// Whether SHOW CREATE TABLE has printed a sequence of MariaDB.
fn is_of_sequence(definition: &str) -> bool {
    let options = definition.rfind("\n)").unwrap_or(definition.len());
    let options = definition.get(options..).unwrap_or_default();
    options.split(' ').any(|it| it == "SEQUENCE=1")
}

/// Returns the first column of each row, without passwords.
fn lines(result: &ResultSet) -> Vec<String> {
    let values = result.rows.iter().filter_map(|row| row.first()?.as_ref());
    values.map(|value| masked(value)).collect()
}

/// Returns the server's text as UTF-8, without passwords.
fn masked(text: &[u8]) -> String {
    String::from_utf8_lossy(&sql::mask_secrets(text, FLAGS)).into_owned()
}

/// Reads a row with schema, name and kind.
fn named(row: &[Option<Vec<u8>>]) -> Option<ObjectName> {
    let text = |at: usize| {
        let value = row.get(at)?.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    Some(ObjectName {
        schema: text(0)?,
        name: text(1)?,
        kind: ObjectKind::named(&text(2)?)?,
    })
}

/// Finds the definition, whose column has another name for each kind. If a table turns out to be a view, returns View.
fn parse_definition(kind: ObjectKind, result: &ResultSet) -> (ObjectKind, Definition) {
    let is_view = result.names.first().is_some_and(|name| name == "View");
    let kind = match kind {
        ObjectKind::Table | ObjectKind::View if is_view => ObjectKind::View,
        ObjectKind::View => ObjectKind::Table,
        kind => kind,
    };
    let is_definition = |name: &String| {
        let name = name.to_ascii_lowercase();
        name.starts_with("create ") || name == "sql original statement"
    };
    let column = result.names.iter().position(is_definition);
    let value = column.and_then(|at| result.rows.first()?.get(at)?.as_ref());
    let Some(value) = value else {
        let text = "the account of the stream may not see the definition";
        return (kind, Definition::Unreadable(text.to_owned()));
    };
    (kind, Definition::Is(without_counter(&masked(value))))
}

/// Removes the next AUTO_INCREMENT number, because inserted rows change it and it is no part of the definition.
fn without_counter(definition: &str) -> String {
    const OPTION: &str = " AUTO_INCREMENT=";
    let options = definition.rfind("\n)").unwrap_or(definition.len());
    let (before, options) = definition.split_at(options);
    let Some((head, tail)) = options.split_once(OPTION) else {
        return definition.to_owned();
    };
    let tail = tail.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}{head}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_of_a_table_is_left_out_and_a_text_like_it_is_not() {
        let text = "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=5'\n) ENGINE=InnoDB AUTO_INCREMENT=17 \
                    DEFAULT CHARSET=utf8mb4";
        let expected = "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=5'\n) ENGINE=InnoDB \
                        DEFAULT CHARSET=utf8mb4";
        assert_eq!(without_counter(text), expected);
        assert_eq!(without_counter("CREATE VIEW"), "CREATE VIEW");
    }

    #[test]
    fn a_sequence_is_distinguished_from_a_table() {
        let text = "CREATE TABLE `s` (\n  `cycle_count` bigint(21) NOT NULL COMMENT ' SEQUENCE=1'\n) ENGINE=InnoDB";
        assert!(!is_of_sequence(text));
        assert!(is_of_sequence(&format!("{text} SEQUENCE=1")));
        assert!(is_of_sequence(&format!("{text} SEQUENCE=1 COMMENT='a'")));
        assert!(!is_of_sequence("CREATE VIEW"));
    }
}
