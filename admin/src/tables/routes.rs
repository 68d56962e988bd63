//! Where statements go: the targets that rules, accounts and listeners set, and the backends that fit now.

use std::sync::Arc;

use config::{AccountConfig, Config, Destination, Fallback, ReplicaUse};
use route::{Backend, Roles};

use super::backends;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<Route> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "routes",
    about: "The targets of statements, and the backends that would take them now. The rules that set a target come \
            first, in their order. Then come the targets without a rule: for each listener the accounts with \
            settings of their own, and all others.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "route", "Its place, from 1.", |it| it.position.into();
        text "rule", "The rule that says so; NULL: none does.", |it| it.rule.clone().into();
        text "listener", "The address of the listener by which the sessions come; NULL: any.",
            |it| it.listener.clone().into();
        text "account", "The account of the sessions; NULL: all other accounts.", |it| it.account.clone().into();
        text "cluster", "The cluster that they go to; NULL: the session's.", |it| it.cluster.clone().into();
        text "replicas", "The roles that may be used: split, primary, any or replica; NULL: as for the session.",
            |it| it.replicas.map(|it| it.name()).into();
        text "only", "The backend, or the tag of backends, that the rule names.", |it| it.only.clone().into();
        text "mirror", "The cluster that they go to as well.", |it| it.mirror.clone().into();
        text "consistency", "The earlier writes that reads see; NULL: as for the session.", |it| it.consistency.into();
        text "writes_to", "Backends that would take a write now, or a whole session that is relayed.",
            |it| names(&it.writes_to);
        text "reads_to", "Backends that would take a read now; which of them is the matter of balance.reads.",
            |it| names(&it.reads_to);
        text "left_out", "Backends that would be among them, and why they are not.", |it| names(&it.left_out);
        integer "hits", "Statements that the rule has matched; NULL: no rule.", |it| it.hits.into();
        integer "sessions", "Sessions that come so now; NULL: a rule is asked for each statement.",
            |it| it.sessions.into();
    },
    items,
};

/// Statements with the same target.
#[derive(Default)]
pub struct Route {
    position: usize,
    rule: Option<String>,
    listener: Option<String>,
    account: Option<String>,
    cluster: Option<String>,
    replicas: Option<ReplicaUse>,
    only: Option<String>,
    mirror: Option<String>,
    consistency: Option<&'static str>,
    writes_to: Vec<String>,
    reads_to: Vec<String>,
    left_out: Vec<String>,
    hits: Option<u64>,
    sessions: Option<usize>,
}

/// Names, separated by commas; NULL if there are none.
fn names(list: &[String]) -> Cell {
    text_or_null(&list.join(", "))
}

fn items(input: &TableInput) -> Vec<Route> {
    let backends = backends::backends(input);
    let mut routes = by_rules(input);
    routes.extend(by_listeners(input));
    for (index, route) in routes.iter_mut().enumerate() {
        route.position = index + 1;
        route.resolve_backends(&input.config, &backends);
    }
    routes
}

/// The targets that rules set.
fn by_rules(input: &TableInput) -> Vec<Route> {
    let tallies = input.data_plane.rules();
    let rules = input.config.rules.iter().filter(|rule| {
        let is_led = rule.routing.cluster.is_some()
            || rule.routing.replicas.is_some()
            || rule.backend.is_some();
        !rule.dry_run && (is_led || rule.mirror.is_some())
    });
    let route = |rule: &config::RuleConfig| Route {
        rule: Some(rule.name.clone()),
        cluster: rule.routing.cluster.clone(),
        replicas: rule.routing.replicas,
        only: rule.backend.clone(),
        mirror: rule.mirror.clone(),
        consistency: rule.routing.consistency.map(|it| it.name()),
        hits: Some(
            (tallies.iter().find(|it| *it.name == *rule.name)).map_or(0, |tally| tally.matched),
        ),
        ..Route::default()
    };
    rules.map(route).collect()
}

