//! Which statements are profiled.

use std::sync::Arc;

use route::rules::{Hints, Judgement};
use sql::Facts;

use crate::rules::evaluate_rules::{Form, RuleInput};
use crate::session::PooledSession;
use backend::rule_set::RuleSet;
use command::command_policy::CommandPolicy;
use command::injecting::Injecting;
use stats::profiles::LeftOut;

impl PooledSession {
    /// Whether chance has chosen the next statement, before its text is looked at.
    pub(crate) fn is_picked(&self, rule_set: &RuleSet) -> bool {
        if !rule_set.samples {
            return false;
        }
        let below = |bound| self.env.relay.login.dice.borrow_mut().below(bound);
        let user = self.user();
        let profiling = &rule_set.compiled.profiling;
        profiling.picks(self.identity.id(), user, below)
    }

    /// Has statements sent around a statement that is to be profiled, unless a rule already sends some.
    pub(crate) fn choose_profile(
        &self,
        rule_set: &RuleSet,
        input: &RuleInput<'_>,
        (judgement, hints): (&Judgement<'_>, &Hints<'_>),
        policy: &mut CommandPolicy,
    ) {
        let profiling = &rule_set.compiled.profiling;
        let digest = || sql::digest(input.text, self.sql_state.session().flags()).hash();
        let by = match judgement.profile {
            _ if input.form == Form::Prepare => None,
            Some(rule) => {
                let rule = rule_set.compiled.rules.rule(rule);
                rule.map(|rule| Arc::clone(&rule.name))
            }
            None if hints.profile => Some(Arc::from("hint")),
            None => {
                let is_meant = self.command.is_sampled && profiling.picks_digest(digest);
                is_meant.then(|| Arc::from("chance"))
            }
        };
        let Some(by) = by else {
            return;
        };
        if policy.injecting.is_some() {
            self.env.shared.profiling.leaves_out(LeftOut::Rule);
            return;
        }
        let tag = judgement.set_tag.map(|it| it.value);
        let profile = Injecting::profile(profiling, by, tag);
        policy.injecting = Some(Box::new(profile));
    }

    /// Counts a statement that was to be profiled, but has nothing sent around it.
    pub(crate) fn leaves_out(&self, injecting: &Injecting, why: LeftOut) {
        if injecting.is_profile() {
            self.env.shared.profiling.leaves_out(why);
        }
    }

    /// Why nothing may be sent around a statement that is its session's next.
    pub(crate) fn left_out(facts: &Facts) -> LeftOut {
        let asks = sql::Uses::FOUND_ROWS
            .with(sql::Uses::ROW_COUNT)
            .with(sql::Uses::DIAGNOSTICS);
        match facts.uses.has(asks) {
            true => LeftOut::AsksAboutLast,
            false => LeftOut::Transaction,
        }
    }
}
