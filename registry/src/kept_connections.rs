//! How sessions use pooled connections, according to their cells, and which sessions have to give theirs up.

use std::cmp::Reverse;
use std::rc::Rc;

use auth::AccountId;
use pool::AccountUse;
use route::BackendId;
use session::state::Pin;
use wire::StatusFlags;

use crate::session_control::{Activity, Ask, SessionControl};

/// A connection that was kept for less than this does not count, because its transaction may be
/// over in a moment. By the coarse clock this is more than one second.
const KEPT_SECONDS_MIN: u32 = 2;

/// Returns how one session uses connections. If it was asked to give its connection up, the connection does not count
/// as kept.
pub fn use_of(session: &SessionControl, second: u32) -> AccountUse {
    let is_running = session.activity(second).0 == Activity::Running;
    let keeps = session.pins().is_some();
    let is_in_transaction = session.status().contains(StatusFlags::IN_TRANS);
    let has_kept = session.kept_seconds(second) >= Some(KEPT_SECONDS_MIN);
    let is_kept = has_kept && !session.is_asked(Ask::GiveUpKept);
    AccountUse {
        running: u32::from(is_running && session.backend().is_some()),
        idle_transactions: u32::from(!is_running && keeps && is_in_transaction),
        pinned: u32::from(!is_running && keeps && !is_in_transaction),
        kept: u32::from(is_kept),
        kept_idle: u32::from(is_kept && !is_running),
    }
}

/// Asks this many idle sessions of an account to give up the connections that they keep to a backend: first those that
/// have only a transaction, and of these the ones that have been idle the longest. Returns how many were asked.
pub fn release_idle<'a>(
    sessions: impl Iterator<Item = &'a Rc<SessionControl>>,
    (account, backend): (&AccountId, BackendId),
    count: u32,
    second: u32,
) -> usize {
    let mut candidates: Vec<_> = sessions
        .filter(|it| it.backend() == Some(backend) && use_of(it, second).kept_idle > 0)
        .filter(|it| it.account().as_ref() == Some(account))
        .collect();
    candidates.sort_by_key(|it| {
        (
            has_more_than_a_transaction(it),
            Reverse(it.idle_seconds(second)),
        )
    });
    candidates.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    for session in &candidates {
        session.ask(Ask::GiveUpKept);
    }
    candidates.len()
}

fn has_more_than_a_transaction(session: &SessionControl) -> bool {
    let mut pins = session.pins().unwrap_or_default();
    pins.remove(Pin::Transaction);
    pins.remove(Pin::FoundRows);
    !pins.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::state::Pins;

    fn session(second: u32, pins: Option<Pin>, status: StatusFlags) -> SessionControl {
        let session = SessionControl::default();
        session.settle(BackendId(1));
        session.note(second, true);
        session.stand(status);
        session.hold(pins.map(|pin| [pin].into_iter().collect::<Pins>()));
        session
    }

    #[test]
    fn connections_held_briefly_do_not_count() {
        let transaction = session(100, Some(Pin::Transaction), StatusFlags::IN_TRANS);
        let at = |second| use_of(&transaction, second);
        assert_eq!((at(101).idle_transactions, at(101).kept_idle), (1, 0));
        assert_eq!((at(102).kept, at(102).kept_idle), (1, 1));
        // The transaction continues and keeps the same connection.
        transaction.note(103, false);
        assert_eq!(
            (at(103).kept, at(103).kept_idle, at(103).running),
            (1, 0, 1)
        );
        transaction.note(104, true);
        transaction.ask(Ask::GiveUpKept);
        assert_eq!((at(105).kept, at(105).idle_transactions), (0, 1));
        transaction.hold(None);
        assert_eq!(at(105), AccountUse::default());
        let pinned = session(100, Some(Pin::State), StatusFlags::default());
        assert_eq!(use_of(&pinned, 102).pinned, 1);
        assert!(has_more_than_a_transaction(&pinned) && !has_more_than_a_transaction(&transaction));
    }
}
