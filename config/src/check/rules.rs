//! Checks of rules: unique names, existing backends and listeners, complete answers. Checks that need a
//! lexer or a regular expression are in `route`, which compiles the rules.

use std::collections::HashSet;

use crate::load::written::Written;
use crate::nearest::did_you_mean;
use crate::nearest::nearest;
use crate::setting::{RULE, RULE_TEST};
use crate::{
    AnswerForm, BackendConfig, Config, Fault, InjectedResults, ListenAddress, ReplicaUse, Role,
    RuleConfig, RuleTestConfig,
};

/// Adds every fault of the rules and their tests.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let mut names = HashSet::new();
    let mut first_test = 0;
    for (index, rule) in config.rules.iter().enumerate() {
        let look = RuleCheck {
            config,
            written,
            index,
            rule,
        };
        faults.extend(look.faults());
        if !rule.name.is_empty() && !names.insert(&rule.name) {
            let text = format!("\"{}\" is given twice", rule.name);
            faults.push(look.fault("name", text));
        }
        for (index, test) in rule.tests.iter().enumerate() {
            faults.extend(strange_test(config, written, first_test + index, test));
        }
        first_test += rule.tests.len();
    }
}

/// The check of one rule.
struct RuleCheck<'a> {
    config: &'a Config,
    written: &'a Written,
    index: usize,
    rule: &'a RuleConfig,
}

