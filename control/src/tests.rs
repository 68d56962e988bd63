//! The control plane with scripted backends. The tests wait for events, and never for a fixed time.

mod accounts;
mod clients;
mod prepared_statements;
mod replication;
mod scripted_backend;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use config::{BackendAddress, BackendConfig, BackendTlsMode, Config, ProxyProtocolSend, Secret};
use net::tls::{ClientCertificates, Identity, ServerTls, ServerTlsSettings};
use net::watch;
use route::{Backend, BackendId, Endpoint, Health, KillReason, Report, Topology};
use system::{Clock, Entropy, System, Threads};
use tokio::sync::mpsc;

use crate::control::nothing_yet;
use crate::control_loop::{ControlLoop, Order};
use crate::snapshot_publisher::SnapshotPublisher;
use crate::{Control, Resolver, Resolving, SystemResolver};
use scripted_backend::{Met, STRICT, Script, Scripted};

/// The longest time that a test waits, so that a failing test ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn backend(name: &str, address: BackendAddress) -> BackendConfig {
    BackendConfig {
        name: name.to_owned(),
        address,
        ..BackendConfig::default()
    }
}

pub(crate) fn at(address: SocketAddr) -> BackendAddress {
    named(&address.ip().to_string(), address.port())
}

fn named(host: &str, port: u16) -> BackendAddress {
    BackendAddress::Tcp {
        host: host.to_owned(),
        port,
    }
}

/// Probe intervals are short, and timeouts are so long that they do not occur.
pub(crate) fn config(backends: impl IntoIterator<Item = BackendConfig>) -> Config {
    let mut config = Config {
        backends: backends.into_iter().collect(),
        ..Config::default()
    };
    config.health.timeout_connect = PATIENCE;
    config.health.probe_interval = Duration::from_millis(2);
    config.health.probe_interval_max = Duration::from_millis(10);
    config
}

fn watching(address: SocketAddr) -> Config {
    config([backend("db", at(address))])
}

pub(crate) fn monitored(address: SocketAddr) -> Config {
    let mut config = watching(address);
    config.health.monitor_user = Some("monitor".to_owned());
    config.health.monitor_password = Some(Secret::new("secret"));
    config.health.monitor_interval = Duration::from_millis(2);
    config
}

/// A system with the machine's clock and threads, and with random bytes from a seed.
pub(crate) fn system() -> System {
    System {
        clock: Clock::new(Instant::now, SystemTime::now),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|name, work| thread::Builder::new().name(name).spawn(work)),
    }
}

pub(crate) fn start(config: &Config) -> (Control, watch::Receiver<Arc<Topology>>) {
    let control = Control::start(config, Instant::now(), &system()).unwrap();
    let topology = control.topology();
    (control, topology)
}

/// Waits for the first snapshot in which the first backend is as `wanted`.
async fn first(
    topology: &mut watch::Receiver<Arc<Topology>>,
    wanted: impl Fn(&Backend) -> bool,
) -> Backend {
    let waiting = topology.wait_for(|topology| wanted(&topology.backends[0]));
    let found = tokio::time::timeout(PATIENCE, waiting).await;
    Backend::clone(&found.expect("it never came to that").unwrap().backends[0])
}

fn is_up(backend: &Backend) -> bool {
    matches!(backend.health, Health::Up { .. })
}

fn is_down(backend: &Backend) -> bool {
    !backend.is_usable()
}

/// Waits until the first backend is down. Returns the cause.
async fn cause(topology: &mut watch::Receiver<Arc<Topology>>) -> String {
    let Health::Down { cause, .. } = first(topology, is_down).await.health else {
        unreachable!("only those that are down are not usable");
    };
    cause
}

#[tokio::test]
async fn a_backend_that_refuses_is_down_and_up_again_when_it_is_back() {
    let address = Scripted::free_address().await;
    let (_control, mut topology) = start(&watching(address));
    assert_eq!(cause(&mut topology).await, "Connection refused");
    let _back = Scripted::start_at(address, STRICT).await;
    let backend = first(&mut topology, is_up).await;
    assert!(backend.returned.is_some(), "slow start counts from here");
}

