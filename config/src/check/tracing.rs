//! Checks of traces and metrics by OTLP: valid targets and headers.

use crate::load::written::Written;
use crate::{Config, Fault};

/// Adds every fault of the settings of traces and of metrics by OTLP.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if let Some(Err(text)) = config.tracing.extra_header() {
        faults.push(written.fault("tracing.header", text));
    }
    let targets = [
        ("endpoint", config.tracing.target()),
        ("metrics_endpoint", config.tracing.metrics_target()),
    ];
    for (key, target) in &targets {
        if let Some(Err(text)) = target {
            let fault = written.fault(&format!("tracing.{key}"), *text);
            faults.push(fault.hint(format!("{key} = \"http://127.0.0.1:4318\"")));
        }
    }
    let mut known = targets.iter().filter_map(|it| it.1.as_ref()?.as_ref().ok());
    let is_any = known.clone().next().is_some();
    if config.tracing.ca.is_some() && is_any && !known.any(|it| it.is_tls) {
        let text = "is for an endpoint that begins with https://";
        faults.push(written.fault("tracing.ca", text));
    }
}
