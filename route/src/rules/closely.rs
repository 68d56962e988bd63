//! Statements that are looked at closely: several in one command, texts that are prepared or run, and statements that
//! are not understood. A rule that refuses, answers or rewrites is a boundary there: where it might match, the command
//! is refused.
//!
//! ```text
//!  command ──► Inside ──┬─ the command itself, with its doubts ──► each rule: No | Yes | Unsure
//!                       └─ each statement inside, by itself ─────► each rule: the same
//! ```

use std::borrow::Cow;

use config::WhenUnsure;
use sql::{Doubts, Inside, InsideStatement};

use super::actions::Reply;
use super::condition::{Condition, Scene};
use super::counters::Counters;
use super::judge::{By, Judgement, Next};
use super::occasion::{Client, Occasion};
use super::record::{Outcome, Recorder, Unsure};
use super::{Rule, RuleIndex, Rules, Then};

/// Error 1227, `ER_SPECIFIC_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1227;

/// What one look at a rule gives.
enum Look<'r> {
    /// This condition does not hold, for certain.
    No(&'r Condition),
    /// All conditions hold, for certain.
    Yes,
    /// It cannot be known: conditions depend on what is not understood. What they say of the rest of the statement.
    Unsure {
        as_it_looks: Result<(), &'r Condition>,
    },
}

impl Rules {
    /// Asks all rules about a command that is not one plain statement.
    pub(super) fn look_closely<'r>(
        &'r self,
        occasion: &Occasion<'_>,
        counters: &Counters,
        recorder: &mut impl Recorder,
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
            judgement.reply = pass.refusal_of(statement);
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
    fn run(&mut self, recorder: &mut impl Recorder, judgement: &mut Judgement<'r>) {
        let scene = Scene::new(self.occasion);
        // A rule that stops may have matched: behind it only those are asked that refuse what is not understood.
        let mut may_be_over = false;
        for (index, rule) in self.rules.iter() {
            let look = rule.look(&scene, index, self.doubts);
            let is_boundary = rule.when_unsure == WhenUnsure::Refuse && rule.then != Then::Watch;
            let unsure = match look {
                Look::No(condition) => {
                    recorder.looked(index, rule, Outcome::Failed(condition));
                    continue;
                }
                Look::Yes if self.may_be_done(rule) && !(may_be_over && is_boundary) => None,
                Look::Yes => Some(Ok(())),
                Look::Unsure { as_it_looks } => Some(as_it_looks),
            };
            if unsure.is_some() && is_boundary {
                let unsure = Unsure::Refused(self.doubts);
                recorder.looked(index, rule, Outcome::Unsure(unsure));
                self.counters.matched(index);
                if !self.doubts.is_empty() {
                    self.counters.not_understood(index);
                }
                judgement.reply = Some(By::new(self.refusal(rule, unsure_holds(&look)), index));
                return;
            }
            if let Some(Err(condition)) = unsure {
                let unsure = Unsure::Passed(self.doubts, condition);
                recorder.looked(index, rule, Outcome::Unsure(unsure));
                continue;
            }
            if may_be_over {
                match unsure {
                    None if rule.then == Then::Stop => return,
                    _ => continue,
                }
            }
            let next = judgement.take_effect(index, rule, &scene, self.counters, recorder);
            match (next, unsure) {
                (Next::Rule, _) => {}
                (Next::Nobody, Some(_)) if judgement.reply.is_none() => may_be_over = true,
                (Next::Nobody, _) => return,
            }
        }
    }

    /// Whether the rule's actions may be done for the command: what is not understood is not answered or rewritten,
    /// and several statements do not get the answer of one, or a write could be lost.
    fn may_be_done(&self, rule: &Rule) -> bool {
        const BOUNDS: Doubts = Doubts::MANY_COMMENTS.with(Doubts::MANY_NAMES);
        let answers = matches!(rule.actions.reply, Some(Reply::Ok | Reply::Rows { .. }));
        let is_single = self.occasion.facts.parts.len() <= 1;
        let is_understood = self.doubts.without(BOUNDS).is_empty();
        match rule.when_unsure {
            WhenUnsure::Pass => true,
            WhenUnsure::Refuse if answers => is_single && is_understood,
            WhenUnsure::Refuse => is_understood || rule.actions.rewrite.is_none(),
        }
    }

    /// What the client hears of a rule that might match: the rule's own error if the statement looks like a match.
    fn refusal(&self, rule: &'r Rule, is_alike: bool) -> Reply<'r> {
        match &rule.actions.reply {
            Some(reply @ Reply::Error { .. }) if is_alike => reply.borrowed(),
            _ if self.doubts.is_empty() => apart(rule, "answers"),
            _ => denied(format!(
                "Rule '{}' may concern this statement, which the proxy does not understand: {}",
                rule.name,
                self.doubts.reason()
            )),
        }
    }

    /// Why a statement inside the command has the command refused.
    fn refusal_of(&self, statement: &InsideStatement) -> Option<By<Reply<'r>>> {
        let client = self.occasion.client;
        let own = Occasion {
            text: &statement.text,
            flags: statement.flags,
            facts: &statement.facts,
            digest: None,
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
        let rewrites = judgement.rewritten.as_ref().map(|by| by.rule);
        let (rule, reply) = match judgement.reply {
            Some(By {
                value: reply @ Reply::Error { .. },
                rule,
            }) => (rule, reply),
            Some(By { rule, .. }) => (rule, self.apart(rule, "answers")?),
            None => {
                let rule = rewrites?;
                (rule, self.apart(rule, "rewrites")?)
            }
        };
        self.counters.matched(rule);
        Some(By::new(reply, rule))
    }

    /// The refusal of a command of which a rule would answer or rewrite a part; none if that part may pass.
    fn apart(&self, rule: RuleIndex, does: &str) -> Option<Reply<'r>> {
        let rule = self.rules.rule(rule)?;
        let refuses = rule.when_unsure == WhenUnsure::Refuse;
        refuses.then(|| apart(rule, does))
    }
}

impl Rule {
    /// Whether the rule's conditions hold for a statement of which this is not understood.
    fn look(&self, scene: &Scene<'_>, index: RuleIndex, doubts: Doubts) -> Look<'_> {
        let is_sure = |it: &&Condition| !it.depends_on(doubts);
        let fails = |it: &&Condition| !it.holds(scene, index, self.seed);
        let mut sure = self.conditions.iter().filter(is_sure);
        if let Some(failed) = sure.find(fails) {
            return Look::No(failed);
        }
        let mut unsure = self.conditions.iter().filter(|it| !is_sure(it)).peekable();
        if unsure.peek().is_none() {
            return Look::Yes;
        }
        Look::Unsure {
            as_it_looks: unsure.find(fails).map_or(Ok(()), Err),
        }
    }
}

const fn unsure_holds(look: &Look<'_>) -> bool {
    matches!(
        look,
        Look::Yes
            | Look::Unsure {
                as_it_looks: Ok(())
            }
    )
}

fn apart(rule: &Rule, does: &str) -> Reply<'static> {
    denied(format!(
        "Rule '{}' {does} a statement that stands inside this command. Send that statement as a command of its own",
        rule.name
    ))
}

fn denied(message: String) -> Reply<'static> {
    Reply::Error {
        code: ACCESS_DENIED,
        sqlstate: *b"42000",
        message: Cow::Owned(message),
    }
}
