//! Work that takes a while, on another thread.

use crate::fault::Fault;

/// The most statements that run at once. Further statements wait, within their time limit.
pub const RUNNING_MAX: usize = 4;

/// Runs work that takes a while on a blocking thread, so that other connections need not wait.
///
/// # Errors
/// The errors of the work.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a statement of the admin port has failed because of a fault in Pilotfish; please report this line");
            Err(Fault::other(
                "The statement has failed because of a fault in the proxy; its log has the details",
            ))
        }
    }
}
