//! Our own load generator, as a process of its own.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::timeout;

use crate::accounting::Watched;
use crate::load::{Findings, Workload};

/// Runs our generator as a process of its own.
///
/// # Errors
/// When it cannot be started, fails, or does not end.
pub async fn load(
    target: SocketAddr,
    workload: Workload,
    connections: usize,
    table_rows: u64,
    (warm_up, window): (Duration, Duration),
    watched: &[Watched],
) -> Result<Findings> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .arg("load")
        .arg(format!("--target={}", target))
        .arg(format!("--workload={workload}"))
        .arg(format!("--connections={connections}"))
        .arg(format!("--table-rows={table_rows}"))
        .arg(format!("--warm-up={}", warm_up.as_secs_f64()))
        .arg(format!("--seconds={}", window.as_secs_f64()))
        .args(watched.iter().map(|watched| format!("--watch={watched}")))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let patience = warm_up + window + Duration::from_secs(30);
    let output = timeout(patience, command.output())
        .await
        .context("the generator hangs")??;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}