#[tokio::test]
async fn a_backend_seen_well_at_the_start_has_no_slow_start() {
    let scripted = Scripted::start(STRICT).await;
    let (_control, mut topology) = start(&watching(scripted.address));
    assert_eq!(first(&mut topology, is_up).await.returned, None);
}

#[tokio::test]
async fn a_backend_that_accepts_and_never_greets_is_down() {
    let scripted = Scripted::start(Script::Silence).await;
    let mut config = watching(scripted.address);
    config.health.timeout_connect = Duration::from_millis(50);
    let (_control, mut topology) = start(&config);
    assert_eq!(cause(&mut topology).await, "no greeting within 50ms");
}

#[tokio::test]
async fn a_peer_that_is_no_mysql_server_is_down_with_the_reason() {
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        // The longest possible packet.
        b"\xff\xff\xff\0\x0a",
        // A packet with protocol version 9, and a packet that ends early.
        b"\x05\0\0\0\x095.0\0",
        b"\x05\0\0\0\x0a8.0\0",
    ] {
        let scripted = Scripted::start(Script::Bytes(bytes.to_vec())).await;
        let (_control, mut topology) = start(&watching(scripted.address));
        let cause = cause(&mut topology).await;
        assert!(cause.starts_with("it is no MySQL server"), "{cause}");
    }
}

#[tokio::test]
async fn an_error_for_a_greeting_is_passed_on() {
    for (number, text) in [(1041, "Out of memory"), (1129, "Host is blocked")] {
        let scripted = Scripted::start(Script::Err(number, text)).await;
        let (_control, mut topology) = start(&watching(scripted.address));
        let cause = cause(&mut topology).await;
        assert_eq!(cause, format!("it refused with error {number}: {text}"));
    }
}

#[tokio::test]
async fn a_new_cause_while_a_backend_is_down_is_reported() {
    let scripted = Scripted::start(Script::Err(1041, "Out of memory")).await;
    let (_control, mut topology) = start(&watching(scripted.address));
    first(&mut topology, |b| b.health.to_string().contains("1041")).await;
    scripted.play(Script::Err(1129, "Host is blocked"));
    first(&mut topology, |b| b.health.to_string().contains("1129")).await;
}

#[tokio::test]
async fn a_backend_that_has_as_many_connections_as_it_takes_is_up() {
    let scripted = Scripted::start(Script::Err(1040, "Too many connections")).await;
    let (_control, mut topology) = start(&watching(scripted.address));
    first(&mut topology, is_up).await;
}

#[tokio::test]
async fn a_probe_without_an_account_disconnects_after_the_refusal() {
    let mut scripted = Scripted::start(STRICT).await;
    let (_control, mut topology) = start(&watching(scripted.address));
    assert!(is_up(&first(&mut topology, is_up).await));
    let user = "pilotfish_probe_has_no_account".to_owned();
    assert_eq!(scripted.met.recv().await, Some(Met::Login(user)));
    assert_eq!(scripted.met.recv().await, Some(Met::Closed));
}

#[tokio::test]
async fn a_probe_that_an_anonymous_account_admits_sends_quit() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    let (_control, _topology) = start(&watching(scripted.address));
    assert!(matches!(scripted.met.recv().await, Some(Met::Login(_))));
    assert_eq!(scripted.met.recv().await, Some(Met::Quit));
}

#[tokio::test]
async fn with_an_account_a_backend_that_is_up_is_asked_again_and_again() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    let (_control, mut topology) = start(&monitored(scripted.address));
    for _ in 0..3 {
        let is_login = |met: &Met| *met == Met::Login("monitor".into());
        scripted.meets(is_login).await;
        scripted
            .meets(|met| *met == Met::Statement("DO 1".into()))
            .await;
    }
    first(&mut topology, is_up).await;
    scripted.play(Script::Sick(1047, "WSREP has not yet prepared node"));
    let text = "it refused with error 1047: WSREP has not yet prepared node";
    assert_eq!(cause(&mut topology).await, text);
    scripted.play(Script::Welcome);
    first(&mut topology, is_up).await;
}

