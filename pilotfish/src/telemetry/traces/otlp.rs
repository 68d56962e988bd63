//! Messages to a collector: those of OpenTelemetry's `trace/v1`, as far as spans of statements need
//! them (opentelemetry-proto 1.x; its field numbers do not change).

use prost::Message;

use crate::telemetry::common::{KeyValue, Resource, Scope};

/// `ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    pub flags: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// `SPAN_KIND_INTERNAL`: the work happens within the proxy.
pub const INTERNAL: i32 = 1;
/// `SPAN_KIND_CLIENT`: the proxy calls another service.
pub const CLIENT: i32 = 3;
/// `STATUS_CODE_ERROR`.
pub const ERROR: i32 = 2;

/// The trace is sampled; whether the parent is remote is known, and it is remote.
pub const FLAGS_REMOTE: u32 = 0x301;
/// The trace is sampled; whether the parent is remote is known, and it is not.
pub const FLAGS_OWN: u32 = 0x101;
