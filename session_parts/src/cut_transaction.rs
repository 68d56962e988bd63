//! The error that a client gets after its transaction was cut off, until it ends that transaction or begins another.

use wire::ErrorCode;
use wire::errors::ProxyError;

use link::failure::Failure;

/// A transaction that was cut off.
#[derive(Debug)]
pub struct CutTransaction {
    /// The error's number.
    pub code: ErrorCode,
    /// Why the transaction was cut off.
    pub why: Box<str>,
}

impl CutTransaction {
    /// A transaction whose connection is lost.
    pub fn new(why: &str) -> Self {
        Self {
            code: ErrorCode::BACKEND_LOST,
            why: why.into(),
        }
    }

    /// A transaction that the proxy has ended, for this reason.
    pub fn ended(error: &ProxyError) -> Self {
        Self {
            code: error.code,
            why: error.text.as_ref().into(),
        }
    }

    /// A transaction that this failure has ended.
    pub fn by(failure: &Failure) -> Self {
        let code = failure.kind.verdict().client_error;
        Self {
            code: code.unwrap_or(ErrorCode::BACKEND_LOST),
            why: failure.cause.as_str().into(),
        }
    }
}
