//! Attacks of clients on the proxy, and what a well-behaved client notices of them: its latencies in windows with the attack
//! and in windows without it, by turns.

mod attacker;
mod compressed;
mod half_statement;
mod idle_transaction;
mod whole_statement;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::accounting::{peak_rss_bytes, rss_bytes};
use crate::load::{Findings, Workload};
use crate::results::median;
use crate::run::backend::{self, Backend, Kind};
use crate::run::contestant::{Way, pilotfish};
use crate::run::machine::raise_open_files;
use crate::run::{generator, sysbench};
use attacker::{Attack, Attackers};

/// Well-behaved clients.
const CLIENTS: usize = 8;
const ROWS: u64 = 10_000;
const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_secs(5);
const WARM_UP: Duration = Duration::from_secs(1);

/// The time until an attack has its full effect: transactions that are idle for three seconds may be ended.
const BUILDS_UP: Duration = Duration::from_secs(6);

const ATTACKS: [Attack; 3] = [
    Attack::HalfStatements,
    Attack::WholeStatements,
    Attack::IdleTransactions,
];

/// Runs all attacks on each family, and prints a table.
///
/// # Errors
/// A server or the proxy does not come up, or a well-behaved client saw an error.
pub async fn run(without: &[Kind]) -> Result<()> {
    raise_open_files();
    let found = Kind::found();
    let wanted = |kind: &Kind| found.contains(kind) && !without.contains(kind);
    println!(
        "| | attack | p50, µs: without, with | p99, µs: without, with | p99, × | errors | the proxy's memory: before, most |\n\
         |---|---|--:|--:|--:|--:|--:|"
    );
    let mut errors = 0;
    for kind in [Kind::MariaDb, Kind::MySql].into_iter().filter(wanted) {
        for attack in ATTACKS {
            errors += measure(kind, attack).await?;
        }
    }
    ensure!(errors == 0, "well-behaved clients saw {errors} errors");
    Ok(())
}

/// One attack: the errors of the well-behaved clients.
async fn measure(kind: Kind, attack: Attack) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let backend = Backend::start(kind, folder.path()).await?;
    sysbench::prepare(backend.address(), ROWS).await?;
    let program = pilotfish::program().context("there is no release build of pilotfish")?;
    let proxy = attacker::Target(program);
    let way = Way::through(&proxy, &backend.addresses(), folder.path(), 2000).await?;
    let pid = way.proxy.as_ref().context("there is no proxy")?.pid();
    look(way.address).await?;
    let before = rss_bytes(pid)?;
    let (mut calm, mut attacked) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        calm.push(look(way.address).await?);
        let attackers = Attackers::start(attack, &backend::target(way.address, ROWS));
        sleep(BUILDS_UP).await;
        attacked.push(look(way.address).await?);
        attackers.stop().await;
    }
    let of = |all: &[Findings], figure: fn(&Findings) -> f64| {
        median(all.iter().map(figure)).unwrap_or_default()
    };
    let p50 = |it: &Findings| it.latency_us.p50;
    let p99 = |it: &Findings| it.latency_us.p99;
    let pairs = calm.iter().zip(&attacked);
    let ratio = median(pairs.map(|(calm, attacked)| p99(attacked) / p99(calm)));
    let errors = calm.iter().chain(&attacked).map(|it| it.errors.count());
    let errors: u64 = errors.sum();
    println!(
        "| {} | {} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {errors} | {:.0}, {:.0} MiB |",
        kind.title(),
        attack.title(),
        of(&calm, p50),
        of(&attacked, p50),
        of(&calm, p99),
        of(&attacked, p99),
        ratio.unwrap_or_default(),
        before as f64 / f64::from(1 << 20),
        peak_rss_bytes(pid)? as f64 / f64::from(1 << 20),
    );
    Ok(errors)
}

/// The outcome of the well-behaved clients.
async fn look(address: SocketAddr) -> Result<Findings> {
    let times = (WARM_UP, WINDOW);
    generator::load(address, Workload::Point, CLIENTS, ROWS, times, &[]).await
}
