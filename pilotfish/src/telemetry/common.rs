//! The messages of OpenTelemetry that traces and metrics share (opentelemetry-proto 1.x; its field numbers do not
//! change).

use std::time::{SystemTime, UNIX_EPOCH};

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// `InstrumentationScope`.
#[derive(Clone, PartialEq, Message)]
pub struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    #[prost(oneof = "Content", tags = "1, 2, 3")]
    pub content: Option<Content>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Truth(bool),
    #[prost(int64, tag = "3")]
    Integer(i64),
}

/// The collector's answer: `ExportTraceServiceResponse` and `ExportMetricsServiceResponse` have the same form.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PartialSuccess {
    /// The number of rejected spans, or points of metrics.
    #[prost(int64, tag = "1")]
    pub rejected: i64,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

impl Resource {
    /// Describes the proxy: its service's name as configured, its version, and more attributes.
    pub fn of_service(name: &str, more: impl IntoIterator<Item = KeyValue>) -> Self {
        let own = [
            attribute("service.name", name),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
        ];
        Self {
            attributes: own.into_iter().chain(more).collect(),
        }
    }
}

impl Scope {
    /// The scope of spans and metrics: the proxy itself.
    pub fn own() -> Self {
        Self {
            name: "pilotfish".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for Content {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl From<u64> for Content {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// An attribute.
pub fn attribute(key: &str, value: impl Into<Content>) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            content: Some(value.into()),
        }),
    }
}

/// A time, in nanoseconds since 1970.
pub fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
