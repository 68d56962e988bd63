//! What rules and hints want of a command, made from their judgement and followed while it runs.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::ReplicaUse;
use net::clock;
use route::rules::{Hints, Judgement};
use route::{BackendId, Family, Position, Roles, Wanted, Wish, Written};
use session::Outcome;
use sql::Facts;
use tokio::task::JoinHandle;

use crate::session::PooledSession;
use backend::rule_set::RuleSet;
use command::command_policy::{CommandPolicy, Note, Reflected};
use command::injecting::Injecting;
use command::target::CommandTarget;
use registry::session_control::{Ask, SessionControl};
use stats::profiles::LeftOut;

/// After which a statement is killed once more that has had its time, was killed, and still runs.
const KILL_AGAIN: Duration = Duration::from_secs(2);

/// A bound of time for a statement: when it is over, the statement is killed as KILL QUERY does it.
pub(crate) struct Alarm {
    task: JoinHandle<()>,
    watch: Rc<SessionControl>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.task.abort();
        self.watch.withdraw(Ask::KillStatement);
    }
}

impl PooledSession {
    /// What rules and hints want of a command.
    pub fn order_of(
        &self,
        rule_set: &RuleSet,
        judgement: &Judgement<'_>,
        hints: &Hints<'_>,
    ) -> CommandPolicy {
        let mut order = CommandPolicy {
            role: hints.role.or(judgement.route.role.map(|it| it.value)),
            lag_max: hints.lag_max,
            consistency: hints
                .consistency
                .or(judgement.route.consistency.map(|it| it.value)),
            lanes: judgement.route.lanes.map(|it| it.value),
            // Nobody allows himself more time than he is given.
            timeout: (judgement.timeout.map(|it| it.value).into_iter())
                .chain(hints.timeout)
                .chain(self.command.policy.as_ref().and_then(|it| it.timeout))
                .min(),
            retries: judgement.retry.map(|it| u32::from(it.value)),
            ..CommandPolicy::default()
        };
        self.place_order(&mut order, judgement, hints);
        if let Some(gtid) = hints.gtid {
            order.position = self.position_of(gtid);
            if order.position.is_none() {
                order.unknown = Some(format!("gtid \"{}\"", String::from_utf8_lossy(gtid)));
            }
        }
        let tag = judgement.set_tag.map(|it| it.value.into());
        let rule = judgement
            .log
            .and_then(|index| rule_set.compiled.rules.rule(index));
        order.injecting = judgement.injection.map(|by| {
            let tag = judgement.set_tag.map(|it| it.value);
            Box::new(Injecting::new(rule_set, by, tag))
        });
        order.note = rule.map(|rule| Note {
            rule: Arc::clone(&rule.name),
            tag,
            digest: String::new(),
            started: clock::now(),
            ended: None,
        });
        order
    }

    fn place_order(&self, order: &mut CommandPolicy, judgement: &Judgement<'_>, hints: &Hints<'_>) {
        let topology = self.env.pool_env.topology.borrow();
        let cluster = judgement.route.cluster.map(|it| it.value.as_bytes());
        if let Some(name) = hints.cluster.or(cluster) {
            let mut all = topology.clusters.iter();
            let found = all.find(|it| it.name.as_bytes() == name);
            order.cluster = found.map(|it| it.id);
            if found.is_none() {
                order.unknown = Some(format!("cluster \"{}\"", String::from_utf8_lossy(name)));
            }
        }
        if let Some(by) = judgement.mirror {
            let found = topology.cluster(by.value);
            order.mirror = found.map(|cluster| Reflected {
                cluster: cluster.id,
                rule: by.rule,
            });
        }
        let is_placed = hints.cluster.is_some() || hints.role.is_some();
        let backend = judgement.route.backend.map(|it| it.value.as_bytes());
        // A rule's backend does not overrule a hint's cluster or role.
        let backend = hints.backend.or(backend.filter(|_| !is_placed));
        if let Some(name) = backend {
            let mut all = topology.backends.iter();
            let found = all.find(|it| it.name.as_bytes() == name);
            order.backend = found.map(|it| it.id);
            match found {
                Some(backend) => order.cluster = Some(backend.cluster),
                None => {
                    let name = String::from_utf8_lossy(name);
                    order.unknown = Some(format!("backend \"{name}\""));
                }
            }
        }
    }

    fn position_of(&self, gtid: &[u8]) -> Option<Position> {
        let family = match self.sql_state.session().flags().server {
            sql::Server::MariaDb(_) => Family::MariaDb,
            sql::Server::MySql(_) | sql::Server::Unknown => Family::MySql,
        };
        Position::parse(family, gtid).ok()
    }

