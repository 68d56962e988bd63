//! Accounts whose logins the proxy answers.

use std::sync::Arc;

use auth::{KnownAccount, PassThrough, Source, Way};

use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, integer, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Pilotfish,
    name: "accounts",
    about: "Accounts whose logins the proxy answers, configured and learned. No password is among what they \
            show.",
    asks: Asks::Sessions,
    columns: &[
        text("user", "The user's name.", |it| {
            it.account.user.clone().into()
        }),
        text("host", "From which hosts.", |it| {
            it.account.host.as_str().into()
        }),
        text("source", "configured or learned.", |it| {
            match it.account.source {
                Source::Configured => "configured".into(),
                Source::Learned => "learned".into(),
            }
        }),
        text(
            "login",
            "pooled; or why the login passes through to a backend.",
            |it| match &it.account.way {
                Way::Examined(_) => "answered".into(),
                Way::PassedThrough(why) => passed_through(why).into(),
            },
        ),
        text("db", "The schema to begin with.", |it| {
            it.account.schema.clone().into()
        }),
        text(
            "mode",
            "For how long its sessions keep a connection, if it says so.",
            |it| it.account.mode.map(|mode| mode.name()).into(),
        ),
        text(
            "cluster",
            "The cluster that its sessions go to, if it says so.",
            |it| it.account.cluster.clone().into(),
        ),
        text(
            "backend_user",
            "The user that its sessions are at a backend.",
            |it| it.account.backend_user().into(),
        ),
        integer("locked", "Whether nobody gets in.", |it| {
            it.account.locked.into()
        }),
        integer(
            "connections_max",
            "Sessions that it may have at once.",
            |it| it.account.user_connections_max.into(),
        ),
        integer(
            "sessions",
            "Sessions of this user's now, from whatever host.",
            |it| it.sessions.into(),
        ),
    ],
    items,
};

/// One account.
pub struct Item {
    account: Arc<KnownAccount>,
    sessions: usize,
}

fn passed_through(why: &PassThrough) -> String {
    format!("passed through: {why}")
}

fn items(material: &Material) -> Vec<Item> {
    let configured = material.accounts.configured().accounts();
    let learned = material.accounts.learned().into_iter();
    let learned = learned.flat_map(|learned| learned.accounts());
    let mut items: Vec<_> = configured
        .chain(learned)
        .map(|account| Item {
            sessions: (material.sessions())
                .filter(|session| session.user == account.user)
                .count(),
            account: Arc::clone(account),
        })
        .collect();
    items.sort_by(|a, b| {
        let key = |it: &Item| (it.account.user.clone(), it.account.host.as_str().to_owned());
        key(a).cmp(&key(b))
    });
    items
}
