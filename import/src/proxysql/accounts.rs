//! `mysql_users`: accounts.

use std::collections::BTreeSet;

use config::HashForm;

use super::groups::Groups;
use super::tables::{Row, Tables};
use crate::output::{Origin, Output, Table, Toml};

const TABLE: &str = "mysql_users";

/// Writes an account for each user whose logins ProxySQL answers.
pub fn translate(tables: &Tables, groups: &Groups, output: &mut Output<'_>) {
    let schema = tables
        .variable("mysql-default_schema")
        .filter(|it| !it.is_empty() && *it != "information_schema");
    let mut seen = BTreeSet::new();
    for row in tables.rows(TABLE) {
        let user = row.get("username").unwrap_or("");
        let origin = Origin::named(row.line, format!("{TABLE} {user}"));
        if !row.truth("frontend", true) {
            continue;
        }
        if user.is_empty() {
            output.lost(&origin, "the user has no name", "");
        } else if !row.truth("active", true) {
            output.unneeded(&origin, "the user is not active");
        } else if seen.insert(user.to_owned()) {
            let table = account(tables, row, user, schema, groups, output);
            output.accounts.push(table);
        } else {
            output.lost(
                &origin,
                "the user is there twice",
                "accounts of one user differ in host",
            );
        }
    }
    if seen.is_empty() {
        let origin = Origin::named(None, TABLE);
        let reason =
            "no user is given, so logins pass through to a backend and no rule sees a statement";
        output.differs(
            &origin,
            reason,
            "accounts.learn = true reads the servers' accounts, or write [[account]]",
        );
        output.aside(
            "accounts.learn",
            Toml::Truth(true),
            "sharing connections needs accounts",
        );
    }
}

fn account(
    tables: &Tables,
    row: &Row,
    user: &str,
    schema: Option<&str>,
    groups: &Groups,
    output: &mut Output<'_>,
) -> Table {
    let comment = row
        .get("comment")
        .map(|it| format!(": {it}"))
        .unwrap_or_default();
    let mut table = Table::new(format!("{TABLE} {user}{comment}"));
    table.text("user", user);
    password(row, &mut table, "password", output);
    backend_password(tables, row, user, &mut table, output);
    set_routing(row, groups, &mut table, output);
    if let Some(schema) = row.get("default_schema").or(schema) {
        table.text("schema", schema);
    }
    for column in row.names() {
        let origin = row.origin(TABLE, column);
        match column {
            "username" | "password" | "active" | "default_schema" | "default_hostgroup"
            | "comment" | "frontend" | "backend" => {}
            "use_ssl" if row.truth(column, false) => table.text("tls", "required"),
            "fast_forward" if row.truth(column, false) => {
                table.text("routing.session", "transparent")
            }
            "use_ssl" | "fast_forward" => {}
            "max_connections" => match row.number(column) {
                // ProxySQL's own default.
                Some(0 | 10_000) => {}
                Some(most) => {
                    let most = output.bounded("account.connections_max", most, &origin, |it| {
                        it.to_string()
                    });
                    table.set("connections_max", Toml::Number(most));
                }
                None => output.unreadable(&origin, "a number"),
            },
            "transaction_persistent" if row.truth(column, true) => {}
            "transaction_persistent" => {
                output.differs(&origin, "a transaction stays on its backend always", "");
            }
            "schema_locked" if row.truth(column, false) => output.lost(
                &origin,
                "a user may change the schema",
                "the server's privileges, or a rule with kind = \"USE\" and refuse",
            ),
            "schema_locked" => {}
            "attributes" => output.lost(
                &origin,
                "accounts have no attributes",
                "tls = \"x509\" asks for a certificate",
            ),
            _ => output.lost(&origin, "accounts have no such setting here", ""),
        }
    }
    table
}

/// A password, or its hash.
fn password(row: &Row, table: &mut Table, key: &'static str, output: &mut Output<'_>) {
    let origin = Origin::named(
        row.line,
        format!("{TABLE} {}: password", row.get("username").unwrap_or("")),
    );
    let Some(text) = row.get("password") else {
        output.differs(
            &origin,
            "the account has no password",
            "give account.password",
        );
        return;
    };
    if HashForm::of(text).is_some() && key == "password" {
        if row.truth("fast_forward", false) || HashForm::of(text) != Some(HashForm::Ed25519) {
            return table.text("hash", text);
        }
        let reason = "an ed25519 hash yields no login to a backend";
        output.lost(
            &origin,
            reason,
            "account.password, or backend_user and backend_password",
        );
        return table.text("routing.session", "transparent");
    }
    if let Some(value) = output.secret(text, &origin) {
        table.set(key, value);
    }
}

/// Writes the password for servers. A user whose row is for clients only has another row with that password.
fn backend_password(
    tables: &Tables,
    row: &Row,
    user: &str,
    table: &mut Table,
    output: &mut Output<'_>,
) {
    if row.truth("backend", true) {
        return;
    }
    let mut others = tables.rows(TABLE);
    let other = others.find(|it| it.get("username") == Some(user) && !it.truth("frontend", true));
    let Some(other) = other.filter(|it| it.get("password") != row.get("password")) else {
        return;
    };
    let text = other.get("password").unwrap_or("");
    if HashForm::of(text).is_some() {
        let origin = Origin::named(other.line, format!("{TABLE} {user}: password for servers"));
        output.lost(
            &origin,
            "a hash is no password with which to log in",
            "account.backend_password",
        );
        return;
    }
    table.text("backend_user", user);
    password(other, table, "backend_password", output);
}

/// Writes where the account's statements go if no rule applies.
fn set_routing(row: &Row, groups: &Groups, table: &mut Table, output: &mut Output<'_>) {
    let group = row.number("default_hostgroup").unwrap_or(0);
    let Some(target) = groups.target(group) else {
        let origin = row.origin(TABLE, "default_hostgroup");
        let reason = format!("no server is in hostgroup {group}");
        output.differs(
            &origin,
            reason,
            "the account goes to the cluster of the first backend",
        );
        return;
    };
    if groups.are_several() {
        table.text("routing.cluster", &target.cluster);
    }
    if groups.has_replicas(&target.cluster) {
        // As with ProxySQL, only rules send statements to another role.
        table.text("routing.replicas", target.role);
    }
}
