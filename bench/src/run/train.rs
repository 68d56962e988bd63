//! Training: statements of many kinds through Pilotfish alone. A program that was built to count how often each branch is
//! taken counts meanwhile, and writes its counts when it ends (`packaging/optimized.sh`).

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::backend::Kind;
use super::contestant::names;
use super::plan::Table;
use super::{Bench, Settings};

/// What users' sessions do most: single rows, transactions, results, logins, scripts.
const TABLES: [Table; 8] = [
    Table::Point,
    Table::Prepared,
    Table::Held,
    Table::Rows,
    Table::Connect,
    Table::Tls,
    Table::Scripts,
    Table::Sysbench,
];

/// Seconds after which no step begins any more. A program that counts is slow.
const BUDGET: u64 = 600;

/// Runs each step of the training once, on each backend that the machine has.
///
/// # Errors
/// When no backend or no Pilotfish is found, or a statement fails.
pub async fn train(without: Vec<Kind>) -> Result<()> {
    let mut bench = Bench::prepare(&Settings {
        quick: true,
        budget: Some(BUDGET),
        without,
        only: TABLES.to_vec(),
        out: PathBuf::new(),
        raw: PathBuf::new(),
    })?;
    bench.contestants.retain(|proxy| is_trained(proxy.name()));
    bench.has_direct = false;
    ensure!(!bench.contestants.is_empty(), "no Pilotfish is found");
    let (measurements, ..) = bench.measure().await?;
    for measurement in &measurements {
        let (contestant, cell) = (&measurement.contestant, &measurement.cell);
        let step = format!("{contestant}: {}", cell.workload);
        match &measurement.outcome {
            Ok(found) => ensure!(found.errors.count() == 0, "{step}: {:?}", found.errors),
            Err(error) => anyhow::bail!("{step}: {error}"),
        }
    }
    println!("{} steps without an error", measurements.len());
    Ok(())
}

/// Whether a contestant is trained: ours, with one worker. The kernel passes the bytes of its own sessions.
fn is_trained(name: &str) -> bool {
    names::is_ours(name) && name != names::KERNEL && !name.ends_with("-workers")
}
