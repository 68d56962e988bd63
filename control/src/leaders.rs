//! Log lines about clusters: one has no primary, or has several servers that take writes.

use std::collections::HashMap;

use route::{Cluster, ClusterId, Role, Writes};

use crate::backend_monitor::{BackendMonitor, Change};

/// What the log was last told of each cluster.
#[derive(Debug, Default)]
pub(crate) struct Leaders {
    logged: HashMap<ClusterId, LoggedLeaders>,
}

#[derive(Debug, Default)]
struct LoggedLeaders {
    has_none: bool,
    /// Backends that take writes and are not the primary.
    others: Vec<String>,
    /// Configured primaries that take writes and do not replicate from each other.
    rivals: Vec<String>,
}

impl Leaders {
    /// Tells the log what has changed in a cluster. `all` has the backends of all clusters.
    pub(crate) fn log_changes(&mut self, cluster: &Cluster, all: &mut [BackendMonitor]) -> Change {
        self.log_unknown_roles(cluster, all);
        self.log_rivals(cluster, all)
    }

    /// Tells the log about backends whose roles are to be found out.
    fn log_unknown_roles(&mut self, cluster: &Cluster, all: &[BackendMonitor]) {
        let members = || all.iter().filter(|w| w.settings.cluster == cluster.id);
        let is_open = |w: &&BackendMonitor| w.settings.role.is_none();
        if members().find(is_open).is_none() || members().any(BackendMonitor::is_role_awaited) {
            return;
        }
        let logged = self.logged.entry(cluster.id).or_default();
        let primary = members().find(|w| w.role == Some(Role::Primary) && w.is_usable());
        logged.log_primary(&cluster.name, primary);
        let others = members()
            .filter(is_open)
            .filter(|w| w.member().writes == Writes::Taken && w.role.is_none());
        logged.log_others(
            &cluster.name,
            primary,
            others.map(|w| w.name.clone()).collect(),
        );
    }

    /// Tells the log about configured primaries that all take writes and do not replicate from each other. Backends
    /// that have not answered are left out.
    fn log_rivals(&mut self, cluster: &Cluster, all: &mut [BackendMonitor]) -> Change {
        let is_writer = |w: &BackendMonitor| {
            w.settings.cluster == cluster.id
                && w.settings.role == Some(Role::Primary)
                && !w.settings.is_independent
                && w.has_answered()
                && w.member().writes == Writes::Taken
        };
        let is_alone = |w: &BackendMonitor| is_writer(w) && !w.replicates();
        let writers = all.iter().filter(|w| is_writer(w));
        let mut names: Vec<String> = writers.map(|w| w.name.clone()).collect();
        if names.len() < 2 || !all.iter().any(is_alone) {
            names.clear();
        }
        let mut change = Change::None;
        let members = all.iter_mut();
        for member in members.filter(|w| w.settings.cluster == cluster.id) {
            let is_one = names.contains(&member.name);
            let mut rivals = names.clone();
            rivals.retain(|name| is_one && *name != member.name);
            if member.rivals != rivals {
                member.rivals = rivals;
                change = Change::Visible;
            }
        }
        let logged = self.logged.entry(cluster.id).or_default();
        logged.log_rivals(&cluster.name, names);
        change
    }
}

impl LoggedLeaders {
    fn log_primary(&mut self, cluster: &str, primary: Option<&BackendMonitor>) {
        match (
            std::mem::replace(&mut self.has_none, primary.is_none()),
            primary,
        ) {
            (false, None) => {
                tracing::warn!(
                    kind = "primary_missing",
                    cluster,
                    "the cluster has no primary: no backend takes writes"
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

    fn log_rivals(&mut self, cluster: &str, rivals: Vec<String>) {
        if self.rivals == rivals {
            return;
        }
        if !rivals.is_empty() {
            let backends = rivals.join(", ");
            tracing::warn!(
                kind = "independent_writers",
                cluster,
                backends,
                "several primaries take writes and do not replicate from each other, so their data \
                 will differ; if that is intended, set backend.independent"
            );
        }
        self.rivals = rivals;
    }

    fn log_others(&mut self, cluster: &str, primary: Option<&BackendMonitor>, others: Vec<String>) {
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
                "several servers take writes and replicate from no server: the backends in left_out get no statements \
                 until they are read-only or replicate"
            );
        }
        self.others = others;
    }
}
