//! Checks of settings that depend on one another: unique backends, a certificate with its key, readable
//! files. There is one function for each check.

mod accounts;
mod admin;
mod change_files;
mod clusters;
mod files;
mod filters;
mod http;
mod kafka;
mod kernel_sessions;
mod profiling;
mod redirects;
mod replication;
mod rules;
mod tracing;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;

use crate::load::written::Written;
use crate::setting::{BACKEND, LISTENER};
use crate::{
    BackendAddress, BackendTlsMode, ClientCertificate, ClientTlsMode, Config, Fault,
    HistoryStorage, ListenAddress,
};
use files::{folder_fault, pem_fault};

/// Every fault of a configuration whose single settings are valid.
pub(crate) fn faults(config: &Config, written: &Written) -> Vec<Fault> {
    let mut faults = Vec::new();
    backends(config, written, &mut faults);
    clusters::faults(config, written, &mut faults);
    listeners(config, written, &mut faults);
    client_tls(config, written, &mut faults);
    backend_tls(config, written, &mut faults);
    health(config, written, &mut faults);
    pool(config, written, &mut faults);
    admin::faults(config, written, &mut faults);
    http::faults(config, written, &mut faults);
    insight(config, written, &mut faults);
    history(config, written, &mut faults);
    accounts::faults(config, written, &mut faults);
    rules::faults(config, written, &mut faults);
    redirects::faults(config, written, &mut faults);
    kernel_sessions::faults(config, written, &mut faults);
    profiling::faults(config, written, &mut faults);
    replication::faults(config, written, &mut faults);
    filters::faults(config, written, &mut faults);
    change_files::faults(config, written, &mut faults);
    kafka::faults(config, written, &mut faults);
    tracing::faults(config, written, &mut faults);
    faults.extend(faults_of_files(config, written));
    faults
}

/// Warnings for the log about a configuration without faults.
pub(crate) fn warnings(config: &Config, written: &Written) -> Vec<Fault> {
    let mut warnings = accounts::warnings(config, written);
    warnings.extend(clusters::warnings(config, written));
    warnings.extend(replication::warnings(config, written));
    warnings.extend(kernel_sessions::warnings(config, written));
    warnings.extend(unknown_accounts(config, written));
    warnings
}

/// Warns if TLS is required as accounts require it, but no account is known.
fn unknown_accounts(config: &Config, written: &Written) -> Option<Fault> {
    let is_unknown = !config.accounts.learn && config.configured_accounts.is_empty();
    (config.client_tls.mode == ClientTlsMode::AsAccount && is_unknown).then(|| {
        let text = "\"as_account\" refuses no client, because no account is known";
        let fault = written.fault("client_tls.mode", text);
        fault.hint("accounts.learn has the servers' accounts read")
    })
}

/// A history in memory has no file.
fn history(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if config.statement_stats.history == HistoryStorage::Memory
        && config.statement_stats.history_file.is_some()
    {
        let text = "is of no use with statement_stats.history = \"memory\"";
        let fault = written.fault("statement_stats.history_file", text);
        faults.push(fault.hint("statement_stats.history = \"file\""));
    }
}

/// The usage of indexes is counted by digest, so it needs digests.
fn insight(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if config.statement_stats.index_usage && !config.statement_stats.digests {
        let fault = written.fault(
            "statement_stats.index_usage",
            "is of no use without statement_stats.digests",
        );
        faults.push(fault.hint("statement_stats.digests = true"));
    }
}

/// Every fault of the files that settings name.
pub(crate) fn faults_of_files(config: &Config, written: &Written) -> Vec<Fault> {
    const CERTIFICATE: &str = "CERTIFICATE-----";
    const KEY: &str = "PRIVATE KEY-----";
    let files = [
        (
            "client_tls.certificate",
            &config.client_tls.certificate,
            CERTIFICATE,
        ),
        ("client_tls.key", &config.client_tls.key, KEY),
        ("client_tls.ca", &config.client_tls.ca, CERTIFICATE),
        ("backend_tls.ca", &config.backend_tls.ca, CERTIFICATE),
        (
            "backend_tls.certificate",
            &config.backend_tls.certificate,
            CERTIFICATE,
        ),
        ("backend_tls.key", &config.backend_tls.key, KEY),
        (
            "backend_tls.server_public_key",
            &config.backend_tls.server_public_key,
            "PUBLIC KEY-----",
        ),
    ];
    let unreadable = files.into_iter().filter_map(|(setting, path, holds)| {
        Some(written.fault(setting, pem_fault(path.as_deref()?, holds)?))
    });
    let folders = [
        ("pid_file", &config.pid_file),
        ("log.file", &config.log.file),
        ("schema_history.file", &config.schema_history.file),
    ];
    let homeless = folders.into_iter().filter_map(|(setting, path)| {
        Some(written.fault(setting, folder_fault(path.as_deref()?)?))
    });
    unreadable.chain(homeless).collect()
}

fn backends(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    // A script can answer everything, so no backend is needed.
    if config.backends.is_empty() && !config.runs_scripts() {
        let fault = written.general("there is no backend");
        faults.push(fault.hint("give --backend HOST:PORT, or [[backend]] in the file"));
    }
    let mut addresses: HashMap<&BackendAddress, &str> = HashMap::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (index, backend) in config.backends.iter().enumerate() {
        let address = &backend.address;
        if let Some(first) = addresses.insert(address, &backend.name) {
            let key = Written::of(BACKEND.name, index, "address");
            let fault = if first == address.to_string() {
                format!("{address} is given twice")
            } else {
                format!("{address} is given twice, the first is named \"{first}\"")
            };
            faults.push(written.fault(&key, fault));
        } else if names.insert(&backend.name, index).is_some() {
            let key = Written::of(BACKEND.name, index, "name");
            faults.push(written.fault(&key, format!("\"{}\" is given twice", backend.name)));
        }
    }
}

