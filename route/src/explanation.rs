//! The explanation of a routing decision as a table of texts, for EXPLAIN ROUTE and for
//! `pilotfish explain`.

use sql::{Digest, Facts, Mention};

use crate::rules::{Hints, Judgement, Record, Rules};
use crate::{Considered, Wanted};

/// A table; its rows are in the order of the steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    findings: Vec<Finding>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The step: `statement`, `hint`, `rule`, `role`, `candidate`, `decision` …
    pub step: &'static str,
    /// The subject: the name of a rule, of a backend, or of one of the statement's facts.
    pub subject: String,
    /// The result.
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

    /// Adds the facts of the statement. Empty lists are left out.
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

    /// Adds the statement's digest, by which rules may name it.
    pub fn digest(&mut self, digest: &Digest) {
        let text = String::from_utf8_lossy(digest.text());
        self.find("statement", "digest", text);
        let hash = format!("{:#018x}", digest.hash());
        self.find("statement", "digest hash", hash);
    }

    /// Adds the hints in the statement.
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

    /// Adds each rule and whether it matches, or why not; then the effects of the rules that match.
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

    /// Adds the role that the statement wants; none if reads and writes are not split.
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

    /// Adds the verdict on each backend.
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
