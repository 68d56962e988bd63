//! What traces must have: a place that is one.

use crate::load::Written;
use crate::{Config, Fault};

/// Every fault of the settings of traces.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if let Some(Err(text)) = config.tracing.extra_header() {
        faults.push(written.fault("tracing.header", text));
    }
    if let Some(Err(text)) = config.tracing.target() {
        let fault = written.fault("tracing.endpoint", text);
        faults.push(fault.hint("endpoint = \"http://127.0.0.1:4318\""));
    }
}
