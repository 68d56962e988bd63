//! Workers get sessions fairly, end cleanly, and report errors.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::*;
use crate::clock::Clock;

enum Message {
    Hold(Seat),
    Release(oneshot::Sender<()>),
    PanicInTask(oneshot::Sender<bool>),
    PanicInMain,
    WhoAreYou(oneshot::Sender<(usize, Option<String>)>),
}

async fn serve(mut context: WorkerContext<Message>) {
    let mut seats = Vec::new();
    while let Some(message) = context.inbox.recv().await {
        match message {
            Message::Hold(seat) => seats.push(seat),
            Message::Release(done) => {
                seats.clear();
                done.send(()).unwrap();
            }
            Message::PanicInTask(done) => {
                let ended = tokio::task::spawn_local(async { panic!("one session") }).await;
                done.send(ended.is_err()).unwrap();
            }
            Message::PanicInMain => panic!("worker {} is lost", context.index),
            Message::WhoAreYou(answer) => {
                let name = std::thread::current().name().map(str::to_owned);
                answer.send((context.index, name)).unwrap();
            }
        }
    }
}

#[test]
fn new_sessions_go_to_the_least_loaded_worker() {
    let workers = Workers::start(3, "test", serve).unwrap();
    for _ in 0..9 {
        let seat = workers.least_loaded();
        assert!(workers.send(seat.worker(), Message::Hold(seat)).is_ok());
    }
    assert_eq!((0..3).map(|w| workers.load(w)).collect::<Vec<_>>(), [3; 3]);

    let (done, released) = oneshot::channel();
    assert!(workers.send(1, Message::Release(done)).is_ok());
    released.blocking_recv().unwrap();
    assert_eq!(workers.load(1), 0);
    let seats = [workers.least_loaded(), workers.least_loaded()];
    assert!(seats.iter().all(|seat| seat.worker() == 1));
}

#[test]
fn a_message_reaches_its_worker_on_its_own_named_thread() {
    let workers = Workers::start(2, "pf", serve).unwrap();
    let mut names = HashMap::new();
    for worker in 0..2 {
        let (ask, answer) = oneshot::channel();
        assert!(workers.send(worker, Message::WhoAreYou(ask)).is_ok());
        let (index, name) = answer.blocking_recv().unwrap();
        names.insert(index, name.unwrap());
    }
    assert_eq!(names[&0], "pf-0");
    assert_eq!(names[&1], "pf-1");
}

#[test]
fn a_panic_in_a_task_leaves_the_worker_alive() {
    let workers = Workers::start(1, "test", serve).unwrap();
    let (done, failed) = oneshot::channel();
    assert!(workers.send(0, Message::PanicInTask(done)).is_ok());
    assert!(failed.blocking_recv().unwrap());
    assert_eq!(workers.join(), [(0, WorkerEnd::Finished)]);
}

#[test]
fn a_panic_in_a_workers_main_future_is_reported() {
    let workers = Workers::start(2, "test", serve).unwrap();
    assert!(workers.send(1, Message::PanicInMain).is_ok());
    let ends: HashMap<_, _> = workers.join().into_iter().collect();
    assert_eq!(ends[&0], WorkerEnd::Finished);
    assert_eq!(ends[&1], WorkerEnd::Panicked("worker 1 is lost".to_owned()));
}

#[test]
fn a_worker_that_has_ended_gives_the_message_back() {
    let mut workers = Workers::start(1, "test", |_| async {}).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let end = runtime.block_on(workers.next_end());
    assert_eq!(end, Some((0, WorkerEnd::Finished)));
    assert_eq!(workers.send(0, "unheard"), Err("unheard"));
    assert_eq!(runtime.block_on(workers.next_end()), None);
}

#[test]
fn an_unread_message_frees_its_seat_when_the_worker_ends() {
    let workers = Workers::start(1, "test", |context: WorkerContext<Seat>| async move {
        let _unread = context;
    })
    .unwrap();
    let seat = workers.least_loaded();
    let load = Arc::clone(&seat.load);
    drop(workers.send(0, seat));
    workers.join();
    assert_eq!(load.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "local", start_paused = true)]
async fn the_clock_counts_seconds_and_does_not_drift() {
    let clock = Clock::start();
    assert_eq!(clock.now(), 0);
    tokio::time::sleep(std::time::Duration::from_millis(7_900)).await;
    assert_eq!(clock.now(), 7);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(clock.now(), 8);
}
