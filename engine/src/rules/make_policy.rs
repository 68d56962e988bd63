//! The policy that rules and hints give a command. It holds until the command is over.

use std::sync::Arc;

use net::clock;
use route::rules::{Hints, Judgement};
use route::{Family, Position};
use session::Outcome;

use crate::session::PooledSession;
use backend::rule_set::RuleSet;
use command::command_policy::{CommandPolicy, Note, Reflected};
use command::injecting::Injecting;
use stats::profiles::LeftOut;

impl PooledSession {
    /// The policy that rules and hints give a command.
    pub(super) fn policy_of(
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
            // The shortest limit counts, so that a hint cannot extend a limit.
            timeout: (judgement.timeout.map(|it| it.value).into_iter())
                .chain(hints.timeout)
                .chain(self.command.policy.as_ref().and_then(|it| it.timeout))
                .min(),
            retries: judgement.retry.map(|it| u32::from(it.value)),
            ..CommandPolicy::default()
        };
        self.add_to_policy(&mut order, judgement, hints);
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

    fn add_to_policy(
        &self,
        order: &mut CommandPolicy,
        judgement: &Judgement<'_>,
        hints: &Hints<'_>,
    ) {
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

    /// Ends the policy of a command that is over, and logs what the policy wants logged.
    pub(crate) fn end_policy(&self) {
        let Some(order) = &self.command.policy else {
            return;
        };
        if let Some(injecting) = &order.injecting {
            self.leaves_out(injecting, LeftOut::Unanswered);
        }
        let Some(note) = &order.note else {
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
