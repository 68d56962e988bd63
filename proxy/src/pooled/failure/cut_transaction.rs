//! What a client is told whose transaction was cut off, until it ends that transaction or begins another.

use wire::ErrorCode;

use link::failure::Failure;

/// What the client is told until then.
#[derive(Debug)]
pub(crate) struct CutTransaction {
    pub code: ErrorCode,
    pub why: Box<str>,
}

impl CutTransaction {
    pub(crate) fn new(why: &str) -> Self {
        Self {
            code: ErrorCode::BACKEND_LOST,
            why: why.into(),
        }
    }

    /// One that this failure has ended.
    pub(crate) fn by(failure: &Failure) -> Self {
        let code = failure.kind.verdict().told;
        Self {
            code: code.unwrap_or(ErrorCode::BACKEND_LOST),
            why: failure.cause.as_str().into(),
        }
    }
}