    /// Where the order of the moment sends a statement; none where it leaves that open.
    pub(crate) fn policy_target(&self, facts: &Facts) -> Option<CommandTarget> {
        let Some(order) = self.command.policy.as_ref().filter(|it| it.directs()) else {
            return self
                .routing
                .state()
                .choice
                .backend()
                .map(|_| CommandTarget::Ordered(Roles::Any));
        };
        if order.backend.is_some() {
            return Some(CommandTarget::Ordered(Roles::Any));
        }
        let is_own = order
            .cluster
            .is_none_or(|it| it == self.routing.state().cluster);
        let roles = match order.role.unwrap_or(self.routing.state().replicas) {
            ReplicaUse::Primary => Roles::Primary,
            ReplicaUse::Replica => Roles::Replica,
            ReplicaUse::Any => Roles::Any,
            ReplicaUse::Split => match route::wanted(facts, self.transaction()) {
                Wanted::Primary(_) => Roles::Primary,
                Wanted::Replica(_) => Roles::Replica,
                Wanted::Same(_) if is_own => return Some(CommandTarget::Same),
                Wanted::Same(_) => Roles::Primary,
            },
        };
        Some(match is_own && roles == self.routing.state().roles() {
            true => CommandTarget::Home,
            false => CommandTarget::Ordered(roles),
        })
    }

    /// A backend for a command of which the order says where it goes.
    pub fn ordered<'a>(
        &self,
        roles: Roles,
        tried: &'a [BackendId],
        seats: &'a [BackendId],
        written: &'a Written,
    ) -> Wish<'a> {
        let order = self.command.policy.as_deref();
        // A rule's word, and a hint's, go before the script's.
        let is_ordered = order.is_some_and(CommandPolicy::directs);
        let choice = &self.routing.state().choice;
        let chosen = choice.backend().filter(|_| !is_ordered).unzip();
        Wish {
            cluster: order
                .and_then(|it| it.cluster)
                .or(chosen.1)
                .unwrap_or(self.routing.state().cluster),
            backend: order.and_then(|it| it.backend).or(chosen.0),
            lag_max: order.and_then(|it| it.lag_max),
            written,
            ..self.wish(roles, tried, seats)
        }
    }

    /// A statement that its replica could not serve goes to a primary of the same cluster.
    pub(crate) fn after_ordered(&mut self, roles: Roles) -> CommandTarget {
        if let Some(order) = self.command.policy.as_deref_mut()
            && roles != Roles::Primary
        {
            order.backend = None;
            return CommandTarget::Ordered(Roles::Primary);
        }
        match self.routing.state_mut().choice.take() {
            Some(_) => CommandTarget::Ordered(Roles::Primary),
            None => CommandTarget::Ordered(roles),
        }
    }

    /// Whether a rule has something sent before or behind the command of the moment.
    pub(crate) fn injects(&self) -> bool {
        self.command
            .policy
            .as_ref()
            .is_some_and(|it| it.injecting.is_some())
    }

    /// Bounds what is sent now, where a rule or hint says so.
    pub(crate) fn alarm(&self) -> Option<Alarm> {
        let limit = self.command.policy.as_ref()?.timeout?;
        let watch = Rc::clone(&self.watch);
        let id = self.identity.id();
        let task = tokio::task::spawn_local(async move {
            tokio::time::sleep(limit).await;
            tracing::info!(
                id,
                ?limit,
                "a statement runs for longer than it may, and is killed"
            );
            loop {
                watch.kill_overdue();
                // A server that had not begun by then forgets a kill.
                tokio::time::sleep(KILL_AGAIN).await;
            }
        });
        Some(Alarm {
            task,
            watch: Rc::clone(&self.watch),
        })
    }

    /// The command is over: what was ordered of it is done, and what is to be logged is logged.
    pub(crate) fn close_order(&mut self) {
        let Some(order) = self.command.policy.take() else {
            return;
        };
        if let Some(injecting) = &order.injecting {
            self.leaves_out(injecting, LeftOut::Unanswered);
        }
        let Some(note) = order.note else {
            return;
        };
        let (backend, error) = match &note.ended {
            Some((backend, Outcome::Err(number))) => (Some(&*backend.name), Some(*number)),
            Some((backend, _)) => (Some(&*backend.name), None),
            None => (None, None),
        };
        tracing::info!(
            kind = "rule_statement",
            rule = &*note.rule,
            tag = note.tag.as_deref(),
            user = %self.identity.account().id(),
            id = self.identity.id(),
            backend,
            error,
            took = ?note.started.elapsed(),
            digest = note.digest,
            "a statement of a rule"
        );
    }
}
