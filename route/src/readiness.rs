//! Whether the proxy is ready: a backend is usable, and the further needs of the request are met. If not, the answer
//! is a reason as text.

use std::sync::Arc;

use crate::candidate::Use;
use crate::choose::vacancy;
use crate::nobody::NoBackend;
use crate::topology::{Backend, Cluster, Health, Role, Roles, Topology};

/// A need that a request may name besides a usable backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// A primary that takes writes.
    Writes,
    /// A backend for reads, which is not left out because of its replication.
    Reads,
    /// Each usable backend answers the monitor account.
    Monitor,
}

/// The needs of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadinessQuery {
    needs: Vec<Need>,
    /// None: any cluster; for `needs` the first one.
    cluster: Option<String>,
}

impl ReadinessQuery {
    /// Reads the names and values of `need=writes,reads&need=monitor&cluster=NAME`.
    ///
    /// # Errors
    /// An unknown name or need, as text.
    pub fn read(pairs: Vec<(String, String)>) -> Result<Self, String> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            match &*name {
                "cluster" => asked.cluster = Some(value),
                "need" => {
                    for word in value.split(',') {
                        asked.needs.push(need(word)?);
                    }
                }
                _ => {
                    let known = "known are need=writes, need=reads, need=monitor, cluster=NAME";
                    return Err(known.to_owned());
                }
            }
        }
        Ok(asked)
    }

    /// Returns why the proxy is not ready; none if it is.
    ///
    /// # Errors
    /// There is no such cluster.
    pub fn missing(&self, topology: &Topology) -> Result<Option<String>, String> {
        let cluster = match &self.cluster {
            Some(name) => Some(topology.cluster(name).ok_or("there is no such cluster")?),
            None => topology.clusters.first(),
        };
        let of = |it: &&Arc<Backend>| {
            self.cluster.is_none() || cluster.is_none_or(|cluster| cluster.id == it.cluster)
        };
        let backends: Vec<&Arc<Backend>> = topology.backends.iter().filter(of).collect();
        if let Some(reason) = none_usable(&backends) {
            return Ok(Some(reason));
        }
        let Some(cluster) = cluster else {
            return Ok(Some("no backend is configured".to_owned()));
        };
        let mut missing = self
            .needs
            .iter()
            .filter_map(|need| need.missing(topology, cluster));
        Ok(missing.next())
    }
}

fn need(word: &str) -> Result<Need, String> {
    match word {
        "writes" => Ok(Need::Writes),
        "reads" => Ok(Need::Reads),
        "monitor" => Ok(Need::Monitor),
        _ => Err("need must be one of writes, reads, monitor".to_owned()),
    }
}

/// Returns why none of these backends is usable; none if one is.
fn none_usable(backends: &[&Arc<Backend>]) -> Option<String> {
    let is_seen = |it: &&&Arc<Backend>| matches!(it.health, Health::Up { .. }) && it.is_usable();
    if backends.iter().find(is_seen).is_some() {
        return None;
    }
    let why = |it: &&Arc<Backend>| match it.rejection(Roles::Any) {
        Some(rejection) => format!("{} {}", it.name, rejection.explain(it)),
        None => format!("{} has not been seen yet", it.name),
    };
    let reasons: Vec<String> = backends.iter().map(why).collect();
    Some(match reasons.is_empty() {
        true => "no backend is configured".to_owned(),
        false => format!("no backend is usable: {}", reasons.join("; ")),
    })
}

impl Need {
    fn missing(self, topology: &Topology, cluster: &Cluster) -> Option<String> {
        let found = match self {
            Self::Monitor => return unmonitored(topology, cluster),
            Self::Writes => vacancy(topology, cluster.id, Roles::Primary, Use::Writes),
            Self::Reads => vacancy(topology, cluster.id, Roles::Any, Use::Any),
        };
        let none = found?;
        let what = match self {
            Self::Writes => "no primary takes writes",
            Self::Reads | Self::Monitor => "no backend can be read",
        };
        Some(match none {
            // A full backend is no failure: a slot may become free at any moment.
            NoBackend::AllFull => return None,
            none => format!("{what} in cluster {}: {none}", cluster.name),
        })
    }
}

fn unmonitored(topology: &Topology, cluster: &Cluster) -> Option<String> {
    let mut members = topology.backends.iter();
    let is_deaf = |it: &&Arc<Backend>| {
        it.cluster == cluster.id && it.is_usable() && !it.monitored.has_answered
    };
    let deaf = members.find(is_deaf)?;
    let complaint = deaf.monitored.complaint.as_deref();
    let role = deaf.role.map_or("backend", |role| match role {
        Role::Primary => "primary",
        Role::Replica => "replica",
    });
    Some(format!(
        "{role} {} does not answer the monitor account (health.monitor_user): {}",
        deaf.name,
        complaint.unwrap_or("none is configured, or it was not asked yet")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requested_cluster_is_read_from_the_query() {
        let read = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            ReadinessQuery::read(pairs.collect())
        };
        let asked = read(&[
            ("need", "writes,reads"),
            ("cluster", "a b"),
            ("need", "monitor"),
        ]);
        let wanted = ReadinessQuery {
            needs: vec![Need::Writes, Need::Reads, Need::Monitor],
            cluster: Some("a b".to_owned()),
        };
        assert_eq!(asked, Ok(wanted));
        assert_eq!(read(&[]), Ok(ReadinessQuery::default()));
        for faulty in [("need", "all"), ("needs", "writes"), ("need", "")] {
            assert!(read(&[faulty]).is_err(), "{faulty:?}");
        }
    }
}
