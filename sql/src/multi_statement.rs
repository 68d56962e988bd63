//! Splits a command of several statements, if the proxy needs the result of one before the next is sent.

use crate::{About, Facts, Flags, Lexer, Marks, Show, Span, StatementKind, TokenKind};

/// Splits several statements if one of them asks about a previous statement (a function in the first statement
/// does not count). Returns each statement up to the last that asks, and the rest.
pub fn parts_that_ask(facts: &Facts, text: &[u8], flags: Flags) -> Option<Vec<Vec<u8>>> {
    parts(facts, text, flags, |at, kind| asks(facts, at, kind))
}

/// Splits several statements if one of them has a KILL, or may have one in a text that it prepares or runs. Returns
/// each statement up to the last that kills or asks, and the rest.
pub fn parts_that_kill(facts: &Facts, text: &[u8], flags: Flags) -> Option<Vec<Vec<u8>>> {
    let kills = |kind| match kind {
        StatementKind::Kill(_)
        | StatementKind::Prepare
        | StatementKind::Execute
        | StatementKind::ExecuteImmediate => true,
        StatementKind::Compound => facts.marks.has(Marks::KILLS),
        _ => false,
    };
    parts(facts, text, flags, |at, kind| {
        kills(kind) || asks(facts, at, kind)
    })
}

/// Whether a statement asks about a previous statement.
fn asks(facts: &Facts, at: usize, kind: StatementKind) -> bool {
    let is_about_past = |about| {
        matches!(
            about,
            About::FoundRows | About::WarningCount | About::ErrorCount
        )
    };
    let shows = match kind {
        StatementKind::GetDiagnostics => true,
        StatementKind::Show(show) => !matches!(
            show,
            Show::Variables
                | Show::Status
                | Show::Processlist
                | Show::Profiles
                | Show::Server
                | Show::Grants
                | Show::Schema
        ),
        _ => false,
    };
    let mut questions = facts.questions.iter();
    let is_asked = |part| at > 0 && part == at as u32;
    shows || questions.any(|it| is_asked(it.statement_index) && is_about_past(it.about))
}

/// Returns each statement up to the last that has to be alone, and the rest.
fn parts(
    facts: &Facts,
    text: &[u8],
    flags: Flags,
    is_alone: impl Fn(usize, StatementKind) -> bool,
) -> Option<Vec<Vec<u8>>> {
    if facts.kind != StatementKind::Multi || facts.marks.has(Marks::CROWDED | Marks::LOST) {
        return None;
    }
    let mut all = facts.statements.iter().enumerate();
    let last = all.rfind(|(at, part)| is_alone(*at, part.kind))?.0;
    let borders = Borders::of(text, flags);
    let mut texts: Vec<&[u8]> = Vec::new();
    let mut behind = 0;
    for (at, part) in facts.statements.iter().enumerate() {
        let begin = match borders.between(behind, part.span.start)[..] {
            [] => behind,
            [one] if at > 0 => one.end,
            // An empty statement is an error for the servers: it stays together with the text after it.
            [first, ..] => {
                texts.push(if at > 0 { rest(text, first.end) } else { text });
                break;
            }
        };
        if at > last {
            texts.push(rest(text, begin));
            break;
        }
        let end = borders.behind(part.span.end).unwrap_or(text.len() as u32);
        texts.push(Span { start: begin, end }.of(text).trim_ascii_start());
        behind = end;
    }
    (texts.len() > 1).then(|| texts.into_iter().map(<[u8]>::to_vec).collect())
}

/// Returns the remaining text as the servers see it: without space in front.
fn rest(text: &[u8], begin: u32) -> &[u8] {
    text.get(begin as usize..)
        .unwrap_or_default()
        .trim_ascii_start()
}

/// The semicolons of a text. The text between two of them is a whole statement, with the marks of executable
/// comments around it.
struct Borders(Vec<Span>);

impl Borders {
    fn of(text: &[u8], flags: Flags) -> Self {
        let semicolons = Lexer::new(text, flags).filter(|it| it.kind == TokenKind::Semicolon);
        Self(semicolons.map(|it| it.span).collect())
    }

    fn between(&self, from: u32, to: u32) -> &[Span] {
        let begin = self.0.partition_point(|it| it.start < from);
        let end = self.0.partition_point(|it| it.start < to);
        &self.0[begin..end]
    }

    /// Returns the position of the first semicolon that is not before `place`.
    fn behind(&self, place: u32) -> Option<u32> {
        self.0
            .iter()
            .map(|it| it.start)
            .find(|start| *start >= place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        split(text, parts_that_ask)
    }

    fn split(
        text: &str,
        split: impl Fn(&Facts, &[u8], Flags) -> Option<Vec<Vec<u8>>>,
    ) -> Vec<String> {
        let flags = Flags::default();
        let facts = crate::facts(text.as_bytes(), flags);
        let parts = split(&facts, text.as_bytes(), flags).unwrap_or_default();
        let string = |part: &Vec<u8>| String::from_utf8_lossy(part).into_owned();
        parts.iter().map(string).collect()
    }

    #[test]
    fn a_multi_statement_is_split_up_to_its_last_diagnostics_statement() {
        let asks = "SELECT 1; SHOW WARNINGS ;  SELECT 2; SELECT 3;";
        assert_eq!(
            parts(asks),
            ["SELECT 1", "SHOW WARNINGS ", "SELECT 2; SELECT 3;"]
        );
        assert!(parts("SELECT 1; SELECT 2").is_empty());
    }

    #[test]
    fn comments_that_are_code_stay_whole() {
        assert_eq!(
            parts("SET /*!50000 a = 1 */; /*!50000 SHOW WARNINGS */; /*!40101 SET b = ';' */"),
            [
                "SET /*!50000 a = 1 */",
                "/*!50000 SHOW WARNINGS */",
                "/*!40101 SET b = ';' */"
            ]
        );
    }

    #[test]
    fn empty_statements_are_left_to_the_server() {
        assert_eq!(
            parts("SHOW WARNINGS; ; SELECT 1"),
            ["SHOW WARNINGS", "; SELECT 1"]
        );
        assert!(parts("; SHOW WARNINGS").is_empty());
    }

    #[test]
    fn a_kill_is_a_part_of_its_own() {
        assert_eq!(
            split("SELECT 1; KILL 5; SELECT 2; SELECT 3", parts_that_kill),
            ["SELECT 1", "KILL 5", "SELECT 2; SELECT 3"]
        );
        assert_eq!(
            split(
                "PREPARE s FROM @x; EXECUTE s; SELECT 1; SHOW WARNINGS",
                parts_that_kill
            ),
            [
                "PREPARE s FROM @x",
                "EXECUTE s",
                "SELECT 1",
                "SHOW WARNINGS"
            ]
        );
        assert!(split("SELECT 1; SELECT 2", parts_that_kill).is_empty());
    }
}
