//! Settings of traces and of metrics by OTLP: where spans of statements and metrics are sent.

use std::path::PathBuf;
use std::time::Duration;

use super::http_target::HttpTarget;
use super::units::{HOUR, MINUTE, MS, SECOND};
use crate::define::{choices, settings};
use crate::{Secret, Traits};

settings! {
    /// Spans of statements, and metrics, sent to a collector of OpenTelemetry's. See [Traces](tracing.md) and
    /// [Metrics](metrics.md#metrics-by-otlp).
    pub struct TracingConfig in [tracing], "Traces" {
        /// The address to which spans are sent, by OTLP over HTTP: `"http://127.0.0.1:4318"`. Without a path
        /// it is `/v1/traces`. None are made unless it is given.
        endpoint: Option<String> = None, Traits::RELOAD;

        /// The address to which metrics are sent, by OTLP over HTTP: `"http://127.0.0.1:4318"`. Without a path
        /// it is `/v1/metrics`. None are sent unless it is given.
        metrics_endpoint: Option<String> = None, Traits::RELOAD;

        /// The time between two messages with metrics.
        metrics_interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, HOUR);

        /// PEM file with the authorities that sign the collector's certificate, if `endpoint` or `metrics_endpoint`
        /// begins with `https://`. Without it the system's authorities are trusted.
        ca: Option<PathBuf> = None, Traits::RELOAD;

        /// A header that the collector wants with each request, such as `"authorization: Bearer …"`; best
        /// `"file:PATH"` or `"env:NAME"`, where it stands.
        header: Option<Secret> = None, Traits::RELOAD;

        /// Of statements that belong to no trace, one of so many begins one, by chance.
        sample_one_in: u32 = 1000, Traits::RELOAD.within(1, 1_000_000_000).nothing("none");

        /// How the proxy treats statements that say to which trace they belong.
        parents: TraceParents = TraceParents::Follow, Traits::RELOAD;

        /// Whether spans have statements as they were said, with their values, and not as digests.
        include_values: bool = false, Traits::RELOAD;

        /// The `service.name` of spans and metrics.
        service: String = "pilotfish".to_owned(), Traits::RELOAD;

        /// How long the collector may take to accept a batch of spans, or a message with metrics.
        timeout: Duration = Duration::from_secs(10), Traits::RELOAD.within(MS, MINUTE);
    }
}

choices! {
    /// How the proxy treats statements that say to which trace they belong.
    pub enum TraceParents {
        /// They are part of it when it is sampled, and only then.
        Follow = "follow",
        /// They are statements like others.
        Ignore = "ignore",
    }
}

impl TracingConfig {
    /// Where spans are sent, if they are.
    ///
    /// # Errors
    /// Why that is no place.
    pub fn target(&self) -> Option<Result<HttpTarget, &'static str>> {
        Some(read(self.endpoint.as_deref()?))
    }

    /// Where metrics are sent, if they are.
    ///
    /// # Errors
    /// Why that is no place.
    pub fn metrics_target(&self) -> Option<Result<HttpTarget, &'static str>> {
        let endpoint = self.metrics_endpoint.as_deref()?;
        Some(HttpTarget::parse(endpoint, (4318, "/v1/metrics")))
    }

    /// The name and value of the header that goes with each request, if one does.
    ///
    /// # Errors
    /// Why that is none.
    pub fn extra_header(&self) -> Option<Result<(&str, &str), &'static str>> {
        Some(header(self.header.as_ref()?.expose()))
    }
}

/// The port and the path are those of OTLP, unless they are given.
fn read(endpoint: &str) -> Result<HttpTarget, &'static str> {
    HttpTarget::parse(endpoint, (4318, "/v1/traces"))
}

/// A header as RFC 9110 writes it (sections 5.1 and 5.5).
fn header(text: &str) -> Result<(&str, &str), &'static str> {
    let (name, value) = text.split_once(':').ok_or("must be \"name: value\"")?;
    let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("has a name that is none of a header");
    }
    let value = value.trim_matches([' ', '\t']);
    match value
        .bytes()
        .all(|it| it == b'\t' || (b' '..=b'~').contains(&it))
    {
        true => Ok((name, value)),
        false => Err("must be of visible ASCII characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_name_and_a_value() {
        for (text, expected) in [
            ("api-key: k", Ok(("api-key", "k"))),
            (
                "Authorization:Bearer a b",
                Ok(("Authorization", "Bearer a b")),
            ),
            ("api-key", Err("must be \"name: value\"")),
            (": k", Err("has a name that is none of a header")),
            ("a b: k", Err("has a name that is none of a header")),
            ("a: k\r\nb: c", Err("must be of visible ASCII characters")),
        ] {
            assert_eq!(header(text), expected, "{text}");
        }
    }

    #[test]
    fn endpoints_are_read_as_urls() {
        let read = |text: &str| {
            let target = super::read(text)?;
            let (host, port) = (target.host, target.port);
            Ok(format!("{} {host} {port} {}", target.is_tls, target.path))
        };
        for (text, expected) in [
            ("http://otel", Ok("false otel 4318 /v1/traces")),
            ("http://otel:80/", Ok("false otel 80 /v1/traces")),
            (
                "https://otel.example/x/y?z",
                Ok("true otel.example 443 /x/y?z"),
            ),
            ("http://[::1]:4318", Ok("false ::1 4318 /v1/traces")),
            ("http://[::1]", Ok("false ::1 4318 /v1/traces")),
            ("otel:4318", Err("must begin with http:// or https://")),
            ("http://", Err("names no host")),
            ("http://:1", Err("names no host")),
            ("http://a:b", Err("has no port behind its colon")),
            ("http://a:70000", Err("has no port behind its colon")),
            (
                "http://me:secret@a",
                Err("must have no user and no password"),
            ),
            (
                "http://a\r\nX: y",
                Err("must be of visible ASCII characters"),
            ),
        ] {
            assert_eq!(read(text), expected.map(str::to_owned), "{text}");
        }
    }
}
