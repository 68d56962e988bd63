//! The target of a statement, and the configured backends that fit.

use config::{Consistency, Destination, Fallback, LaneUse, ReplicaUse};
use route::lane_check::may_use_lane;
use route::rules::{Hints, Judgement};
use route::{
    BackendVerdict as Found, Dice, Explanation, Loads, Moment, PlacementOutcome, Roles, Topology,
    Transaction, Wanted, Why, Wish,
};
use sql::{Facts, Server};

use super::verdict::Verdict;

/// How a statement is routed after its hints, the rules, its account and its listener were applied, in this
/// order, as by the proxy's `CommandPolicy`.
pub(super) struct EffectiveRoute<'a> {
    pub cluster: &'a str,
    pub replicas: ReplicaUse,
    pub backend: Option<&'a str>,
    pub consistency: Consistency,
    /// Whether its transactions may begin on a replica.
    pub is_optimistic: bool,
    pub lanes: LaneUse,
    by: By,
}

/// What set the target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// A rule or a hint.
    Order,
    /// The settings of the session.
    Session,
}

impl<'a> EffectiveRoute<'a> {
    pub fn of(hints: &Hints<'a>, judgement: &Judgement<'a>, destination: Destination<'a>) -> Self {
        let text = |bytes: &'a [u8]| std::str::from_utf8(bytes).unwrap_or_default();
        let cluster = hints.cluster.map(text);
        let cluster = cluster.or(judgement.route.cluster.map(|by| by.value));
        let role = hints.role.or(judgement.route.role.map(|by| by.value));
        // A rule's backend does not overrule a hint's cluster or role.
        let is_placed = hints.cluster.is_some() || hints.role.is_some();
        let ruled = judgement.route.backend.map(|by| by.value);
        let backend = hints.backend.map(text);
        let backend = backend.or(ruled.filter(|_| !is_placed));
        let consistency = hints.consistency;
        let consistency = consistency.or(judgement.route.consistency.map(|by| by.value));
        let lanes = judgement.route.lanes.map(|by| by.value);
        let is_ordered = cluster.is_some() || role.is_some() || backend.is_some();
        Self {
            cluster: cluster.unwrap_or(destination.cluster),
            replicas: role.unwrap_or(destination.replicas),
            backend,
            consistency: consistency.unwrap_or(destination.consistency),
            is_optimistic: destination.optimistic_transactions && !is_ordered,
            lanes: lanes.unwrap_or(destination.lanes),
            by: match is_ordered {
                true => By::Order,
                false => By::Session,
            },
        }
    }

    /// Explains the role, the verdict on each backend, and the backends of which one will be used.
    pub fn choose(
        &self,
        (topology, fallback): (&Topology, Fallback),
        wanted: Option<Wanted>,
        explanation: &mut Explanation,
        verdict: &mut Verdict,
    ) {
        let roles = match (wanted, self.replicas) {
            _ if self.backend.is_some() => Roles::Any,
            (Some(Wanted::Replica(_)), _) | (_, ReplicaUse::Replica) => Roles::Replica,
            (_, ReplicaUse::Any) => Roles::Any,
            _ => Roles::Primary,
        };
        match (self.by, wanted) {
            (By::Order, _) => {
                let role = format!("{roles:?}").to_lowercase();
                explanation.find("role", role, "as a rule or a hint says");
            }
            (By::Session, Some(wanted)) => explanation.wanted(Some(wanted)),
            (By::Session, None) => {
                let why = "its reads and writes are not split";
                explanation.find("role", self.replicas.name(), why);
            }
        }
        let role = match wanted {
            Some(Wanted::Same(_)) if self.by == By::Session => "the last backend".to_owned(),
            _ => format!("{roles:?}").to_lowercase(),
        };
        verdict.add("cluster", self.cluster);
        verdict.add("role", role);
        if roles == Roles::Replica {
            verdict.add("consistency", self.consistency.name());
        }
        let fallback = match (wanted, fallback) {
            (Some(Wanted::Replica(Why::BeginsOptimistic)), _) | (_, Fallback::Primary) => {
                route::Fallback::Primary
            }
            (_, Fallback::Wait | Fallback::Error) => route::Fallback::Nobody,
        };
        let (names, how) = match self.backends(topology, roles, fallback, explanation) {
            Err(none) => ("(none)".to_owned(), none),
            Ok((names, outcome)) => {
                let how = match (wanted, outcome) {
                    (Some(Wanted::Same(_)), _) if self.by == By::Session => {
                        "unless another has run its last command"
                    }
                    (_, PlacementOutcome::FellBack) => "no replica is there for it",
                    _ if names.len() > 1 => "as they are loaded at that moment",
                    _ => "",
                };
                (names.join(" or "), how.to_owned())
            }
        };
        explanation.find("decision", &names, how);
        verdict.add("backend", names);
    }

    /// Explains whether the statement may share a connection with other sessions, as far as that depends on the
    /// statement.
    pub fn check_lane_use(
        &self,
        facts: &Facts,
        explanation: &mut Explanation,
        verdict: &mut Verdict,
    ) {
        verdict.add("lanes", self.lanes.name());
        if self.lanes == LaneUse::Off {
            return;
        }
        match may_use_lane(facts, Server::Unknown, Transaction::None) {
            Ok(()) => explanation.find(
                "lane",
                "",
                "uses a lane, once statements with its digest are known to be short",
            ),
            Err(why) => explanation.find("lane", "", format!("uses no lane: {why}")),
        }
    }

    /// The backends that fit and whether they are of the wanted role, or why there is none.
    fn backends(
        &self,
        topology: &Topology,
        roles: Roles,
        fallback: route::Fallback,
        explanation: &mut Explanation,
    ) -> Result<(Vec<String>, PlacementOutcome), String> {
        let named = self.backend.map(|name| {
            let mut backends = topology.backends.iter();
            let found = backends.find(|backend| backend.name == name);
            found.ok_or_else(|| nowhere("backend", name))
        });
        let named = named.transpose()?;
        let cluster = match (named, topology.cluster(self.cluster)) {
            (Some(backend), _) => backend.cluster,
            (None, Some(cluster)) => cluster.id,
            (None, None) if self.cluster.is_empty() => {
                return Err("no backend is configured".to_owned());
            }
            (None, None) => return Err(nowhere("cluster", self.cluster)),
        };
        let wish = Wish {
            fallback,
            backend: named.map(|backend| backend.id),
            ..Wish::to(cluster, roles)
        };
        let mut found = Vec::new();
        let (loads, mut dice) = (Loads::default(), Dice::new(0));
        let placed = route::select_backend(
            topology,
            &wish,
            &loads,
            Moment::START,
            &mut dice,
            &mut found,
        );
        // Which of the fitting backends is chosen depends on their load, so the choice is not shown. A second search,
        // for a fallback, can find the same backends again.
        let mut known = Vec::new();
        found.retain(|it| {
            let is_new = it.verdict != Found::Chosen && !known.contains(&(it.id, it.verdict));
            known.push((it.id, it.verdict));
            is_new
        });
        explanation.candidates(&found);
        let outcome = placed.map_err(|none| none.to_string())?.outcome;
        let fitting = found
            .iter()
            .filter(|it| matches!(it.verdict, Found::Fits(_)));
        Ok((fitting.map(|it| it.backend.clone()).collect(), outcome))
    }
}

/// The error message that the client would get.
fn nowhere(what: &str, name: &str) -> String {
    wire::errors::no_such_place(format_args!("{what} \"{name}\"")).into()
}