#[tokio::test]
async fn a_backend_that_refuses_the_account_is_well() {
    let mut scripted = Scripted::start(STRICT).await;
    let (_control, mut topology) = start(&monitored(scripted.address));
    assert!(is_up(&first(&mut topology, is_up).await));
    for _ in 0..3 {
        scripted.meets(|met| *met == Met::Closed).await;
    }
    assert_eq!(
        topology.borrow().generation,
        3,
        "Unknown, then Up, then that it cannot be asked, then no news"
    );
}

#[tokio::test]
async fn a_look_begins_with_a_proxy_header_where_sessions_do() {
    let mut scripted = Scripted::start(Script::WelcomeBehindProxy).await;
    let mut config = monitored(scripted.address);
    config.proxy_protocol.send = ProxyProtocolSend::V2;
    let (_control, mut topology) = start(&config);
    first(&mut topology, is_up).await;
    let header = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0".to_vec();
    assert_eq!(scripted.met.recv().await, Some(Met::Header(header)));
}

/// A certificate for this name and its key, as files in `folder`.
fn identity(folder: &Path, name: &str) -> Identity {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    Identity { certificate, key }
}

#[tokio::test]
async fn a_look_trusts_and_distrusts_certificates_as_sessions_do() {
    let folder = tempfile::tempdir().unwrap();
    let identity = identity(folder.path(), "elsewhere.example");
    let ca = identity.certificate.clone();
    let settings = ServerTlsSettings {
        identity: Some(identity),
        client_certificates: ClientCertificates::Ignored,
    };
    let tls = ServerTls::new(settings).unwrap();
    let mut scripted = Scripted::start(Script::WelcomeOverTls(tls.acceptor())).await;
    let mut config = monitored(scripted.address);
    config.backend_tls.ca = Some(ca);
    for mode in [
        BackendTlsMode::Preferred,
        BackendTlsMode::Required,
        BackendTlsMode::VerifyCa,
    ] {
        config.backend_tls.mode = mode;
        let (_control, mut topology) = start(&config);
        first(&mut topology, is_up).await;
        scripted
            .meets(|met| *met == Met::Login("monitor".into()))
            .await;
    }
    config.backend_tls.mode = BackendTlsMode::VerifyIdentity;
    let (_control, mut topology) = start(&config);
    let cause = cause(&mut topology).await;
    assert!(cause.starts_with("TLS: "), "{cause}");
}

#[tokio::test]
async fn a_backend_without_tls_is_down_where_tls_is_required() {
    let scripted = Scripted::start(Script::Welcome).await;
    let mut config = watching(scripted.address);
    config.backend_tls.mode = BackendTlsMode::Preferred;
    let (_control, mut topology) = start(&config);
    first(&mut topology, is_up).await;
    config.backend_tls.mode = BackendTlsMode::Required;
    let (_control, mut topology) = start(&config);
    assert_eq!(cause(&mut topology).await, "TLS: it does not offer TLS");
}

#[tokio::test]
async fn a_connect_that_failed_marks_its_backend_down_at_once() {
    let scripted = Scripted::start(STRICT).await;
    let mut config = watching(scripted.address);
    config.health.probe_interval = Duration::from_secs(3600);
    let (control, mut topology) = start(&config);
    let backend = first(&mut topology, is_up).await;
    let report = Report::ConnectFailed {
        backend: backend.id,
        cause: "no route to host".into(),
    };
    control.reports().send(report).unwrap();
    assert_eq!(cause(&mut topology).await, "no route to host");
}

