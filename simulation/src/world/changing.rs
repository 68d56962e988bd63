//! What an administrator does to proxies while clients work: rules, accounts, lanes, duties of backends.

use std::time::Duration;

use super::administration::{Administered, Changes, Duty, Switch};
use super::plan::{Plan, WorldKind};
use super::setting::Reach;
use crate::seed::Dice;

/// How long a change may take to reach every worker.
const TAKES_EFFECT: Duration = Duration::from_millis(1);

/// The longest time for which statements and connections of a backend last after it is drained or disabled.
const LEAVING: Duration = Duration::from_secs(3);

/// Makes a random change to a proxy's configuration.
pub async fn administer(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let number = dice.index(reach.proxies.len());
    let of = &reach.administered[number];
    match dice.below(6) {
        0 | 1 => {
            let is_on = !of.changes.borrow().has_rule;
            let set = |changes: &mut Changes| changes.has_rule = is_on;
            turn(plan, reach, number, &of.rule, is_on, set).await;
        }
        2 | 3 => {
            let is_on = !of.changes.borrow().has_guest;
            let set = |changes: &mut Changes| changes.has_guest = is_on;
            turn(plan, reach, number, &of.guest, is_on, set).await;
        }
        4 if plan.replicas > 0 => drain(plan, reach, dice).await,
        _ => {
            reach.trace.note(format_args!("timers are late"));
            tokio::time::advance(dice.millis(1, 900)).await;
        }
    }
}

/// Changes a switch of one proxy.
async fn turn(
    plan: &Plan,
    reach: &Reach,
    number: usize,
    switch: &Switch,
    is_on: bool,
    set: impl FnOnce(&mut Changes),
) {
    let changes = &reach.administered[number].changes;
    switch.begin();
    set(&mut changes.borrow_mut());
    reach
        .trace
        .note(format_args!("proxy {number} changes: {changes:?}"));
    reload(plan, reach, number);
    tokio::time::sleep(TAKES_EFFECT).await;
    switch.end(is_on);
    reach
        .trace
        .note(format_args!("the change of proxy {number} is done"));
}

/// Reloads a proxy with its current configuration.
pub fn reload(plan: &Plan, reach: &Reach, number: usize) {
    let text = plan.configuration(number, &reach.administered[number].changes.borrow());
    if let Err(error) = reach.proxies[number].reload(&text) {
        reach.books.broken(format!("a reload fails: {error}"));
    }
}

fn assign(plan: &Plan, reach: &Reach, server: usize, duty: Duty) {
    reach
        .trace
        .note(format_args!("server {server} is {duty:?} for all proxies"));
    for (number, of) in reach.administered.iter().enumerate() {
        of.changes.borrow_mut().duties[server] = duty;
        reload(plan, reach, number);
    }
}

/// Drains a replica for a while: soon it gets no new statements.
async fn drain(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let server = 1 + dice.index(plan.replicas);
    assign(plan, reach, server, Duty::Draining);
    tokio::time::sleep(LEAVING).await;
    reach.watches[server].drain(true);
    tokio::time::sleep(dice.millis(0, 5000)).await;
    reach.watches[server].drain(false);
    assign(plan, reach, server, Duty::Serving);
}

/// Disables a backend for a while: soon no pool has connections to it.
async fn disable(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    let server = dice.index(reach.servers.len());
    assign(plan, reach, server, Duty::Disabled);
    tokio::time::sleep(LEAVING).await;
    let name = format!("s{server}");
    for (number, proxy) in reach.proxies.iter().enumerate() {
        for worker in proxy.views().await {
            let pools = worker.pools.iter().filter(|pool| pool.name == name);
            let figures = pools.map(|pool| &pool.figures);
            let left: usize = figures.map(|it| it.idle + it.leased + it.opening).sum();
            if left > 0 {
                reach.books.broken(format!(
                    "server {server} is disabled, and proxy {number} has {left} connections to it"
                ));
            }
        }
    }
    tokio::time::sleep(dice.millis(0, 5000)).await;
    assign(plan, reach, server, Duty::Serving);
}

/// Causes a fault of the worlds in which everything may break.
pub async fn break_more(plan: &Plan, reach: &Reach, dice: &mut Dice) {
    match dice.below(6) {
        0 => {
            let server = reach.primary.get();
            reach
                .trace
                .note(format_args!("the disk of server {server} is full"));
            reach.servers[server].fill_disk(true);
            tokio::time::sleep(dice.millis(100, 10_000)).await;
            reach.servers[server].fill_disk(false);
            reach
                .trace
                .note(format_args!("the disk of server {server} has room"));
            if !reach.servers[server].is_up() {
                // The server has ended because a commit that waited for room was killed.
                reach.servers[server].start();
            }
        }
        1 => disable(plan, reach, dice).await,
        2 => {
            let by = dice.millis(1000, 30_000);
            reach.trace.note(format_args!("timers are late by {by:?}"));
            tokio::time::advance(by).await;
        }
        _ => administer(plan, reach, dice).await,
    }
}

/// Puts all backends back into use.
pub fn take_back(plan: &Plan, reach: &Reach) {
    for (number, of) in reach.administered.iter().enumerate() {
        if !serves_all(of) {
            of.changes.borrow_mut().duties.fill(Duty::Serving);
            reload(plan, reach, number);
        }
    }
    reach.watches.iter().for_each(|watch| watch.drain(false));
    if plan.kind == WorldKind::Everything {
        reach.servers.iter().for_each(|it| it.fill_disk(false));
    }
}

fn serves_all(of: &Administered) -> bool {
    let changes = of.changes.borrow();
    changes.duties.iter().all(|duty| *duty == Duty::Serving)
}
