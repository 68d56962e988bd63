//! Checks of clusters: backends in the roles that sessions need, existing names, and a monitor account if
//! roles or lag must be known.

use std::collections::BTreeSet;

use crate::load::written::Written;
use crate::nearest::did_you_mean;
use crate::nearest::nearest;
use crate::setting::{ACCOUNT, BACKEND, LISTENER, REPLICATION, RULE, RULE_TEST};
use crate::{Config, Fault, ReplicaUse, Role};

/// Adds every fault of clusters and of the settings that name them.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    nameless(config, written, faults);
    unasked(config, written, faults);
    for (key, cluster) in named(config) {
        faults.extend(unknown(config, written, &key, cluster));
    }
    if config.backends.is_empty() {
        return;
    }
    let mut told = BTreeSet::new();
    for (key, cluster, replicas) in wanted(config) {
        if told.insert((cluster, replicas)) {
            faults.extend(without(config, written, &key, cluster, replicas));
        }
    }
}

/// Warnings about settings that are allowed, but may be a mistake.
pub(super) fn warnings(config: &Config, written: &Written) -> Vec<Fault> {
    let Some(zone) = &config.zone else {
        return Vec::new();
    };
    let mut zones = config
        .backends
        .iter()
        .filter_map(|it| it.zone.as_deref())
        .peekable();
    if zones.clone().any(|it| it == zone) {
        return Vec::new();
    }
    let fault = written.fault("zone", format!("no backend is in zone \"{zone}\""));
    vec![match (zones.peek().is_some(), nearest(zone, zones)) {
        (false, _) => fault.hint("give backends their zone"),
        (true, Some(meant)) => fault.hint(did_you_mean(meant)),
        (true, None) => fault,
    }]
}

fn nameless(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    for (index, backend) in config.backends.iter().enumerate() {
        if backend.cluster.is_empty() {
            let key = Written::of(BACKEND.name, index, "cluster");
            faults.push(written.fault(&key, "must name a cluster"));
        }
    }
}

/// Settings that need roles or lag, which are not known without a monitor account.
fn unasked(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if config.health.monitor_user.is_some() {
        return;
    }
    let mut fault = |key: &str, text: &str| {
        let fault = written.fault(key, format!("{text} needs health.monitor_user"));
        faults.push(fault.hint("an account with which the proxy asks its backends"));
    };
    if !config.balance.lag_max.is_zero() {
        fault("balance.lag_max", "a limit");
    }
    for (index, backend) in config.backends.iter().enumerate() {
        let key = |key: &str| Written::of(BACKEND.name, index, key);
        if backend.role == Role::Auto {
            fault(&key("role"), "\"auto\"");
        }
        if backend.lag_max.is_some_and(|max| !max.is_zero()) {
            fault(&key("lag_max"), "a limit");
        }
    }
}

/// Every cluster that a setting names, with the setting.
fn named(config: &Config) -> Vec<(String, &str)> {
    let listeners = config.listeners.iter().enumerate();
    let listeners = listeners.filter_map(|(index, it)| {
        let key = Written::of(LISTENER.name, index, "routing.cluster");
        Some((key, it.routing.cluster.as_deref()?))
    });
    let accounts = config.configured_accounts.iter().enumerate();
    let accounts = accounts.filter_map(|(index, it)| {
        let key = Written::of(ACCOUNT.name, index, "routing.cluster");
        Some((key, it.routing.cluster.as_deref()?))
    });
    let rules = config.rules.iter().enumerate().flat_map(|(index, it)| {
        let keys = [
            ("routing.cluster", it.routing.cluster.as_deref()),
            ("mirror", it.mirror.as_deref()),
        ];
        let key = move |key| Written::of(RULE.name, index, key);
        keys.into_iter()
            .filter_map(move |(name, cluster)| Some((key(name), cluster?)))
    });
    let tests = config.rules.iter().flat_map(|it| &it.tests).enumerate();
    let tests = tests.filter_map(|(index, it)| {
        let key = Written::of(RULE_TEST.name, index, "cluster");
        Some((key, it.cluster.as_deref()?))
    });
    let streams = config.replications.iter().enumerate();
    let streams = streams.map(|(index, it)| {
        let key = Written::of(REPLICATION.name, index, "cluster");
        (key, it.cluster.as_str())
    });
    let all = config.routing.cluster.as_deref();
    let all = all.map(|cluster| ("routing.cluster".to_owned(), cluster));
    listeners
        .chain(all)
        .chain(streams)
        .chain(accounts)
        .chain(rules)
        .chain(tests)
        .collect()
}

