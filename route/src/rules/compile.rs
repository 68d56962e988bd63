//! Compiles the configured rules, or reports every fault in them.

use std::borrow::Cow;
use std::sync::Arc;

use config::{AnswerForm, Config, RuleConfig, WhenUnsure};
use sql::{Digest, TrustedFunctions};

use super::actions::{Actions, Limit, Reply, RuleRoute};
use super::condition::Condition;
use super::digest_entry::{DigestEntry, read_digest};
use super::fault::Fault;
use super::hints::HintRules;
use super::index::Index;
use super::injection::Injection;
use super::kinds::{self, Kinds};
use super::names::{Case, Names};
use super::pattern::Pattern;
use super::profiling::Profiling;
use super::rewrite::Rewrite;
use super::rule::{Rule, Then};
use super::rule_list::Rules;
use super::shadow;
use super::tables::Tables;

/// Rules without a fault.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The rules.
    pub rules: Rules,
    /// The meaning of hints.
    pub hints: HintRules,
    /// Which statements are profiled, and how.
    pub profiling: Profiling,
    /// Stored functions that only read.
    pub functions: TrustedFunctions,
    /// Valid rules that are probably mistakes: they never match, or another rule always comes first.
    pub warnings: Vec<Fault>,
}

impl Rules {
    /// Compiles the rules and hints of a configuration.
    ///
    /// # Errors
    /// All faults of the rules, hints and profiling settings.
    pub fn compile(config: &Config) -> Result<Compiled, Vec<Fault>> {
        let mut rules = Vec::with_capacity(config.rules.len());
        let mut faults = Vec::new();
        let mut warnings = Vec::new();
        for (index, rule) in config.rules.iter().enumerate() {
            let mut making = Making {
                index,
                config: rule,
                faults: Vec::new(),
            };
            let made = making.rule();
            match making.faults.is_empty() {
                true => warnings.extend(shadow::never(index, rule, &made)),
                false => faults.append(&mut making.faults),
            }
            rules.push(made);
        }
        let hints = HintRules::new(&config.hints).unwrap_or_else(|found| {
            faults.extend(found);
            HintRules::default()
        });
        let profiling = Profiling::of(config, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        warnings.extend(shadow::shadowed(&rules));
        let index = Index::new(&rules);
        let functions = &config.balance.functions_that_read;
        Ok(Compiled {
            rules: Self { rules, index },
            hints,
            profiling,
            functions: functions.iter().map(String::as_str).collect(),
            warnings,
        })
    }
}

/// FNV-1a in 64 bits: a name has the same hash in every process.
pub(crate) fn seed(name: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    name.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A rule that is being compiled.
struct Making<'a> {
    index: usize,
    config: &'a RuleConfig,
    faults: Vec<Fault>,
}

impl Making<'_> {
    fn rule(&mut self) -> Rule {
        let config = self.config;
        let regex = self.pattern("regex", config.regex.as_deref());
        let conditions = self.conditions(regex.as_ref());
        let actions = Actions {
            route: RuleRoute {
                cluster: config.routing.cluster.clone(),
                role: config.routing.replicas,
                backend: config.backend.clone(),
                lanes: config.routing.lanes,
                consistency: config.routing.consistency,
            },
            rewrite: self.rewrite(regex.as_ref()),
            reply: reply(config),
            timeout: config.timeout,
            delay: config.delay,
            limit: limit(config),
            mirror: config.mirror.clone(),
            injection: Injection::of(self.index, config, &mut self.faults).map(Arc::new),
            profile: config.profile,
            retry: config.retry,
            log: config.log,
            set_tag: config.set_tag.clone(),
            session: config.routing.session,
            pin: config.pin.clone(),
        };
        let is_boundary = actions.reply.is_some() || config.rewrite.is_some();
        Rule {
            name: config.name.as_str().into(),
            conditions: conditions.into(),
            when_unsure: config.when_unsure.unwrap_or(match is_boundary {
                true => WhenUnsure::Refuse,
                false => WhenUnsure::Pass,
            }),
            actions,
            then: match (config.dry_run, config.stop) {
                (true, _) => Then::DryRun,
                (false, true) => Then::Stop,
                (false, false) => Then::Continue,
            },
            seed: seed(config.name.as_bytes()),
        }
    }

    fn fault(&mut self, setting: &'static str, text: impl Into<String>) {
        self.faults.push(Fault::rule(self.index, setting, text));
    }

    /// Returns the rule's conditions, the cheapest first.
    fn conditions(&mut self, regex: Option<&Pattern>) -> Vec<Condition> {
        let config = self.config;
        let mut conditions = Vec::new();
        conditions.extend(self.kinds().map(Condition::Kind));
        conditions.extend(self.digests().map(Condition::Digest));
        let users = names(&config.user, Case::Kept);
        conditions.extend(users.map(Condition::User));
        let schemas = names(&config.schema, Case::Folded);
        conditions.extend(schemas.map(Condition::Schema));
        if !config.listener.is_empty() {
            conditions.push(Condition::Listener(config.listener.clone().into()));
        }
        if !config.networks.is_empty() {
            conditions.push(Condition::Networks(config.networks.clone().into()));
        }
        if config.time.is_some() || !config.days.is_empty() {
            conditions.push(Condition::Time(config.time, config.days.clone().into()));
        }
        if let Some(percentage) = config.percentage {
            let below = (percentage < 100.0).then(|| throws_below(percentage));
            conditions.push(Condition::Percentage(below, config.percentage_of));
        }
        if !config.tables.is_empty() {
            conditions.push(Condition::Tables(Tables::new(&config.tables)));
        }
        let tags = names(&config.tag, Case::Kept);
        conditions.extend(tags.map(Condition::Tag));
        let digest_regex = self.pattern("digest_regex", config.digest_regex.as_deref());
        conditions.extend(digest_regex.map(Condition::DigestRegex));
        conditions.extend(regex.cloned().map(Condition::Regex));
        conditions
    }

