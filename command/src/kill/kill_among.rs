//! Several statements in one command, of which one kills, or may kill.

use session::state::Held;
use sql::{Facts, Flags, Marks, Role, StatementKind, parts_that_kill};

/// How the statements are run.
#[derive(Debug, PartialEq, Eq)]
pub enum KillAmong {
    /// As they are: none of them kills.
    AsTheyAre,
    /// One after the other, each as a command of its own.
    InParts(Vec<Vec<u8>>),
    /// Not at all: one of them kills, and the command cannot be divided.
    Refused,
}

impl KillAmong {
    /// Decides how a command of several statements is run. `held`: the statements that the session has prepared.
    pub fn read(facts: &Facts, text: &[u8], flags: Flags, held: &Held) -> Self {
        if !may_one_kill(facts, text, held) {
            return Self::AsTheyAre;
        }
        if let Some(texts) = parts_that_kill(facts, text, flags) {
            return Self::InParts(texts);
        }
        let is_known = !facts.marks.has(Marks::CROWDED | Marks::LOST);
        match is_known && !facts.marks.has(Marks::KILLS) {
            true => Self::AsTheyAre,
            false => Self::Refused,
        }
    }
}

/// Whether one of the statements kills, by its text, by a text that it prepares, or by an earlier prepared text.
fn may_one_kill(facts: &Facts, text: &[u8], held: &Held) -> bool {
    let names_kill = |text: &[u8]| text.windows(4).any(|it| it.eq_ignore_ascii_case(b"KILL"));
    let literals = facts
        .mentions_of(Role::PreparedText)
        .filter(|it| !it.name.of(text).starts_with(b"@"));
    let prepares = |kind| {
        matches!(
            kind,
            StatementKind::Prepare | StatementKind::ExecuteImmediate
        )
    };
    let count = facts
        .statements
        .iter()
        .filter(|it| prepares(it.kind))
        .count();
    let mut prepared = held.prepared().map(|name| held.prepared_text(name));
    names_kill(text)
        || count > literals.count()
        || facts
            .statements
            .iter()
            .any(|it| it.kind == StatementKind::Execute)
            && prepared.any(|text| text.is_none_or(names_kill))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> KillAmong {
        let flags = Flags::default();
        let facts = sql::facts(text.as_bytes(), flags);
        KillAmong::read(&facts, text.as_bytes(), flags, &Held::default())
    }

    #[test]
    fn statements_are_run_apart_if_one_kills() {
        assert_eq!(read("DO 0; DO 1"), KillAmong::AsTheyAre);
        assert_eq!(read("DO 'kill'; DO 1"), KillAmong::AsTheyAre);
        let parts = [b"DO 0".to_vec(), b"KILL 5".to_vec()];
        assert_eq!(read("DO 0; KILL 5"), KillAmong::InParts(parts.to_vec()));
    }

    #[test]
    fn a_kill_among_more_statements_than_are_read_is_refused() {
        let text = "DO 0; ".repeat(1_000);
        assert_eq!(read(&text), KillAmong::AsTheyAre);
        assert_eq!(read(&(text.clone() + "KILL 5")), KillAmong::Refused);
        // The parser cannot tell to which statement the word belongs.
        assert_eq!(read(&(text + "DO 'kill'")), KillAmong::Refused);
    }
}