/// The targets of statements for which no rule sets one.
fn by_listeners(input: &TableInput) -> Vec<Route> {
    let config = &input.config;
    let speaks = |it: &&AccountConfig| {
        let own = &it.routing;
        own.cluster.is_some() || own.replicas.is_some() || own.consistency.is_some()
    };
    let accounts: Vec<_> = config.configured_accounts.iter().filter(speaks).collect();
    let plain = config.listen.iter().map(|it| (it.to_string(), None));
    let others = config.listeners.iter();
    let others = others.map(|it| (it.address.to_string(), Some(it)));
    let mut routes = Vec::new();
    for (address, listener) in plain.chain(others) {
        let came: Vec<_> = (input.sessions())
            .filter(|it| it.listener == address)
            .collect();
        let of = |user: &str| came.iter().filter(|it| it.user == user).count();
        let is_another = |user: &str| accounts.iter().all(|it| it.user != user);
        let whose = accounts.iter().map(|it| (Some(*it), of(&it.user)));
        let rest = came.iter().filter(|it| is_another(&it.user)).count();
        for (account, sessions) in whose.chain([(None, rest)]) {
            let destination = config.destination(account, listener);
            routes.push(Route {
                listener: Some(address.clone()),
                account: account.map(|it| format!("'{}'@'{}'", it.user, it.host)),
                sessions: Some(sessions),
                ..Route::of(&destination)
            });
        }
    }
    routes
}

impl Route {
    fn of(destination: &Destination<'_>) -> Self {
        Self {
            cluster: Some(destination.cluster.to_owned()),
            replicas: Some(destination.replicas),
            consistency: Some(destination.consistency.name()),
            ..Self::default()
        }
    }

    /// Finds the backends that the target means now.
    fn resolve_backends(&mut self, config: &Config, backends: &[(Arc<Backend>, String)]) {
        let replicas = self.replicas.unwrap_or(config.routing.replicas);
        let (writes, reads) = match replicas {
            ReplicaUse::Split => (Roles::Primary, Roles::Replica),
            ReplicaUse::Primary => (Roles::Primary, Roles::Primary),
            ReplicaUse::Any => (Roles::Any, Roles::Any),
            ReplicaUse::Replica => (Roles::Replica, Roles::Replica),
        };
        // Without a cluster in the rule, the backends are known only if there is one cluster, or if the rule names
        // backends.
        let first = config.default_cluster();
        let is_lone = backends.iter().all(|(_, of)| of == first);
        let lone = is_lone.then_some(first);
        let cluster = self.cluster.as_deref().or(lone);
        if cluster.is_none() && self.only.is_none() {
            return;
        }
        let mut may = Vec::new();
        for (backend, of) in backends {
            let is_meant = |only: &String| *only == backend.name || backend.tags.contains(only);
            if cluster.is_none_or(|it| it == of) && self.only.as_ref().is_none_or(is_meant) {
                may.push(backend);
            }
        }
        // A named backend takes all statements, whatever its role, unless the rule also says which roles to use.
        let (writes, reads) = match (&self.only, self.replicas) {
            (Some(_), None) => (Roles::Any, Roles::Any),
            _ => (writes, reads),
        };
        let fit = |roles: Roles| {
            let fit = may.iter().filter(|it| it.rejection(roles).is_none());
            fit.map(|it| it.name.clone()).collect::<Vec<_>>()
        };
        self.writes_to = fit(writes);
        self.reads_to = fit(reads);
        if self.reads_to.is_empty()
            && replicas == ReplicaUse::Split
            && config.balance.fallback == Fallback::Primary
        {
            self.reads_to.clone_from(&self.writes_to);
        }
        let left_out = may
            .iter()
            .filter(|it| writes.allow(it.role) || reads.allow(it.role));
        self.left_out = left_out
            .filter_map(|it| {
                let why = it.rejection(Roles::Any)?;
                Some(format!("{} {}", it.name, why.explain(it)))
            })
            .collect();
    }
}
