//! Servers behind several addresses. The file says only which address leads to which servers. This module infers which
//! servers replicate one another, and which server is the primary.
//!
//! Addresses that share a server belong to one cluster. Of these addresses, the one with standby servers, or with the
//! fewest servers, takes writes.

use std::collections::{BTreeMap, BTreeSet};

/// An address for clients and the servers behind it.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Its name in the file.
    pub name: String,
    /// The servers in their order; true: the server is only used if no other server is up.
    pub servers: Vec<(String, bool)>,
    /// Whether the route takes writes; `None`: the file does not say.
    pub writes: Option<bool>,
}

/// The meaning of a route in Pilotfish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The cluster.
    pub cluster: String,
    /// The setting `replicas`.
    pub replicas: &'static str,
    /// Whether the first server that is up takes all sessions, and the other servers stand by.
    pub is_ordered: bool,
}

/// The result for all routes.
#[derive(Debug, Default)]
pub struct Fleet {
    /// The meaning of each route, in their order.
    pub uses: Vec<Use>,
    /// For each server: its cluster and role, in the order to write them.
    pub servers: Vec<(String, String, &'static str)>,
    /// Clusters with several primaries that all take sessions.
    pub independent: BTreeSet<String>,
}

impl Fleet {
    /// Infers clusters and roles from all routes.
    pub fn of(routes: &[Route]) -> Self {
        let mut fleet = Self::default();
        let groups = groups(routes);
        let count = groups.iter().collect::<BTreeSet<_>>().len();
        fleet.uses = vec![
            Use {
                cluster: String::new(),
                replicas: "primary",
                is_ordered: false
            };
            routes.len()
        ];
        let mut done = BTreeSet::new();
        for (index, group) in groups.iter().enumerate() {
            if done.insert(*group) {
                let members: Vec<usize> = (index..routes.len())
                    .filter(|it| groups[*it] == *group)
                    .collect();
                let name = if count == 1 {
                    "main".to_owned()
                } else {
                    plain(&routes[index].name, index)
                };
                fleet.add(routes, &members, name);
            }
        }
        fleet
    }

    fn add(&mut self, routes: &[Route], members: &[usize], cluster: String) {
        let is_standby = |it: &usize| routes[*it].servers.iter().any(|(_, standby)| *standby);
        let active = |it: usize| {
            routes[it]
                .servers
                .iter()
                .filter(|(_, standby)| !standby)
                .map(|(name, _)| name)
        };
        let says = |it: &usize| routes[*it].writes == Some(true);
        let writers = match members.iter().any(says) {
            true => members.iter().copied().filter(says).collect(),
            false => likely_writers(routes, members),
        };
        let is_split = writers.len() < members.len();
        let mut primaries: BTreeSet<&String> = writers.iter().flat_map(|it| active(*it)).collect();
        if !is_split {
            primaries.extend(
                members
                    .iter()
                    .flat_map(|it| routes[*it].servers.iter().map(|(name, _)| name)),
            );
        }
        for index in members {
            let own: BTreeSet<&String> = active(*index).collect();
            let replicas = match (own.is_subset(&primaries), own.is_disjoint(&primaries)) {
                (true, _) => "primary",
                (_, true) => "replica",
                _ => "any",
            };
            let is_ordered = !is_split && is_standby(index);
            self.uses[*index] = Use {
                cluster: cluster.clone(),
                replicas,
                is_ordered,
            };
            if !is_split && !is_standby(index) && primaries.len() > 1 {
                self.independent.insert(cluster.clone());
            }
        }
        let mut seen = BTreeSet::new();
        let in_order = writers
            .iter()
            .chain(members)
            .flat_map(|it| &routes[*it].servers);
        let (standby, first): (Vec<_>, Vec<_>) = in_order.partition(|(_, standby)| *standby);
        for (address, _) in first.into_iter().chain(standby) {
            if seen.insert(address) {
                let role = if primaries.contains(address) {
                    "primary"
                } else {
                    "replica"
                };
                self.servers.push((address.clone(), cluster.clone(), role));
            }
        }
    }
}

/// The routes that probably take writes, if the file does not say: routes with standby servers, and of these the routes
/// with the fewest other servers.
fn likely_writers(routes: &[Route], members: &[usize]) -> Vec<usize> {
    let active = |it: &usize| {
        let servers = routes[*it].servers.iter();
        servers.filter(|(_, standby)| !standby).count()
    };
    let is_standby = |it: &usize| routes[*it].servers.iter().any(|(_, standby)| *standby);
    let with_standby: Vec<usize> = members.iter().copied().filter(is_standby).collect();
    let candidates = match with_standby.is_empty() {
        true => members.to_vec(),
        false => with_standby,
    };
    let fewest = candidates.iter().map(active).min().unwrap_or(0);
    candidates
        .into_iter()
        .filter(|it| active(it) == fewest)
        .collect()
}

/// For each route, the first route with which it shares servers, directly or through other routes.
fn groups(routes: &[Route]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..routes.len()).collect();
    let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, route) in routes.iter().enumerate() {
        for (address, _) in &route.servers {
            let first = *owner.entry(address).or_insert(index);
            let (keep, lose) = (
                groups[first].min(groups[index]),
                groups[first].max(groups[index]),
            );
            groups
                .iter_mut()
                .filter(|it| **it == lose)
                .for_each(|it| *it = keep);
        }
    }
    groups
}

/// A cluster's name from a route's.
fn plain(name: &str, index: usize) -> String {
    let letter = |it: char| {
        if it.is_ascii_alphanumeric() || "_-.".contains(it) {
            it
        } else {
            '-'
        }
    };
    let name: String = name.chars().take(40).map(letter).collect();
    if name.is_empty() {
        format!("cluster{}", index + 1)
    } else {
        name
    }
}
