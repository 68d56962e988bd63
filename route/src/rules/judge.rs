//! Asking all rules about a statement.

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

/// What the rules say of a statement. Nothing set: none has anything to say.
#[derive(Clone, Debug, Default)]
pub struct Judgement<'r> {
    /// The rules that matched, in order; not those that watch.
    pub matched: Matched,
    /// Where it goes.
    pub route: JudgedRoute<'r>,
    /// What runs in its place.
    pub rewritten: Option<By<Rewritten>>,
    /// What the client gets, without any backend having been asked.
    pub reply: Option<By<Reply<'r>>>,
    /// What is not understood of it, and the rule that has it refused for that.
    pub not_understood: Option<By<Doubts>>,
    /// How long it may run.
    pub timeout: Option<By<Duration>>,
    /// How long it waits before it is sent.
    pub delay: Option<By<Duration>>,
    /// What it is counted against before it may be sent.
    pub limit: Option<By<Limited<'r>>>,
    /// Another cluster to which it is sent.
    pub mirror: Option<By<&'r str>>,
    /// What is sent before it and behind it.
    pub injection: Option<By<&'r Arc<Injection>>>,
    /// Whose wish it is that it is profiled.
    pub profile: Option<RuleIndex>,
    /// How often it is sent again when it only reads and the backend fails under it.
    pub retry: Option<By<u16>>,
    /// Whose wish it is that it is logged.
    pub log: Option<RuleIndex>,
    /// The tag that it bears in logs and statistics.
    pub set_tag: Option<By<&'r str>>,
    /// What becomes of its session.
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
    /// What a read has to see.
    pub consistency: Option<By<Consistency>>,
}

/// How a session keeps its connection behind a statement.
#[derive(Clone, Debug, Default)]
pub struct SessionOrders<'r> {
    /// For how long the session keeps its connection from now on, at least.
    pub mode: Option<By<SessionMode>>,
    /// What pins the session from now on.
    pub pin: Option<By<&'r [PinRule]>>,
}

/// Something that a rule has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By<T> {
    /// What.
    pub value: T,
    /// Which rule.
    pub rule: RuleIndex,
}

/// A limit, and the key under which this statement counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited<'r> {
    /// How many may come.
    pub limit: &'r Limit,
    /// Other for each rule, and for each of what the rule tells apart; the same over reloads.
    pub key: u64,
    /// The key of those of the rule that there are too many of to tell apart.
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

    /// How many.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The first eight of them.
    pub fn iter(&self) -> impl Iterator<Item = RuleIndex> {
        let kept = self.first.iter().take(self.count as usize);
        kept.map(|rule| RuleIndex(*rule))
    }
}

impl Rules {
    /// What the rules say of a statement. Each that matches is counted; `recorder` learns of each that
    /// is looked at.
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

/// Who is asked next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The rule behind.
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

    /// All conditions of a rule hold.
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

    /// Takes over what this rule says and none before it has said.
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

    /// A statement that cannot be rewritten as the operator wants is not sent as it is.
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
    /// Takes over what a rule says and none before it has said.
    fn fill_in(&mut self, index: RuleIndex, said: &'r RuleRoute) {
        fill(&mut self.lanes, said.lanes, index);
        fill(&mut self.consistency, said.consistency, index);
        self.fill_in_place(index, said);
    }

    /// Cluster and role fill in one another; a backend says both.
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
