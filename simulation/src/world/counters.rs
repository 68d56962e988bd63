//! Compares the proxies' counts with the counts of clients and servers.

use std::collections::BTreeMap;

use stats::StatementStatsView;
use stats::counts::Counts;
use worker::WorkerView;

use super::administration::Administered;
use super::plan::Plan;
use super::watch::Watch;
use crate::client::Tally;
use crate::proxy::SimulatedProxy;

/// Statements and errors.
#[derive(Debug, PartialEq, Eq)]
pub struct Counted {
    /// Statements that have ended.
    pub statements: u64,
    /// Statements that have ended with an error.
    pub failed: u64,
    /// Errors, by their numbers.
    pub errors: BTreeMap<u16, u64>,
}

impl Counted {
    /// Returns the counts of a proxy.
    pub fn of(view: &StatementStatsView) -> Self {
        let mut sum = Counts::default();
        sum.add(&view.remainder);
        for (_, row) in &view.digests {
            sum.add(&row.counts);
        }
        let mut errors = BTreeMap::new();
        for row in &view.errors {
            *errors.entry(row.number).or_default() += row.count;
        }
        Self {
            statements: sum.count,
            failed: sum.errors,
            errors,
        }
    }

    /// Returns the counts of the clients.
    fn by_clients(tally: &Tally) -> Self {
        let errors = tally.errors.borrow().clone();
        Self {
            statements: tally.answered.get(),
            failed: errors.values().sum(),
            errors,
        }
    }

    /// Checks that the proxy has counted all replies of the clients except `underway` ones, and no statement not sent.
    fn check(&self, had: &Counted, sent: u64, underway: u64) -> Result<(), String> {
        let (statements, answered) = (self.statements, had.statements);
        if statements > sent || statements + underway < answered {
            return Err(format!(
                "{statements} statements are counted, of {sent} that clients have sent and {answered} that were answered"
            ));
        }
        let unanswered = sent - answered;
        let most = had.failed + unanswered;
        if self.failed > most || self.failed + underway < had.failed {
            let (counted, had) = (&self.errors, &had.errors);
            return Err(format!(
                "errors {counted:?} are counted, {had:?} have come, and {unanswered} statements have no reply"
            ));
        }
        Ok(())
    }
}

/// While clients work, a proxy has counted no statement that nobody has sent, and each that was answered: one of a
/// session is counted a moment behind its reply.
///
/// # Errors
/// What is not so, in words.
pub async fn look(plan: &Plan, proxy: &SimulatedProxy, of: &Administered) -> Result<(), String> {
    let had = Counted::by_clients(&of.tally);
    let counted = Counted::of(&proxy.counts().await);
    // A client and its guest may each have one statement in progress.
    let underway = 2 * plan.clients as u64;
    counted.check(&had, of.tally.sent.get(), underway)
}

/// When all sessions have gone, a proxy has counted each statement that was answered, and nothing twice. Whether one
/// has run whose client has gone within it nobody knows.
///
/// # Errors
/// What is not so, in words.
pub async fn at_the_end(proxy: &SimulatedProxy, of: &Administered) -> Result<(), String> {
    let counted = Counted::of(&proxy.counts().await);
    counted.check(&Counted::by_clients(&of.tally), of.tally.sent.get(), 0)?;
    let (failed, by_number) = (counted.failed, counted.errors.values().sum::<u64>());
    match failed == by_number {
        true => Ok(()),
        false => Err(format!(
            "{failed} statements have failed, and {by_number} errors are counted"
        )),
    }
}

/// Connections that all pools to each server have opened.
pub type Opened = BTreeMap<String, u64>;

/// Adds those of a proxy's workers.
pub fn add_opened(opened: &mut Opened, views: &[WorkerView]) {
    for pool in views.iter().flat_map(|worker| &worker.pools) {
        *opened.entry(pool.name.clone()).or_default() += pool.figures.counts.opened;
    }
}

/// A connection is counted when its login has ended, so the server has known it before. Where nothing breaks, each that
/// the server has known is counted in the end.
///
/// # Errors
/// What is not so, in words.
pub fn compare_opened(
    opened: &Opened,
    watches: &[std::rc::Rc<Watch>],
    is_exact: bool,
) -> Result<(), String> {
    for (number, watch) in watches.iter().enumerate() {
        let counted = opened.get(&format!("s{number}")).copied().unwrap_or(0);
        let (least, most) = watch.opened();
        if counted > most || is_exact && counted < least {
            return Err(format!(
                "server {number} has had {least} to {most} connections of pools, which count {counted}"
            ));
        }
    }
    Ok(())
}
