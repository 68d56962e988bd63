//! Commands that are no statements, as rules and accounts allow them: those that say in a byte what a statement says
//! in words, those of replication, and bytes that mean nothing.

use std::rc::Rc;

use route::rules::{By, Reply};
use session::state::Answered;
use sql::{Doubts, Facts};
use wire::Command;
use wire::errors::{self, ProxyError};

use crate::pooled::rules::evaluate_rules::{Form, RuleInput};
use crate::pooled::session::PooledSession;
use crate::pooled::session::outcome::{After, CutOff};
use backend::diagnostics::Diagnostics;
use link::client_command::Incoming;

impl PooledSession {
    /// Asks the rules about a command that says in a byte what a statement says in words. `Some`: it is refused, and
    /// the client knows.
    pub(crate) fn rule_command(&mut self, incoming: &Incoming) -> Option<After> {
        if self.worker.rule_set.borrow().compiled.rules.is_empty() {
            return None;
        }
        let text = text_of(incoming.command, &incoming.argument())?;
        let facts = sql::facts(&text, self.sql_state.session.flags());
        self.refuses_unsent(incoming.sequence, &text, &facts)
    }

    /// Refuses a command if a rule refuses, answers or rewrites the statement that it stands for.
    fn refuses_unsent(&mut self, sequence: u8, text: &[u8], facts: &Facts) -> Option<After> {
        let rule_set = self.worker.rule_set();
        let input = RuleInput {
            text,
            facts,
            digest: None,
            attributes: &[],
            sequence,
            form: Form::Text,
        };
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
            | (None, Some(By { rule, .. })) => self.say_error(sequence, &by(*rule)),
            (None, None) => return None,
        }
        Some(After::Next)
    }

    /// A command that is none of a pooled session's.
    pub(crate) async fn other_command(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let sequence = incoming.sequence;
        if !incoming.command.is_replication() {
            let error = errors::unknown_command();
            self.say_error(sequence, &error);
            Box::pin(self.put_down_only(&error)).await;
            return Ok(After::Next);
        }
        if !self.identity.account.replicates {
            self.say_error(sequence, &errors::replication_denied());
            return Ok(After::Next);
        }
        if self.has_scripts() {
            // Relayed, it would be out of their sight.
            self.say_error(sequence, &errors::replication_with_script());
            return Ok(After::Next);
        }
        let unread = Facts {
            doubts: Doubts::RELAYED,
            ..Facts::default()
        };
        match self.refuses_unsent(sequence, b"", &unread) {
            Some(after) => Ok(after),
            None => self.hand_over(incoming).await,
        }
    }

    /// An error of the proxy's own is put down as if a server had made it, in place of what was there.
    async fn put_down_only(&mut self, error: &ProxyError) {
        if let Some(empty) = self.ask_empty_list().await {
            let mut list = Diagnostics::clone(&empty);
            list.push_error(error.code, &error.text);
            self.sql_state.session.answered(Answered::Error);
            self.sql_state.aftermath.keep_list(Rc::new(list));
        }
    }
}

/// The statement that a command stands for; none for one that reads and changes nothing but its session.
fn text_of(command: Command, argument: &[u8]) -> Option<Vec<u8>> {
    let named = |words: &str, name: &[u8]| [words.as_bytes(), b" ", &quoted(name)].concat();
    Some(match command {
        Command::INIT_DB => named("USE", argument),
        Command::CREATE_DB => named("CREATE DATABASE", argument),
        Command::DROP_DB => named("DROP DATABASE", argument),
        Command::FIELD_LIST => {
            let table = argument.split(|byte| *byte == 0).next().unwrap_or_default();
            named("SHOW COLUMNS FROM", table)
        }
        Command::PROCESS_INFO => b"SHOW PROCESSLIST".to_vec(),
        Command::PROCESS_KILL => {
            let id = argument
                .first_chunk::<4>()
                .map_or(0, |id| u32::from_le_bytes(*id));
            format!("KILL {id}").into_bytes()
        }
        Command::SHUTDOWN => b"SHUTDOWN".to_vec(),
        Command::REFRESH => flush(argument.first().copied().unwrap_or_default()),
        _ => return None,
    })
}

/// The statements of a COM_REFRESH (`reload_acl_and_cache` of the servers).
fn flush(bits: u8) -> Vec<u8> {
    const STATEMENTS: [(u8, &str); 8] = [
        (0x01, "FLUSH PRIVILEGES"),
        (0x02, "FLUSH LOGS"),
        (0x04, "FLUSH TABLES"),
        (0x08, "FLUSH HOSTS"),
        (0x10, "FLUSH STATUS"),
        (0x20, "FLUSH THREADS"),
        (0x40, "RESET SLAVE"),
        (0x80, "RESET MASTER"),
    ];
    let meant = STATEMENTS.iter().filter(|(bit, _)| bits & bit != 0);
    let texts: Vec<_> = meant.map(|(_, text)| *text).collect();
    texts.join("; ").into_bytes()
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'`'];
    for byte in name {
        if *byte == b'`' {
            quoted.push(b'`');
        }
        quoted.push(*byte);
    }
    quoted.push(b'`');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_for_statements() {
        for (command, argument, text) in [
            (Command::INIT_DB, &b"a`b"[..], Some("USE `a``b`")),
            (Command::FIELD_LIST, b"t\0a%", Some("SHOW COLUMNS FROM `t`")),
            (Command::DROP_DB, b"s", Some("DROP DATABASE `s`")),
            (Command::PROCESS_KILL, &[7, 0, 0, 0], Some("KILL 7")),
            (Command::PROCESS_KILL, &[7], Some("KILL 0")),
            (
                Command::REFRESH,
                &[0x11],
                Some("FLUSH PRIVILEGES; FLUSH STATUS"),
            ),
            (Command::SHUTDOWN, b"", Some("SHUTDOWN")),
            (Command::PING, b"", None),
            (Command::STATISTICS, b"", None),
        ] {
            let made = text_of(command, argument);
            let made = made.map(|text| String::from_utf8_lossy(&text).into_owned());
            assert_eq!(made.as_deref(), text, "{command}");
        }
    }
}