    fn kinds(&mut self) -> Option<Kinds> {
        let entries = &self.config.kind;
        if entries.is_empty() {
            return None;
        }
        match Kinds::read(entries) {
            Ok(kinds) => Some(kinds),
            Err(entry) => {
                let text = format!("\"{entry}\" is no kind of statement");
                let fault = Fault::rule(self.index, "kind", text);
                self.faults.push(fault.hint(kinds_hint(entry)));
                None
            }
        }
    }

    /// Returns the sorted hashes of all entries. If an entry is a digest's text, reading it as a statement may give
    /// another digest, because `...` is no SQL. So each text entry adds the hash of its own text as well.
    fn digests(&mut self) -> Option<Box<[u64]>> {
        let config = self.config;
        let mut hashes = Vec::new();
        for entry in &config.digest {
            match read_digest(entry) {
                Ok(DigestEntry::Hash(hash)) => hashes.push(hash),
                Ok(DigestEntry::Text(digest)) => {
                    hashes.push(Digest::of_text(entry.trim().as_bytes()).hash());
                    hashes.push(digest.hash());
                }
                Err(text) => self.fault("digest", text),
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        (!hashes.is_empty()).then(|| hashes.into())
    }

    fn pattern(&mut self, setting: &'static str, source: Option<&str>) -> Option<Pattern> {
        match Pattern::new(source?) {
            Ok(pattern) => Some(pattern),
            Err(text) => {
                self.fault(setting, text);
                None
            }
        }
    }

    fn rewrite(&mut self, regex: Option<&Pattern>) -> Option<Rewrite> {
        let template = self.config.rewrite.as_deref()?;
        if regex.is_none() && self.config.regex.is_some() {
            return None;
        }
        if regex.is_none() && self.config.digest.is_empty() {
            let fault = Fault::rule(self.index, "rewrite", "needs rule.regex or rule.digest");
            let hint = "regex = \"(?s)^.*$\" is the whole of any statement";
            self.faults.push(fault.hint(hint));
            return None;
        }
        match Rewrite::new(template, regex) {
            Ok(rewrite) => Some(rewrite),
            Err(text) => {
                self.fault("rewrite", text);
                None
            }
        }
    }
}

fn names(entries: &[String], case: Case) -> Option<Names> {
    (!entries.is_empty()).then(|| Names::new(entries, case))
}

/// Converts a percentage to a bound: that share of all 64-bit numbers is below it.
fn throws_below(percentage: f64) -> u64 {
    (percentage / 100.0 * u64::MAX as f64) as u64
}

fn kinds_hint(entry: &str) -> String {
    let first = entry.split_ascii_whitespace().next().unwrap_or_default();
    let like: Vec<_> = kinds::words()
        .filter(|words| {
            words
                .split(' ')
                .next()
                .is_some_and(|it| it.eq_ignore_ascii_case(first))
        })
        .collect();
    match like.is_empty() {
        true => "such as \"SELECT\", \"INSERT\", \"CREATE TABLE\", \"SHOW\"".to_owned(),
        false => format!("there are {}", like.join(", ")),
    }
}

fn reply(config: &RuleConfig) -> Option<Reply<'static>> {
    const ACCESS_DENIED: u16 = 1227;
    const UNKNOWN: u16 = 1105;
    if let Some(message) = &config.refuse {
        return Some(Reply::Error {
            code: ACCESS_DENIED,
            sqlstate: *b"42000",
            message: Cow::Owned(message.0.clone()),
        });
    }
    Some(match config.answer? {
        AnswerForm::Ok => Reply::Ok,
        AnswerForm::Rows => Reply::Rows {
            columns: Cow::Owned(config.answer_columns.clone()),
            rows: Cow::Owned(config.answer_rows.clone()),
        },
        AnswerForm::Error => Reply::Error {
            code: config.answer_error.unwrap_or(UNKNOWN),
            sqlstate: sqlstate(config),
            message: Cow::Owned(config.answer_message.clone().unwrap_or_default().0),
        },
    })
}

fn sqlstate(config: &RuleConfig) -> [u8; 5] {
    let given = config.answer_sqlstate.as_deref().map(str::as_bytes);
    given.and_then(|it| it.try_into().ok()).unwrap_or(*b"HY000")
}

fn limit(config: &RuleConfig) -> Option<Limit> {
    if config.rate.is_none() && config.concurrency.is_none() {
        return None;
    }
    let a_second_of = |rate: f64| rate.ceil().max(1.0) as u32;
    Some(Limit {
        rate: config.rate,
        burst: config.burst.or(config.rate.map(a_second_of)).unwrap_or(1),
        concurrency: config.concurrency,
        by: config.rate_by,
        on_limit: config.on_limit,
        timeout: config.timeout_queue,
    })
}
