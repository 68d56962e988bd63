//! `pilotfish backends`: how the backends are, as the proxy's monitor sees them. Each is asked once,
//! beside any proxy that runs.

use std::io::Write as _;
use std::process::ExitCode;

use config::Config;
use route::{Backend, Duty, Health, Role, Topology, Writes};

use crate::arguments::BackendsArguments;

/// Prints what was found; the exit code is 1 when the configuration is faulty, a backend is down, or
/// something could not be found out.
pub fn backends(arguments: &BackendsArguments) -> ExitCode {
    let loaded = match Config::load(Some(&arguments.config), &[]) {
        Ok(loaded) => loaded,
        Err(faults) => {
            for fault in faults {
                eprintln!("pilotfish: {fault}");
            }
            return ExitCode::FAILURE;
        }
    };
    let topology = match control::survey(&loaded.config) {
        Ok(topology) => topology,
        Err(error) => {
            eprintln!("pilotfish: the backends cannot be asked: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Nobody is left to hear of it when standard output is closed; the exit code still tells.
    let _ = std::io::stdout().write_all(table(&topology).as_bytes());
    match topology.backends.iter().all(|backend| is_well(backend)) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn is_well(backend: &Backend) -> bool {
    matches!(backend.health, Health::Up { .. }) && backend.complaint.is_none()
}

/// A backend a line: its name, cluster and role, and what was found of it.
fn table(topology: &Topology) -> String {
    let rows: Vec<[String; 4]> = topology
        .backends
        .iter()
        .map(|backend| row(topology, backend))
        .collect();
    let widths = [0, 1, 2].map(|column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let mut table = String::new();
    for [name, cluster, role, finding] in &rows {
        let [names, clusters, roles] = widths;
        table.push_str(&format!(
            "{name:names$}  {cluster:clusters$}  {role:roles$}  {finding}\n"
        ));
    }
    table
}

fn row(topology: &Topology, backend: &Backend) -> [String; 4] {
    let mut clusters = topology.clusters.iter();
    let cluster = clusters.find(|cluster| cluster.id == backend.cluster);
    let role = backend.role.map(|role| role.to_string());
    [
        backend.name.clone(),
        cluster.map_or_else(String::new, |cluster| cluster.name.clone()),
        role.unwrap_or_else(|| "no role".to_owned()),
        findings(backend).join(", "),
    ]
}

fn findings(backend: &Backend) -> Vec<String> {
    let mut findings = vec![backend.health.to_string()];
    match backend.duty {
        Duty::Serving => {}
        Duty::Draining => findings.push("draining".to_owned()),
        Duty::Disabled => findings.push("disabled".to_owned()),
    }
    if let Some(server) = &backend.server {
        findings.push(format!("{} {}", server.family, server.version));
    }
    match backend.writes {
        Writes::Unknown => (),
        Writes::Taken => findings.push("takes writes".to_owned()),
        Writes::Refused => findings.push("is read-only".to_owned()),
    }
    if backend.server.is_some() && backend.role != Some(Role::Primary) {
        findings.push(backend.standing.lag().to_string());
    }
    if let Some(position) = backend.standing.position() {
        findings.push(format!("has {position}"));
    }
    findings.extend(backend.complaint.clone());
    findings
}
