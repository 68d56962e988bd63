//! Users and their sessions as ProxySQL's statistics show them.

use std::collections::BTreeMap;

use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, integer, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Stats,
    name: "stats_mysql_users",
    about: "Users and their sessions, by the names of ProxySQL: those of accounts, whatever the host, and all who are \
            here besides.",
    asks: Asks::Sessions,
    columns: &[
        text("username", "The user's name.", |it| it.user.clone().into()),
        integer(
            "frontend_connections",
            "Sessions of this user's now, from whatever host.",
            |it| it.sessions.into(),
        ),
        integer(
            "frontend_max_connections",
            "Sessions that it may have at once; of several accounts of this name, the most that one of them may have; \
             0: no limit.",
            |it| it.sessions_max.unwrap_or(0).into(),
        ),
    ],
    items,
};

/// One user.
pub struct Item {
    user: String,
    sessions: usize,
    /// None: as many as it likes.
    sessions_max: Option<u32>,
}

fn items(material: &Material) -> Vec<Item> {
    let learned = material.accounts.learned().into_iter();
    let learned = learned.flat_map(|learned| learned.accounts());
    let accounts = material.accounts.configured().accounts().chain(learned);
    let mut users: BTreeMap<&str, Item> = BTreeMap::new();
    for account in accounts {
        let max = account.user_connections_max.filter(|max| *max > 0);
        users
            .entry(&account.user)
            .and_modify(|it| it.sessions_max = it.sessions_max.zip(max).map(|(a, b)| a.max(b)))
            .or_insert_with(|| Item::of(&account.user, max));
    }
    // Whoever has not said a name yet is nobody.
    for session in material.sessions().filter(|it| !it.user.is_empty()) {
        let known = users.entry(&session.user);
        known
            .or_insert_with(|| Item::of(&session.user, None))
            .sessions += 1;
    }
    users.into_values().collect()
}

impl Item {
    fn of(user: &str, sessions_max: Option<u32>) -> Self {
        Self {
            user: user.to_owned(),
            sessions: 0,
            sessions_max,
        }
    }
}