impl RuleCheck<'_> {
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(self.nameless());
        faults.extend(self.empty_entries());
        faults.extend(self.strange_listener());
        faults.extend(self.strange_backend());
        faults.extend(self.mirror_of_itself());
        faults.extend(self.two_ends());
        faults.extend(self.useless_beside_an_end());
        faults.extend(self.parts_of_another_answer());
        faults.extend(self.answer_in_parts());
        faults.extend(self.limits_without_one());
        faults.extend(self.nothing_injected());
        faults.extend(self.nothing_to_compare());
        faults.extend(self.profiled_otherwise());
        faults
    }

    fn fault(&self, key: &str, text: impl Into<String>) -> Fault {
        self.written.fault(&self.key(key), text)
    }

    fn key(&self, key: &str) -> String {
        Written::of(RULE.name, self.index, key)
    }

    fn is_written(&self, key: &str) -> bool {
        self.written.has(&self.key(key))
    }

    fn nameless(&self) -> Option<Fault> {
        let fault = || self.fault("name", "must name the rule");
        self.rule.name.is_empty().then(fault)
    }

    fn empty_entries(&self) -> Vec<Fault> {
        let rule = self.rule;
        let lists = [
            ("user", &rule.user),
            ("schema", &rule.schema),
            ("kind", &rule.kind),
            ("tables", &rule.tables),
            ("tag", &rule.tag),
        ];
        let is_empty = |entry: &String| matches!(entry.trim(), "" | "!");
        let empty = lists.iter().filter(|(_, list)| list.iter().any(is_empty));
        let empty = empty.map(|(key, _)| self.fault(key, "has an entry that is empty"));
        let mut faults: Vec<_> = empty.collect();
        if rule.digest.iter().any(|it| it.trim().is_empty()) {
            faults.push(self.fault("digest", "has an entry that is empty"));
        }
        faults
    }

    fn strange_listener(&self) -> Vec<Fault> {
        let strange = self.rule.listener.iter();
        let strange = strange.filter(|it| !listeners(self.config).any(|other| other == *it));
        let strange = strange.map(|it| self.fault("listener", no_listener(self.config, it)));
        strange.collect()
    }

    fn strange_backend(&self) -> Option<Fault> {
        let name = self.rule.backend.as_deref()?;
        let Some(backend) = backend(self.config, name) else {
            let fault = self.fault("backend", format!("there is no backend \"{name}\""));
            return Some(hinted(fault, nearest(name, names(self.config))));
        };
        let cluster = self.rule.routing.cluster.as_ref();
        if let Some(other) = cluster.filter(|it| **it != backend.cluster) {
            let text = format!(
                "is \"{other}\", but the backend \"{name}\" is in cluster \"{}\"",
                backend.cluster
            );
            return Some(self.fault("routing.cluster", text));
        }
        let role = self
            .rule
            .routing
            .replicas
            .filter(|role| !may_be(*role, backend.role))?;
        let text = format!(
            "is \"{role}\", but the backend \"{name}\" is a {}",
            backend.role
        );
        Some(self.fault("routing.replicas", text))
    }

    fn mirror_of_itself(&self) -> Option<Fault> {
        let mirror = self.rule.mirror.as_ref()?;
        let is_same = self.rule.routing.cluster.as_ref() == Some(mirror);
        let fault = || {
            self.fault(
                "mirror",
                format!("\"{mirror}\" is where the statement goes anyway"),
            )
        };
        is_same.then(fault)
    }

    /// The fault that a rule both answers and refuses a statement.
    fn two_ends(&self) -> Option<Fault> {
        let both = self.rule.answer.is_some() && self.rule.refuse.is_some();
        let fault = || self.fault("refuse", "stands beside rule.answer");
        both.then(|| fault().hint("give one of the two"))
    }

    fn useless_beside_an_end(&self) -> Option<Fault> {
        let end = match (self.rule.answer, &self.rule.refuse) {
            (Some(_), _) => "answer",
            (None, Some(_)) => "refuse",
            (None, None) => return None,
        };
        let rule = self.rule;
        let useless = [
            ("rewrite", rule.rewrite.is_some()),
            ("routing.cluster", rule.routing.cluster.is_some()),
            ("routing.replicas", rule.routing.replicas.is_some()),
            ("backend", rule.backend.is_some()),
            ("mirror", rule.mirror.is_some()),
            ("profile", rule.profile),
            ("timeout", rule.timeout.is_some()),
            ("retry", rule.retry.is_some()),
            ("routing.consistency", rule.routing.consistency.is_some()),
            ("routing.lanes", rule.routing.lanes.is_some()),
            ("before", !rule.before.is_empty()),
            ("after", !rule.after.is_empty()),
        ];
        let (key, _) = useless.into_iter().find(|(_, is_given)| *is_given)?;
        let text = format!("is of no use beside rule.{end}, which asks no backend");
        Some(self.fault(key, text))
    }

    fn parts_of_another_answer(&self) -> Option<Fault> {
        let rule = self.rule;
        let parts = [
            (
                "answer_columns",
                AnswerForm::Rows,
                !rule.answer_columns.is_empty(),
            ),
            (
                "answer_rows",
                AnswerForm::Rows,
                !rule.answer_rows.is_empty(),
            ),
            (
                "answer_error",
                AnswerForm::Error,
                rule.answer_error.is_some(),
            ),
            (
                "answer_sqlstate",
                AnswerForm::Error,
                rule.answer_sqlstate.is_some(),
            ),
            (
                "answer_message",
                AnswerForm::Error,
                rule.answer_message.is_some(),
            ),
        ];
        let is_lost =
            |(_, form, is_given): &(_, AnswerForm, bool)| *is_given && rule.answer != Some(*form);
        let (key, form, _) = parts.into_iter().find(is_lost)?;
        Some(self.fault(
            key,
            format!("is of no use without rule.answer = \"{form}\""),
        ))
    }

    fn answer_in_parts(&self) -> Option<Fault> {
        let rule = self.rule;
        match rule.answer? {
            AnswerForm::Ok => None,
            AnswerForm::Rows if rule.answer_columns.is_empty() => {
                let fault = self.fault("answer", "\"rows\" needs rule.answer_columns");
                Some(fault.hint("answer_columns = [\"a\"], and answer_rows = [[\"1\"]] for a row"))
            }
            AnswerForm::Rows => {
                let width = rule.answer_columns.len();
                let (row, cells) = rule
                    .answer_rows
                    .iter()
                    .enumerate()
                    .find(|(_, row)| row.len() != width)?;
                let text = format!(
                    "row {} has {} values for {width} columns",
                    row + 1,
                    cells.len()
                );
                Some(self.fault("answer_rows", text))
            }
            AnswerForm::Error if rule.answer_message.is_none() => {
                Some(self.fault("answer", "\"error\" needs rule.answer_message"))
            }
            AnswerForm::Error => {
                let state = rule.answer_sqlstate.as_deref()?;
                let is_letter = |it: u8| it.is_ascii_digit() || it.is_ascii_uppercase();
                let is_state = state.len() == 5 && state.bytes().all(is_letter);
                let text = format!("\"{state}\" is no SQLSTATE of an error");
                let fault = || {
                    self.fault("answer_sqlstate", text)
                        .hint("five digits and capital letters, such as \"HY000\" or \"42000\"")
                };
                (!is_state || state.starts_with("00")).then(fault)
            }
        }
    }

    fn limits_without_one(&self) -> Option<Fault> {
        let rule = self.rule;
        if rule.rate == Some(0.0) {
            let fault = self.fault("rate", "must be more than 0");
            return Some(fault.hint("rule.refuse lets nothing through"));
        }
        if rule.burst.is_some() && rule.rate.is_none() {
            return Some(self.fault("burst", "is of no use without rule.rate"));
        }
        if rule.rate.is_some() || rule.concurrency.is_some() {
            return None;
        }
        let keys = ["rate_by", "on_limit", "timeout_queue"];
        let key = keys.into_iter().find(|key| self.is_written(key))?;
        Some(self.fault(key, "is of no use without rule.rate or rule.concurrency"))
    }

    fn nothing_injected(&self) -> Option<Fault> {
        if !self.rule.before.is_empty() || !self.rule.after.is_empty() {
            return None;
        }
        let keys = ["injected", "timeout_injected", "injected_bytes_max"];
        let key = keys.into_iter().find(|key| self.is_written(key))?;
        Some(self.fault(key, "is of no use without rule.before or rule.after"))
    }

    fn profiled_otherwise(&self) -> Option<Fault> {
        let rule = self.rule;
        let sends = !rule.before.is_empty() || !rule.after.is_empty();
        (rule.profile && sends).then(|| {
            let text = "sends statements of its own; a rule with rule.before or rule.after cannot";
            self.fault("profile", text)
        })
    }

    fn nothing_to_compare(&self) -> Option<Fault> {
        let rule = self.rule;
        let is_diff = rule.injected == InjectedResults::Diff;
        let has_pair = rule.before.iter().any(|it| rule.after.contains(it));
        let is_alone = is_diff && !has_pair && (!rule.before.is_empty() || !rule.after.is_empty());
        let fault = || {
            let text = "\"diff\" needs a statement that stands in rule.before and in rule.after";
            self.fault("injected", text)
        };
        is_alone.then(|| fault().hint("before = [\"SHOW SESSION STATUS\"], and the same after"))
    }
}

