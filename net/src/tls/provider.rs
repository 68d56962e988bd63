//! The cryptographic library.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The cryptography used everywhere, named so that no process-wide default is needed.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
