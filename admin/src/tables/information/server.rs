//! What graphical clients ask of a server itself: engines, character sets, plugins, users, sessions.

use config::AdminRole;
use net::Endpoint;
use proxy::{SessionState, SessionView};

use crate::material::Material;
use crate::sheet::{Asks, Cell, Schema, Sheet, integer, text};

/// What tables are said to be kept by.
pub const ENGINE: &str = "PILOTFISH";

/// The one engine.
pub static ENGINES: Sheet<()> = Sheet {
    schema: Schema::Information,
    name: "ENGINES",
    about: "What keeps the tables: the proxy itself.",
    asks: Asks::Nothing,
    columns: &[
        text("ENGINE", "Always PILOTFISH.", |()| ENGINE.into()),
        text("SUPPORT", "Always DEFAULT.", |()| "DEFAULT".into()),
        text("COMMENT", "A sentence about it.", |()| {
            "The proxy's state, gathered for each statement".into()
        }),
        text("TRANSACTIONS", "Always YES.", |()| "YES".into()),
        text("XA", "Always NO.", |()| "NO".into()),
        text("SAVEPOINTS", "Always NO.", |()| "NO".into()),
    ],
    items: |_| vec![()],
};

/// The one character set.
pub static CHARACTER_SETS: Sheet<()> = Sheet {
    schema: Schema::Information,
    name: "CHARACTER_SETS",
    about: "The character set that is spoken here.",
    asks: Asks::Nothing,
    columns: &[
        text("CHARACTER_SET_NAME", "Always utf8mb4.", |()| {
            "utf8mb4".into()
        }),
        text("DEFAULT_COLLATE_NAME", "Always utf8mb4_general_ci.", |()| {
            "utf8mb4_general_ci".into()
        }),
        text("DESCRIPTION", "What it is.", |()| "UTF-8 Unicode".into()),
        integer("MAXLEN", "Bytes of a character, at most.", |()| {
            4_u32.into()
        }),
    ],
    items: |_| vec![()],
};

/// A collation: its name and number.
type Collation = (&'static str, u32);

const COLLATIONS_KNOWN: [Collation; 2] = [("utf8mb4_general_ci", 45), ("utf8mb4_bin", 46)];

/// How texts are compared.
pub static COLLATIONS: Sheet<Collation> = Sheet {
    schema: Schema::Information,
    name: "COLLATIONS",
    about: "How texts are compared: by bytes, or without regard to the case of ASCII.",
    asks: Asks::Nothing,
    columns: &[
        text("COLLATION_NAME", "Its name.", |it| it.0.into()),
        text("CHARACTER_SET_NAME", "Always utf8mb4.", |_| {
            "utf8mb4".into()
        }),
        integer("ID", "The servers' number for it.", |it| it.1.into()),
        text(
            "IS_DEFAULT",
            "Whether it is the default one: Yes, or empty.",
            |it| match it.0 == COLLATIONS_KNOWN[0].0 {
                true => "Yes".into(),
                false => "".into(),
            },
        ),
        text("IS_COMPILED", "Always Yes.", |_| "Yes".into()),
        integer("SORTLEN", "Always 1.", |_| 1_u32.into()),
        text("PAD_ATTRIBUTE", "Always NO PAD.", |_| "NO PAD".into()),
    ],
    items: |_| COLLATIONS_KNOWN.to_vec(),
};

/// Which collation goes with which character set.
pub static COLLATION_CHARACTER_SET_APPLICABILITY: Sheet<Collation> = Sheet {
    schema: Schema::Information,
    name: "COLLATION_CHARACTER_SET_APPLICABILITY",
    about: "Which collation goes with which character set.",
    asks: Asks::Nothing,
    columns: &[
        text("COLLATION_NAME", "The collation.", |it| it.0.into()),
        text("CHARACTER_SET_NAME", "Always utf8mb4.", |_| {
            "utf8mb4".into()
        }),
    ],
    items: |_| COLLATIONS_KNOWN.to_vec(),
};

/// How users of this port may log in.
pub static PLUGINS: Sheet<&'static str> = Sheet {
    schema: Schema::Information,
    name: "PLUGINS",
    about: "How users of this port may log in.",
    asks: Asks::Nothing,
    columns: &[
        text("PLUGIN_NAME", "The password plugin.", |it| (*it).into()),
        text("PLUGIN_VERSION", "Always 1.0.", |_| "1.0".into()),
        text("PLUGIN_STATUS", "Always ACTIVE.", |_| "ACTIVE".into()),
        text("PLUGIN_TYPE", "Always AUTHENTICATION.", |_| {
            "AUTHENTICATION".into()
        }),
        text("PLUGIN_TYPE_VERSION", "Always 2.1.", |_| "2.1".into()),
        text("PLUGIN_LIBRARY", "Nothing here.", |_| Cell::Null),
        text("PLUGIN_LIBRARY_VERSION", "Nothing here.", |_| Cell::Null),
        text("PLUGIN_AUTHOR", "Nothing here.", |_| Cell::Null),
        text("PLUGIN_DESCRIPTION", "Nothing here.", |_| Cell::Null),
        text("PLUGIN_LICENSE", "Nothing here.", |_| Cell::Null),
        text("LOAD_OPTION", "Always ON.", |_| "ON".into()),
    ],
    items: |_| vec!["caching_sha2_password", "mysql_native_password"],
};

