//! Looks for a shorter session with the same fault: omits steps as long as replies differ.

use super::script::Session;
use super::{Difference, Place, differences, report};

/// The number of further sessions that run with the shortened one, because the fault may need them.
const COMPANIONS: usize = 4;

/// How often each candidate is tried, because the interleaving of sessions varies.
const TRIES: usize = 2;

/// The text of the difference for which a shorter session is wanted, if there is one.
pub fn wanted() -> Option<String> {
    std::env::var("PILOTFISH_SHRINK").ok()
}

/// A session that is being shortened, and the places in which its replies differ.
pub struct Shrinking<'a> {
    /// Without a proxy.
    pub direct: &'a Place<'a>,
    /// Through the proxy.
    pub other: &'a Place<'a>,
    /// All sessions of its round.
    pub round: &'a [Session],
    /// A text that the difference must contain.
    pub part: String,
}

impl Shrinking<'_> {
    /// The shortest session that was found, and its difference.
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

    /// The session up to its difference, and the difference, if there is one.
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