#[tokio::test]
async fn a_broken_session_makes_the_control_plane_look_for_itself() {
    let scripted = Scripted::start(STRICT).await;
    let (control, mut topology) = start(&watching(scripted.address));
    let backend = first(&mut topology, is_up).await;
    scripted.play(Script::Refuse(1053, "Server shutdown in progress"));
    let report = Report::SessionBroken {
        backend: backend.id,
        cause: "connection reset".into(),
    };
    control.reports().send(report).unwrap();
    let text = "it refused with error 1053: Server shutdown in progress";
    assert_eq!(cause(&mut topology).await, text);
}

#[tokio::test]
async fn kills_are_done_with_the_monitor_account() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    let mut config = monitored(scripted.address);
    config.health.monitor_interval = Duration::from_secs(3600);
    let (control, mut topology) = start(&config);
    let backend = first(&mut topology, is_up).await.id;
    let is_kill = |met: &Met| matches!(met, Met::Statement(text) if text.starts_with("KILL"));
    for (thread_id, why, statement) in [
        (77, KillReason::ClientGone, "KILL 77"),
        (78, KillReason::OverTime, "KILL QUERY 78"),
    ] {
        let report = Report::KillStatement {
            backend,
            thread_id,
            why,
        };
        control.reports().send(report).unwrap();
        let killed = scripted.meets(is_kill).await;
        assert_eq!(killed, Met::Statement(statement.into()));
    }
}

/// Runs a control loop that gets these reports and a stop before it has handled any report.
async fn run_to_the_stop(config: Config, reports: impl IntoIterator<Item = Report>) {
    let (snapshots, _topology) = watch::channel(Arc::new(nothing_yet()));
    let publisher = SnapshotPublisher::new(&config, &Entropy::seeded(7)).unwrap();
    let mut control_loop = ControlLoop::new(
        Instant::now(),
        1,
        Entropy::seeded(7),
        Arc::new(SystemResolver),
        snapshots,
        publisher,
    );
    control_loop.begin(Arc::new(config)).await;
    let (orders, ordered) = mpsc::unbounded_channel();
    let (reporting, reported) = mpsc::unbounded_channel();
    for report in reports {
        reporting.send(report).unwrap();
    }
    orders.send(Order::Stop).unwrap();
    let running = control_loop.run(ordered, reported);
    tokio::time::timeout(PATIENCE, running).await.unwrap();
}

/// A kill on the first backend.
fn kill(thread_id: u32) -> Report {
    Report::KillStatement {
        backend: BackendId(0),
        thread_id,
        why: KillReason::Stopping,
    }
}

/// The kill statements that a backend has received so far.
fn killed(scripted: &mut Scripted) -> Vec<String> {
    let met = std::iter::from_fn(|| scripted.met.try_recv().ok());
    let killed = met.filter_map(|met| match met {
        Met::Statement(text) if text.starts_with("KILL") => Some(text),
        _ => None,
    });
    killed.collect()
}

#[tokio::test]
async fn kills_reported_before_the_stop_are_done_before_the_end() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    let config = monitored(scripted.address);
    run_to_the_stop(config, [kill(1), kill(2), kill(3)]).await;
    assert_eq!(killed(&mut scripted), ["KILL 1", "KILL 2", "KILL 3"]);
}

#[tokio::test]
async fn nothing_is_killed_on_a_backend_that_has_fallen() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    let mut config = monitored(scripted.address);
    config.health.probe_interval = Duration::from_secs(3600);
    let fell = Report::ConnectFailed {
        backend: BackendId(0),
        cause: "connection refused".into(),
    };
    run_to_the_stop(config, [fell, kill(1)]).await;
    assert_eq!(killed(&mut scripted), [""; 0]);
}

#[tokio::test]
async fn without_an_account_nothing_is_killed() {
    let mut scripted = Scripted::start(Script::Welcome).await;
    run_to_the_stop(watching(scripted.address), [kill(1)]).await;
    assert_eq!(killed(&mut scripted), [""; 0]);
}

