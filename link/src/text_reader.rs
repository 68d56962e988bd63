//! Long texts are read by a thread of their own, one behind the other: 16 MiB of short words take a quarter of a second, and the
//! other sessions of the worker would wait.

use std::cell::RefCell;
use std::sync::{Arc, mpsc};

use sql::{Analysis, Flags};
use system::Threads;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::memory::MemoryShare;

/// Longer texts are read by a [`TextReader`]. Shorter ones take a millisecond at most, whatever is in them.
pub const READ_HERE_BYTES_MAX: usize = 64 << 10;

/// One worker's. Its thread starts with the first long text, and ends with the reader.
///
/// The thread has one text at a time. The next one stays with its session until the thread is free: a session that ends takes
/// its text along.
pub struct TextReader {
    threads: Threads,
    turn: Arc<Semaphore>,
    thread: RefCell<Option<mpsc::Sender<LongText>>>,
}

/// A text whose facts and digest are wanted.
struct LongText {
    bytes: Arc<Vec<u8>>,
    /// Where the text begins in them.
    begin: usize,
    flags: Flags,
    reply: oneshot::Sender<Analysis>,
    /// Where the bytes are counted. If the session ends meanwhile, they are counted until the thread is done.
    memory: Arc<MemoryShare>,
    /// The next text's turn comes when this one is dropped.
    turn: Option<OwnedSemaphorePermit>,
}

impl TextReader {
    /// A reader whose thread is to be one of these.
    pub fn new(threads: Threads) -> Self {
        Self {
            threads,
            turn: Arc::new(Semaphore::new(1)),
            thread: RefCell::default(),
        }
    }

    /// Facts and digest of a text that ends with `bytes`, which are counted in `memory`. If no thread can be started, the text
    /// is read here.
    ///
    /// The bytes are away from their place while the thread has them. A caller who does not wait for the end loses them then.
    pub async fn read(
        &self,
        bytes: &mut Vec<u8>,
        begin: usize,
        flags: Flags,
        memory: &Arc<MemoryShare>,
    ) -> Analysis {
        // It is never closed.
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok();
        let shared = Arc::new(std::mem::take(bytes));
        let (reply, read) = oneshot::channel();
        let is_sent = self.send(LongText {
            bytes: Arc::clone(&shared),
            begin,
            flags,
            reply,
            memory: Arc::clone(memory),
            turn,
        });
        // None: the thread has panicked.
        let analysis = match is_sent {
            true => read.await.ok(),
            false => None,
        };
        *bytes = Arc::unwrap_or_clone(shared);
        analysis.unwrap_or_else(|| analysis_of(bytes, begin, flags))
    }

    /// Whether a thread has the text now.
    fn send(&self, text: LongText) -> bool {
        let mut thread = self.thread.borrow_mut();
        let unsent = match &*thread {
            Some(known) => known.send(text),
            None => Err(mpsc::SendError(text)),
        };
        let Err(mpsc::SendError(text)) = unsent else {
            return true;
        };
        let (sender, texts) = mpsc::channel();
        let started = self.threads.start("texts", move || read_each(&texts));
        *thread = started.ok().map(|_| sender);
        thread.as_ref().is_some_and(|it| it.send(text).is_ok())
    }
}

/// Reads texts until the reader has gone.
fn read_each(texts: &mpsc::Receiver<LongText>) {
    for text in texts {
        let LongText {
            bytes,
            begin,
            flags,
            reply,
            memory,
            turn,
        } = text;
        let analysis = analysis_of(&bytes, begin, flags);
        // Whoever gets the analysis has the bytes alone.
        drop(bytes);
        drop(memory);
        // Its session may have ended.
        let _ = reply.send(analysis);
        drop(turn);
    }
}

fn analysis_of(bytes: &[u8], begin: usize, flags: Flags) -> Analysis {
    Analysis::of(bytes.get(begin..).unwrap_or_default(), flags)
}

#[cfg(test)]
mod tests;
