//! Backend connections that sessions share.

use pool::{CloseReason, Figures};
use worker::{PoolView, WorkerView};

use crate::table::Cell;
use crate::table::{Asks, Schema, TableDefinition, columns, microseconds};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<PoolView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "pools",
    about: "Backend connections that sessions share, by backend and account, over all workers. Counts begin \
            anew for an account that has had no connection for long.",
    asks: Asks::Sessions,
    columns: columns! {
        text "backend", "The backend.", |it| it.name.clone().into();
        text "account", "The account whose sessions share them.", |it| it.account.clone().into();
        text "backend_user", "The user that they are logged in as.", |it| it.user.clone().into();
        integer "idle", "Connections that no session uses.", |it| it.figures.idle.into();
        integer "in_use", "Connections that a session has.", |it| it.figures.leased.into();
        integer "opening", "Connections being opened.", |it| it.figures.opening.into();
        integer "closing", "Connections being closed.", |it| it.figures.closing.into();
        integer "running", "Sessions that run a command there.", |it| it.uses.running.into();
        integer "idle_transactions", "Idle sessions that keep a connection for a transaction.",
            |it| it.uses.idle_transactions.into();
        integer "pinned", "Idle sessions that keep a connection for something else.", |it| it.uses.pinned.into();
        integer "bounded",
            "Whether the account gets no connection beyond `pool.account_kept_percent_max`, because its sessions keep \
             many.", |it| it.is_bounded.into();
        integer "waiting", "Sessions that wait for one.", |it| it.figures.waiting.into();
        measure "oldest_wait_us" ["us"], "How long the longest of them has waited.",
            |it| it.figures.oldest_wait.map_or(Cell::Null, microseconds);
        integer "opened", "Connections opened so far.", |it| it.figures.counts.opened.into();
        integer "open_failures", "Connections that could not be opened.", |it| it.figures.counts.open_failures.into();
        integer "reused", "Sessions served by a connection that was there.", |it| it.figures.counts.reused.into();
        integer "reused_in_same_state", "Of these, by one that nothing had to be restored on.",
            |it| it.figures.counts.exact.into();
        integer "waits", "Sessions that had to wait.", |it| it.figures.counts.waits.into();
        integer "timeouts", "Waits that were given up because they took too long.",
            |it| it.figures.counts.timeouts.into();
        integer "cancelled", "Waits that the session itself gave up.", |it| it.figures.counts.cancelled.into();
        integer "refused", "Sessions that could not even wait.", |it| it.figures.counts.refused.into();
        integer "pings", "Times that an idle connection was tried.", |it| it.figures.counts.pings.into();
        integer "closed", "Connections closed so far, for whatever reason.",
            |it| it.figures.counts.closed.total().into();
        integer "closed_too_old", "Closed because of their age.", |it| closed(&it.figures, CloseReason::TooOld);
        integer "closed_idle_too_long", "Closed because no session used them.",
            |it| closed(&it.figures, CloseReason::IdleTooLong);
        integer "closed_too_many", "Closed because there were too many.",
            |it| closed(&it.figures, CloseReason::TooMany);
        integer "closed_shut", "Closed because the backend went down, drains or is gone.",
            |it| closed(&it.figures, CloseReason::Shut);
        integer "closed_yielded", "Closed so that others could have one.",
            |it| closed(&it.figures, CloseReason::Yielded);
        integer "closed_broken", "Found dead.", |it| closed(&it.figures, CloseReason::Broken);
        integer "closed_ended", "Ended with their session: it was pinned, or its state could not be undone.",
            |it| closed(&it.figures, CloseReason::Ended);
        integer "closed_dropped", "Lost with a session that was cut off.",
            |it| closed(&it.figures, CloseReason::Dropped);
        integer "closed_idle_transaction", "Closed because a transaction was idle for too long.",
            |it| closed(&it.figures, CloseReason::IdleTransaction);
    },
    items,
};

fn closed(figures: &Figures, reason: CloseReason) -> Cell {
    figures.counts.closed.of(reason).into()
}

/// The pools of all workers, added up.
pub fn items(input: &TableInput) -> Vec<PoolView> {
    sums(&input.workers)
}

/// The pools of these workers, added up.
pub fn sums(workers: &[WorkerView]) -> Vec<PoolView> {
    let mut sums: Vec<PoolView> = Vec::new();
    for pool in workers.iter().flat_map(|worker| &worker.pools) {
        let is_it =
            |sum: &&mut PoolView| sum.backend == pool.backend && sum.account == pool.account;
        match sums.iter_mut().find(is_it) {
            Some(sum) => {
                sum.figures += &pool.figures;
                sum.uses += pool.uses;
                sum.is_bounded |= pool.is_bounded;
            }
            None => sums.push(pool.clone()),
        }
    }
    sums.sort_by(|a, b| (a.backend, &a.account).cmp(&(b.backend, &b.account)));
    sums
}
