//! The evaluation of all rules for a statement.

use std::sync::Arc;
use std::time::Duration;

use config::{Consistency, LaneUse, LimitBy, PinRule, ReplicaUse, SessionMode};
use sql::Doubts;
use wire::errors;

use super::actions::{Limit, Reply, RuleRoute};
use super::condition::{Scene, mixed};
use super::counters::Counters;
use super::index::name_hash;
use super::injection::Injection;
use super::occasion::Occasion;
use super::record::{Outcome, RuleRecorder};
use super::rewrite::Rewritten;
use super::rule::{Rule, Then};
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// The result of all rules for a statement. A field that is not set: no rule has set it.
#[derive(Clone, Debug, Default)]
pub struct Judgement<'r> {
    /// The rules that matched, in order, without those with `dry_run`.
    pub matched: Matched,
    /// Where the statement goes.
    pub route: JudgedRoute<'r>,
    /// The statement that is sent in its place.
    pub rewritten: Option<By<Rewritten>>,
    /// The reply to the client, if no backend is asked.
    pub reply: Option<By<Reply<'r>>>,
    /// What the proxy does not understand of it, and the rule that refuses it for that reason.
    pub not_understood: Option<By<Doubts>>,
    /// How long it may run.
    pub timeout: Option<By<Duration>>,
    /// How long it waits before it is sent.
    pub delay: Option<By<Duration>>,
    /// The limit that must admit it before it is sent.
    pub limit: Option<By<Limited<'r>>>,
    /// Another cluster to which a copy is sent.
    pub mirror: Option<By<&'r str>>,
    /// Statements that are sent before and after it.
    pub injection: Option<By<&'r Arc<Injection>>>,
    /// The rule that has it profiled.
    pub profile: Option<RuleIndex>,
    /// How often it is sent again if it only reads and the backend fails.
    pub retry: Option<By<u16>>,
    /// The rule that has it logged.
    pub log: Option<RuleIndex>,
    /// Its tag in logs and statistics.
    pub set_tag: Option<By<&'r str>>,
    /// How its session keeps the connection.
    pub session: SessionOrders<'r>,
}

/// Where a statement goes, and over which connection.
#[derive(Clone, Debug, Default)]
pub struct JudgedRoute<'r> {
    /// The cluster to which it goes.
    pub cluster: Option<By<&'r str>>,
    /// The roles of backends to which it may go.
    pub role: Option<By<ReplicaUse>>,
    /// The backend to which it goes.
    pub backend: Option<By<&'r str>>,
    /// Whether it may use a shared lane.
    pub lanes: Option<By<LaneUse>>,
    /// Which earlier writes a read has to see.
    pub consistency: Option<By<Consistency>>,
}

/// How a session keeps its connection after a statement.
#[derive(Clone, Debug, Default)]
pub struct SessionOrders<'r> {
    /// For how long the session keeps its connection from now on, at least.
    pub mode: Option<By<SessionMode>>,
    /// What pins the session from now on.
    pub pin: Option<By<&'r [PinRule]>>,
}

/// A value, and the rule that set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By<T> {
    /// The value.
    pub value: T,
    /// The rule.
    pub rule: RuleIndex,
}

/// A limit, and the key under which this statement counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited<'r> {
    /// The limit.
    pub limit: &'r Limit,
    /// Differs for each rule and for each digest or account that the rule counts separately; stays over reloads.
    pub key: u64,
    /// The rule's shared key, for statements beyond the largest number of separate keys.
    pub strangers_key: u64,
}

/// Rules that matched: the first few of them, and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    first: [u32; MATCHED_KEPT],
    count: u32,
}

/// Rules that matched and are kept by name.
const MATCHED_KEPT: usize = 8;

impl Matched {
    fn push(&mut self, rule: RuleIndex) {
        if let Some(place) = self.first.get_mut(self.count as usize) {
            *place = rule.0;
        }
        self.count += 1;
    }

    /// Returns how many rules matched.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Iterates over the first eight matched rules.
    pub fn iter(&self) -> impl Iterator<Item = RuleIndex> {
        let kept = self.first.iter().take(self.count as usize);
        kept.map(|rule| RuleIndex(*rule))
    }
}

impl Rules {
    /// Evaluates the rules for a statement. Each rule that matches is counted; `recorder` is told the outcome
    /// of each evaluated rule.
    pub fn judge<'r>(
        &'r self,
        occasion: &Occasion<'_>,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
    ) -> Judgement<'r> {
        let mut judgement = Judgement::default();
        if !self.is_empty() {
            match occasion.facts.is_plain() {
                true => self.match_rule(occasion, counters, recorder, &mut judgement),
                false => self.evaluate_composite(occasion, counters, recorder, &mut judgement),
            }
        }
        judgement
    }

    fn match_rule<'r, R: RuleRecorder>(
        &'r self,
        occasion: &Occasion<'_>,
        counters: &Counters,
        recorder: &mut R,
        judgement: &mut Judgement<'r>,
    ) {
        let scene = Scene::new(occasion);
        if R::LISTENS {
            for (index, rule) in self.iter() {
                if judgement.ask(index, rule, &scene, counters, recorder) == Next::Nobody {
                    return;
                }
            }
            return;
        }
        let user = name_hash(occasion.client.user);
        for gate in self.index.candidates(|| scene.digest_hash()) {
            if !gate.is_open(scene.kinds, user) || !self.index.may_match(gate, &scene) {
                continue;
            }
            let index = RuleIndex(gate.rule);
            let Some(rule) = self.rule(index) else {
                continue;
            };
            if judgement.ask(index, rule, &scene, counters, recorder) == Next::Nobody {
                return;
            }
        }
    }
}

