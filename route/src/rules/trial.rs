//! The tests that rules carry in the configuration.

use config::{Config, Expect, RuleTestConfig};
use sql::{Analysis, Flags};

use super::counters::Counters;
use super::fault::{Fault, Spot};
use super::judge::{By, Judgement};
use super::occasion::{Attribute, Chance, Client, LocalTime, Occasion};
use super::record::Record;
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

impl Rules {
    /// Runs the tests of every rule in the configuration from which these rules were compiled. Returns the
    /// tests that fail.
    pub fn run_tests(&self, config: &Config) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut first = 0;
        for (rule, place) in config.rules.iter().zip(0..) {
            for (index, test) in rule.tests.iter().enumerate() {
                let trial = Trial {
                    rules: self,
                    rule: RuleIndex(place),
                    test,
                };
                faults.extend(trial.run().into_iter().map(|(setting, text)| Fault {
                    spot: Spot::Test(first + index),
                    setting,
                    text,
                    hint: None,
                }));
            }
            first += rule.tests.len();
        }
        faults
    }
}

/// One test of one rule.
struct Trial<'a> {
    rules: &'a Rules,
    rule: RuleIndex,
    test: &'a RuleTestConfig,
}

impl Trial<'_> {
    /// Returns the differences from the expected result, by setting.
    fn run(&self) -> Vec<(&'static str, String)> {
        let text = self.test.statement.as_bytes();
        let mut analysis = Analysis::default();
        analysis.read(text, Flags::default());
        let attributes: Vec<_> = self.test.tag.iter().map(|tag| attribute(tag)).collect();
        let occasion = Occasion {
            text,
            flags: Flags::default(),
            facts: &analysis.facts,
            digest: Some(&analysis.digest),
            digest_hash: None,
            client: self.client(),
            attributes: &attributes,
            prepared: &(),
            time: LocalTime {
                day: self.test.day,
                time: self.test.time,
            },
            chance: Chance::For(self.rule),
        };
        let mut record = Record::default();
        let judgement = self
            .rules
            .judge(&occasion, &Counters::default(), &mut record);
        let mut failures = Vec::new();
        failures.extend(self.unexpected_match(&record));
        failures.extend(self.unexpected_rewriting(&judgement));
        failures.extend(self.unexpected_places(&judgement));
        failures
    }

    fn client(&self) -> Client<'_> {
        let test = self.test;
        Client {
            user: test.user.as_deref().unwrap_or_default().as_bytes(),
            schema: test.schema.as_deref().unwrap_or_default().as_bytes(),
            address: test.client,
            listener: test.listener.as_ref(),
        }
    }

    fn unexpected_match(&self, record: &Record) -> Option<(&'static str, String)> {
        let own = record.rules.iter().find(|seen| seen.rule == self.rule);
        let text = match (own.map(|seen| seen.failed), self.test.expect) {
            (Some(None), Expect::Match) | (Some(Some(_)) | None, Expect::Pass) => return None,
            (Some(None), Expect::Pass) => "is taken by the rule, and was not to be".to_owned(),
            (Some(Some(failed)), Expect::Match) => {
                format!("is not taken by the rule: its {failed} does not match")
            }
            (None, Expect::Match) => {
                let by = record.rules.last().map_or("", |seen| seen.name.as_str());
                format!("does not come to the rule: \"{by}\" before it takes it")
            }
        };
        Some(("statement", text))
    }

    fn unexpected_rewriting(&self, judgement: &Judgement<'_>) -> Option<(&'static str, String)> {
        let expected = self.test.rewritten.as_deref()?;
        let became = judgement
            .rewritten
            .as_ref()
            .map(|by| String::from_utf8_lossy(&by.value.text));
        let text = match became {
            Some(became) if became == expected => return None,
            Some(became) => format!("becomes \"{became}\""),
            None => "is not rewritten".to_owned(),
        };
        Some(("rewritten", text))
    }

    fn unexpected_places(&self, judgement: &Judgement<'_>) -> Vec<(&'static str, String)> {
        let test = self.test;
        let cluster = value_of(judgement.route.cluster);
        let role = judgement.route.role.map(|by| by.value.name());
        let backend = value_of(judgement.route.backend);
        let pairs = [
            ("cluster", test.cluster.as_deref(), cluster),
            ("role", test.role.map(config::ReplicaUse::name), role),
            ("backend", test.backend.as_deref(), backend),
        ];
        let others = pairs
            .into_iter()
            .filter(|(_, expected, told)| expected.is_some() && expected != told);
        let failures = others.map(|(setting, _, told)| match told {
            Some(told) => (setting, format!("the rules say \"{told}\"")),
            None => (setting, "the rules say nothing of it".to_owned()),
        });
        failures.collect()
    }
}

fn value_of(by: Option<By<&str>>) -> Option<&str> {
    by.map(|by| by.value)
}

fn attribute(tag: &str) -> Attribute<'_> {
    let (name, value) = tag.split_once('=').unwrap_or(("tag", tag));
    Attribute {
        name: name.as_bytes(),
        value: value.as_bytes(),
    }
}
