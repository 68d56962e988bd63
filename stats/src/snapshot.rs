//! Sends a worker's statistics: copies in pieces, between which the worker's sessions continue; or, if the table is
//! emptied, the whole table at once, which costs the worker almost nothing.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::yield_now;

use crate::counts::Counts;
use crate::errors::{ErrorRow, ErrorTable};
use crate::profiles::ProfileView;
use crate::slow::StatementView;
use crate::statement_stats::StatementStats;
use crate::table::{DigestRow, DigestTable};

/// Rows of a piece: a piece takes a worker some 50 µs.
const PIECE: usize = 200;

/// A request to the workers for their statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsRequest {
    /// All statistics.
    All,
    /// Only the errors.
    Errors,
    /// One table, which is emptied: counting begins again from zero.
    Take(StatsTable),
}

/// A table of statement statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsTable {
    /// The counts by digest.
    Digests,
    /// Errors.
    Errors,
    /// Slow statements.
    Slow,
    /// Profiles.
    Profiles,
}

impl fmt::Display for StatsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digests => "digests",
            Self::Errors => "errors",
            Self::Slow => "slow statements",
            Self::Profiles => "profiles",
        })
    }
}

/// A part of a worker's answer.
#[derive(Debug)]
pub enum StatsPart {
    /// The number of the worker, and rows of its digests.
    Digests(usize, Vec<DigestRow>),
    /// Rows of errors.
    Errors(Vec<ErrorRow>),
    /// Slow statements.
    Slow(Vec<Arc<StatementView>>),
    /// Profiles.
    Profiles(Vec<Arc<ProfileView>>),
    /// The end of the answer.
    End(StatsEnd),
    /// The whole tables, which the receiver takes apart, and the number of the worker.
    Whole(Box<DigestTable>, ErrorTable, usize),
}

/// The totals that end a worker's answer.
#[derive(Debug)]
pub struct StatsEnd {
    /// The number of the worker.
    pub worker: usize,
    /// The sum of the counts of evicted digests.
    pub remainder: Counts,
    /// The number of evicted digests.
    pub evicted: u64,
    /// How many errors had no row.
    pub other_errors: u64,
    /// The memory of the digests, in bytes.
    pub bytes: usize,
}

/// The answers of all workers.
#[derive(Debug, Default)]
pub struct StatementStatsView {
    /// The digests of each worker, with the worker's number.
    pub digests: Vec<(usize, DigestRow)>,
    /// The sum of the counts of evicted digests.
    pub remainder: Counts,
    /// The number of evicted rows.
    pub evicted: u64,
    /// The memory of all rows, in bytes.
    pub bytes: usize,
    /// The errors of each worker.
    pub errors: Vec<ErrorRow>,
    /// Errors of kinds whose rows were evicted.
    pub other_errors: u64,
    /// Slow statements.
    pub slow: Vec<Arc<StatementView>>,
    /// Profiles.
    pub profiles: Vec<Arc<ProfileView>>,
    /// The workers whose answers are complete.
    pub workers: Vec<usize>,
    /// When the process began, by the present wall clock.
    pub began: Option<SystemTime>,
}

impl StatementStatsView {
    /// Adds a part.
    pub fn take(&mut self, told: StatsPart) {
        match told {
            StatsPart::Digests(worker, rows) => {
                self.digests
                    .extend(rows.into_iter().map(|row| (worker, row)));
            }
            StatsPart::Errors(rows) => self.errors.extend(rows),
            StatsPart::Slow(slow) => self.slow.extend(slow),
            StatsPart::Profiles(profiles) => self.profiles.extend(profiles),
            StatsPart::Whole(digests, errors, worker) => self.take_whole(*digests, errors, worker),
            StatsPart::End(end) => {
                self.remainder.add(&end.remainder);
                self.evicted += end.evicted;
                self.bytes += end.bytes;
                self.other_errors += end.other_errors;
                self.workers.push(end.worker);
            }
        }
    }

    fn take_whole(&mut self, digests: DigestTable, errors: ErrorTable, worker: usize) {
        let (remainder, evicted) = digests.remainder();
        let bytes = digests.bytes();
        let rows = digests.into_rows().into_iter();
        self.digests.extend(rows.map(|row| (worker, row)));
        let (errors, other_errors) = errors.into_snapshot();
        self.errors.extend(errors);
        self.take(StatsPart::End(StatsEnd {
            worker,
            remainder,
            evicted,
            other_errors,
            bytes,
        }));
    }
}

/// Sends the statistics of a worker. An error of the channel is ignored: the receiver may have gone.
pub fn send(
    stats: &Rc<StatementStats>,
    worker: usize,
    wish: StatsRequest,
    to: UnboundedSender<StatsPart>,
) {
    let (digests, errors) = match wish {
        StatsRequest::All => {
            tokio::task::spawn_local(tell_copies(Rc::clone(stats), worker, to));
            return;
        }
        StatsRequest::Errors => return tell_errors(stats, worker, &to),
        StatsRequest::Take(StatsTable::Digests) => (stats.empty(), ErrorTable::default()),
        StatsRequest::Take(StatsTable::Errors) => (DigestTable::default(), stats.errors.take()),
        StatsRequest::Take(StatsTable::Slow) => {
            let _ = to.send(StatsPart::Slow(stats.slow.borrow_mut().take()));
            Default::default()
        }
        StatsRequest::Take(StatsTable::Profiles) => {
            let _ = to.send(StatsPart::Profiles(stats.profiles.borrow_mut().take()));
            Default::default()
        }
    };
    let _ = to.send(StatsPart::Whole(Box::new(digests), errors, worker));
}

fn tell_errors(stats: &StatementStats, worker: usize, to: &UnboundedSender<StatsPart>) {
    let (errors, other_errors) = stats.errors.borrow().snapshot();
    let _ = to.send(StatsPart::Errors(errors));
    let _ = to.send(StatsPart::End(StatsEnd {
        worker,
        remainder: Counts::default(),
        evicted: 0,
        other_errors,
        bytes: 0,
    }));
}

async fn tell_copies(stats: Rc<StatementStats>, worker: usize, to: UnboundedSender<StatsPart>) {
    let emptied = stats.emptied.get();
    let mut next = Some(0);
    while let Some(from) = next.filter(|_| stats.emptied.get() == emptied) {
        let (rows, rest) = stats.digests.borrow().piece(from, PIECE);
        if to.send(StatsPart::Digests(worker, rows)).is_err() {
            return;
        }
        next = rest;
        yield_now().await;
    }
    let (errors, other_errors) = stats.errors.borrow().snapshot();
    let (remainder, evicted) = stats.digests.borrow().remainder();
    let _ = to.send(StatsPart::Errors(errors));
    let _ = to.send(StatsPart::Slow(stats.slow.borrow().snapshot()));
    let _ = to.send(StatsPart::Profiles(stats.profiles.borrow().snapshot()));
    let _ = to.send(StatsPart::End(StatsEnd {
        worker,
        remainder,
        evicted,
        other_errors,
        bytes: stats.digests.borrow().bytes(),
    }));
}
