//! Threads.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The work of a thread.
pub type Work = Box<dyn FnOnce() + Send>;

type Start = dyn Fn(String, Work) -> io::Result<JoinHandle<()>> + Send + Sync;

/// Starts threads. Clones start them in the same way.
#[derive(Clone)]
pub struct Threads(Arc<Start>);

impl Threads {
    /// Starts threads with this function, which gets each thread's name.
    pub fn new(
        start: impl Fn(String, Work) -> io::Result<JoinHandle<()>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(start))
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        (self.0)(name.to_owned(), Box::new(work))
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Threads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name() {
        let threads = Threads::new(|name, work| std::thread::Builder::new().name(name).spawn(work));
        let thread = threads.start("control", || {
            assert_eq!(std::thread::current().name(), Some("control"));
        });
        assert!(thread.is_ok_and(|it| it.join().is_ok()));
    }
}
