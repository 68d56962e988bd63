//! What replication costs: following a primary, telling changes as JSON, feeding eight replicas. The last is measured
//! beside an ordinary server that relays the same transactions to the same replicas (`log_slave_updates`). And how fast a
//! primary is with the proxy and eight servers behind it ([`chain`]).
//!
//! Figures are processor time of the proxy or of the relaying server, so that other processes blur them little. Its replicas
//! are connections that throw away what they get ([`reader`]).

mod chain;
mod page;
mod primary;
mod proxy;
mod reader;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::accounting::{cpu_seconds, peak_rss_bytes};
use crate::run::backend::{Kind, Server};
use chain::Chain;
use primary::Written;
use proxy::{Proxy, Relay};
use reader::Reader;

/// Replicas that are fed.
const REPLICAS: u32 = 8;

/// The figures of one family.
#[derive(Debug, Default)]
struct Figures {
    workloads: Vec<Workload>,
    /// The bytes of one large transaction, and by how much the most memory of the proxy has grown while it was relayed.
    large_transaction_bytes: u64,
    large_transaction_growth_bytes: u64,
    chain: Chain,
}

/// The figures of one kind of transactions.
#[derive(Debug, Default)]
struct Workload {
    name: &'static str,
    transactions: u64,
    events: u64,
    bytes: u64,
    /// Processor seconds of a proxy that follows, without relay files and with them.
    follow: f64,
    follow_relay: f64,
    /// Processor seconds of telling all changes as JSON from the relay files.
    json: f64,
    json_bytes: u64,
    /// The same of a proxy and of a server that follow and feed eight replicas, and of the primary meanwhile.
    proxy: f64,
    server: f64,
    primary_of_proxy: f64,
    primary_of_server: f64,
    /// The time until all replicas had all transactions.
    proxy_seconds: f64,
    server_seconds: f64,
}

/// Measures, and writes the page.
///
/// # Errors
/// When a server or the proxy does not do what it should.
pub async fn run(is_quick: bool, without: &[Kind], out: &Path) -> Result<()> {
    let found = Kind::found();
    let wanted = |kind: &Kind| found.contains(kind) && !without.contains(kind);
    let kinds = [Kind::MariaDb, Kind::MySql].into_iter().filter(wanted);
    let mut all = Vec::new();
    for kind in kinds {
        all.push((kind, measure(kind, is_quick).await?));
    }
    ensure!(!all.is_empty(), "there is no server to measure with");
    std::fs::write(out, page::markdown(&all))?;
    eprintln!("written to {}", out.display());
    Ok(())
}

async fn measure(kind: Kind, is_quick: bool) -> Result<Figures> {
    let share = |count: u64| if is_quick { count / 10 } else { count };
    let mut figures = Figures::default();
    for (name, written) in [
        ("4,096 rows", Written::Large(share(400))),
        ("4 rows", Written::Small(share(40_000))),
    ] {
        let mut workload = follow(kind, written).await?;
        workload.name = name;
        relay(kind, written, &mut workload).await?;
        eprintln!("{} {workload:.2?}", kind.title());
        figures.workloads.push(workload);
    }
    large_transaction(kind, share(400), &mut figures).await?;
    figures.chain = chain::measure(kind, is_quick).await?;
    eprintln!("{} {:.1?}", kind.title(), figures.chain);
    Ok(figures)
}

/// A primary whose log is empty and whose tables are there.
async fn start_primary(kind: Kind, folder: &Path) -> Result<Server> {
    let primary = primary::start(kind, folder, 1).await?;
    primary::make_tables(primary.address).await?;
    primary::forget_log(kind, primary.address).await?;
    Ok(primary)
}

