//! Work that takes a while.

use crate::fault::Fault;

/// Statements that run at once; the others wait, within their time.
pub const RUNNING_MAX: usize = 4;

/// Does something that takes a while where nobody waits for it.
///
/// # Errors
/// Its own.
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
