//! `pilotfish probe`: the state of the backends as the proxy's monitor sees it. Each backend is asked once,
//! independently of any running proxy.

use std::io::Write as _;
use std::process::ExitCode;

use config::Config;
use route::{Backend, Duty, Health, Role, Topology, Writes};

use crate::arguments::ProbeArguments;
use crate::machine;
use crate::table::{Style, table};

/// Prints the result; the exit code is 1 if the configuration is faulty, a backend is down, or
/// some state could not be found out.
pub fn probe(arguments: &ProbeArguments) -> ExitCode {
    let loaded = match Config::load(Some(&arguments.config), &[]) {
        Ok(loaded) => loaded,
        Err(faults) => {
            for fault in faults {
                eprintln!("pilotfish: {fault}");
            }
            return ExitCode::FAILURE;
        }
    };
    let topology = match control::survey(&loaded.config, &machine::entropy()) {
        Ok(topology) => topology,
        Err(error) => {
            eprintln!("pilotfish: the backends cannot be asked: {error}");
            return ExitCode::FAILURE;
        }
    };
    // If standard output is closed, the error cannot be reported; the exit code still tells the result.
    let _ = std::io::stdout().write_all(listed(&topology).as_bytes());
    match topology.backends.iter().all(|backend| is_well(backend)) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn is_well(backend: &Backend) -> bool {
    matches!(backend.health, Health::Up { .. }) && backend.monitored.complaint.is_none()
}

/// One line per backend: its name, cluster and role, and its state.
fn listed(topology: &Topology) -> String {
    let rows: Vec<Vec<String>> = topology
        .backends
        .iter()
        .map(|backend| row(topology, backend))
        .collect();
    table(&[], &rows, &[], Style::of_stdout())
}

fn row(topology: &Topology, backend: &Backend) -> Vec<String> {
    let mut clusters = topology.clusters.iter();
    let cluster = clusters.find(|cluster| cluster.id == backend.cluster);
    let role = backend.role.map(|role| role.to_string());
    vec![
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
    if let Some(server) = &backend.monitored.server {
        findings.push(format!("{} {}", server.family, server.version));
    }
    match backend.monitored.writes {
        Writes::Unknown => (),
        Writes::Taken => findings.push("takes writes".to_owned()),
        Writes::Refused => findings.push("is read-only".to_owned()),
    }
    if backend.monitored.server.is_some() && backend.role != Some(Role::Primary) {
        findings.push(backend.standing.lag().to_string());
    }
    if let Some(position) = backend.standing.position() {
        findings.push(format!("has {position}"));
    }
    findings.extend(backend.monitored.complaint.clone());
    findings
}