/// Following what was written while the proxy was away, and telling it as JSON.
async fn follow(kind: Kind, written: Written) -> Result<Workload> {
    let folder = tempfile::tempdir()?;
    let primary = start_primary(kind, folder.path()).await?;
    let mut plain = Proxy::new(folder.path(), "follow", primary.address, Relay::Off)?;
    let mut relay = Proxy::new(folder.path(), "relay", primary.address, Relay::On)?;
    plain.begin().await?;
    relay.begin().await?;
    let mut workload = Workload {
        transactions: primary::write(primary.address, written).await?,
        ..Workload::default()
    };
    let mut reader = Reader::begin(kind, primary.address, 100).await?;
    reader.read_to_last().await?;
    (workload.bytes, workload.events) = (reader.bytes, reader.events);
    for (proxy, cpu) in [
        (&mut plain, &mut workload.follow),
        (&mut relay, &mut workload.follow_relay),
    ] {
        proxy.start().await?;
        proxy.wait_transactions(workload.transactions).await?;
        *cpu = cpu_seconds(proxy.pid())?;
    }
    workload.json_bytes = relay.read_changes().await?;
    workload.json = cpu_seconds(relay.pid())? - workload.follow_relay;
    Ok(workload)
}

/// Eight replicas behind the proxy, then behind a server, while the same is written.
async fn relay(kind: Kind, written: Written, workload: &mut Workload) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let primary = start_primary(kind, folder.path()).await?;
    let mut proxy = Proxy::new(folder.path(), "feed", primary.address, Relay::On)?;
    proxy.start().await?;
    proxy.wait("state = 'streaming'").await?;
    let relayed = feed(kind, &primary, (proxy.pid(), proxy.replicas), written).await?;
    (
        workload.proxy,
        workload.primary_of_proxy,
        workload.proxy_seconds,
    ) = relayed;
    drop(proxy);

    let folder = tempfile::tempdir()?;
    let primary = start_primary(kind, folder.path()).await?;
    let server = primary::start(kind, folder.path(), 2).await?;
    primary::make_tables(server.address).await?;
    primary::forget_log(kind, server.address).await?;
    primary::follow(kind, server.address, primary.address).await?;
    let relayed = feed(kind, &primary, (server.pid(), server.address), written).await?;
    (
        workload.server,
        workload.primary_of_server,
        workload.server_seconds,
    ) = relayed;
    Ok(())
}

/// Writes while eight replicas follow: processor seconds of the relay and of the primary, and how long it took.
async fn feed(
    kind: Kind,
    primary: &Server,
    (relay, address): (u32, SocketAddr),
    written: Written,
) -> Result<(f64, f64, f64)> {
    let mut readers = Vec::new();
    for number in 0..REPLICAS {
        readers.push(Reader::begin(kind, address, 100 + number).await?);
    }
    let begun = Instant::now();
    let before = (cpu_seconds(relay)?, cpu_seconds(primary.pid())?);
    let readers: Vec<_> = readers
        .into_iter()
        .map(|mut reader| tokio::spawn(async move { reader.read_to_last().await }))
        .collect();
    primary::write(primary.address, written).await?;
    for reader in readers {
        reader.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let relay = cpu_seconds(relay)? - before.0;
    Ok((relay, cpu_seconds(primary.pid())? - before.1, seconds))
}

/// The proxy's memory while one transaction is relayed that is much larger than it.
async fn large_transaction(kind: Kind, count: u64, figures: &mut Figures) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let primary = start_primary(kind, folder.path()).await?;
    let mut proxy = Proxy::new(folder.path(), "large", primary.address, Relay::On)?;
    proxy.start().await?;
    proxy.wait("state = 'streaming'").await?;
    let mut readers = Vec::new();
    for number in 0..REPLICAS {
        readers.push(Reader::begin(kind, proxy.replicas, 100 + number).await?);
    }
    let before = peak_rss_bytes(proxy.pid())?;
    primary::write(primary.address, Written::One(count)).await?;
    for reader in &mut readers {
        reader.read_to_last().await?;
    }
    proxy.read_changes().await?;
    figures.large_transaction_growth_bytes = peak_rss_bytes(proxy.pid())?.saturating_sub(before);
    figures.large_transaction_bytes = readers.first().map_or(0, |it| it.bytes);
    Ok(())
}