fn listeners(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if config.listen.is_empty() && config.listeners.is_empty() {
        let fault = written.fault("listen", "must name at least one address");
        faults.push(fault.hint("listen = [\":4040\"]"));
    }
    let of_listen = config.listen.iter().map(|it| (it, "listen".to_owned()));
    let of_list = config.listeners.iter().enumerate();
    let of_list =
        of_list.map(|(index, it)| (&it.address, Written::of(LISTENER.name, index, "address")));
    let mut seen = HashSet::new();
    for (address, key) in of_listen.chain(of_list) {
        if !seen.insert(address) {
            let fault = written.fault(&key, format!("{address} is given twice"));
            let is_of_both = key != "listen" && config.listen.contains(address);
            faults.push(match is_of_both {
                true => fault.hint("listen has it, too; what stands here may be taken out there"),
                false => fault,
            });
        }
        if let ListenAddress::Unix(path) = address
            && let Some(fault) = folder_fault(path)
        {
            faults.push(written.fault(&key, fault));
        }
        let mut backends = config.backends.iter();
        if let Some(backend) = backends.find(|it| is_same(address, &it.address)) {
            let text = format!("{address} is also the backend \"{}\"", backend.name);
            let fault = written.fault(&key, text);
            faults.push(fault.hint("the proxy would connect to itself"));
        }
    }
}

/// Whether a backend's address is the address of this listener, without a look-up of names.
fn is_same(listen: &ListenAddress, backend: &BackendAddress) -> bool {
    match (listen, backend) {
        (ListenAddress::Unix(listen), BackendAddress::Unix(backend)) => listen == backend,
        (ListenAddress::Tcp(listen), BackendAddress::Tcp { host, port }) => {
            let host = if host == "localhost" {
                "127.0.0.1"
            } else {
                host
            };
            let Ok(ip) = host.parse::<IpAddr>() else {
                return false;
            };
            let all = listen.ip().is_unspecified() && ip.is_loopback();
            listen.port() == *port && (listen.ip() == ip || all)
        }
        _ => false,
    }
}

/// A certificate needs its key, and a key needs its certificate.
fn pair(
    section: &str,
    certificate: &Option<PathBuf>,
    key: &Option<PathBuf>,
    written: &Written,
    faults: &mut Vec<Fault>,
) {
    let (setting, missing) = match (certificate, key) {
        (Some(_), None) => ("certificate", "key"),
        (None, Some(_)) => ("key", "certificate"),
        _ => return,
    };
    let fault = written.fault(
        &format!("{section}.{setting}"),
        format!("needs {section}.{missing}"),
    );
    faults.push(fault.hint("a file that holds both may be given for both"));
}

fn client_tls(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let tls = &config.client_tls;
    pair("client_tls", &tls.certificate, &tls.key, written, faults);
    if tls.mode == ClientTlsMode::Required && tls.certificate.is_none() && tls.key.is_none() {
        let fault = written.fault(
            "client_tls.mode",
            "\"required\" needs client_tls.certificate",
        );
        faults.push(fault.hint("a certificate is made at start only for \"optional\""));
    }
    if tls.client_certificate == ClientCertificate::NotAsked {
        return;
    }
    let asked = tls.client_certificate;
    if tls.ca.is_none() {
        let text = format!("\"{asked}\" needs client_tls.ca");
        faults.push(written.fault("client_tls.client_certificate", text));
    }
    if asked == ClientCertificate::Required && tls.mode != ClientTlsMode::Required {
        let text = "\"required\" needs client_tls.mode = \"required\"";
        let fault = written.fault("client_tls.client_certificate", text);
        faults.push(fault.hint("without it a client that uses no TLS shows no certificate"));
    }
}

fn backend_tls(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let tls = &config.backend_tls;
    pair("backend_tls", &tls.certificate, &tls.key, written, faults);
    let verifies = matches!(
        tls.mode,
        BackendTlsMode::VerifyCa | BackendTlsMode::VerifyIdentity
    );
    if verifies && tls.ca.is_none() {
        let text = format!("\"{}\" needs backend_tls.ca", tls.mode);
        faults.push(written.fault("backend_tls.mode", text));
    }
}

fn pool(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let pool = &config.pool;
    let ahead = u64::from(pool.connections_min) * config.workers as u64;
    if ahead > u64::from(pool.backend_connections_max) {
        let text = format!(
            "{} in each of {} workers are more than pool.backend_connections_max, {}",
            pool.connections_min, config.workers, pool.backend_connections_max
        );
        faults.push(written.fault("pool.connections_min", text));
    }
}

fn health(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let health = &config.health;
    // The default maximum is no fault, so that a longer probe_interval needs no other setting.
    let is_max_chosen = health.probe_interval_max != Config::default().health.probe_interval_max;
    if is_max_chosen && health.probe_interval > health.probe_interval_max {
        let text = "must not be less than health.probe_interval";
        faults.push(written.fault("health.probe_interval_max", text));
    }
    if health.monitor_password.is_some() && health.monitor_user.is_none() {
        let text = "is of no use without health.monitor_user";
        faults.push(written.fault("health.monitor_password", text));
    }
}
