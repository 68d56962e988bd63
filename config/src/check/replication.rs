//! What replication must have: streams with names and ids of their own, an account, a place for the history.

use std::collections::HashSet;

use crate::load::Written;
use crate::setting::REPLICATION;
use crate::{Config, Fault};

/// Every fault of the streams' settings.
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
}

/// What is allowed and yet may not be meant.
pub(super) fn warnings(config: &Config, written: &Written) -> Option<Fault> {
    let is_kept = config.schema_history.file.is_some();
    (!is_kept && !config.replications.is_empty()).then(|| {
        let text = "is not set, so positions and history are lost when the proxy ends";
        let fault = written.fault("schema_history.file", text);
        fault.hint("schema_history.file = \"/var/lib/pilotfish/schemas.db\"")
    })
}
