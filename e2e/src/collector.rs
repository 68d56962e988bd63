//! An OpenTelemetry collector: receives spans and metrics by OTLP over HTTP, and decodes them by the published schema.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::certs::Identity;
use crate::{free_port, wait};

/// See the module.
pub struct Collector {
    port: u16,
    scheme: &'static str,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    spans: Mutex<Vec<Span>>,
    /// Values of `service.name`.
    services: Mutex<Vec<String>>,
    /// The messages with metrics.
    metrics: Mutex<Vec<ResourceMetrics>>,
    requests: Mutex<Vec<String>>,
    status: AtomicU16,
    is_silent: AtomicBool,
    has_ended: AtomicBool,
}

impl Collector {
    /// Starts a collector on any port.
    pub fn start() -> Self {
        Self::on(free_port())
    }

    /// Starts a collector on this port.
    pub fn on(port: u16) -> Self {
        Self::listen(port, None)
    }

    /// Starts a collector on any port, over TLS with this certificate.
    pub fn secured(identity: &Identity) -> Self {
        Self::listen(free_port(), Some(server_config(identity)))
    }

    fn listen(port: u16, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let state = Arc::new(State::default());
        state.status.store(200, Ordering::Relaxed);
        let shared = Arc::clone(&state);
        let scheme = if tls.is_some() { "https" } else { "http" };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.has_ended.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&shared);
                let tls = tls.clone();
                thread::spawn(move || match tls {
                    None => shared.answer(stream),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).expect("it is set up");
                        shared.answer(StreamOwned::new(connection, stream));
                    }
                });
            }
        });
        Self {
            port,
            scheme,
            state,
        }
    }

    /// The address of this collector for the proxy's setting.
    pub fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// Answers every request with this status from now on.
    pub fn answer_with(&self, status: u16) {
        self.state.status.store(status, Ordering::Relaxed);
    }

    /// Answers no request from now on.
    pub fn fall_silent(&self) {
        self.state.is_silent.store(true, Ordering::Relaxed);
    }

    /// All spans received so far.
    pub fn spans(&self) -> Vec<Span> {
        locked(&self.state.spans).clone()
    }

    /// All spans, once this number of them has arrived.
    pub fn wait_for(&self, count: usize) -> Vec<Span> {
        wait::until(&format!("{count} spans have come"), wait::SOON, || {
            locked(&self.state.spans).len() >= count
        });
        self.spans()
    }

    /// All messages with metrics received so far.
    pub fn metrics(&self) -> Vec<ResourceMetrics> {
        locked(&self.state.metrics).clone()
    }

    /// The services that have sent spans, with one entry for each resource in a message.
    pub fn services(&self) -> Vec<String> {
        locked(&self.state.services).clone()
    }

    /// The heads of all requests, in lower case.
    pub fn requests(&self) -> Vec<String> {
        locked(&self.state.requests).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn answer<S: Read + Write>(&self, stream: S) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        head.make_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|it| it.trim().parse().ok())
            .expect("it says how long it is");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("it is all there");
        while self.is_silent.load(Ordering::Relaxed) {
            if self.has_ended.load(Ordering::Relaxed) {
                return;
            }
            // The pause between two checks of the flag that the test sets.
            thread::sleep(std::time::Duration::from_millis(20));
        }
        let status = self.status.load(Ordering::Relaxed);
        if status == 200 && head.contains("/v1/metrics ") {
            let request = ExportMetricsServiceRequest::decode(&*body).expect("it is a request");
            locked(&self.metrics).extend(request.resource_metrics);
        } else if status == 200 {
            let request = ExportTraceServiceRequest::decode(&*body).expect("it is a request");
            self.keep(request);
        }
        locked(&self.requests).push(head);
        let answer =
            format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let _ = reader.into_inner().write_all(answer.as_bytes());
    }

    fn keep(&self, request: ExportTraceServiceRequest) {
        for of_resource in request.resource_spans {
            let resource = of_resource.resource.expect("it says of what they are");
            let name = resource
                .attributes
                .iter()
                .find(|it| it.key == "service.name");
            let name = name.and_then(|it| it.value.clone()).and_then(|it| it.value);
            if let Some(Value::StringValue(name)) = name {
                locked(&self.services).push(name);
            }
            for scope in of_resource.scope_spans {
                locked(&self.spans).extend(scope.spans);
            }
        }
    }
}

fn server_config(identity: &Identity) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let certificate = CertificateDer::from_pem_file(&identity.certificate);
    let key = PrivateKeyDer::from_pem_file(&identity.key);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.expect("there is one")],
            key.expect("there is one"),
        );
    Arc::new(config.expect("they fit together"))
}

/// An attribute of a span, as text; empty if the span does not have it.
pub fn attribute(span: &Span, key: &str) -> String {
    text_of(&span.attributes, key)
}

/// The value of a key among attributes, as text; empty if the key is missing.
pub fn text_of(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|it| it.key == key);
    match found
        .and_then(|it| it.value.clone())
        .and_then(|it| it.value)
    {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        _ => String::new(),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
