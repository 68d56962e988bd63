//! All actions.

use route::KillScope;

use super::action::{Action, Means, Method};
use super::lists::{ACCOUNTS, ADMIN_ACCOUNTS, BACKENDS, RULES};

/// One entry per action: method, name, path, a sentence, and the SQL statement that it stands for.
macro_rules! actions {
    ($($method:ident $name:literal $path:literal, $about:literal, $means:expr;)*) => {
        &[$(Action { name: $name, method: Method::$method, path: $path, about: $about, means: $means }),*]
    };
}

/// See the module.
pub static ACTIONS: &[Action] = actions! {
    Patch "changeSettings" "/api/settings",
        "Gives settings other values, all of them or none; null takes one back to its default.", Means::Set;
    Get "showChanges" "/api/changes", "What is not as in the file.", Means::Statement("SHOW CHANGES");
    Post "save" "/api/save", "Writes what holds into the file.", Means::Statement("SAVE");
    Post "revert" "/api/revert", "Reads the file again, and has hold what it says.", Means::Statement("REVERT");
    Post "addBackend" "/api/backends", "Adds a backend.", Means::Add(&BACKENDS);
    Patch "changeBackend" "/api/backends/{name}",
        "Changes a backend: its weight, its role, whether it is drained or disabled, whatever the file says of one.",
        Means::Change(&BACKENDS);
    Delete "removeBackend" "/api/backends/{name}", "Takes a backend out; sessions end there as at a reload.",
        Means::Remove(&BACKENDS);
    Post "addRule" "/api/rules", "Adds a rule, at the end or at a place.", Means::Add(&RULES);
    Patch "changeRule" "/api/rules/{name}", "Changes a rule, or moves it.", Means::Change(&RULES);
    Delete "removeRule" "/api/rules/{name}", "Takes a rule out.", Means::Remove(&RULES);
    Post "addAccount" "/api/accounts", "Adds an account.", Means::Add(&ACCOUNTS);
    Patch "changeAccount" "/api/accounts/{account}",
        "Changes a configured account, USER@HOST; the host is % where none is named.", Means::Change(&ACCOUNTS);
    Delete "removeAccount" "/api/accounts/{account}",
        "Takes a configured account out, USER@HOST; the host is % where none is named.", Means::Remove(&ACCOUNTS);
    Post "addAdminAccount" "/api/admin_accounts", "Adds a user of the admin port.", Means::Add(&ADMIN_ACCOUNTS);
    Patch "changeAdminAccount" "/api/admin_accounts/{user}", "Changes a user of the admin port.",
        Means::Change(&ADMIN_ACCOUNTS);
    Delete "removeAdminAccount" "/api/admin_accounts/{user}", "Takes a user of the admin port out.",
        Means::Remove(&ADMIN_ACCOUNTS);
    Post "resetDigests" "/api/reset/digests", "Counts digests from nothing.", Means::Statement("RESET DIGESTS");
    Post "resetErrors" "/api/reset/errors", "Counts errors from nothing.", Means::Statement("RESET ERRORS");
    Post "resetSlowStatements" "/api/reset/slow_statements", "Forgets slow statements.",
        Means::Statement("RESET SLOW_STATEMENTS");
    Post "resetProfiles" "/api/reset/profiles", "Forgets profiles.", Means::Statement("RESET PROFILES");
    Post "resetIndexUsage" "/api/reset/index_usage", "Forgets plans, and asks for them again.",
        Means::Statement("RESET INDEX_USAGE");
    Post "unblockHosts" "/api/reset/host_errors", "Forgets failed logins of hosts, so that none is blocked any more.",
        Means::Statement("FLUSH HOSTS");
    Post "resetStatus" "/api/reset/status", "Counts all of these, times, lanes and the hits of rules from nothing.",
        Means::Statement("FLUSH STATUS");
    Delete "endSession" "/api/sessions/{id}", "Ends a session.", Means::Kill(KillScope::Connection);
    Delete "endStatement" "/api/sessions/{id}/statement", "Ends a session's statement.",
        Means::Kill(KillScope::Statement);
};
