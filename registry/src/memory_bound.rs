//! Decides which session ends when the process keeps as many bytes as it may.

use std::rc::Rc;

use link::failure::{Failure, FailureKind};
use link::memory::MemoryBudget;
use wire::errors;

use crate::session_control::{Ask, SessionControl};

/// Makes room when the process keeps more than it may because the asking session keeps more. Ends the session
/// that keeps the most. Returns false if that is the asking session itself: then it is refused the memory.
pub fn makes_room<'a>(
    budget: &MemoryBudget,
    sessions: impl Iterator<Item = &'a Rc<SessionControl>> + Clone,
    asking: &SessionControl,
) -> bool {
    let ending = sessions.clone().filter(|it| it.is_asked(Ask::KillSession));
    let coming: u64 = ending.map(|session| session.memory.bytes()).sum();
    if !budget.is_over_without(coming) {
        return true;
    }
    let others = sessions.filter(|session| !session.is_asked(Ask::KillSession));
    let most = others.max_by_key(|session| session.memory.bytes());
    match most.filter(|most| most.memory.bytes() > asking.memory.bytes()) {
        Some(most) => {
            budget.count_ended();
            end(most);
            true
        }
        None => {
            budget.count_refused();
            false
        }
    }
}

fn end(session: &SessionControl) {
    let info = session.info();
    let client = info.as_ref().map(|info| info.client.to_string());
    tracing::warn!(
        kind = FailureKind::MemoryFull.verdict().label,
        client = client.unwrap_or_default(),
        user = info.as_ref().map_or("", |info| &*info.user),
        id = info.as_ref().map_or(0, |info| info.id),
        bytes = session.memory.bytes(),
        limit = "limits.memory_bytes_max",
        "the proxy keeps as many bytes as it may; the session that keeps most ends"
    );
    session.ask(Ask::KillSession);
}

/// Logs that a command of a session was refused; the session continues.
pub fn log_refused(session: &SessionControl) {
    let info = session.info();
    tracing::warn!(
        kind = FailureKind::MemoryFull.verdict().label,
        user = info.as_ref().map_or("", |info| &*info.user),
        id = info.as_ref().map_or(0, |info| info.id),
        limit = "limits.memory_bytes_max",
        "the proxy keeps as many bytes as it may; a command is refused"
    );
}

/// Returns the error for a session that is refused memory for this.
pub fn memory_full(what: &str) -> Failure {
    Failure::saying(FailureKind::MemoryFull, errors::memory_full(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::memory::Purpose;
    use std::sync::Arc;

    const MUCH: usize = 1 << 20;

    fn sessions(budget: &Arc<MemoryBudget>, kept: &[usize]) -> Vec<Rc<SessionControl>> {
        let one = |bytes: &usize| {
            let session = Rc::new(SessionControl::default());
            session.memory.count_in(budget);
            session.memory.keep(Purpose::Command, *bytes);
            session
        };
        kept.iter().map(one).collect()
    }

    #[test]
    fn only_the_session_with_the_most_memory_is_ended_to_make_room() {
        let budget = Arc::new(MemoryBudget::default());
        budget.set_bytes_max(5 * MUCH as u64);
        let all = sessions(&budget, &[MUCH, 3 * MUCH, 2 * MUCH]);
        let asked = || all.iter().map(|it| it.is_asked(Ask::KillSession));
        assert!(makes_room(&budget, all.iter(), &all[0]));
        assert!(asked().eq([false, true, false]));
        assert!(makes_room(&budget, all.iter(), &all[0]));
        assert!(asked().eq([false, true, false]), "enough is about to go");
        assert_eq!((budget.view().ended, budget.view().refused), (1, 0));
    }

    #[test]
    fn the_session_with_the_most_memory_is_refused() {
        let budget = Arc::new(MemoryBudget::default());
        budget.set_bytes_max(5 * MUCH as u64);
        let all = sessions(&budget, &[2 * MUCH, 4 * MUCH, 0]);
        assert!(!makes_room(&budget, all.iter(), &all[1]));
        assert!(all.iter().all(|it| !it.is_asked(Ask::KillSession)));
        assert_eq!((budget.view().ended, budget.view().refused), (0, 1));
    }
}
