//! Rules for commands that are not one plain statement: several statements in one command, texts that are prepared or
//! executed, and statements that the proxy does not fully understand. A rule that refuses, answers or rewrites is a
//! boundary for these commands: if the rule might match, the command is refused.
//!
//! ```text
//!  command ──► Inside ──┬─ the command itself, with its doubts ──► each rule: No | Yes | Unsure
//!                       └─ each statement inside, by itself ─────► each rule: No | Yes | Unsure
//! ```

use config::WhenUnsure;
use sql::{Doubts, Inside, InsideStatement};
use wire::errors;

use super::actions::Reply;
use super::condition::{Condition, Scene};
use super::counters::Counters;
use super::judge::{By, Judgement, Next};
use super::occasion::{Client, Occasion};
use super::record::{Outcome, RuleRecorder, Unsure};
use super::rule::{Rule, Then};
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// Whether a rule's conditions hold.
enum MatchResult<'r> {
    /// This condition certainly does not hold.
    No(&'r Condition),
    /// All conditions certainly hold.
    Yes,
    /// It cannot be known, because conditions depend on parts that the proxy does not understand. `as_it_looks` is
    /// the result for the statement as far as it is understood.
    Unsure {
        as_it_looks: Result<(), &'r Condition>,
    },
}

/// The effect of one rule on a command.
enum RuleVerdict<'r> {
    /// No effect: this condition does not hold.
    No(&'r Condition),
    /// The rule's actions are done.
    Done(Sure),
    /// No effect: as far as the command is understood, this condition does not hold.
    Passed(&'r Condition),
    /// The command is refused. `is_alike`: whether it looks like a match.
    Refused { is_alike: bool },
}

/// Whether a rule matches for certain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    No,
}

impl Rules {
    /// Asks all rules about a command that is not one plain statement.
    pub(super) fn evaluate_composite<'r>(
        &'r self,
        occasion: &Occasion<'_>,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
        judgement: &mut Judgement<'r>,
    ) {
        let inside = Inside::of(
            occasion.text,
            occasion.flags,
            occasion.facts,
            occasion.prepared,
        );
        let mut pass = Pass {
            rules: self,
            occasion,
            doubts: occasion.facts.doubts | inside.doubts,
            counters,
        };
        pass.run(recorder, judgement);
        for statement in &inside.statements {
            if judgement.reply.is_some() {
                return;
            }
            pass.evaluate_inside(statement, judgement);
        }
    }
}

/// One pass over all rules.
struct Pass<'a, 'r> {
    rules: &'r Rules,
    occasion: &'a Occasion<'a>,
    doubts: Doubts,
    counters: &'a Counters,
}

