//! Checks of replication: streams with unique names and ids, an account, and a file for the history.

use std::collections::HashSet;

use crate::load::written::Written;
use crate::setting::{LISTENER, REPLICATION};
use crate::{Config, Fault, ListenerConfig, ReplicationConfig, Serves};

/// Adds every fault of the streams' settings.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let mut names = HashSet::new();
    let mut ids = HashSet::new();
    for (index, stream) in config.replications.iter().enumerate() {
        let key = |key| Written::of(REPLICATION.name, index, key);
        if stream.name.is_empty() {
            faults.push(written.fault(&key("name"), "must not be empty"));
        } else if !names.insert(&stream.name) {
            let text = format!("\"{}\" is given twice", stream.name);
            let fault = written.fault(&key("name"), text);
            faults.push(fault.hint("give each stream a name of its own"));
        }
        if stream.user.is_empty() && written.has(&key("user")) {
            faults.push(written.fault(&key("user"), "must name a user"));
        }
        if stream.server_id != 0 && !ids.insert(stream.server_id) {
            let text = format!("{} is given twice", stream.server_id);
            let fault = written.fault(&key("server_id"), text);
            faults.push(fault.hint("a server ends the older of two streams with one id"));
        }
    }
    webhook(config, written, faults);
    relays(config, written, faults);
    for (index, listener) in config.listeners.iter().enumerate() {
        if listener.serves == Serves::Replication {
            serving(config, listener, index, written, faults);
        }
    }
}

/// The webhook must be a valid address, and authorities are for TLS only.
fn webhook(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let history = &config.schema_history;
    match history.webhook_target() {
        Some(Err(text)) => {
            let fault = written.fault("schema_history.webhook", text);
            faults.push(fault.hint("webhook = \"https://hooks.example.com/schemas\""));
        }
        Some(Ok(target)) if !target.is_tls && history.webhook_ca.is_some() => {
            let text = "is for a webhook that begins with https://";
            faults.push(written.fault("schema_history.webhook_ca", text));
        }
        _ => {}
    }
}

/// Each stream needs its own folder, and its position must survive a restart.
fn relays(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let mut folders = HashSet::new();
    for (index, stream) in config.replications.iter().enumerate() {
        let Some(folder) = &stream.relay_folder else {
            if stream.semi_sync {
                let key = Written::of(REPLICATION.name, index, "semi_sync");
                let fault = written.fault(&key, "needs a relay_folder, into which the proxy syncs");
                faults.push(fault.hint("relay_folder = \"/var/lib/pilotfish/relay\""));
            }
            continue;
        };
        let key = Written::of(REPLICATION.name, index, "relay_folder");
        if !folders.insert(folder) {
            let fault = written.fault(&key, format!("\"{}\" is given twice", folder.display()));
            faults.push(fault.hint("give each stream a folder of its own"));
        }
        if config.schema_history.file.is_none() {
            let fault = written.fault(&key, "needs schema_history.file, which keeps the position");
            faults.push(fault.hint("schema_history.file = \"/var/lib/pilotfish/schemas.db\""));
        }
    }
}

/// A listener for replicas needs exactly one relay and an account, and has no settings of sessions.
fn serving(
    config: &Config,
    listener: &ListenerConfig,
    index: usize,
    written: &Written,
    faults: &mut Vec<Fault>,
) {
    let key = |key| Written::of(LISTENER.name, index, key);
    for name in listener.of_sessions() {
        faults.push(written.fault(
            &key(name),
            "is of sessions, and a listener that serves replication has none",
        ));
    }
    let cluster = config.cluster_of(listener);
    match config.relays_of(cluster).count() {
        1 => {}
        0 => {
            let text = format!("no [[replication]] of cluster \"{cluster}\" has a relay_folder");
            let fault = written.fault(&key("serves"), text);
            faults.push(fault.hint("relay_folder = \"/var/lib/pilotfish/relay\""));
        }
        _ => {
            let text = format!(
                "several [[replication]] of cluster \"{cluster}\" have a relay_folder, so it is not clear which \
                 replicas get"
            );
            faults.push(written.fault(&key("serves"), text));
        }
    }
    if !config.configured_accounts.iter().any(|it| it.replication) {
        let text = "replicas could not log in: no [[account]] has replication = true";
        faults.push(written.fault(&key("serves"), text));
    }
}

impl Config {
    /// The cluster of a listener: its own, or the default cluster.
    pub fn cluster_of<'a>(&'a self, listener: &'a ListenerConfig) -> &'a str {
        let own = listener.routing.cluster.as_deref();
        own.unwrap_or_else(|| self.default_cluster())
    }

    /// The streams of a cluster whose transactions are kept for replicas.
    pub fn relays_of<'a>(
        &'a self,
        cluster: &'a str,
    ) -> impl Iterator<Item = &'a ReplicationConfig> {
        let all = self.replications.iter();
        all.filter(move |it| it.cluster == cluster && it.relay_folder.is_some())
    }
}

/// The warning about a setting that is allowed, but may be a mistake.
pub(super) fn warnings(config: &Config, written: &Written) -> Option<Fault> {
    let is_kept = config.schema_history.file.is_some();
    (!is_kept && !config.replications.is_empty()).then(|| {
        let text = "is not set, so positions and history are lost when the proxy ends";
        let fault = written.fault("schema_history.file", text);
        fault.hint("schema_history.file = \"/var/lib/pilotfish/schemas.db\"")
    })
}
