//! Looks for a shorter session with the same fault: leaves out steps as long as replies differ.

use super::script::Session;
use super::{Difference, Place, differences, report};

/// Sessions beside the one that is shortened, for its fault may need them.
const COMPANIONS: usize = 4;

/// Tries of each candidate: how sessions interleave differs from time to time.
const TRIES: usize = 2;

/// What the difference has in it that a shorter session is wanted for, if one is.
pub fn wanted() -> Option<String> {
    std::env::var("PILOTFISH_SHRINK").ok()
}

/// A session that is made shorter, at the places where its replies differ.
pub struct Shrinking<'a> {
    /// Without a proxy.
    pub direct: &'a Place<'a>,
    /// Through the proxy.
    pub other: &'a Place<'a>,
    /// All sessions of its round.
    pub round: &'a [Session],
    /// What the difference has in it.
    pub part: String,
}

impl Shrinking<'_> {
    /// The shortest session found, and how its replies differ.
    pub fn shrink(&self, session: &Session) -> String {
        let Some(mut best) = self.attempt(session) else {
            return "it does not differ among fewer sessions\n".into();
        };
        let mut size = best.0.steps.len() / 2;
        while size > 0 {
            let mut from = 0;
            while from < best.0.steps.len() {
                let mut shorter = best.0.clone();
                let to = (from + size).min(shorter.steps.len());
                shorter.steps.drain(from..to);
                match self.attempt(&shorter) {
                    Some(found) => best = found,
                    None => from += size,
                }
            }
            size /= 2;
        }
        format!("\nshorter:\n{}", report(&best.0, &best.1))
    }

    /// The session up to where its replies differ, and that, if they do.
    fn attempt(&self, session: &Session) -> Option<(Session, Difference)> {
        let others = self.round.iter().filter(|it| it.number != session.number);
        let mut sessions = vec![session.clone()];
        sessions.extend(others.take(COMPANIONS).cloned());
        let expected = self.direct.hold(&sessions[..1]);
        (0..TRIES).find_map(|_| {
            let seen = self.other.hold(&sessions);
            let mut all = differences(&expected, &seen[..1]).into_iter();
            let found = all.find(|difference| difference.how.contains(&self.part))?;
            let mut shorter = session.clone();
            shorter.steps.truncate(found.step + 1);
            Some((shorter, found))
        })
    }
}