impl<'r> Pass<'_, 'r> {
    fn run(&mut self, recorder: &mut impl RuleRecorder, judgement: &mut Judgement<'r>) {
        let scene = Scene::new(self.occasion);
        // Set if a rule that ends the evaluation may have matched. From then on only boundary rules have an effect.
        let mut may_be_over = false;
        for (index, rule) in self.rules.iter() {
            let look = rule.match_rule(&scene, index, self.doubts);
            let done = match self.verdict(rule, look, may_be_over) {
                RuleVerdict::No(condition) => {
                    recorder.note_outcome(index, rule, Outcome::Failed(condition));
                    continue;
                }
                RuleVerdict::Refused { is_alike } => {
                    let unsure = Unsure::Refused(self.doubts);
                    recorder.note_outcome(index, rule, Outcome::Unsure(unsure));
                    return self.refuse(index, rule, is_alike, judgement);
                }
                RuleVerdict::Passed(condition) => {
                    let unsure = Unsure::Passed(self.doubts, condition);
                    recorder.note_outcome(index, rule, Outcome::Unsure(unsure));
                    continue;
                }
                RuleVerdict::Done(sure) => sure,
            };
            match done {
                Sure::Yes if may_be_over && rule.then == Then::Stop => return,
                _ if may_be_over => continue,
                _ => {}
            }
            match judgement.take_effect(index, rule, &scene, self.counters, recorder) {
                Next::Rule => {}
                Next::Nobody if done == Sure::No && judgement.reply.is_none() => may_be_over = true,
                Next::Nobody => return,
            }
        }
    }

    /// Returns the effect of a rule, from the result of its conditions.
    fn verdict<'l>(
        &self,
        rule: &Rule,
        look: MatchResult<'l>,
        may_be_over: bool,
    ) -> RuleVerdict<'l> {
        let is_boundary = self.is_boundary(rule);
        match look {
            MatchResult::No(condition) => RuleVerdict::No(condition),
            MatchResult::Yes if self.may_be_done(rule) && !(may_be_over && is_boundary) => {
                RuleVerdict::Done(Sure::Yes)
            }
            MatchResult::Yes if is_boundary => RuleVerdict::Refused { is_alike: true },
            MatchResult::Unsure { as_it_looks } if is_boundary => RuleVerdict::Refused {
                is_alike: as_it_looks.is_ok(),
            },
            MatchResult::Unsure {
                as_it_looks: Err(condition),
            } => RuleVerdict::Passed(condition),
            MatchResult::Yes | MatchResult::Unsure { .. } => RuleVerdict::Done(Sure::No),
        }
    }

    /// Whether the rule refuses commands that are not fully understood. If the only doubt is that a statement may touch
    /// tables that it does not name, only rules that refuse are boundaries, not rules that answer or rewrite.
    fn is_boundary(&self, rule: &Rule) -> bool {
        let refuses = matches!(rule.actions.reply, Some(Reply::Error { .. }));
        let are_tables = !self.doubts.is_empty() && self.doubts.without(Doubts::TABLES).is_empty();
        rule.when_unsure == WhenUnsure::Refuse
            && rule.then != Then::DryRun
            && (refuses || !are_tables)
    }

    /// Refuses the command because of this rule, whether or not the rule would match.
    fn refuse(
        &self,
        index: RuleIndex,
        rule: &'r Rule,
        is_alike: bool,
        judgement: &mut Judgement<'r>,
    ) {
        self.counters.matched(index);
        if !self.doubts.is_empty() {
            self.counters.not_understood(index);
            judgement.not_understood = Some(By::new(self.doubts, index));
        }
        judgement.reply = Some(By::new(self.refusal(rule, is_alike), index));
    }

    /// Whether the rule's actions may be done for the command. A command that is not understood is not answered or
    /// rewritten. Several statements do not get one statement's answer, because a write could be lost.
    fn may_be_done(&self, rule: &Rule) -> bool {
        const BOUNDS: Doubts = Doubts::MANY_COMMENTS
            .with(Doubts::MANY_NAMES)
            .with(Doubts::TABLES);
        let answers = matches!(rule.actions.reply, Some(Reply::Ok | Reply::Rows { .. }));
        let is_single = self.occasion.facts.statements.len() <= 1;
        let is_understood = self.doubts.without(BOUNDS).is_empty();
        match rule.when_unsure {
            WhenUnsure::Pass => true,
            WhenUnsure::Refuse if answers => is_single && is_understood,
            WhenUnsure::Refuse => is_understood || rule.actions.rewrite.is_none(),
        }
    }

    /// Returns the error for a command that a rule might match: the rule's own error if it looks like a match.
    fn refusal(&self, rule: &'r Rule, is_alike: bool) -> Reply<'r> {
        match &rule.actions.reply {
            Some(reply @ Reply::Error { .. }) if is_alike => reply.borrowed(),
            _ if self.doubts.is_empty() => apart(rule, "answers"),
            _ if self.doubts.without(Doubts::TABLES).is_empty() => {
                Reply::of(errors::rule_may_concern(&rule.name, self.doubts.reason()))
            }
            _ => Reply::of(errors::rule_not_understood(
                &rule.name,
                self.doubts.reason(),
            )),
        }
    }

    /// Refuses the command if a rule would refuse, answer or rewrite this statement inside it.
    fn evaluate_inside(&self, statement: &InsideStatement, judgement: &mut Judgement<'r>) {
        let own = self.judgement_of(statement);
        if let Some(by) = self.refusal_of(&own) {
            self.counters.matched(by.rule);
            if own.not_understood.is_some() {
                self.counters.not_understood(by.rule);
            }
            judgement.reply = Some(by);
            judgement.not_understood = own.not_understood;
        }
    }

    /// Asks the rules about a statement inside the command, as if the client had sent it alone.
    fn judgement_of(&self, statement: &InsideStatement) -> Judgement<'r> {
        let client = self.occasion.client;
        let own = Occasion {
            text: &statement.text,
            flags: statement.flags,
            facts: &statement.facts,
            digest: None,
            digest_hash: None,
            client: Client {
                schema: statement.schema.as_deref().unwrap_or(client.schema),
                ..client
            },
            ..*self.occasion
        };
        let nothing = Counters::default();
        let mut judgement = Judgement::default();
        let mut pass = Pass {
            rules: self.rules,
            occasion: &own,
            doubts: statement.facts.doubts,
            counters: &nothing,
        };
        pass.run(&mut (), &mut judgement);
        judgement
    }

    /// Returns the error for a command with a statement inside that got this judgement; none if the command may pass.
    fn refusal_of(&self, judgement: &Judgement<'r>) -> Option<By<Reply<'r>>> {
        let (rule, reply) = match (&judgement.reply, &judgement.rewritten) {
            (
                Some(By {
                    value: reply @ Reply::Error { .. },
                    rule,
                }),
                _,
            ) => (*rule, reply.clone()),
            (Some(By { rule, .. }), _) => (*rule, self.apart(*rule, "answers")?),
            (None, rewritten) => {
                let rule = rewritten.as_ref()?.rule;
                (rule, self.apart(rule, "rewrites")?)
            }
        };
        Some(By::new(reply, rule))
    }

    /// Returns the error for a command if a rule would answer or rewrite a part of it; none if that part may pass.
    fn apart(&self, rule: RuleIndex, does: &str) -> Option<Reply<'r>> {
        let rule = self.rules.rule(rule)?;
        let refuses = rule.when_unsure == WhenUnsure::Refuse;
        refuses.then(|| apart(rule, does))
    }
}

impl Rule {
    /// Whether the rule's conditions hold for a statement with these doubts.
    fn match_rule(&self, scene: &Scene<'_>, index: RuleIndex, doubts: Doubts) -> MatchResult<'_> {
        let is_sure = |it: &&Condition| !it.depends_on(doubts, scene.occasion);
        let fails = |it: &&Condition| !it.holds(scene, index, self.seed);
        let mut sure = self.conditions.iter().filter(is_sure);
        if let Some(failed) = sure.find(fails) {
            return MatchResult::No(failed);
        }
        let mut unsure = self.conditions.iter().filter(|it| !is_sure(it)).peekable();
        if unsure.peek().is_none() {
            return MatchResult::Yes;
        }
        MatchResult::Unsure {
            as_it_looks: unsure.find(fails).map_or(Ok(()), Err),
        }
    }
}

fn apart(rule: &Rule, does: &str) -> Reply<'static> {
    Reply::of(errors::rule_concerns_part(&rule.name, does))
}
