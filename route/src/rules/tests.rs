//! Rules of a configuration file, evaluated for statements: conditions, actions, combinations of
//! rules, and faults.
#![allow(clippy::unwrap_used, clippy::panic)]

mod actions;
mod boundaries;
mod faults;
mod matches;
mod properties;
mod together;

use std::net::IpAddr;

use config::{Config, Day, ListenAddress, Loaded};
use sql::{Analysis, Flags};

use super::*;

/// Reads a configuration with these rules, and a primary `db1` and a replica `db2`.
fn load(rules: &str) -> Loaded {
    let text = format!(
        "listen = [\":4050\", \"/run/p.sock\"]\n{rules}\n\
         [[backend]]\nname = \"db1\"\naddress = \"db1\"\n\
         [[backend]]\nname = \"db2\"\naddress = \"db2\"\nrole = \"replica\"\n\
         [[backend]]\nname = \"a1\"\naddress = \"a1\"\ncluster = \"archive\"\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.toml");
    std::fs::write(&path, text).unwrap();
    Config::load(Some(&path), &[]).unwrap()
}

fn compile(rules: &str) -> Compiled {
    Rules::compile(&load(rules).config).unwrap()
}

/// Every fault with its line; every warning if there is no fault.
fn faults_or_warnings(rules: &str) -> Vec<String> {
    let loaded = load(rules);
    let faults = match Rules::compile(&loaded.config) {
        Ok(compiled) => compiled.warnings,
        Err(faults) => faults,
    };
    let placed = faults.iter().map(|fault| fault.placed(&loaded.written));
    placed
        .map(|fault| {
            let text = fault.to_string();
            text.split_once("pilotfish.toml:").unwrap().1.to_owned()
        })
        .collect()
}

/// A statement and the facts about its session that a test may set.
#[derive(Clone)]
struct Case<'a> {
    text: &'a [u8],
    user: &'a str,
    schema: &'a str,
    address: Option<IpAddr>,
    listener: Option<ListenAddress>,
    attributes: Vec<(&'a str, &'a str)>,
    time: LocalTime,
    chance: Chance,
    flags: Flags,
    prepared: &'a dyn sql::PreparedTexts,
}

impl<'a> Case<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            user: "app",
            schema: "shop",
            address: Some("10.0.0.7".parse().unwrap()),
            listener: Some(":4050".parse().unwrap()),
            attributes: Vec::new(),
            time: LocalTime {
                day: Day::Monday,
                time: config::TimeOfDay::NOON,
            },
            chance: Chance::Thrown {
                session: 1,
                statement: 2,
            },
            flags: Flags::default(),
            prepared: &(),
        }
    }

    /// Evaluates the rules and gives their judgement to `see`.
    fn ask<T>(
        &self,
        rules: &Rules,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
        see: impl FnOnce(&Judgement<'_>) -> T,
    ) -> T {
        let mut analysis = Analysis::default();
        analysis.read(self.text, self.flags);
        let attributes = self.attributes.iter();
        let attributes: Vec<_> = attributes
            .map(|(name, value)| Attribute {
                name: name.as_bytes(),
                value: value.as_bytes(),
            })
            .collect();
        let occasion = Occasion {
            text: self.text,
            flags: self.flags,
            facts: &analysis.facts,
            digest: None,
            digest_hash: None,
            client: Client {
                user: self.user.as_bytes(),
                schema: self.schema.as_bytes(),
                address: self.address,
                listener: self.listener.as_ref(),
            },
            attributes: &attributes,
            prepared: self.prepared,
            time: self.time,
            chance: self.chance,
        };
        see(&rules.judge(&occasion, counters, recorder))
    }

    fn judged<T>(&self, rules: &Rules, see: impl FnOnce(&Judgement<'_>) -> T) -> T {
        self.ask(rules, &Counters::default(), &mut (), see)
    }

    /// The names of the rules that match.
    fn matched(&self, rules: &Rules) -> Vec<String> {
        let name = |index| rules.rule(index).unwrap().name.to_string();
        self.judged(rules, |it| it.matched.iter().map(name).collect())
    }

    fn is_matched(&self, rules: &Rules) -> bool {
        !self.matched(rules).is_empty()
    }
}
