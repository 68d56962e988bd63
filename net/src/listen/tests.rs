//! Listeners on real sockets: loopback ports the kernel chooses, files in temporary folders.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::net::UnixListener;
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::Socket;

const TIMEOUT: Duration = Duration::from_secs(10);

fn loopback(address: &str) -> Endpoint {
    Endpoint::Tcp(address.parse().unwrap())
}

fn listen(endpoint: &Endpoint) -> Listener {
    Listener::bind(endpoint, ListenOptions::default()).unwrap()
}

/// Accepts a connection on this thread, and serves it on another thread with its own reactor.
async fn says_hello_from_another_thread(listener: &Listener) {
    let mut client = Socket::connect(listener.endpoint(), TIMEOUT).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    if let Endpoint::Tcp(_) = listener.endpoint() {
        assert_eq!(accepted.remote, client.local_address().unwrap());
    }
    let raw = accepted.socket;
    let worker = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut socket = Socket::from_raw(raw).unwrap();
            socket.write_all(b"hello").await.unwrap();
        });
    });
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"hello");
    worker.join().unwrap();
}

#[tokio::test]
async fn ipv4_and_ipv6_share_a_port() {
    let v4 = listen(&loopback("127.0.0.1:0"));
    let Endpoint::Tcp(address) = v4.endpoint() else {
        panic!("not TCP");
    };
    says_hello_from_another_thread(&v4).await;
    let v6 = listen(&loopback(&format!("[::1]:{}", address.port())));
    says_hello_from_another_thread(&v6).await;
}

#[tokio::test]
async fn a_tcp_socket_has_its_options() {
    let listener = listen(&loopback("127.0.0.1:0"));
    let client = Socket::connect(listener.endpoint(), TIMEOUT).await.unwrap();
    let accepted = Socket::from_raw(listener.accept().await.unwrap().socket).unwrap();
    for socket in [client, accepted] {
        let Socket::Tcp(socket) = &socket else {
            panic!("not TCP");
        };
        let socket = SockRef::from(socket);
        assert!(socket.tcp_nodelay().unwrap());
        assert!(socket.keepalive().unwrap());
        assert_eq!(
            socket.tcp_keepalive_time().unwrap(),
            Duration::from_secs(60)
        );
    }
}

#[tokio::test]
async fn an_aborted_connection_is_reset() {
    let listener = listen(&loopback("127.0.0.1:0"));
    let client = Socket::connect(listener.endpoint(), TIMEOUT).await.unwrap();
    let mut accepted = Socket::from_raw(listener.accept().await.unwrap().socket).unwrap();
    client.abort();
    let error = accepted.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_refused_connection_is_reported_as_such() {
    let listener = listen(&loopback("127.0.0.1:0"));
    let endpoint = listener.endpoint().clone();
    drop(listener);
    let error = Socket::connect(&endpoint, TIMEOUT).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_full_queue_times_out() {
    let options = ListenOptions {
        backlog: 0,
        ..ListenOptions::default()
    };
    let listener = Listener::bind(&loopback("127.0.0.1:0"), options).unwrap();
    let mut queued = Vec::new();
    let timeout = Duration::from_millis(50);
    let error = loop {
        match Socket::connect(listener.endpoint(), timeout).await {
            Ok(socket) => queued.push(socket),
            Err(error) => break error,
        }
        assert!(queued.len() < 16, "the queue does not fill");
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "no answer within 50ms");
}

#[tokio::test]
async fn a_unix_socket_has_its_mode_and_is_removed_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.sock");
    let options = ListenOptions {
        unix_mode: 0o660,
        ..ListenOptions::default()
    };
    let listener = Listener::bind(&Endpoint::Unix(path.clone()), options).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    says_hello_from_another_thread(&listener).await;
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced_a_live_one_and_a_file_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.sock");
    let endpoint = Endpoint::Unix(path.clone());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "std leaves the file");
    let listener = listen(&endpoint);
    says_hello_from_another_thread(&listener).await;

    let second = Listener::bind(&endpoint, ListenOptions::default()).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    assert!(path.exists());

    let file = folder.path().join("notes.txt");
    fs::write(&file, "precious").unwrap();
    let refused = Listener::bind(&Endpoint::Unix(file.clone()), ListenOptions::default());
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
}

#[tokio::test]
async fn a_successors_socket_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.sock");
    let old = listen(&Endpoint::Unix(path.clone()));
    fs::remove_file(&path).unwrap();
    let new = listen(&Endpoint::Unix(path.clone()));
    drop(old);
    says_hello_from_another_thread(&new).await;
}

#[tokio::test]
async fn an_inherited_socket_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("activated.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let listener = inherited_listener(unix.into()).unwrap();
    assert_eq!(listener.endpoint(), &Endpoint::Unix(path.clone()));
    says_hello_from_another_thread(&listener).await;
    drop(listener);
    assert!(path.exists(), "its file is the service manager's");

    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let listener = inherited_listener(tcp.into()).unwrap();
    assert_eq!(listener.endpoint(), &Endpoint::Tcp(address));
    says_hello_from_another_thread(&listener).await;

    let idle = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let error = inherited_listener(idle).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn reasons_of_refusals_are_distinguished() {
    assert!(matches!(Refusal::of(Errno::MFILE), Refusal::Exhausted));
    assert!(matches!(Refusal::of(Errno::NFILE), Refusal::Exhausted));
    assert!(matches!(Refusal::of(Errno::CONNABORTED), Refusal::Passing));
    assert!(matches!(Refusal::of(Errno::NOTSOCK), Refusal::Broken));
}
