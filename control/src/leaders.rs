//! What the log is told of clusters: that one has no primary, or several servers that take writes.

use std::collections::HashMap;

use route::{Cluster, ClusterId, Role, Writes};

use crate::watched::Watched;

/// What the log knows of each cluster.
#[derive(Debug, Default)]
pub(crate) struct Leaders {
    told: HashMap<ClusterId, Told>,
}

#[derive(Debug, Default)]
struct Told {
    has_none: bool,
    /// Those that take writes and are not the primary.
    others: Vec<String>,
}

impl Leaders {
    /// Tells what is new of a cluster, of whose backends some are `all`'s. Only those whose roles are
    /// to be found out are told of: what is configured is known.
    pub(crate) fn tell(&mut self, cluster: &Cluster, all: &[Watched]) {
        let members = || all.iter().filter(|w| w.settings.cluster == cluster.id);
        let is_open = |w: &&Watched| w.settings.role.is_none();
        if members().find(is_open).is_none() || members().any(Watched::is_role_awaited) {
            return;
        }
        let told = self.told.entry(cluster.id).or_default();
        let primary = members().find(|w| w.role == Some(Role::Primary) && w.is_usable());
        told.tell_primary(&cluster.name, primary);
        let others = members()
            .filter(is_open)
            .filter(|w| w.member().writes == Writes::Taken && w.role.is_none());
        told.tell_others(
            &cluster.name,
            primary,
            others.map(|w| w.name.clone()).collect(),
        );
    }
}

impl Told {
    fn tell_primary(&mut self, cluster: &str, primary: Option<&Watched>) {
        match (
            std::mem::replace(&mut self.has_none, primary.is_none()),
            primary,
        ) {
            (false, None) => {
                tracing::warn!(
                    kind = "primary_missing",
                    cluster,
                    "cluster has no primary: nobody there takes writes"
                );
            }
            (true, Some(primary)) => {
                tracing::info!(
                    kind = "primary_found",
                    cluster,
                    primary = primary.name,
                    "cluster has a primary again"
                );
            }
            _ => (),
        }
    }

    fn tell_others(&mut self, cluster: &str, primary: Option<&Watched>, others: Vec<String>) {
        if self.others == others {
            return;
        }
        if !others.is_empty() {
            let primary = primary.map(|w| w.name.as_str());
            let left_out = others.join(", ");
            tracing::error!(
                kind = "several_primaries",
                cluster,
                primary,
                left_out,
                "several servers take writes and follow nobody: those left out get nothing until \
                 they are read-only, or follow"
            );
        }
        self.others = others;
    }
}