fn unknown(config: &Config, written: &Written, key: &str, cluster: &str) -> Option<Fault> {
    let names = || config.backends.iter().map(|it| it.cluster.as_str());
    if config.backends.is_empty() || names().any(|it| it == cluster) {
        return None;
    }
    let fault = written.fault(key, format!("no backend is in cluster \"{cluster}\""));
    Some(match nearest(cluster, names()) {
        Some(meant) => fault.hint(did_you_mean(meant)),
        None => {
            let names: BTreeSet<_> = names().map(|it| format!("\"{it}\"")).collect();
            let names: Vec<_> = names.into_iter().collect();
            fault.hint(format!("there is {}", names.join(", ")))
        }
    })
}

/// The use of replicas that is configured for each cluster, with the setting: first the setting for all sessions.
fn wanted(config: &Config) -> Vec<(String, &str, ReplicaUse)> {
    let mut wanted = Vec::new();
    let key = |own: bool, key: String| match own {
        true => key,
        false => "routing.replicas".to_owned(),
    };
    let all = config.destination(None, None);
    wanted.push((key(false, String::new()), all.cluster, all.replicas));
    for (index, listener) in config.listeners.iter().enumerate() {
        let it = config.destination(None, Some(listener));
        let own = Written::of(LISTENER.name, index, "routing.replicas");
        let key = key(listener.routing.replicas.is_some(), own);
        wanted.push((key, it.cluster, it.replicas));
    }
    for (index, account) in config.configured_accounts.iter().enumerate() {
        let it = config.destination(Some(account), None);
        let own = Written::of(ACCOUNT.name, index, "routing.replicas");
        let key = key(account.routing.replicas.is_some(), own);
        wanted.push((key, it.cluster, it.replicas));
    }
    wanted
}

/// The fault that a cluster has no backend in the needed role.
fn without(
    config: &Config,
    written: &Written,
    key: &str,
    cluster: &str,
    replicas: ReplicaUse,
) -> Option<Fault> {
    let role = match replicas {
        ReplicaUse::Split | ReplicaUse::Primary => Role::Primary,
        ReplicaUse::Replica => Role::Replica,
        ReplicaUse::Any => return None,
    };
    let mut members = config.backends.iter().filter(|it| it.cluster == cluster);
    let is_one = config.backends.iter().all(|it| it.cluster == cluster);
    // A cluster without backends is another fault.
    let serves = |it: Role| it == role || it == Role::Auto;
    if members.clone().next().is_none() || members.any(|it| serves(it.role)) {
        return None;
    }
    let text = match is_one {
        true => format!("is \"{replicas}\", but no backend is a {role}"),
        false => format!("is \"{replicas}\", but no backend in cluster \"{cluster}\" is a {role}"),
    };
    let give = match role {
        Role::Replica => "give a replica (--read-only-backend)",
        Role::Primary | Role::Auto => "give a primary (--backend)",
    };
    // The hint names `account.routing.replicas`, not `account[0].routing.replicas`.
    let setting = match key.split_once('[') {
        Some((table, _)) => format!("{table}.routing.replicas"),
        None => key.to_owned(),
    };
    let hint = format!("{give}, or set {setting} = \"any\"");
    Some(written.fault(key, text).hint(hint))
}
