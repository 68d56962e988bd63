//! The effects of the rules on a statement, as text.

use std::fmt::Debug;

use super::actions::{Limit, Reply};
use super::injection::{Injected, Injection};
use super::judge::{By, Judgement};
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// One effect of a rule on a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleEffect {
    /// The rule's setting.
    pub setting: &'static str,
    /// The effect.
    pub text: String,
    /// The rule.
    pub rule: RuleIndex,
}

impl Judgement<'_> {
    /// Returns all effects, in the order of the settings.
    pub fn effects(&self) -> Vec<RuleEffect> {
        let log = self.log.map(|rule| RuleEffect {
            setting: "log",
            text: "the statement is logged".to_owned(),
            rule,
        });
        let profile = self.profile.map(|rule| RuleEffect {
            setting: "profile",
            text: "the statement is profiled".to_owned(),
            rule,
        });
        let all = [
            effect("cluster", self.route.cluster, str::to_owned),
            effect("role", self.route.role, |role| role.name().to_owned()),
            effect("backend", self.route.backend, str::to_owned),
            effect("rewrite", self.rewritten.as_ref().map(borrowed), |it| {
                String::from_utf8_lossy(&it.text).into_owned()
            }),
            effect("answer", self.reply.as_ref().map(borrowed), shown_reply),
            effect("timeout", self.timeout, debugged),
            effect("delay", self.delay, debugged),
            effect("rate", self.limit, |it| shown_limit(it.limit)),
            effect("mirror", self.mirror, str::to_owned),
            effect("before", self.sent_besides(|it| &it.before), shown_injected),
            effect("after", self.sent_besides(|it| &it.after), shown_injected),
            effect("injected", self.injection, |it| {
                it.results.name().to_owned()
            }),
            profile,
            effect("retry", self.retry, |times| times.to_string()),
            log,
            effect("set_tag", self.set_tag, str::to_owned),
            effect("session", self.session.mode, |mode| mode.name().to_owned()),
            effect("pin", self.session.pin, |pins| {
                let names: Vec<_> = pins.iter().map(|pin| pin.name()).collect();
                names.join(", ")
            }),
            effect("lanes", self.route.lanes, |it| it.name().to_owned()),
            effect("consistency", self.route.consistency, |it| {
                it.name().to_owned()
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns the statements that are injected on one side of the statement; none if there are none.
    fn sent_besides(
        &self,
        side: impl Fn(&Injection) -> &Box<[Injected]>,
    ) -> Option<By<&[Injected]>> {
        let by = self.injection?;
        let value = &**side(by.value);
        (!value.is_empty()).then_some(By {
            value,
            rule: by.rule,
        })
    }
}

impl Rules {
    /// Returns a rule's name; empty if there is no such rule.
    pub fn name(&self, rule: RuleIndex) -> &str {
        self.rule(rule).map_or("", |rule| &rule.name)
    }
}

fn effect<T>(
    setting: &'static str,
    by: Option<By<T>>,
    shown: impl Fn(T) -> String,
) -> Option<RuleEffect> {
    by.map(|by| RuleEffect {
        setting,
        text: shown(by.value),
        rule: by.rule,
    })
}

fn borrowed<T>(by: &By<T>) -> By<&T> {
    By {
        value: &by.value,
        rule: by.rule,
    }
}

fn debugged(value: impl Debug) -> String {
    format!("{value:?}")
}

fn shown_reply(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Ok => "OK".to_owned(),
        Reply::Rows { columns, rows } => {
            let noun = if rows.len() == 1 { "row" } else { "rows" };
            format!("{} {noun} of {}", rows.len(), columns.join(", "))
        }
        Reply::Error {
            code,
            sqlstate,
            message,
        } => {
            let sqlstate = String::from_utf8_lossy(sqlstate);
            format!("error {code} ({sqlstate}): {message}")
        }
    }
}

fn shown_injected(all: &[Injected]) -> String {
    let texts: Vec<_> = all.iter().map(|it| &*it.text).collect();
    texts.join("; ")
}

fn shown_limit(limit: &Limit) -> String {
    let rate = limit
        .rate
        .map(|rate| format!("{rate} a second, {} at once", limit.burst));
    let concurrency = limit
        .concurrency
        .map(|count| format!("{count} at the same time"));
    let counts: Vec<_> = rate.into_iter().chain(concurrency).collect();
    format!(
        "{}; by {}; {}",
        counts.join("; "),
        limit.by.name(),
        match limit.on_limit {
            config::OnLimit::Queue => format!("others wait for {:?}", limit.timeout),
            config::OnLimit::Refuse => "others are refused".to_owned(),
        }
    )
}