/// What users of this port may do.
pub static USER_PRIVILEGES: Sheet<Privilege> = Sheet {
    schema: Schema::Information,
    name: "USER_PRIVILEGES",
    about: "What users of this port may do, in the servers' words for it.",
    asks: Asks::Nothing,
    columns: &[
        text("GRANTEE", "The user.", |it| {
            format!("'{}'@'%'", it.user).into()
        }),
        text("TABLE_CATALOG", "Always def.", |_| "def".into()),
        text("PRIVILEGE_TYPE", "What may be done.", |it| it.name.into()),
        text("IS_GRANTABLE", "Always NO.", |_| "NO".into()),
    ],
    items: privileges,
};

/// Something that a user may do.
pub struct Privilege {
    user: String,
    name: &'static str,
}

fn privileges(material: &Material) -> Vec<Privilege> {
    let admins = material.config.admins().into_iter();
    let privileges = admins.flat_map(|admin| {
        let names: &[&str] = match admin.role {
            AdminRole::Admin => &[
                "SELECT", "INSERT", "UPDATE", "DELETE", "RELOAD", "PROCESS", "SUPER",
            ],
            AdminRole::Stats => &["SELECT", "PROCESS"],
        };
        let user = admin.user.clone();
        names.iter().map(move |name| Privilege {
            user: user.clone(),
            name,
        })
    });
    privileges.collect()
}

/// Clients' sessions.
pub static PROCESSLIST: Sheet<SessionView> = Sheet {
    schema: Schema::Information,
    name: "PROCESSLIST",
    about: "Clients' sessions as servers show them; sessions has more.",
    asks: Asks::Sessions,
    columns: &[
        integer("ID", "What KILL takes.", |it| it.id.into()),
        text("USER", "Whom it has logged in as.", |it| {
            it.user.clone().into()
        }),
        text("HOST", "Where its client is.", |it| match &it.client {
            Endpoint::Tcp(address) => address.to_string().into(),
            Endpoint::Unix(_) => "localhost".into(),
        }),
        text("DB", "Its default schema.", |it| it.schema.clone().into()),
        text("COMMAND", "Sleep, Query or Connect.", |it| match it.state {
            SessionState::Idle => "Sleep".into(),
            SessionState::Running => "Query".into(),
            SessionState::Login => "Connect".into(),
        }),
        integer("TIME", "For how long, in seconds.", |it| {
            it.state_seconds.into()
        }),
        text(
            "STATE",
            "What keeps its backend connection: its pins.",
            |it| match it.pins {
                Some(pins) => format!("pinned: {pins}").into(),
                None => "".into(),
            },
        ),
        text(
            "INFO",
            "The statement that it runs, without its values, where digests are kept.",
            |it| it.statement.as_deref().into(),
        ),
    ],
    items: |material| material.sessions().cloned().collect(),
};
