//! The configured accounts as ProxySQL's admin schema has them: changes wait until LOAD MYSQL USERS TO RUNTIME.

use config::{ACCOUNT, AccountConfig, AccountTls, Config, Edit, HashForm, SessionMode};

use super::waiting::{
    Value, Waiting, Words, alterable, awaited, hostgroup, only, said, said_cluster,
};
use crate::fault::Fault;
use crate::material::Material;
use crate::sheet::{Altered, Asks, Cell, Column, Row, Schema, Sheet, integer, text};

/// See the module.
pub static TABLE: Waiting<User> = Waiting {
    sheet: Sheet {
        schema: Schema::Main,
        name: "mysql_users",
        about: "The configured accounts of all hosts ('%') by the names of ProxySQL; others are in accounts. Rows can be \
                changed, and changes wait until LOAD MYSQL USERS TO RUNTIME.",
        asks: Asks::Waiting,
        columns: COLUMNS,
        items: |material| users(material, awaited(material)),
    },
    alterable: alterable(edit),
    unique: &["username"],
    order: |_, _| {},
};

/// The same as they hold.
pub static RUNTIME: Sheet<User> = Sheet {
    schema: Schema::Main,
    name: "runtime_mysql_users",
    about: "The configured accounts of all hosts ('%') as they hold, by the names of ProxySQL.",
    asks: Asks::Nothing,
    columns: COLUMNS,
    items: |material| users(material, &material.config),
};

const COLUMNS: &[Column<User>] = &[
    text("username", "The user's name.", |it| {
        it.config.user.clone().into()
    }),
    text(
        "password",
        "It goes in, in clear or as a hash, and does not come out: NULL.",
        |_| Cell::Null,
    ),
    integer("active", "Always 1.", |_| 1_u32.into()),
    integer("use_ssl", "Whether TLS is demanded.", |it| {
        (it.config.tls != AccountTls::None).into()
    }),
    integer(
        "default_hostgroup",
        "The number of the cluster that its sessions go to; NULL: it says none.",
        |it| it.hostgroup.into(),
    ),
    text("default_schema", "The schema to begin with.", |it| {
        it.config.schema.clone().into()
    }),
    integer("schema_locked", "There is no such lock: 0.", |_| {
        0_u32.into()
    }),
    integer(
        "transaction_persistent",
        "A transaction stays on its backend: 1.",
        |_| 1_u32.into(),
    ),
    integer(
        "fast_forward",
        "Whether each of its sessions keeps a connection of its own (session = \"transparent\").",
        |it| (it.config.session == Some(SessionMode::Transparent)).into(),
    ),
    integer("backend", "Always 1.", |_| 1_u32.into()),
    integer("frontend", "Always 1.", |_| 1_u32.into()),
    integer(
        "max_connections",
        "Sessions that it may have at once; 0: no limit.",
        |it| it.config.connections_max.unwrap_or(0).into(),
    ),
    text("attributes", "Nothing here.", |_| "".into()),
    text("comment", "Nothing here.", |_| "".into()),
];

/// One account.
pub struct User {
    config: AccountConfig,
    hostgroup: Option<u32>,
}

fn users(material: &Material, config: &Config) -> Vec<User> {
    let accounts = config.configured_accounts.iter();
    let accounts = accounts.filter(|account| account.host == "%");
    let user = |account: &AccountConfig| User {
        hostgroup: (account.cluster.as_deref()).and_then(|name| hostgroup(material, name)),
        config: account.clone(),
    };
    accounts.map(user).collect()
}

const WORDS: Words = Words {
    list: ACCOUNT.name,
    title: |row| format!("'{}'@'%'", row.text("username")),
    values,
    come: |_, _| Ok(Vec::new()),
};

fn edit(altered: &Altered<'_>, material: &Material) -> Result<Edit, Fault> {
    WORDS.edit(altered, material)
}

fn values(column: &str, row: &Row<'_>, material: &Material) -> Result<Vec<Value>, Fault> {
    let text = row.text(column);
    Ok(match column {
        "username" => said("user", &text),
        "password" if text.is_empty() => {
            return Err(Fault::wrong_value(
                "password is shown as NULL and cannot be taken away here: give one, leave the column out, or alter \
                 the table accounts",
            ));
        }
        "password" => {
            let (is, is_not) = match HashForm::of(&text) {
                Some(_) => ("hash", "password"),
                None => ("password", "hash"),
            };
            [said(is, &text), said(is_not, "")].concat()
        }
        "use_ssl" => match &*text {
            "1" => said("tls", AccountTls::Required.name()),
            _ => {
                only(column, row, &["0"], "it is 0 or 1")?;
                said("tls", "")
            }
        },
        "default_hostgroup" => said_cluster("cluster", &text, material)?,
        "default_schema" => said("schema", &text),
        "fast_forward" => match &*text {
            "1" => said("session", SessionMode::Transparent.name()),
            _ => {
                only(column, row, &["0"], "it is 0 or 1")?;
                said("session", "")
            }
        },
        "max_connections" => said(
            "connections_max",
            Some(&*text).filter(|it| *it != "0").unwrap_or(""),
        ),
        "active" => only(
            column,
            row,
            &["1"],
            "an account that is to be off is deleted",
        )?,
        "schema_locked" => only(column, row, &["0"], "there is no such lock")?,
        "transaction_persistent" => only(
            column,
            row,
            &["1"],
            "a transaction always stays on its backend",
        )?,
        "backend" | "frontend" => only(
            column,
            row,
            &["1"],
            "an account is both; accounts.backend_user says another one for backends",
        )?,
        _ => only(column, row, &[], "it has no meaning")?,
    })
}
