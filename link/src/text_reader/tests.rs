#![allow(clippy::unwrap_used)]

use std::pin::pin;
use std::task::{Context, Waker};
use std::thread::{Builder, spawn};

use system::Work;

use super::*;

const TEXT: &[u8] = b"\0\0UPDATE t SET a = 1";

async fn read(reader: &TextReader, bytes: &mut Vec<u8>) -> Analysis {
    let memory = Arc::default();
    reader.read(bytes, 2, Flags::default(), &memory).await
}

async fn is_read_by(reader: &TextReader) {
    let mut bytes = TEXT.to_vec();
    let address = bytes.as_ptr();
    let analysis = read(reader, &mut bytes).await;
    let (text, flags) = (&TEXT[2..], Flags::default());
    assert_eq!(analysis.facts, sql::facts(text, flags));
    assert_eq!(analysis.digest.hash(), sql::digest(text, flags).hash());
    assert_eq!(bytes, TEXT);
    assert_eq!(bytes.as_ptr(), address, "they are not copied");
}

/// A reader whose first thread starts only when the test lets it.
fn held_back() -> (TextReader, mpsc::Receiver<Work>) {
    let (work, works) = mpsc::channel();
    let threads = Threads::new(move |_, started| {
        work.send(started).unwrap();
        Builder::new().spawn(|| ())
    });
    (TextReader::new(threads), works)
}

#[tokio::test]
async fn a_thread_reads_texts_and_ends_with_its_reader() {
    let (reader, works) = held_back();
    let thread = spawn(move || {
        works.recv().unwrap()();
        works.iter().count()
    });
    is_read_by(&reader).await;
    is_read_by(&reader).await;
    drop(reader);
    assert_eq!(thread.join().unwrap(), 0, "one thread");
}

#[tokio::test]
async fn without_threads_a_text_is_read_at_once() {
    let none = Threads::new(|_, _| Err(std::io::ErrorKind::Unsupported.into()));
    is_read_by(&TextReader::new(none)).await;
}

#[tokio::test]
async fn a_text_whose_thread_has_ended_is_read_at_once() {
    let reader = TextReader::new(Threads::new(|_, work| {
        Builder::new().spawn(move || drop(work))
    }));
    is_read_by(&reader).await;
    is_read_by(&reader).await;
}

#[tokio::test]
async fn a_text_that_waits_for_its_turn_stays_with_its_session() {
    let (reader, works) = held_back();
    let context = &mut Context::from_waker(Waker::noop());
    let thread = {
        let mut first = TEXT.to_vec();
        let mut first = pin!(read(&reader, &mut first));
        assert!(first.as_mut().poll(context).is_pending());
        let mut second = TEXT.to_vec();
        {
            let waiting = pin!(read(&reader, &mut second));
            assert!(waiting.poll(context).is_pending());
        }
        assert_eq!(second, TEXT);
        let thread = spawn(move || works.recv().unwrap()());
        first.await;
        thread
    };
    is_read_by(&reader).await;
    drop(reader);
    thread.join().unwrap();
}

#[tokio::test]
async fn a_text_is_counted_until_its_thread_is_done_with_it() {
    let (reader, works) = held_back();
    let memory = Arc::<MemoryShare>::default();
    let context = &mut Context::from_waker(Waker::noop());
    {
        let mut bytes = TEXT.to_vec();
        let read = pin!(reader.read(&mut bytes, 2, Flags::default(), &memory));
        assert!(read.poll(context).is_pending());
    }
    assert_eq!(Arc::strong_count(&memory), 2);
    let thread = spawn(move || works.recv().unwrap()());
    is_read_by(&reader).await;
    assert_eq!(Arc::strong_count(&memory), 1);
    drop(reader);
    thread.join().unwrap();
}
