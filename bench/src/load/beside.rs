//! Slow sessions beside the fast ones: reads that take their time at the server, and large results whose
//! client takes its time.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_local};

use super::reply::Reply;
use super::session::Session;
use super::window::Shared;
use super::{Failure, Run, Target};

/// The table `sbtest1`, of which each row takes 200 ms. Nothing in a statement that reads it says so.
pub const VIEW: &str = "CREATE VIEW slow_sbtest1 AS SELECT id, c FROM sbtest1 WHERE SLEEP(0.2) = 0";

/// Sessions of either kind.
const READERS: usize = 4;
const FETCHERS: usize = 4;

/// A large result.
const RESULT_BYTES: u64 = 50_000_000;

/// Bytes of the column `c`.
const COLUMN_BYTES: u64 = 119;

/// Between two reads from the socket, of 64 KiB at most: 6 MB/s.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts them all. They go on until they are aborted.
pub fn start(run: &Rc<Run>, shared: &Rc<Shared>) -> Vec<JoinHandle<()>> {
    let readers = (0..READERS).map(|number| {
        let (run, shared) = (Rc::clone(run), Rc::clone(shared));
        spawn_local(async move { end(read(&run.target, number as u64, &shared).await, &shared) })
    });
    let mut all: Vec<_> = readers.collect();
    all.extend((0..FETCHERS).map(|_| {
        let (run, shared) = (Rc::clone(run), Rc::clone(shared));
        spawn_local(async move { end(fetch(&run.target, &shared).await, &shared) })
    }));
    all
}

/// One that fails is an error, and is not tried again.
fn end(result: Result<(), Failure>, shared: &Shared) {
    if let Err(failure) = result {
        shared.note(&failure);
    }
}

async fn read(target: &Target, number: u64, shared: &Shared) -> Result<(), Failure> {
    let mut session = Session::open(target).await?;
    let key = number % target.table_rows + 1;
    let text = format!("SELECT id, c FROM slow_sbtest1 WHERE id = {key}");
    let expected = Reply {
        rows: 1,
        key: Some(key),
    };
    loop {
        session.query(&text, expected).await?;
        shared.count_beside(|beside| beside.reads += 1);
    }
}

async fn fetch(target: &Target, shared: &Shared) -> Result<(), Failure> {
    let mut session = Session::open(target).await?;
    let times = RESULT_BYTES.div_ceil(target.table_rows * COLUMN_BYTES);
    let text = format!("SELECT id, REPEAT(c, {times}) FROM sbtest1 ORDER BY id");
    let expected = Reply {
        rows: target.table_rows,
        key: Some(1),
    };
    let count = |bytes: usize| shared.count_beside(|beside| beside.bytes += bytes as u64);
    loop {
        session.query_slowly(&text, expected, PAUSE, count).await?;
    }
}
