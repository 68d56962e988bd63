//! What becomes of a statement, in lines that can be compared.

use route::rules::Judgement;

/// Where a statement goes and what is done about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    lines: Vec<(&'static str, String)>,
}

/// What differs between two verdicts of one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// In what.
    pub what: &'static str,
    /// What was said of it; nothing where nothing was.
    pub from: Option<String>,
    /// What is said of it now.
    pub to: Option<String>,
}

impl Verdict {
    /// Says one thing more.
    pub fn say(&mut self, what: &'static str, text: impl Into<String>) {
        self.lines.push((what, text.into()));
    }

    /// Says what the rules do besides choosing a place.
    pub fn say_actions(&mut self, judgement: &Judgement<'_>) {
        for said in judgement.said() {
            if !matches!(said.setting, "cluster" | "role" | "backend") {
                self.say(said.setting, said.text);
            }
        }
    }

    /// What another verdict says otherwise.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mine = self.lines.iter().map(|it| it.0);
        let is_new = |what: &&str| self.of(what).is_none();
        let theirs = other.lines.iter().map(|it| it.0).filter(is_new);
        let all = mine.chain(theirs).map(|what| Difference {
            what,
            from: self.of(what).map(str::to_owned),
            to: other.of(what).map(str::to_owned),
        });
        all.filter(|it| it.from != it.to).collect()
    }

    fn of(&self, what: &str) -> Option<&str> {
        let mut lines = self.lines.iter();
        lines.find(|it| it.0 == what).map(|it| &*it.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_differ_in_what_is_said_otherwise_or_by_one_alone() {
        let (mut one, mut other) = (Verdict::default(), Verdict::default());
        one.say("cluster", "main");
        one.say("role", "replica");
        one.say("timeout", "1s");
        other.say("cluster", "main");
        other.say("role", "primary");
        other.say("delay", "2s");
        let differs = |what, from: Option<&str>, to: Option<&str>| Difference {
            what,
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
