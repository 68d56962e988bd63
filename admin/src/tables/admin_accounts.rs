//! Users of the admin port.

use config::{ADMIN_ACCOUNT, AdminAccountConfig};

use crate::defined::{self, Defined, Definition};
use crate::table::{Alterable, Asks, Schema, TableDefinition, Target, columns};

/// See the module.
pub static TABLE: Defined<AdminAccountConfig> = Defined {
    table: SHEET,
    alterable: Alterable {
        target: Target::List(ADMIN_ACCOUNT.name),
        aliases: &[],
        keys: || {
            ADMIN_ACCOUNT
                .settings
                .iter()
                .map(|it| it.column())
                .collect()
        },
        position_column: None,
        title: |row| Ok(row.text("user")),
    },
    definition: Some(Definition::new(
        || defined::columns(&ADMIN_ACCOUNT),
        |_, it| defined::cells(&ADMIN_ACCOUNT, Some(it)),
    )),
};

const SHEET: TableDefinition<AdminAccountConfig> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "admin_accounts",
    about: "Users of the admin port besides admin.username; rows can be changed. No password is shown.",
    asks: Asks::Nothing,
    columns: columns! {
        text "user", "The user's name.", |it| it.user.clone().into();
        text "role", "The role, which says what the user may do.", |it| it.role.name().into();
    },
    items: |input| input.config.admin_accounts.clone(),
};
