//! Accounts whose logins the proxy answers.

use std::sync::Arc;

use config::{ACCOUNT, AccountConfig, Config};

use auth::{KnownAccount, LoginMethod, PassThrough, Source};

use crate::defined::{self, Defined, Definition};
use crate::table::{Alterable, Asks, Schema, TableDefinition, Target, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: Defined<AccountRow> = Defined {
    table: SHEET,
    alterable: Alterable {
        target: Target::List(ACCOUNT.name),
        aliases: &[("db", "schema"), ("mode", "session")],
        keys: || ACCOUNT.settings.iter().map(|it| it.column()).collect(),
        position_column: None,
        title: |row| {
            let title = format!("'{}'@'{}'", row.text("user"), row.text("host"));
            match &*row.text("source") {
                "learned" => Err(format!(
                    "{title} is learned from the servers, and changed there"
                )),
                _ => Ok(title),
            }
        },
    },
    definition: Some(Definition::new(
        || defined::columns(&ACCOUNT),
        |input, it| defined::cells(&ACCOUNT, it.configured(&input.config)),
    )),
};

const SHEET: TableDefinition<AccountRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "accounts",
    about: "Accounts whose logins the proxy answers, configured and learned, and the settings of those \
            configured, which can be changed. No password is shown.",
    asks: Asks::Sessions,
    columns: columns! {
        text "user", "The user's name.", |it| it.account.user.clone().into();
        text "host", "From which hosts.", |it| it.account.host.as_str().into();
        text "source", "configured or learned.",
            |it| {
                match it.account.source {
                    Source::Configured => "configured".into(),
                    Source::Learned => "learned".into(),
                }
            };
        text "login", "pooled; or why the login passes through to a backend.",
            |it| match &it.account.login_method {
                LoginMethod::Examined(_) => "answered".into(),
                LoginMethod::PassedThrough(why) => passed_through(why).into(),
            };
        text "db", "The schema to begin with.", |it| it.account.schema.clone().into();
        text "mode", "For how long its sessions keep a connection, if it says so.",
            |it| it.account.pooling.mode.map(|mode| mode.name()).into();
        text "cluster", "The cluster that its sessions go to, if it says so.",
            |it| it.account.routing.cluster.clone().into();
        text "backend_user", "The user that its sessions are at a backend.", |it| it.account.backend_user().into();
        integer "locked", "Whether all its logins are refused.", |it| it.account.conditions.locked.into();
        integer "connections_max", "Sessions that it may have at once.",
            |it| it.account.conditions.user_connections_max.into();
        integer "sessions", "Sessions of this user's now, from whatever host.", |it| it.sessions.into();
    },
    items,
};

/// One account.
pub struct AccountRow {
    account: Arc<KnownAccount>,
    sessions: usize,
}

impl AccountRow {
    fn configured<'a>(&self, config: &'a Config) -> Option<&'a AccountConfig> {
        let (user, host) = (&self.account.user, self.account.host.as_str());
        let mut accounts = config.configured_accounts.iter();
        let is_it = |it: &&AccountConfig| it.user == *user && it.host.eq_ignore_ascii_case(host);
        accounts
            .find(is_it)
            .filter(|_| self.account.source == Source::Configured)
    }
}

fn passed_through(why: &PassThrough) -> String {
    format!("passed through: {why}")
}

fn items(input: &TableInput) -> Vec<AccountRow> {
    // In a transaction, the accounts as after its COMMIT. Accounts that cannot be used are refused at the COMMIT.
    let planned = input.view.as_ref().and_then(|view| {
        let accounts = &view.config.configured_accounts;
        auth::configured(accounts, [0; 32]).ok()
    });
    let configured = planned.as_ref().unwrap_or(input.accounts.configured());
    let configured = configured.accounts();
    let learned = input.accounts.learned().into_iter();
    let learned = learned.flat_map(|learned| learned.accounts());
    let mut items: Vec<_> = configured
        .chain(learned)
        .map(|account| AccountRow {
            sessions: (input.sessions())
                .filter(|session| session.user == account.user)
                .count(),
            account: Arc::clone(account),
        })
        .collect();
    items.sort_by(|a, b| {
        let key = |it: &AccountRow| (it.account.user.clone(), it.account.host.as_str().to_owned());
        key(a).cmp(&key(b))
    });
    items
}
