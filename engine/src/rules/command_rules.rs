//! Rules about commands that are no statements: commands whose byte stands for a statement, and those of replication.

use route::rules::{By, Counters, Hints, Reply};
use session::statement_of;
use sql::{Doubts, Facts};
use wire::errors;

use super::evaluate_rules::RuleInput;
use crate::session::PooledSession;
use command::command_policy::CommandPolicy;
use link::client_command::Incoming;
use relay::outcome::After;

impl PooledSession {
    /// Evaluates the rules for a command whose byte stands for a statement. `Some`: it is refused, and the client
    /// knows.
    pub(crate) fn rule_command(&mut self, incoming: &Incoming) -> Option<After> {
        if self.env.rule_set.borrow().compiled.rules.is_empty() {
            return None;
        }
        let text = statement_of(incoming.command, &incoming.argument())?;
        let facts = sql::facts(&text, self.sql_state.session().flags());
        self.refuses_unsent(incoming.sequence, &text, &facts)
    }

    /// Refuses a command if a rule refuses, answers or rewrites the statement that it stands for.
    fn refuses_unsent(&mut self, sequence: u8, text: &[u8], facts: &Facts) -> Option<After> {
        let rule_set = self.env.rule_set();
        let input = RuleInput::of_text(text, facts, sequence);
        let judgement = self.judge(&rule_set, &input, &rule_set.counters, &mut ());
        self.log_not_understood(&rule_set, &judgement);
        let by = |rule| errors::rule_concerns_command(rule_set.compiled.rules.name(rule));
        match (&judgement.reply, &judgement.rewritten) {
            (Some(By { value, .. }), _) if self.refuses(sequence, value) => {}
            (
                Some(By {
                    rule,
                    value: Reply::Ok | Reply::Rows { .. } | Reply::Error { .. },
                }),
                _,
            )
            | (None, Some(By { rule, .. })) => self.reply_error(sequence, &by(*rule)),
            (None, None) => return None,
        }
        Some(After::Next)
    }

    /// Evaluates the rules for a command of replication, from which on the session is relayed. Rules may say where it
    /// goes. `Some`: it is refused, and the client knows.
    pub(crate) fn rule_replication(&mut self, sequence: u8) -> Option<After> {
        let unread = Facts {
            doubts: Doubts::RELAYED,
            ..Facts::default()
        };
        if let Some(refused) = self.refuses_unsent(sequence, b"", &unread) {
            return Some(refused);
        }
        let rule_set = self.env.rule_set();
        let input = RuleInput::of_text(b"", &unread, sequence);
        let judgement = self.judge(&rule_set, &input, &Counters::default(), &mut ());
        let policy = self.policy_of(&rule_set, &judgement, &Hints::default());
        self.command.policy = policy.directs().then(|| {
            Box::new(CommandPolicy {
                role: policy.role,
                cluster: policy.cluster,
                backend: policy.backend,
                ..CommandPolicy::default()
            })
        });
        None
    }
}
