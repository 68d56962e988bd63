//! The faults of a world, and their repair.

use std::time::Duration;

use route::{KillScope, Role};
use tokio::time::Instant;

use super::changing::{administer, break_more, reload, take_back};
use super::link_faults::{break_link, mend_links};
use super::plan::{Plan, WorldKind};
use super::setting::Reach;
use super::{proxies_host, server_address};
use crate::network::Weather;
use crate::seed::Dice;

/// How long after a switch a proxy may still have another primary than the new one, if nothing else breaks.
const FINDING: Duration = Duration::from_secs(2);

/// Causes faults and repairs them until the task is ended.
pub async fn reign(plan: Plan, reach: Reach, mut dice: Dice) {
    loop {
        tokio::time::sleep(dice.millis(50, 3000)).await;
        if let Some(since) = reach.switched.take() {
            check_primary(&reach, since);
        }
        match plan.is_rough {
            true if plan.kind == WorldKind::Everything && dice.one_in(2) => {
                break_more(&plan, &reach, &mut dice).await;
            }
            true if plan.kind.breaks_links() && dice.one_in(2) => {
                break_link(&plan, &reach, &mut dice).await;
            }
            true => rough(&plan, &reach, &mut dice).await,
            false if plan.kind == WorldKind::Reads => {
                outage(&reach, &mut dice).await;
                // The pause lasts until a running read is repeated and has ended.
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            false if plan.kind == WorldKind::Changing && !dice.one_in(4) => {
                administer(&plan, &reach, &mut dice).await;
            }
            false => gentle(&plan, &reach, &mut dice).await,
        }
    }
}

/// Causes a fault that no client may notice.
async fn gentle(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    match dice.below(4) {
        0 => change_lanes(plan, reach, dice),
        1 => {
            let proxy = &reach.proxies[dice.index(reach.proxies.len())];
            proxy.views().await;
        }
        2 if plan.replicas > 0 => {
            let replica = 1 + dice.index(plan.replicas);
            reach
                .trace
                .note(format_args!("replica {replica} stops for a while"));
            reach.servers[replica].stop_replica();
            tokio::time::sleep(dice.millis(100, 2000)).await;
            reach.servers[replica].start_replica();
            reach.trace.note(format_args!("replica {replica} goes on"));
        }
        _ => {
            let server = dice.index(reach.servers.len());
            reach.servers[server].set_slow(dice.millis(0, 30));
            tokio::time::sleep(dice.millis(100, 2000)).await;
            reach.servers[server].set_slow(plan.server_pace);
        }
    }
}

async fn rough(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let server = dice.index(reach.servers.len());
    let trace = &reach.trace;
    match dice.below(9) {
        0 => {
            trace.note(format_args!("server {server} crashes"));
            reach.servers[server].crash();
            tokio::time::sleep(dice.millis(0, 5000)).await;
            trace.note(format_args!("server {server} is back"));
            reach.servers[server].start();
        }
        1 => {
            trace.note(format_args!("server {server} shuts down"));
            reach.servers[server].shut_down();
            tokio::time::sleep(dice.millis(0, 5000)).await;
            trace.note(format_args!("server {server} is back"));
            reach.servers[server].start();
        }
        2 => {
            trace.note(format_args!("server {server} stands still"));
            reach.servers[server].freeze();
            tokio::time::sleep(dice.millis(100, 20_000)).await;
            trace.note(format_args!("server {server} goes on"));
            reach.servers[server].thaw();
        }
        3 => {
            trace.note(format_args!("the link to server {server} is cut"));
            let whole = plan.weather.clone();
            let cut = Weather {
                is_cut: true,
                ..whole.clone()
            };
            let address = server_address(server).ip();
            reach.hosts.set_weather(proxies_host(), address, cut);
            tokio::time::sleep(dice.millis(100, 20_000)).await;
            if dice.one_in(2) {
                trace.note(format_args!("connections to server {server} are reset"));
                reach.hosts.reset(proxies_host(), address);
            }
            trace.note(format_args!("the link to server {server} is whole"));
            reach.hosts.set_weather(proxies_host(), address, whole);
        }
        4 | 5 => kill(reach, dice).await,
        6 if plan.kind.switches() => switch(plan, reach, dice).await,
        7 => {
            trace.note(format_args!("connections to server {server} are reset"));
            reach
                .hosts
                .reset(proxies_host(), server_address(server).ip());
        }
        _ => gentle(plan, reach, dice).await,
    }
}

/// Stops the server for a while, in a way that a proxy can hide from reads.
async fn outage(reach: &Reach, dice: &mut Dice) {
    let (server, trace) = (&reach.servers[0], &reach.trace);
    match dice.below(3) {
        0 => {
            trace.note(format_args!("the server crashes"));
            server.crash();
            tokio::time::sleep(dice.millis(0, 5000)).await;
            trace.note(format_args!("the server is back"));
            server.start();
        }
        1 => {
            trace.note(format_args!("the server stands still"));
            server.freeze();
            tokio::time::sleep(dice.millis(100, 5000)).await;
            trace.note(format_args!("the server goes on"));
            server.thaw();
        }
        _ => {
            trace.note(format_args!("connections to the server are reset"));
            reach.hosts.reset(proxies_host(), server_address(0).ip());
        }
    }
}

/// Kills a session or its statement.
async fn kill(reach: &Reach, dice: &mut Dice) {
    let proxy = &reach.proxies[dice.index(reach.proxies.len())];
    let views = proxy.views().await;
    let ids: Vec<u32> = views
        .iter()
        .flat_map(|worker| &worker.sessions)
        .map(|session| session.id)
        .collect();
    if ids.is_empty() {
        return;
    }
    let id = ids[dice.index(ids.len())];
    let scope = match dice.one_in(2) {
        true => KillScope::Statement,
        false => KillScope::Connection,
    };
    reach.trace.note(format_args!("kill of {id}: {scope:?}"));
    proxy.kill(id, scope).await;
}

/// Makes a replica the primary, as an orderly switch does: writes stop, the replica catches up, roles change.
async fn switch(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let old = reach.primary.get();
    let new = (old + 1 + dice.index(reach.servers.len() - 1)) % reach.servers.len();
    let all_up = reach.servers.iter().all(|it| it.is_up());
    // An orderly switch waits for commits, and a commit on a full disk may take long.
    if !all_up || reach.servers[old].has_waiting_commits() {
        return;
    }
    reach.trace.note(format_args!(
        "server {new} becomes the primary in place of {old}"
    ));
    let servers = &reach.servers;
    servers[old].set_read_only(true);
    while servers[new].executed() != servers[old].executed() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    servers[new].follow(None, Duration::ZERO);
    for (number, server) in servers.iter().enumerate() {
        if number != new {
            server.follow(Some(&servers[new]), plan.lag);
        }
    }
    servers[new].set_read_only(false);
    reach.primary.set(new);
    reach.switched.set(Some(net::clock::now()));
    reach
        .trace
        .note(format_args!("server {new} is the primary"));
}

/// Checks that each proxy has found the primary, if nothing has broken since the switch.
fn check_primary(reach: &Reach, since: Instant) {
    if net::clock::now() - since < FINDING {
        return;
    }
    let primary = format!("s{}", reach.primary.get());
    for (number, proxy) in reach.proxies.iter().enumerate() {
        let topology = proxy.topology();
        let primaries = topology
            .backends
            .iter()
            .filter(|it| it.role == Some(Role::Primary));
        let known: Vec<_> = primaries.map(|it| &*it.name).collect();
        if known != [&*primary] {
            reach.books.broken(format!(
                "{FINDING:?} after the switch to {primary} the primaries of proxy {number} are {known:?}"
            ));
        }
    }
}

/// Reloads a proxy with a configuration in which only the lanes change.
fn change_lanes(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let number = dice.index(reach.proxies.len());
    reach.administered[number].changes.borrow_mut().lanes = dice.one_in(2);
    reach.trace.note(format_args!("proxy {number} reloads"));
    reload(plan, reach, number);
}

/// Repairs all faults.
pub fn calm(plan: &Plan, reach: &Reach) {
    reach.trace.note(format_args!("everything is mended"));
    take_back(plan, reach);
    mend_links(plan, reach);
    for (number, server) in reach.servers.iter().enumerate() {
        let address = server_address(number).ip();
        reach
            .hosts
            .set_weather(proxies_host(), address, Weather::default());
        server.thaw();
        server.start();
        server.start_replica();
        server.set_slow(Duration::ZERO);
    }
}
