//! A statement that is asked about, and who sends it.

use config::{Config, RuleTestConfig};
use route::rules::{Attribute, Chance, Client, LocalTime, Occasion, RuleIndex};
use sql::{Analysis, Flags, TrustedFunctions};

use crate::arguments::AskerArguments;

/// The statement to explain, and everything about its session that rules may look at.
#[derive(Debug, Clone)]
pub struct ExplainedStatement {
    /// The statement.
    pub text: String,
    /// Who sends it, and when.
    pub asker: AskerArguments,
    /// The rule whose percentage it meets; it meets none of other rules.
    pub lucky: RuleIndex,
}

impl ExplainedStatement {
    /// Of the command line's statement.
    pub fn of(statement: &str, asker: &AskerArguments) -> Self {
        Self {
            text: statement.to_owned(),
            asker: asker.clone(),
            lucky: RuleIndex(u32::MAX),
        }
    }

    /// Of a test of the rule at this place.
    pub fn of_test(test: &RuleTestConfig, rule: u32) -> Self {
        let asker = AskerArguments {
            user: test.user.clone(),
            schema: test.schema.clone(),
            client: test.client,
            listener: test.listener.clone(),
            tag: test.tag.clone(),
            time: test.time,
            day: test.day,
        };
        Self {
            text: test.statement.to_string(),
            asker,
            lucky: RuleIndex(rule),
        }
    }

    /// Asks something about it as rules are asked, where these functions only read.
    pub fn as_occasion<T>(
        &self,
        functions: &TrustedFunctions,
        ask: impl FnOnce(&Occasion<'_>, &Analysis) -> T,
    ) -> T {
        let text = self.text.as_bytes();
        let mut analysis = Analysis::default();
        analysis.read(text, Flags::default());
        analysis.facts.trust(text, functions);
        let attributes: Vec<_> = self.asker.tag.iter().map(|tag| attribute(tag)).collect();
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
                day: self.asker.day,
                time: self.asker.time,
            },
            chance: Chance::For(self.lucky),
        };
        ask(&occasion, &analysis)
    }

    fn client(&self) -> Client<'_> {
        Client {
            user: self.asker.user.as_deref().unwrap_or_default().as_bytes(),
            schema: self.asker.schema.as_deref().unwrap_or_default().as_bytes(),
            address: self.asker.client,
            listener: self.asker.listener.as_ref(),
        }
    }

    /// The account that its user has, where that is configured: the first of the name.
    pub fn account<'c>(&self, config: &'c Config) -> Option<&'c config::AccountConfig> {
        let user = self.asker.user.as_ref()?;
        let mut accounts = config.configured_accounts.iter();
        accounts.find(|account| account.user == *user)
    }

    /// The listener that it has come to, where that is configured for itself.
    pub fn listener<'c>(&self, config: &'c Config) -> Option<&'c config::ListenerConfig> {
        let address = self.asker.listener.as_ref()?;
        let mut listeners = config.listeners.iter();
        listeners.find(|listener| listener.address == *address)
    }
}

fn attribute(tag: &str) -> Attribute<'_> {
    let (name, value) = tag.split_once('=').unwrap_or(("tag", tag));
    Attribute {
        name: name.as_bytes(),
        value: value.as_bytes(),
    }
}
