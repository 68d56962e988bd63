//! What was found of a statement and decided about it, told to people: the words of EXPLAIN ROUTE and
//! of `pilotfish explain`.

use sql::{Digest, Facts, Mention};

use crate::rules::{Hints, Judgement, Record, Rules};
use crate::{Considered, Wanted};

/// A table, in the order in which things were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    findings: Vec<Finding>,
}

/// A row of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was done: `statement`, `hint`, `rule`, `role`, `candidate`, `decision` …
    pub step: &'static str,
    /// What was looked at: the rule's name, the backend's, which of the statement's facts.
    pub subject: String,
    /// What was found.
    pub text: String,
}

impl Explanation {
    /// Its rows, in order.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Adds a row.
    pub fn find(
        &mut self,
        step: &'static str,
        subject: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.findings.push(Finding {
            step,
            subject: subject.into(),
            text: text.into(),
        });
    }

    /// What is known of the statement; of what is long, only what there is.
    pub fn statement(&mut self, facts: &Facts, text: &[u8]) {
        let names = |names: &mut dyn Iterator<Item = &'static str>| {
            names.collect::<Vec<_>>().join(",").to_lowercase()
        };
        self.find("statement", "kind", facts.kind.to_string());
        let access = format!("{:?}", facts.access).to_lowercase();
        self.find("statement", "access", access);
        let tables: Vec<String> = facts.tables().map(|it| table_name(it, text)).collect();
        for (subject, value) in [
            ("tables", tables.join(",")),
            ("uses", names(&mut facts.uses.names())),
            ("effects", names(&mut facts.effects.names())),
            ("marks", names(&mut facts.marks.names())),
        ] {
            if !value.is_empty() {
                self.find("statement", subject, value);
            }
        }
    }

    /// Its digest, by which rules may name it.
    pub fn digest(&mut self, digest: &Digest) {
        let text = String::from_utf8_lossy(digest.text());
        self.find("statement", "digest", text);
        let hash = format!("{:#018x}", digest.hash());
        self.find("statement", "digest hash", hash);
    }

    /// What it says itself.
    pub fn hints(&mut self, hints: &Hints<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = [
            ("role", hints.role.map(|role| role.name().to_owned())),
            ("cluster", hints.cluster.map(text)),
            ("backend", hints.backend.map(text)),
            ("timeout", hints.timeout.map(|it| format!("{it:?}"))),
            ("lag_max", hints.lag_max.map(|it| format!("{it:?}"))),
            (
                "consistency",
                hints.consistency.map(|it| it.name().to_owned()),
            ),
            ("gtid", hints.gtid.map(text)),
            (
                "unread",
                (hints.unread > 0).then(|| format!("{} words mean nothing here", hints.unread)),
            ),
        ];
        for (subject, value) in all {
            if let Some(value) = value {
                self.find("hint", subject, value);
            }
        }
    }

    /// Each rule, whether it matches or why not; then what those that match say.
    pub fn rules(&mut self, rules: &Rules, record: &Record, judgement: &Judgement<'_>) {
        for seen in &record.rules {
            self.find("rule", &seen.name, &seen.why);
        }
        for rule in record.unasked(rules) {
            self.find("rule", &*rule.name, "is not asked: one before it decides");
        }
        for said in judgement.effects() {
            let text = format!("{} (rule \"{}\")", said.text, rules.name(said.rule));
            self.find("rules say", said.setting, text);
        }
    }

    /// Which role it wants, where reads and writes are split; none where they are not.
    pub fn wanted(&mut self, wanted: Option<Wanted>) {
        let (role, why) = match wanted {
            None => (
                "the session's backend",
                "its reads and writes are not split".to_owned(),
            ),
            Some(Wanted::Primary(why)) => ("primary", why.to_string()),
            Some(Wanted::Replica(why)) => ("replica", why.to_string()),
            Some(Wanted::Same(why)) => ("the last backend", why.to_string()),
        };
        self.find("role", role, why);
    }

    /// What was found of each backend.
    pub fn candidates<'c>(&mut self, considered: impl IntoIterator<Item = &'c Considered>) {
        for considered in considered {
            self.find("candidate", &considered.backend, &considered.text);
        }
    }
}

fn table_name(mention: &Mention, text: &[u8]) -> String {
    let name = mention.name.name(text);
    let name = String::from_utf8_lossy(&name).into_owned();
    match mention.schema.is_empty() {
        true => name,
        false => {
            let schema = mention.schema.name(text);
            format!("{}.{name}", String::from_utf8_lossy(&schema))
        }
    }
}
