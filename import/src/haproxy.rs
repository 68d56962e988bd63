//! HAProxy: sections `listen`, or `frontend` with `backend`, in TCP mode.
//!
//! HAProxy does not read the sessions that it passes on, so the result has no accounts. Sessions are transparent until
//! accounts are added.

mod proxies;
mod settings;

use crate::fleet::{Fleet, Route};
use crate::output::{Origin, Output, Table, Toml};
use crate::source::{Refusal, Source};

use proxies::{Proxy, Server};

/// Reads a file.
///
/// # Errors
/// As [`crate::import`].
pub fn from_file<'a>(source: &'a Source<'a>) -> Result<Output<'a>, Refusal> {
    let sections = proxies::sections(source.text)?;
    let mut output = Output::new(source);
    let proxies = proxies::proxies(&sections, &mut output);
    if proxies.is_empty() {
        let hint = "a section listen, or frontend and backend, in TCP mode with servers is needed";
        return Err(Refusal::whole("the file has no proxy for MySQL", hint));
    }
    for section in &sections {
        settings::translate(section, &proxies, &mut output);
    }
    let routes: Vec<Route> = proxies.iter().map(route).collect();
    let fleet = Fleet::of(&routes);
    backends(&proxies, &fleet, &mut output);
    listeners(&proxies, &fleet, &mut output);
    let reason = "sessions pass through unread, as with HAProxy";
    output.aside(
        "accounts.learn",
        Toml::Truth(true),
        &format!("{reason}. Sharing connections and rules need accounts"),
    );
    Ok(output)
}

fn route(proxy: &Proxy) -> Route {
    let servers = proxy
        .servers
        .iter()
        .map(|it| (it.address.clone(), it.is_backup));
    Route {
        name: proxy.name.clone(),
        servers: servers.collect(),
        writes: None,
    }
}

fn backends(proxies: &[Proxy], fleet: &Fleet, output: &mut Output<'_>) {
    let has_monitored_roles = output.has("health.monitor_user");
    for (address, cluster, role) in &fleet.servers {
        let mut servers = proxies
            .iter()
            .flat_map(|it| &it.servers)
            .filter(|it| it.address == *address);
        let Some(server) = servers.next() else {
            continue;
        };
        let mut table = Table::new(format!(
            "server {}, line {}",
            server.name, server.line.number
        ));
        table.text("name", &server.name);
        table.text("address", address);
        table.text("cluster", cluster);
        // With a monitor account, the proxy detects which server is the primary.
        let is_split = fleet
            .servers
            .iter()
            .any(|(_, of, role)| of == cluster && *role == "replica");
        let role = if has_monitored_roles && is_split {
            "auto"
        } else {
            role
        };
        table.text("role", role);
        if role == "primary" && fleet.independent.contains(cluster) {
            table.set("independent", Toml::Truth(true));
        }
        options(server, &mut table, output);
        for other in servers {
            options(other, &mut table, output);
        }
        output.backends.push(table);
    }
    if !has_monitored_roles && fleet.servers.iter().any(|(.., role)| *role == "replica") {
        let origin = Origin::named(None, "the roles of servers");
        let reason = "the primary is the server of the address with standby servers or with the fewest servers";
        output.differs(
            &origin,
            reason,
            "health.monitor_user and role = \"auto\" follow the primary when it moves",
        );
    }
}

/// The options of a server that are settings of a backend.
fn options(server: &Server, table: &mut Table, output: &mut Output<'_>) {
    let mut words = server.line.words.iter().skip(3).map(String::as_str);
    while let Some(word) = words.next() {
        let line = server.line.number;
        let number = |text: Option<&str>| text.and_then(|it| it.parse::<u64>().ok());
        match word {
            "weight" => {
                let value = words.next();
                let origin = Origin::new(
                    line,
                    &format!("server {} weight", server.name),
                    value.unwrap_or(""),
                );
                match number(value) {
                    Some(0) => table.set("drain", Toml::Truth(true)),
                    Some(weight) => table.set("weight", Toml::Number(weight.min(256))),
                    None => output.unreadable(&origin, "a number"),
                }
            }
            "maxconn" => {
                let value = words.next();
                let origin = Origin::new(
                    line,
                    &format!("server {} maxconn", server.name),
                    value.unwrap_or(""),
                );
                match number(value) {
                    Some(most) => {
                        let most = output
                            .bounded("backend.sessions_max", most, &origin, |it| it.to_string());
                        table.set("sessions_max", Toml::Number(most));
                    }
                    None => output.unreadable(&origin, "a number"),
                }
            }
            "disabled" => table.set("disable", Toml::Truth(true)),
            _ => settings::server_option(&server.name, line, word, &mut words, output),
        }
    }
}

fn listeners(proxies: &[Proxy], fleet: &Fleet, output: &mut Output<'_>) {
    let mut count = 0;
    for (proxy, place) in proxies.iter().zip(&fleet.uses) {
        if place.replicas == "replica" && proxy.servers.iter().any(|it| it.is_backup) {
            let origin = Origin::named(None, format!("{} {}", proxy.kind, proxy.name));
            let reason =
                "sessions for replicas do not go to the standby server, which is the primary";
            output.differs(
                &origin,
                reason,
                "replicas = \"any\" uses the primary as well",
            );
        }
        for bind in &proxy.binds {
            for address in settings::bind(bind, &proxy.name, output) {
                if output
                    .listeners
                    .iter()
                    .any(|it| it.get("address") == Some(&address))
                {
                    let origin = Origin::new(bind.number, "bind", &address);
                    output.lost(&origin, "the address is taken by another section", "");
                    continue;
                }
                let mut table = Table::new(format!(
                    "{} {}, line {}",
                    proxy.kind, proxy.name, bind.number
                ));
                table.text("address", address);
                table.text("routing.cluster", &place.cluster);
                table.text("routing.replicas", place.replicas);
                output.listeners.push(table);
                count += 1;
            }
        }
    }
    let origin = Origin::named(None, "bind");
    if count == 0 {
        output.set(
            "listen",
            Toml::List(vec!["0.0.0.0:3306".to_owned()]),
            &origin,
        );
    } else {
        output.set("listen", Toml::List(Vec::new()), &origin);
    }
    if fleet.uses.iter().any(|it| it.is_ordered) {
        policy(proxies, fleet, output);
    }
}

/// Sets the policy for standby servers: they come after the others, and the first server that is up gets all sessions.
fn policy(proxies: &[Proxy], fleet: &Fleet, output: &mut Output<'_>) {
    let line = proxies
        .iter()
        .flat_map(|it| &it.servers)
        .find(|it| it.is_backup)
        .map(|it| it.line.number);
    let origin = Origin::named(line, "server … backup");
    if let Some(policy) = output.get("balance.policy").map(str::to_owned)
        && policy != "ordered"
        && fleet.uses.iter().any(|it| !it.is_ordered)
    {
        let reason = format!(
            "balance.policy is the same for all clusters, and \"{policy}\" is given elsewhere"
        );
        return output.lost(&origin, reason, "drain = true keeps a standby server free");
    }
    output.text("balance.policy", "ordered", &origin);
}
