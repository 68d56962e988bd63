//! All actions there are, as `registry.rs` has all tables.

use config::AdminRole;
use route::KillScope;

use super::action::{Action, Means, Method};
use super::lists::{ACCOUNTS, ADMIN_ACCOUNTS, BACKENDS, List, RULES};

/// See the module.
pub static ACTIONS: &[Action] = &[
    Action {
        name: "changeSettings",
        method: Method::Patch,
        path: "/api/settings",
        about: "Gives settings other values, all of them or none; null takes one back to its default.",
        role: AdminRole::Admin,
        means: Means::Set,
    },
    Action {
        name: "showChanges",
        method: Method::Get,
        path: "/api/changes",
        about: "What is not as in the file.",
        role: AdminRole::Stats,
        means: Means::Statement("SHOW CHANGES"),
    },
    statement(
        "save",
        "/api/save",
        "Writes what holds into the file.",
        "SAVE",
    ),
    statement(
        "revert",
        "/api/revert",
        "Reads the file again, and has hold what it says.",
        "REVERT",
    ),
    add("addBackend", "/api/backends", "Adds a backend.", &BACKENDS),
    change(
        "changeBackend",
        "/api/backends/{name}",
        "Changes a backend: its weight, its role, whether it is drained or disabled, whatever the file says of one.",
        &BACKENDS,
    ),
    remove(
        "removeBackend",
        "/api/backends/{name}",
        "Takes a backend out; sessions end there as at a reload.",
        &BACKENDS,
    ),
    add(
        "addRule",
        "/api/rules",
        "Adds a rule, at the end or at a place.",
        &RULES,
    ),
    change(
        "changeRule",
        "/api/rules/{name}",
        "Changes a rule, or moves it.",
        &RULES,
    ),
    remove(
        "removeRule",
        "/api/rules/{name}",
        "Takes a rule out.",
        &RULES,
    ),
    add("addAccount", "/api/accounts", "Adds an account.", &ACCOUNTS),
    change(
        "changeAccount",
        "/api/accounts/{account}",
        "Changes a configured account, USER@HOST; the host is % where none is named.",
        &ACCOUNTS,
    ),
    remove(
        "removeAccount",
        "/api/accounts/{account}",
        "Takes a configured account out, USER@HOST; the host is % where none is named.",
        &ACCOUNTS,
    ),
    add(
        "addAdminAccount",
        "/api/admin_accounts",
        "Adds a user of the admin port.",
        &ADMIN_ACCOUNTS,
    ),
    change(
        "changeAdminAccount",
        "/api/admin_accounts/{user}",
        "Changes a user of the admin port.",
        &ADMIN_ACCOUNTS,
    ),
    remove(
        "removeAdminAccount",
        "/api/admin_accounts/{user}",
        "Takes a user of the admin port out.",
        &ADMIN_ACCOUNTS,
    ),
    statement(
        "resetDigests",
        "/api/reset/digests",
        "Counts digests from nothing.",
        "RESET DIGESTS",
    ),
    statement(
        "resetErrors",
        "/api/reset/errors",
        "Counts errors from nothing.",
        "RESET ERRORS",
    ),
    statement(
        "resetSlowStatements",
        "/api/reset/slow_statements",
        "Forgets slow statements.",
        "RESET SLOW_STATEMENTS",
    ),
    statement(
        "resetProfiles",
        "/api/reset/profiles",
        "Forgets profiles.",
        "RESET PROFILES",
    ),
    statement(
        "resetIndexUsage",
        "/api/reset/index_usage",
        "Forgets plans, and asks for them again.",
        "RESET INDEX_USAGE",
    ),
    statement(
        "unblockHosts",
        "/api/reset/host_errors",
        "Forgets failed logins of hosts, so that none is blocked any more.",
        "FLUSH HOSTS",
    ),
    statement(
        "resetStatus",
        "/api/reset/status",
        "Counts all of these, times, lanes and the hits of rules from nothing.",
        "FLUSH STATUS",
    ),
    kill(
        "endSession",
        "/api/sessions/{id}",
        "Ends a session.",
        KillScope::Connection,
    ),
    kill(
        "endStatement",
        "/api/sessions/{id}/statement",
        "Ends a session's statement.",
        KillScope::Statement,
    ),
];

const fn statement(
    name: &'static str,
    path: &'static str,
    about: &'static str,
    text: &'static str,
) -> Action {
    let means = Means::Statement(text);
    for_admins(name, (Method::Post, path), about, means)
}

const fn add(
    name: &'static str,
    path: &'static str,
    about: &'static str,
    list: &'static List,
) -> Action {
    for_admins(name, (Method::Post, path), about, Means::Add(list))
}

const fn change(
    name: &'static str,
    path: &'static str,
    about: &'static str,
    list: &'static List,
) -> Action {
    for_admins(name, (Method::Patch, path), about, Means::Change(list))
}

const fn remove(
    name: &'static str,
    path: &'static str,
    about: &'static str,
    list: &'static List,
) -> Action {
    for_admins(name, (Method::Delete, path), about, Means::Remove(list))
}

const fn kill(
    name: &'static str,
    path: &'static str,
    about: &'static str,
    scope: KillScope,
) -> Action {
    for_admins(name, (Method::Delete, path), about, Means::Kill(scope))
}

const fn for_admins(
    name: &'static str,
    (method, path): (Method, &'static str),
    about: &'static str,
    means: Means,
) -> Action {
    Action {
        name,
        method,
        path,
        about,
        role: AdminRole::Admin,
        means,
    }
}
