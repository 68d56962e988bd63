//! The outcome for a statement, in lines that can be compared.

use route::rules::Judgement;

/// The backend that a statement goes to, and what the rules do about the statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    lines: Vec<(&'static str, String)>,
}

/// A difference between two verdicts on one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The subject of the two texts: cluster, role, backend, …
    pub topic: &'static str,
    /// The text of the first verdict, if there was one.
    pub from: Option<String>,
    /// The text of the second verdict, if there is one.
    pub to: Option<String>,
}

impl Verdict {
    /// Adds a line.
    pub fn add(&mut self, topic: &'static str, text: impl Into<String>) {
        self.lines.push((topic, text.into()));
    }

    /// Adds the actions of rules, except the choice of a backend.
    pub fn add_rule_actions(&mut self, judgement: &Judgement<'_>) {
        for said in judgement.effects() {
            if !matches!(said.setting, "cluster" | "role" | "backend") {
                self.add(said.setting, said.text);
            }
        }
    }

    /// The differences of another verdict from this one.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mine = self.lines.iter().map(|it| it.0);
        let is_new = |topic: &&str| self.of(topic).is_none();
        let theirs = other.lines.iter().map(|it| it.0).filter(is_new);
        let all = mine.chain(theirs).map(|topic| Difference {
            topic,
            from: self.of(topic).map(str::to_owned),
            to: other.of(topic).map(str::to_owned),
        });
        all.filter(|it| it.from != it.to).collect()
    }

    fn of(&self, topic: &str) -> Option<&str> {
        let mut lines = self.lines.iter();
        lines.find(|it| it.0 == topic).map(|it| &*it.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_differ_in_changed_lines_and_in_lines_of_one_alone() {
        let (mut one, mut other) = (Verdict::default(), Verdict::default());
        one.add("cluster", "main");
        one.add("role", "replica");
        one.add("timeout", "1s");
        other.add("cluster", "main");
        other.add("role", "primary");
        other.add("delay", "2s");
        let differs = |topic, from: Option<&str>, to: Option<&str>| Difference {
            topic,
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        assert_eq!(
            one.differences(&other),
            [
                differs("role", Some("replica"), Some("primary")),
                differs("timeout", Some("1s"), None),
                differs("delay", None, Some("2s")),
            ]
        );
        assert_eq!(one.differences(&one), []);
    }
}
