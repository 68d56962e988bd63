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
    if let (Some(Ok(target)), Some(_)) = (config.tracing.target(), &config.tracing.ca)
        && !target.is_tls
    {
        let text = "is for an endpoint that begins with https://";
        faults.push(written.fault("tracing.ca", text));
    }
}