/// What follows after a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next rule is evaluated.
    Rule,
    Nobody,
}

impl<'r> Judgement<'r> {
    fn ask(
        &mut self,
        index: RuleIndex,
        rule: &'r Rule,
        scene: &Scene<'_>,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
    ) -> Next {
        let holds = |it: &&super::condition::Condition| !it.holds(scene, index, rule.seed);
        if let Some(failed) = rule.conditions.iter().find(holds) {
            recorder.note_outcome(index, rule, Outcome::Failed(failed));
            return Next::Rule;
        }
        self.take_effect(index, rule, scene, counters, recorder)
    }

    /// Counts a rule whose conditions all hold, and takes over its actions.
    pub(super) fn take_effect(
        &mut self,
        index: RuleIndex,
        rule: &'r Rule,
        scene: &Scene<'_>,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
    ) -> Next {
        counters.matched(index);
        recorder.note_outcome(index, rule, Outcome::Matched(rule.then));
        if rule.then == Then::DryRun {
            return Next::Rule;
        }
        self.matched.push(index);
        self.fill_in(index, rule, scene, counters);
        match rule.then {
            Then::Continue if self.reply.is_none() => Next::Rule,
            _ => Next::Nobody,
        }
    }

    /// Takes over the actions of this rule that no earlier rule has set.
    fn fill_in(
        &mut self,
        index: RuleIndex,
        rule: &'r Rule,
        scene: &Scene<'_>,
        counters: &Counters,
    ) {
        let actions = &rule.actions;
        if self.reply.is_none() {
            let reply = actions.reply.as_ref();
            self.reply = reply.map(|reply| By::new(reply.borrowed(), index));
        }
        if self.rewritten.is_none() && self.reply.is_none() {
            self.rewrite(index, rule, scene, counters);
        }
        let limited = |limit: &'r Limit| Limited {
            limit,
            key: key(limit, rule.seed, scene),
            strangers_key: mixed(!rule.seed),
        };
        if self.limit.is_none() {
            let limit = actions.limit.as_ref();
            fill(&mut self.limit, limit.map(limited), index);
        }
        let pin = (!actions.pin.is_empty()).then_some(&*actions.pin);
        self.log = self.log.or(actions.log.then_some(index));
        self.profile = self.profile.or(actions.profile.then_some(index));
        fill(&mut self.timeout, actions.timeout, index);
        fill(&mut self.delay, actions.delay, index);
        fill(&mut self.mirror, actions.mirror.as_deref(), index);
        fill(&mut self.injection, actions.injection.as_ref(), index);
        fill(&mut self.retry, actions.retry, index);
        fill(&mut self.set_tag, actions.set_tag.as_deref(), index);
        fill(&mut self.session.mode, actions.session, index);
        fill(&mut self.session.pin, pin, index);
        self.route.fill_in(index, &actions.route);
    }

    /// Rewrites the statement. If that fails, the statement is refused: sending it unchanged is not what the
    /// operator wants.
    fn rewrite(
        &mut self,
        index: RuleIndex,
        rule: &'r Rule,
        scene: &Scene<'_>,
        counters: &Counters,
    ) {
        let Some(rewrite) = &rule.actions.rewrite else {
            return;
        };
        match rewrite.done(scene.occasion.text, scene.occasion.flags) {
            Ok(rewritten) => self.rewritten = Some(By::new(rewritten, index)),
            Err(_) => {
                counters.unfit(index);
                let reply = Reply::of(errors::rewrite_unfit(&rule.name));
                self.reply = Some(By::new(reply, index));
            }
        }
    }
}

impl<'r> JudgedRoute<'r> {
    /// Takes over the route settings of a rule that no earlier rule has set.
    fn fill_in(&mut self, index: RuleIndex, said: &'r RuleRoute) {
        fill(&mut self.lanes, said.lanes, index);
        fill(&mut self.consistency, said.consistency, index);
        self.fill_in_place(index, said);
    }

    /// Cluster and role may come from different rules. A backend implies both, so it is set only if neither is.
    fn fill_in_place(&mut self, index: RuleIndex, said: &'r RuleRoute) {
        if self.backend.is_some() {
            return;
        }
        if self.cluster.is_none() && self.role.is_none() {
            fill(&mut self.backend, said.backend.as_deref(), index);
        }
        fill(&mut self.cluster, said.cluster.as_deref(), index);
        fill(&mut self.role, said.role, index);
    }
}

impl<T> By<T> {
    pub(super) const fn new(value: T, rule: RuleIndex) -> Self {
        Self { value, rule }
    }
}

fn fill<T>(place: &mut Option<By<T>>, said: Option<T>, rule: RuleIndex) {
    if place.is_none() {
        *place = said.map(|value| By::new(value, rule));
    }
}

fn key(limit: &Limit, seed: u64, scene: &Scene<'_>) -> u64 {
    let part = match limit.by {
        LimitBy::Rule => 0,
        LimitBy::Digest => scene.digest_hash(),
        LimitBy::Account => super::compile::seed(scene.occasion.client.user),
    };
    mixed(seed ^ mixed(part))
}
