//! A statement to explain, and its sender.

use config::{Config, RuleTestConfig};
use route::rules::{Attribute, Chance, Client, LocalTime, Occasion, RuleIndex};
use sql::{Analysis, Flags, TrustedFunctions};

use crate::arguments::AskerArguments;

/// The statement to explain, and everything about its session that rules may look at.
#[derive(Debug, Clone)]
pub struct ExplainedStatement {
    /// The statement.
    pub text: String,
    /// The sender, and the time.
    pub asker: AskerArguments,
    /// The rule whose percentage the statement falls into; for other rules it does not.
    pub lucky: RuleIndex,
}

impl ExplainedStatement {
    /// A statement of the command line.
    pub fn of(statement: &str, asker: &AskerArguments) -> Self {
        Self {
            text: statement.to_owned(),
            asker: asker.clone(),
            lucky: RuleIndex(u32::MAX),
        }
    }

    /// The statement of a test of the rule at this index.
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

    /// Calls `ask` with the statement in the form that rules see; these functions count as reading only.
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

    /// The first configured account with the statement's user name, if there is one.
    pub fn account<'c>(&self, config: &'c Config) -> Option<&'c config::AccountConfig> {
        let user = self.asker.user.as_ref()?;
        let mut accounts = config.configured_accounts.iter();
        accounts.find(|account| account.user == *user)
    }

    /// The configured listener at the statement's address, if there is one.
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
