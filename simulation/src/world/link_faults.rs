//! Faults between clients, proxies and servers: a client's host is cut off, a server takes no more connections, a
//! primary takes no writes.

use std::time::Duration;

use super::plan::Plan;
use super::setting::Reach;
use super::{client_host, proxies_host};
use crate::network::Weather;
use crate::seed::Dice;

/// Causes one of these faults for a while.
pub async fn break_link(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    match dice.below(3) {
        0 => cut_client_off(plan, reach, dice).await,
        1 => fill_server(plan, reach, dice).await,
        _ => refuse_writes(reach, dice).await,
    }
}

/// Cuts a client's host off from the proxies for a while. Half of its connections survive.
async fn cut_client_off(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let client = dice.index(plan.clients);
    let host = client_host(client);
    reach.trace.note(format_args!("client {client} is cut off"));
    let cut = Weather {
        is_cut: true,
        ..plan.weather.clone()
    };
    reach.hosts.set_weather(host, proxies_host(), cut);
    tokio::time::sleep(dice.millis(100, 20_000)).await;
    if dice.one_in(2) {
        reach
            .trace
            .note(format_args!("connections of client {client} are reset"));
        reach.hosts.reset(host, proxies_host());
    }
    let whole = plan.weather.clone();
    reach.hosts.set_weather(host, proxies_host(), whole);
    reach
        .trace
        .note(format_args!("the link of client {client} is whole"));
}

/// Lets a server take no more connections for a while.
async fn fill_server(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let number = dice.index(reach.servers.len());
    let server = &reach.servers[number];
    let (seats, lasts) = (server.connections(), dice.millis(100, 5000));
    reach.trace.note(format_args!(
        "server {number} takes {seats} connections and no more"
    ));
    server.set_max_connections(seats);
    tokio::time::sleep(lasts).await;
    server.set_max_connections(plan.server_connections);
    reach
        .trace
        .note(format_args!("server {number} takes connections"));
}

/// Makes the primary read-only for a while.
async fn refuse_writes(reach: &Reach, dice: &mut Dice) {
    let number = reach.primary.get();
    let lasts: Duration = dice.millis(100, 5000);
    reach
        .trace
        .note(format_args!("server {number} is read-only"));
    reach.servers[number].set_read_only(true);
    tokio::time::sleep(lasts).await;
    reach.servers[number].set_read_only(false);
    reach
        .trace
        .note(format_args!("server {number} takes writes"));
}

/// Repairs all of these faults.
pub fn mend_links(plan: &Plan, reach: &Reach) {
    for client in 0..plan.clients {
        let host = client_host(client);
        if reach.hosts.weather(host, proxies_host()).is_cut {
            let whole = Weather::default();
            reach.hosts.set_weather(host, proxies_host(), whole);
        }
    }
    for server in &reach.servers {
        server.set_max_connections(plan.server_connections);
    }
    reach.servers[reach.primary.get()].set_read_only(false);
}
