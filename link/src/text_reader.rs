//! Long texts are read on a separate thread, one after another: 16 MiB of short words take a
//! quarter of a second, and the worker's other sessions would wait.

use std::cell::RefCell;
use std::sync::{Arc, mpsc};

use sql::{Analysis, Flags};
use system::Threads;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::memory::MemoryShare;

/// Longer texts are read by a [`TextReader`]. Shorter texts take at most a millisecond, whatever they contain.
pub const READ_HERE_BYTES_MAX: usize = 64 << 10;

/// One worker's reader. Its thread starts with the first long text, and ends with the reader.
///
/// The thread has one text at a time. The next text stays with its session until the thread is
/// free, so a session that ends takes its text along.
pub struct TextReader {
    threads: Threads,
    turn: Arc<Semaphore>,
    thread: RefCell<Option<mpsc::Sender<LongText>>>,
}

/// A text that waits for its facts and its digest.
struct LongText {
    bytes: Arc<Vec<u8>>,
    /// Where the text begins in the bytes.
    begin: usize,
    flags: Flags,
    reply: oneshot::Sender<Analysis>,
    /// The share that counts the bytes. If the session ends meanwhile, they are counted until the thread is done.
    memory: Arc<MemoryShare>,
    /// When this is dropped, the next text may go to the thread.
    turn: Option<OwnedSemaphorePermit>,
}

impl TextReader {
    /// Returns a reader that starts its thread with `threads`.
    pub fn new(threads: Threads) -> Self {
        Self {
            threads,
            turn: Arc::new(Semaphore::new(1)),
            thread: RefCell::default(),
        }
    }

    /// Returns facts and digest of the text from `begin` to the end of `bytes`, which are counted
    /// in `memory`. If no thread can be started, the text is read on this thread.
    ///
    /// While the thread reads, `bytes` is empty. If the caller stops waiting, the bytes are lost.
    pub async fn read(
        &self,
        bytes: &mut Vec<u8>,
        begin: usize,
        flags: Flags,
        memory: &Arc<MemoryShare>,
    ) -> Analysis {
        // The semaphore is never closed.
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
        // `None` means that the thread has panicked.
        let analysis = match is_sent {
            true => read.await.ok(),
            false => None,
        };
        *bytes = Arc::unwrap_or_clone(shared);
        analysis.unwrap_or_else(|| analysis_of(bytes, begin, flags))
    }

    /// Sends the text to the thread. Returns whether the thread has it.
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

/// Reads texts until the reader is gone.
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
        // The receiver of the analysis must be the only owner of the bytes.
        drop(bytes);
        drop(memory);
        // The session may have ended.
        let _ = reply.send(analysis);
        drop(turn);
    }
}

fn analysis_of(bytes: &[u8], begin: usize, flags: Flags) -> Analysis {
    Analysis::of(bytes.get(begin..).unwrap_or_default(), flags)
}

#[cfg(test)]
mod tests;