#[tokio::test]
async fn a_stop_ends_the_thread_while_a_probe_hangs() {
    let scripted = Scripted::start(Script::Silence).await;
    let (control, mut topology) = start(&watching(scripted.address));
    control.stop();
    assert!(
        topology.changed().await.is_err(),
        "nobody publishes any more"
    );
}

/// A resolver whose answers the test sets.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<SocketAddr>>>);

impl Names {
    fn set(&self, host: &str, addresses: &[SocketAddr]) {
        let addresses = addresses.to_vec();
        self.0.lock().unwrap().insert(host.to_owned(), addresses);
    }
}

impl Resolver for Names {
    fn resolve(&self, host: String, _: u16) -> Resolving {
        let known = self.0.lock().unwrap().get(&host).cloned();
        let known = known.ok_or_else(|| io::Error::other("no such name"));
        Box::pin(std::future::ready(known))
    }
}

fn by_name(config: &mut Config) -> Arc<Names> {
    config.backends = vec![backend("db", named("db.example", 3306))];
    config.health.resolve_interval = Duration::from_millis(2);
    Arc::new(Names::default())
}

#[tokio::test]
async fn a_name_is_resolved_before_the_first_snapshot_and_again_later() {
    let (one, other) = (Scripted::start(STRICT).await, Scripted::start(STRICT).await);
    let mut config = config([]);
    let names = by_name(&mut config);
    names.set("db.example", &[one.address, one.address]);
    let control = Control::start_with(&config, Instant::now(), &system(), names.clone()).unwrap();
    let mut topology = control.topology();
    let endpoints = topology.borrow().backends[0].location.endpoints.clone();
    assert_eq!(endpoints, [Endpoint::Tcp(one.address)], "each address once");

    names.set("db.example", &[other.address]);
    let moved = first(&mut topology, |b| {
        b.location.endpoints == [Endpoint::Tcp(other.address)]
    })
    .await;
    assert_eq!(moved.location.host.as_deref(), Some("db.example"));
}

#[tokio::test]
async fn a_name_that_cannot_be_resolved_is_down_until_it_can() {
    let scripted = Scripted::start(STRICT).await;
    let mut config = config([]);
    let names = by_name(&mut config);
    config.health.resolve_interval = Duration::ZERO;
    let control = Control::start_with(&config, Instant::now(), &system(), names.clone()).unwrap();
    let mut topology = control.topology();
    let text = "cannot resolve db.example: no such name";
    assert_eq!(cause(&mut topology).await, text);
    names.set("db.example", &[scripted.address]);
    let backend = first(&mut topology, is_up).await;
    assert_eq!(
        backend.location.endpoints,
        [Endpoint::Tcp(scripted.address)]
    );
}

#[tokio::test]
async fn a_reload_publishes_one_snapshot_and_keeps_unchanged_backends() {
    let (one, two) = (Scripted::start(STRICT).await, Scripted::start(STRICT).await);
    let before = config([
        backend("stays", at(one.address)),
        backend("goes", at(two.address)),
    ]);
    let (control, mut topology) = start(&before);
    let stays = first(&mut topology, is_up).await;
    let _slot = stays.begin().unwrap();

    let after = config([
        backend("stays", at(one.address)),
        backend("comes", at(two.address)),
    ]);
    control.reconfigure(Arc::new(after)).unwrap();
    let names = |topology: &Topology| -> Vec<String> {
        topology.backends.iter().map(|b| b.name.clone()).collect()
    };
    let waiting = topology.wait_for(|topology| names(topology) != ["stays", "goes"]);
    let topology = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    let topology = Arc::clone(&topology.unwrap());
    assert_eq!(names(&topology), ["stays", "comes"]);
    assert_eq!(topology.backends[0].id, stays.id);
    assert_eq!(topology.backends[0].load.sessions(), 1);
    assert!(is_up(&topology.backends[0]), "its health is known");
}