fn strange_test(
    config: &Config,
    written: &Written,
    index: usize,
    test: &RuleTestConfig,
) -> Option<Fault> {
    let fault =
        |key: &str, text: String| written.fault(&Written::of(RULE_TEST.name, index, key), text);
    if let Some(name) = &test.backend
        && backend(config, name).is_none()
    {
        let fault = fault("backend", format!("there is no backend \"{name}\""));
        return Some(hinted(fault, nearest(name, names(config))));
    }
    let address = test.listener.as_ref()?;
    let is_there = listeners(config).any(|it| it == address);
    (!is_there).then(|| fault("listener", no_listener(config, address)))
}

/// Whether a backend with this configured role may be among the wanted backends.
fn may_be(wanted: ReplicaUse, role: Role) -> bool {
    match wanted {
        ReplicaUse::Primary => role != Role::Replica,
        ReplicaUse::Replica => role != Role::Primary,
        ReplicaUse::Any | ReplicaUse::Split => true,
    }
}

fn backend<'a>(config: &'a Config, name: &str) -> Option<&'a BackendConfig> {
    config.backends.iter().find(|it| it.name == name)
}

fn names(config: &Config) -> impl Iterator<Item = &str> {
    config.backends.iter().map(|it| it.name.as_str())
}

fn listeners(config: &Config) -> impl Iterator<Item = &ListenAddress> {
    let of_list = config.listeners.iter().map(|it| &it.address);
    config.listen.iter().chain(of_list)
}

fn no_listener(config: &Config, address: &ListenAddress) -> String {
    let known: Vec<_> = listeners(config).map(ToString::to_string).collect();
    format!("nobody listens at {address}, only at {}", known.join(", "))
}

fn hinted(fault: Fault, meant: Option<&str>) -> Fault {
    match meant {
        Some(meant) => fault.hint(did_you_mean(meant)),
        None => fault,
    }
}
