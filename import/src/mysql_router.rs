//! MySQL Router: `mysqlrouter.conf`, written by hand or by `--bootstrap`.

mod options;
mod routes;

use crate::fleet::{Fleet, Route};
use crate::ini::{self, Section};
use crate::output::{Origin, Output, Table, Toml};
use crate::source::{Refusal, Source};
use routes::{Destination, Routing};

/// Reads a file.
///
/// # Errors
/// As [`crate::import`].
pub fn from_file<'a>(source: &'a Source<'a>) -> Result<Output<'a>, Refusal> {
    let sections = ini::read(source.text)?;
    let mut output = Output::new(source);
    let routings = routes::routings(&sections, &mut output);
    if routings.is_empty() {
        let hint = "a section [routing:NAME] with destinations and protocol = classic is needed";
        return Err(Refusal::whole(
            "the file has no route of the classic protocol",
            hint,
        ));
    }
    let members = routes::metadata_servers(&sections, &mut output);
    if members.is_empty()
        && routings
            .iter()
            .any(|it| matches!(it.destination, Destination::Metadata { .. }))
    {
        let hint = "the servers are in the file of dynamic_state: write them into [metadata_cache] as \
                    bootstrap_server_addresses = mysql://HOST:PORT,mysql://HOST:PORT and import again";
        return Err(Refusal::whole(
            "the file names the cluster, and not its servers",
            hint,
        ));
    }
    for section in &sections {
        options::translate(section, &mut output);
    }
    add_members(&members, &routings, &mut output);
    let fleet = fixed(&routings, &mut output);
    listeners(&routings, &fleet, &mut output);
    output.set(
        "listen",
        Toml::List(Vec::new()),
        &Origin::named(None, "[routing:…] bind_address"),
    );
    sharing(&sections, &routings, &mut output);
    Ok(output)
}

/// Adds the members of an InnoDB cluster. The proxy detects their roles.
fn add_members(members: &[String], routings: &[Routing], output: &mut Output<'_>) {
    if !routings
        .iter()
        .any(|it| matches!(it.destination, Destination::Metadata { .. }))
    {
        return;
    }
    for address in members {
        let mut table = Table::new("a metadata server of the cluster");
        table.text("address", address);
        table.text("role", "auto");
        output.backends.push(table);
    }
    if !output.has("health.monitor_user") {
        let from = Origin::named(None, "[metadata_cache] user");
        output.text("health.monitor_user", "mysql_router", &from);
    }
    let from = Origin::named(None, "[metadata_cache] user");
    let reason = "the account's password is in Router's key store and is not carried over";
    output.lost(
        &from,
        reason,
        "health.monitor_password = \"file:PATH\", of an account that each server knows",
    );
    let from = Origin::named(None, "metadata-cache://");
    let reason = "servers that join later are not found by themselves; roles and failover are";
    output.differs(&from, reason, "a [[backend]] for each server, and a reload");
}

/// Adds the servers that the file names itself.
fn fixed(routings: &[Routing], output: &mut Output<'_>) -> Fleet {
    let route = |it: &Routing| match &it.destination {
        Destination::Servers(servers) => {
            // If the strategy takes the first available server, all other servers stand by.
            let is_first = matches!(it.strategy.as_str(), "first-available" | "next-available");
            let servers = servers
                .iter()
                .enumerate()
                .map(|(index, it)| (it.clone(), is_first && index > 0));
            Route {
                name: it.name.clone(),
                servers: servers.collect(),
                writes: it.writes,
            }
        }
        Destination::Metadata { .. } => Route::default(),
    };
    let routes: Vec<Route> = routings.iter().map(route).collect();
    let fleet = Fleet::of(&routes);
    for (address, cluster, role) in &fleet.servers {
        if output
            .backends
            .iter()
            .any(|it| it.get("address") == Some(address))
        {
            continue;
        }
        let mut table = Table::new("destinations");
        table.text("address", address);
        table.text("cluster", cluster);
        table.text("role", *role);
        if *role == "primary" && fleet.independent.contains(cluster) {
            table.set("independent", Toml::Truth(true));
        }
        output.backends.push(table);
    }
    let from = Origin::named(None, "routing_strategy");
    if fleet.uses.iter().any(|it| it.is_ordered) {
        output.text("balance.policy", "ordered", &from);
    } else if routings
        .iter()
        .any(|it| it.strategy.starts_with("round-robin"))
    {
        output.text("balance.policy", "round_robin", &from);
        output.text("balance.reads", "round_robin", &from);
    }
    fleet
}

fn listeners(routings: &[Routing], fleet: &Fleet, output: &mut Output<'_>) {
    for (routing, place) in routings.iter().zip(&fleet.uses) {
        for address in &routing.addresses {
            let from = Origin::new(routing.line, "bind_address", address);
            let Some(address) = output.listen_address(address, &from) else {
                continue;
            };
            if output
                .listeners
                .iter()
                .any(|it| it.get("address") == Some(&address))
            {
                output.lost(&from, "the address is taken by another section", "");
                continue;
            }
            let mut table =
                Table::new(format!("[routing:{}], line {}", routing.name, routing.line));
            table.text("address", address);
            match &routing.destination {
                Destination::Metadata { replicas } => table.text("routing.replicas", *replicas),
                Destination::Servers(_) => {
                    table.text("routing.cluster", &place.cluster);
                    table.text("routing.replicas", place.replicas);
                }
            }
            if routing.waits_for_writes == Some(false) {
                table.text("routing.consistency", "none");
            }
            output.listeners.push(table);
        }
    }
    if output.listeners.is_empty() {
        // The result needs at least one address to listen on.
        output.listeners.push({
            let mut table = Table::new("no address of the file can be had on this machine");
            table.text("address", "0.0.0.0:6446");
            table
        });
    }
}

/// Router shares connections if its configuration says so. In Pilotfish that needs accounts.
fn sharing(sections: &[Section], routings: &[Routing], output: &mut Output<'_>) {
    let shares = routings.iter().any(|it| it.shares)
        || sections.iter().any(|it| it.name == "connection_pool");
    let splits = output
        .listeners
        .iter()
        .any(|it| it.get("routing.replicas") == Some("split"));
    if !shares && !splits {
        let reason = "sessions pass through unread, as with Router. Sharing connections and rules need accounts";
        return output.aside("accounts.learn", Toml::Truth(true), reason);
    }
    let from = Origin::named(None, "connection_sharing, access_mode = auto");
    if output.has("health.monitor_user") {
        output.set("accounts.learn", Toml::Truth(true), &from);
        let reason = "the proxy reads the servers' accounts, for which health.monitor_user needs SELECT on mysql.user";
        output.differs(&from, reason, "[[account]] tables one by one");
    } else {
        let reason = "sharing connections and splitting need accounts, and the file has none";
        output.lost(
            &from,
            reason,
            "accounts.learn with health.monitor_user, or [[account]]",
        );
    }
}
