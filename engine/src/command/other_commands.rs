//! Commands that are no statements, as rules and accounts allow them: those that say in a byte what a statement says
//! in words, those of replication, and bytes that mean nothing.

use std::rc::Rc;

use route::rules::{By, Counters, Hints, Reply};
use session::state::Answered;
use session::statement_of;
use sql::{Doubts, Facts};
use wire::errors::{self, ProxyError};

use crate::rules::evaluate_rules::{Form, RuleInput};
use crate::session::PooledSession;
use backend::diagnostics::Diagnostics;
use command::command_policy::CommandPolicy;
use link::client_command::Incoming;
use relay::outcome::{After, CutOff};

impl PooledSession {
    /// Asks the rules about a command that says in a byte what a statement says in words. `Some`: it is refused, and
    /// the client knows.
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
        let input = unsent(sequence, text, facts);
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

    /// A command that is none of a pooled session's.
    pub(crate) async fn other_command(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let sequence = incoming.sequence;
        if !incoming.command.is_replication() {
            let error = errors::unknown_command();
            self.reply_error(sequence, &error);
            Box::pin(self.put_down_only(&error)).await;
            return Ok(After::Next);
        }
        if !self.identity.account().replicates {
            self.reply_error(sequence, &errors::replication_denied());
            return Ok(After::Next);
        }
        if self.has_scripts() {
            // Relayed, it would be out of their sight.
            self.reply_error(sequence, &errors::replication_with_script());
            return Ok(After::Next);
        }
        let unread = Facts {
            doubts: Doubts::RELAYED,
            ..Facts::default()
        };
        match self.refuses_unsent(sequence, b"", &unread) {
            Some(after) => Ok(after),
            None => {
                self.command.policy = self.placed_by_rules(sequence, &unread);
                self.hand_over(incoming).await
            }
        }
    }

    /// Where the rules send a session that is relayed from here on.
    fn placed_by_rules(&self, sequence: u8, facts: &Facts) -> Option<Box<CommandPolicy>> {
        let rule_set = self.env.rule_set();
        let input = unsent(sequence, b"", facts);
        let judgement = self.judge(&rule_set, &input, &Counters::default(), &mut ());
        let policy = self.order_of(&rule_set, &judgement, &Hints::default());
        policy.directs().then(|| {
            Box::new(CommandPolicy {
                role: policy.role,
                cluster: policy.cluster,
                backend: policy.backend,
                ..CommandPolicy::default()
            })
        })
    }

    /// An error of the proxy's own is put down as if a server had made it, in place of what was there.
    async fn put_down_only(&mut self, error: &ProxyError) {
        if let Some(empty) = self.ask_empty_list().await {
            let mut list = Diagnostics::clone(&empty);
            list.push_error(error.code, &error.text);
            self.sql_state.session_mut().answered(Answered::Error);
            self.sql_state.pending_answers().keep_list(Rc::new(list));
        }
    }
}

/// A statement that stands for a command, or for nothing.
fn unsent<'a>(sequence: u8, text: &'a [u8], facts: &'a Facts) -> RuleInput<'a> {
    RuleInput {
        text,
        facts,
        digest: None,
        attributes: &[],
        sequence,
        form: Form::Text,
    }
}
