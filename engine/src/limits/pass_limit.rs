//! Limits of rules on how many statements run at once, and how many begin in a time.

use std::rc::Rc;

use config::OnLimit;
use route::rules::{Admission, By, Limited};
use tokio::time::timeout;
use wire::errors;

use crate::session::PooledSession;
use backend::rule_set::RuleSet;
use backend::statement_limits::{Passage, enter};
use relay::outcome::{After, SessionError};

impl PooledSession {
    /// Waits until a limit lets the command through. `Some`: the limit refuses it, and the client knows.
    pub(crate) async fn pass_limit(
        &mut self,
        rule_set: &RuleSet,
        sequence: u8,
        by: &By<Limited<'_>>,
    ) -> Result<Option<After>, SessionError> {
        let limited = &by.value;
        let env = Rc::clone(&self.env);
        match env.shared.limits.admit(limited, env.now()) {
            Admission::Now => {}
            Admission::After(wait) => {
                rule_set.counters.queued(by.rule);
                if let Err(failure) = self.wait_unless_killed(tokio::time::sleep(wait)).await {
                    return self.refuse(&failure, sequence).map(Some);
                }
            }
            Admission::Refused => return Ok(Some(self.over_limit(rule_set, sequence, by))),
        }
        let Some(max) = limited.limit.concurrency else {
            return Ok(None);
        };
        let inside = match enter(&env.shared.limits, limited.key, max) {
            Passage::In(inside) => Some(inside),
            Passage::Waits(_) if limited.limit.on_limit == OnLimit::Refuse => None,
            Passage::Waits(mut waiting) => {
                self.command.timing.queues();
                rule_set.counters.queued(by.rule);
                let called = timeout(limited.limit.timeout, waiting.called());
                match self.wait_unless_killed(called).await {
                    Ok(called) => called.ok(),
                    Err(failure) => return self.refuse(&failure, sequence).map(Some),
                }
            }
        };
        match inside {
            None => Ok(Some(self.over_limit(rule_set, sequence, by))),
            Some(inside) => {
                self.command.policy.get_or_insert_default().inside = Some(inside);
                Ok(None)
            }
        }
    }

    fn over_limit(&mut self, rule_set: &RuleSet, sequence: u8, by: &By<Limited<'_>>) -> After {
        rule_set.counters.refused(by.rule);
        let name = rule_set.compiled.rules.name(by.rule);
        self.reply_error(sequence, &errors::rule_limit(name));
        After::Next
    }
}
