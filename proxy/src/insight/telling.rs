//! What a worker hands over of what it keeps: copies in pieces, between which its sessions go on; or, where
//! it is emptied, the whole at once, which costs it nothing.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::yield_now;

use super::counts::Counts;
use super::errors::{ErrorRow, ErrorTable};
use super::profiles::ProfileView;
use super::slow::StatementView;
use super::table::{DigestRow, DigestTable};
use crate::worker::Worker;

/// Rows of a piece: they take a worker some 50 µs.
const PIECE: usize = 200;

/// What workers are to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// All that they keep.
    All,
    /// The errors alone.
    Errors,
    /// This, which is counted from nothing again.
    Take(Kept),
}

/// What workers keep about statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// What is counted by digest.
    Digests,
    /// Errors.
    Errors,
    /// Slow statements.
    Slow,
    /// Profiles.
    Profiles,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digests => "digests",
            Self::Errors => "errors",
            Self::Slow => "slow statements",
            Self::Profiles => "profiles",
        })
    }
}

/// What a worker tells.
#[derive(Debug)]
pub(crate) enum Told {
    Digests(usize, Vec<DigestRow>),
    Errors(Vec<ErrorRow>),
    Slow(Vec<Arc<StatementView>>),
    Profiles(Vec<Arc<ProfileView>>),
    /// That is all.
    End(TellingEnd),
    /// All at once, to be taken apart by whoever asked; and which worker's it was.
    Whole(Box<DigestTable>, ErrorTable, usize),
}

/// What goes with the rows of one worker.
#[derive(Debug)]
pub(crate) struct TellingEnd {
    pub worker: usize,
    pub remainder: Counts,
    pub evicted: u64,
    pub other_errors: u64,
    pub bytes: usize,
}

/// What all workers have told.
#[derive(Debug, Default)]
pub struct InsightView {
    /// Digests, each worker's for itself, with its number.
    pub digests: Vec<(usize, DigestRow)>,
    /// Digests that have made room for others, all together.
    pub remainder: Counts,
    /// How many rows have.
    pub evicted: u64,
    /// The memory of all rows, in bytes.
    pub bytes: usize,
    /// Errors, each worker's for itself.
    pub errors: Vec<ErrorRow>,
    /// Errors of kinds that have made room for others.
    pub other_errors: u64,
    /// Slow statements.
    pub slow: Vec<Arc<StatementView>>,
    /// Profiles.
    pub profiles: Vec<Arc<ProfileView>>,
    /// Workers that have told all.
    pub workers: Vec<usize>,
    /// When the process began, by the clock of now.
    pub began: Option<SystemTime>,
}

impl InsightView {
    pub(crate) fn take(&mut self, told: Told) {
        match told {
            Told::Digests(worker, rows) => {
                self.digests
                    .extend(rows.into_iter().map(|row| (worker, row)));
            }
            Told::Errors(rows) => self.errors.extend(rows),
            Told::Slow(slow) => self.slow.extend(slow),
            Told::Profiles(profiles) => self.profiles.extend(profiles),
            Told::Whole(digests, errors, worker) => self.take_whole(*digests, errors, worker),
            Told::End(end) => {
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
        let (errors, other_errors) = errors.into_told();
        self.errors.extend(errors);
        self.take(Told::End(TellingEnd {
            worker,
            remainder,
            evicted,
            other_errors,
            bytes,
        }));
    }
}

impl Worker {
    /// Tells what it keeps about statements. Who asked may have gone.
    pub(crate) fn tell_insight(self: &Rc<Self>, wish: Wish, to: UnboundedSender<Told>) {
        let (digests, errors) = match wish {
            Wish::All => {
                tokio::task::spawn_local(tell_copies(Rc::clone(self), to));
                return;
            }
            Wish::Errors => return self.tell_errors(&to),
            Wish::Take(Kept::Digests) => (self.insight.empty(), ErrorTable::default()),
            Wish::Take(Kept::Errors) => (DigestTable::default(), self.insight.errors.take()),
            Wish::Take(Kept::Slow) => {
                let _ = to.send(Told::Slow(self.insight.slow.borrow_mut().take()));
                Default::default()
            }
            Wish::Take(Kept::Profiles) => {
                let _ = to.send(Told::Profiles(self.insight.profiles.borrow_mut().take()));
                Default::default()
            }
        };
        let _ = to.send(Told::Whole(Box::new(digests), errors, self.index));
    }

    fn tell_errors(&self, to: &UnboundedSender<Told>) {
        let (errors, other_errors) = self.insight.errors.borrow().told();
        let _ = to.send(Told::Errors(errors));
        let _ = to.send(Told::End(TellingEnd {
            worker: self.index,
            remainder: Counts::default(),
            evicted: 0,
            other_errors,
            bytes: 0,
        }));
    }
}

async fn tell_copies(worker: Rc<Worker>, to: UnboundedSender<Told>) {
    let insight = &worker.insight;
    let emptied = insight.emptied.get();
    let mut next = Some(0);
    while let Some(from) = next.filter(|_| insight.emptied.get() == emptied) {
        let (rows, rest) = insight.digests.borrow().piece(from, PIECE);
        if to.send(Told::Digests(worker.index, rows)).is_err() {
            return;
        }
        next = rest;
        yield_now().await;
    }
    let (errors, other_errors) = insight.errors.borrow().told();
    let (remainder, evicted) = insight.digests.borrow().remainder();
    let _ = to.send(Told::Errors(errors));
    let _ = to.send(Told::Slow(insight.slow.borrow().told()));
    let _ = to.send(Told::Profiles(insight.profiles.borrow().told()));
    let _ = to.send(Told::End(TellingEnd {
        worker: worker.index,
        remainder,
        evicted,
        other_errors,
        bytes: insight.digests.borrow().bytes(),
    }));
}
