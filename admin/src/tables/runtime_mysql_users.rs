//! The configured accounts as ProxySQL's admin schema shows them.

use config::{AccountConfig, AccountTls, SessionMode};

use super::runtime_mysql_servers::hostgroup;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<User> = TableDefinition {
    schema: Schema::Main,
    name: "runtime_mysql_users",
    about: "The configured accounts of all hosts ('%') as they hold, by the names of ProxySQL. They are changed in \
            accounts, which has the other accounts as well.",
    asks: Asks::Nothing,
    columns: columns! {
        text "username", "The user's name.", |it| it.config.user.clone().into();
        text "password", "No password is shown: NULL.", |_| Cell::Null;
        integer "active", "Always 1.", |_| 1_u32.into();
        integer "use_ssl", "Whether TLS is demanded.", |it| (it.config.tls != AccountTls::None).into();
        integer "default_hostgroup", "The number of the cluster that its sessions go to; NULL: it says none.",
            |it| it.hostgroup.into();
        text "default_schema", "The schema to begin with.", |it| it.config.schema.clone().into();
        integer "schema_locked", "Always 0: the proxy locks no account to a schema.", |_| 0_u32.into();
        integer "transaction_persistent", "A transaction stays on its backend: 1.", |_| 1_u32.into();
        integer "fast_forward",
            "Whether each of its sessions keeps a connection of its own (routing.session = \"transparent\").",
            |it| (it.config.routing.session == Some(SessionMode::Transparent)).into();
        integer "backend", "Always 1.", |_| 1_u32.into();
        integer "frontend", "Always 1.", |_| 1_u32.into();
        integer "max_connections", "Sessions that it may have at once; 0: no limit.",
            |it| it.config.connections_max.unwrap_or(0).into();
        text "attributes", "Nothing here.", |_| "".into();
        text "comment", "Nothing here.", |_| "".into();
    },
    items: users,
};

/// One account.
pub struct User {
    config: AccountConfig,
    hostgroup: Option<u32>,
}

fn users(input: &TableInput) -> Vec<User> {
    let accounts = input.config.configured_accounts.iter();
    let accounts = accounts.filter(|account| account.host == "%");
    let user = |account: &AccountConfig| User {
        hostgroup: (account.routing.cluster.as_deref()).and_then(|name| hostgroup(input, name)),
        config: account.clone(),
    };
    accounts.map(user).collect()
}
