//! Checks of the proxies' own views: limits hold at each moment, and the counts add up at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use worker::{SessionState, SessionView, WorkerView};

use super::counters::{self, Opened};
use super::plan::{Plan, SessionLimit, WorldKind};
use super::setting::{Reach, Setting};
use crate::proxy::SimulatedProxy;

/// The interval between two looks at the proxies.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks until counts of statements are compared again.
const LOOKS_BETWEEN_COUNTS: u64 = 8;

/// Bytes that a session may keep: statements that a client sends ahead (64 KiB), replies on a lane that it does not take
/// (256 KiB), and a piece of 16 KiB each way.
const SESSION_BYTES_MAX: u64 = (64 + 256 + 2 * 16) * 1024;

/// How long pings, new connections and closing connections last at the end.
const SETTLING: Duration = Duration::from_secs(60);

/// Looks at all proxies again and again. The workers of the first kinds of worlds are asked nothing, so that their seeds
/// show what they have shown.
pub async fn inspect(plan: Plan, reach: Reach) {
    let asks_workers = !matches!(plan.kind, WorldKind::Rough | WorldKind::Switching);
    for turn in 1_u64.. {
        tokio::time::sleep(INTERVAL).await;
        if !asks_workers {
            look_from_outside(&reach);
            continue;
        }
        let mut opened = Opened::new();
        for (number, proxy) in reach.proxies.iter().enumerate() {
            let views = proxy.views().await;
            counters::add_opened(&mut opened, &views);
            let mut looked = look(&plan, proxy, &views);
            if turn.is_multiple_of(LOOKS_BETWEEN_COUNTS) {
                let counted = counters::look(&plan, proxy, &reach.administered[number]);
                looked = looked.and(counted.await);
            }
            if let Err(what) = looked {
                reach.books.broken(format!("proxy {number}: {what}"));
            }
        }
        if let Err(what) = counters::compare_opened(&opened, &reach.watches, false) {
            reach.books.broken(what);
        }
    }
}

fn look_from_outside(reach: &Reach) {
    for (number, proxy) in reach.proxies.iter().enumerate() {
        if let Err(what) = look_at_memory(proxy) {
            reach.books.broken(format!("proxy {number}: {what}"));
        }
    }
}

fn look_at_memory(proxy: &SimulatedProxy) -> Result<(), String> {
    let (sessions, bytes) = (proxy.sessions() as u64, proxy.memory().bytes);
    match bytes > sessions * SESSION_BYTES_MAX {
        true => Err(format!("{sessions} sessions keep {bytes} bytes")),
        false => Ok(()),
    }
}

fn look(plan: &Plan, proxy: &SimulatedProxy, views: &[WorkerView]) -> Result<(), String> {
    look_at_memory(proxy)?;
    // Views of several workers are from different moments.
    if let [worker] = views {
        let has_logged_in = |it: &&SessionView| it.state != SessionState::Login;
        let count = worker.sessions.iter().filter(has_logged_in).count();
        if let Some(SessionLimit { most, .. }) = plan.sessions.filter(|it| count > it.most) {
            return Err(format!("{count} sessions are logged in, of {most}"));
        }
        for (name, count) in connections(worker) {
            let most = plan.connections;
            if count > most {
                return Err(format!("{count} connections to {name}, of {most}"));
            }
        }
    }
    let pools = || views.iter().flat_map(|worker| &worker.pools);
    if let Some(pool) = pools().find(|pool| pool.figures.waiting > plan.waiters) {
        let (name, waiting, most) = (&pool.name, pool.figures.waiting, plan.waiters);
        return Err(format!("{waiting} sessions wait for {name}, of {most}"));
    }
    let waiting: usize = pools().map(|pool| pool.figures.waiting).sum();
    let sessions = proxy.sessions();
    match waiting > sessions {
        true => Err(format!("{waiting} of {sessions} sessions wait")),
        false => Ok(()),
    }
}

fn connections(worker: &WorkerView) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for pool in &worker.pools {
        *counts.entry(&*pool.name).or_default() += pool.figures.connections();
    }
    counts
}

/// When all sessions have gone, every connection was given back or closed, nothing is kept, and the counts add up.
///
/// # Errors
/// The invariant that does not hold, in words.
pub async fn at_the_end(setting: &Setting, plan: &Plan) -> Result<(), String> {
    let until = net::clock::now() + SETTLING;
    loop {
        let mut looked = Ok(());
        let mut idle = BTreeMap::<String, usize>::new();
        let mut opened = Opened::new();
        for (number, proxy) in setting.proxies.iter().enumerate() {
            let counted = counters::at_the_end(proxy, &setting.administered[number]).await;
            let views = proxy.views().await;
            counters::add_opened(&mut opened, &views);
            let rest = all_at_rest(proxy, &views).and(counted);
            looked = looked.and(rest.map_err(|what| format!("proxy {number} at the end: {what}")));
            for pool in views.iter().flat_map(|worker| &worker.pools) {
                *idle.entry(pool.name.clone()).or_default() += pool.figures.idle;
            }
        }
        let is_exact = plan.is_exact();
        let compared = counters::compare_opened(&opened, &setting.watches, is_exact);
        looked = looked.and(compared);
        for (number, watch) in setting.watches.iter().enumerate().filter(|_| is_exact) {
            let (open, known) = (watch.open(), idle.get(&format!("s{number}")));
            let known = known.copied().unwrap_or(0);
            if open != known {
                looked = looked.and(Err(format!(
                    "server {number} has {open} connections of pools, which know {known}"
                )));
            }
        }
        if looked.is_ok() || net::clock::now() > until {
            return looked;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn all_at_rest(proxy: &SimulatedProxy, views: &[WorkerView]) -> Result<(), String> {
    let bytes = proxy.memory().bytes;
    if bytes > 0 {
        return Err(format!("no session is left, and {bytes} bytes are kept"));
    }
    for worker in views {
        for pool in &worker.pools {
            let figures = &pool.figures;
            if figures.leased + figures.opening + figures.waiting > 0 {
                return Err(format!("a pool is not at rest: {pool:?}"));
            }
            let (opened, closed) = (figures.counts.opened, figures.counts.closed.total());
            if opened != closed + (figures.idle + figures.closing) as u64 {
                return Err(format!(
                    "a pool has opened {opened} and closed {closed} connections: {pool:?}"
                ));
            }
        }
        if let Some(load) = worker.loads.iter().find(|load| load.in_flight > 0) {
            return Err(format!("a statement is under way: {load:?}"));
        }
    }
    Ok(())
}
