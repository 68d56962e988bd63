//! Transports of every kind over socket pairs: they carry the same bytes, flush on request, and bound their memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use net::tls::{
    ClientCertificates, ClientTls, ClientTlsSettings, ServerTls, ServerTlsSettings, Verification,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use wire::compression::{Algorithm, FRAME_PAYLOAD_BYTES, Remote};

use super::*;

#[derive(Clone, Copy, Debug)]
struct Kind {
    tls: bool,
    compression: Option<Algorithm>,
}

const KINDS: [Kind; 6] = {
    const fn kind(tls: bool, compression: Option<Algorithm>) -> Kind {
        Kind { tls, compression }
    }
    [
        kind(false, None),
        kind(false, Some(Algorithm::Zlib)),
        kind(false, Some(Algorithm::Zstd)),
        kind(true, None),
        kind(true, Some(Algorithm::Zlib)),
        kind(true, Some(Algorithm::Zstd)),
    ]
};

fn sockets() -> (Socket, Socket) {
    let (near, far) = UnixStream::pair().unwrap();
    (Socket::Unix(near), Socket::Unix(far))
}

/// The two connected transports of a client and a server.
async fn pair(kind: Kind) -> (Transport, Transport) {
    let (near, far) = sockets();
    let (mut client, mut server) = (Transport::from(near), Transport::from(far));
    if kind.tls {
        (client, server) = with_tls(client, server).await;
    }
    if let Some(algorithm) = kind.compression {
        client = client.compress(Codec::new(algorithm, 3, Remote::Backend), b"");
        server = server.compress(Codec::new(algorithm, 3, Remote::Client), b"");
    }
    (client, server)
}

async fn with_tls(client: Transport, server: Transport) -> (Transport, Transport) {
    let tls = server_tls();
    let acceptor = tls.acceptor();
    let (connector, name) = client_tls();
    let (client, server) = tokio::join!(
        client.connect_tls(&connector, name),
        server.accept_tls(&acceptor, b""),
    );
    (client.unwrap(), server.unwrap())
}

fn server_tls() -> ServerTls {
    ServerTls::new(ServerTlsSettings {
        identity: None,
        client_certificates: ClientCertificates::Ignored,
    })
    .unwrap()
}

fn client_tls() -> (TlsConnector, ServerName<'static>) {
    let tls = ClientTls::new(ClientTlsSettings {
        verification: Verification::None,
        ca: None,
        identity: None,
    })
    .unwrap();
    (tls.connector(), tls.server_name("db1").unwrap())
}

/// Bytes of which one half is compressible and the other half is not.
fn sample(length: usize) -> Vec<u8> {
    let noise = std::iter::successors(Some(2_463_534_242_u32), |&seed| {
        let seed = seed ^ (seed << 13);
        let seed = seed ^ (seed >> 17);
        Some(seed ^ (seed << 5))
    });
    let runs = noise
        .zip(0..length)
        .map(|(seed, index)| match index / 1_000 % 2 {
            0 => (seed >> 24) as u8,
            _ => b'a',
        });
    runs.collect()
}

/// Polls once and returns the result.
async fn poll_once<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    std::future::poll_fn(|context| Poll::Ready(poll(context))).await
}

#[tokio::test]
async fn every_kind_carries_the_same_bytes_both_ways() {
    for kind in KINDS {
        let (mut client, mut server) = pair(kind).await;
        let sent = sample(300_000);
        for _ in 0..2 {
            client.begin_command();
            let writing = async {
                client.write_all(&sent).await.unwrap();
                client.flush().await.unwrap();
            };
            let mut got = vec![0; sent.len()];
            let (_, read) = tokio::join!(writing, server.read_exact(&mut got));
            read.unwrap();
            assert!(got == sent, "{kind:?}");
            let answering = async {
                server.write_all(&sent[..70]).await.unwrap();
                server.flush().await.unwrap();
            };
            let mut answer = vec![0; 70];
            let (_, read) = tokio::join!(answering, client.read_exact(&mut answer));
            read.unwrap();
            assert_eq!(answer, sent[..70]);
        }
        client.shutdown().await.unwrap();
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn vectored_writes_arrive_in_order() {
    for kind in KINDS {
        let (mut client, mut server) = pair(kind).await;
        let (header, payload) = (&b"\x06\0\0\0"[..], &b"\x03do 42"[..]);
        let slices = [
            IoSlice::new(header),
            IoSlice::new(b""),
            IoSlice::new(payload),
        ];
        let written = client.write_vectored(&slices).await.unwrap();
        assert_eq!(written, 10, "{kind:?}");
        client.flush().await.unwrap();
        let mut got = [0; 10];
        server.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"\x06\0\0\0\x03do 42");
    }
}

#[tokio::test]
async fn a_reader_that_stops_stops_the_writer() {
    for kind in KINDS {
        let (mut client, mut server) = pair(kind).await;
        let chunk = sample(64 * 1024);
        let mut taken = 0;
        loop {
            let write =
                |context: &mut Context<'_>| Pin::new(&mut client).poll_write(context, &chunk);
            match poll_once(write).await {
                Poll::Ready(count) => taken += count.unwrap(),
                Poll::Pending => break,
            }
            assert!(taken < 32 * 1024 * 1024, "{kind:?} takes without end");
        }
        // The writer continues when the reader does, and no byte is lost.
        let finishing = async {
            client.flush().await.unwrap();
            client.shutdown().await.unwrap();
        };
        let mut got = Vec::new();
        let (_, read) = tokio::join!(finishing, server.read_to_end(&mut got));
        read.unwrap();
        assert_eq!(got.len(), taken);
    }
}

#[tokio::test]
async fn compression_waits_for_a_flush_or_a_full_frame() {
    let kind = KINDS[1];
    let (mut client, mut server) = pair(kind).await;
    client.write_all(b"gathered").await.unwrap();
    let mut buffer = [0; 64];
    let mut room = ReadBuf::new(&mut buffer);
    let nothing = poll_once(|context| Pin::new(&mut server).poll_read(context, &mut room)).await;
    assert!(nothing.is_pending());
    client.flush().await.unwrap();
    assert_eq!(server.read(&mut buffer).await.unwrap(), 8);

    let more_than_a_frame = vec![b'x'; 2 * FRAME_PAYLOAD_BYTES + 1];
    client.write_all(&more_than_a_frame).await.unwrap();
    let mut frame = vec![0; FRAME_PAYLOAD_BYTES];
    server.read_exact(&mut frame).await.unwrap();
}

#[tokio::test]
async fn an_idle_compressed_connection_holds_no_buffer() {
    let (mut client, mut server) = pair(KINDS[1]).await;
    client.write_all(&sample(1_000)).await.unwrap();
    client.flush().await.unwrap();
    server.read_exact(&mut [0; 1_000]).await.unwrap();
    let mut buffer = [0; 8];
    let mut room = ReadBuf::new(&mut buffer);
    let idle = poll_once(|context| Pin::new(&mut server).poll_read(context, &mut room)).await;
    assert!(idle.is_pending());
    for transport in [client, server] {
        let Transport::Compressed(compressed) = transport else {
            panic!("not compressed");
        };
        assert_eq!(compressed.held_bytes(), 0);
    }
}

#[tokio::test]
async fn commands_sent_at_once_each_begin_a_count() {
    let (near, mut raw) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Backend);
    let mut backend = Transport::from(near).compress(codec, b"");
    for _ in 0..2 {
        backend.begin_command();
        backend.write_all(b"\x01\0\0\0\x0e").await.unwrap();
    }
    backend.flush().await.unwrap();
    let mut frames = [0; 24];
    raw.read_exact(&mut frames).await.unwrap();
    let ping = b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e";
    assert_eq!(frames, [*ping, *ping].concat()[..]);
}

#[tokio::test]
async fn frames_read_ahead_are_read_first() {
    let (near, mut raw) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let mut client = Transport::from(near).compress(codec, b"\x03\0\0\0\0\0\0fir");
    raw.write_all(b"\x05\0\0\x01\0\0\0st,se").await.unwrap();
    let mut got = [0; 8];
    client.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"first,se");
}

#[tokio::test]
async fn a_handshake_read_ahead_is_continued() {
    // A client that sends its request for TLS and its ClientHello in one segment.
    let (near, far) = sockets();
    let (connector, name) = client_tls();
    let connecting = Transport::from(near).connect_tls(&connector, name);
    let accepting = async {
        let mut server = Transport::from(far);
        let mut ahead = vec![0; 100];
        server.read_exact(&mut ahead).await.unwrap();
        server.accept_tls(&server_tls().acceptor(), &ahead).await
    };
    let (client, server) = tokio::join!(connecting, accepting);
    assert_eq!(client.unwrap().tls().unwrap().version, "TLSv1.3");
    assert_eq!(server.unwrap().tls().unwrap().version, "TLSv1.3");
}

#[tokio::test]
async fn an_end_within_a_frame_is_no_orderly_end() {
    let (near, mut raw) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let mut client = Transport::from(near).compress(codec, b"");
    raw.write_all(b"\x05\0\0\0\0\0\0abc").await.unwrap();
    drop(raw);
    let error = client.read_exact(&mut [0; 5]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(error.to_string(), "truncated: compressed frame");
}

#[tokio::test]
async fn corrupt_compressed_frames_give_an_invalid_data_error() {
    let (near, mut raw) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let mut client = Transport::from(near).compress(codec, b"");
    raw.write_all(b"\x05\0\0\0\x40\0\0abcde").await.unwrap();
    let error = client.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(error.to_string(), "invalid: compressed frame's content");
}

#[tokio::test]
async fn a_client_that_closes_without_tls_farewell_has_ended_all_the_same() {
    let (mut client, mut server) = pair(KINDS[3]).await;
    // The client reads all bytes first, because closing with unread bytes would be a reset.
    server.write_all(b"!").await.unwrap();
    client.read_u8().await.unwrap();
    client.abort();
    assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
}

#[tokio::test]
async fn tls_begins_on_a_plain_connection_only() {
    let (client, _server) = pair(KINDS[3]).await;
    let (connector, name) = client_tls();
    let error = client.connect_tls(&connector, name).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[tokio::test]
async fn facts_and_socket_are_seen_through_every_kind() {
    for kind in KINDS {
        let (client, server) = pair(kind).await;
        for transport in [client, server] {
            assert_eq!(transport.tls().is_some(), kind.tls);
            assert_eq!(transport.is_compressed(), kind.compression.is_some());
            assert!(transport.socket().unwrap().remote_address().is_ok());
        }
    }
}

#[tokio::test]
async fn an_aborted_tcp_connection_is_reset_through_every_layer() {
    let any = net::Endpoint::Tcp(([127, 0, 0, 1], 0).into());
    let listener = net::Listener::bind(&any, net::listen::ListenOptions::default()).unwrap();
    for kind in KINDS {
        let timeout = Duration::from_secs(10);
        let near = Socket::connect(listener.endpoint(), timeout).await.unwrap();
        let far = Socket::from_raw(listener.accept().await.unwrap().socket).unwrap();
        let (mut client, mut server) = (Transport::from(near), Transport::from(far));
        if kind.tls {
            (client, server) = with_tls(client, server).await;
        }
        if let Some(algorithm) = kind.compression {
            client = client.compress(Codec::new(algorithm, 3, Remote::Backend), b"");
        }
        client.abort();
        // The TLS server's session tickets may still arrive: read until the reset is reported.
        let error = server.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{kind:?}");
    }
}

#[test]
fn a_transport_is_small() {
    assert!(size_of::<Transport>() <= 40, "{}", size_of::<Transport>());
}

#[tokio::test]
async fn frames_stay_packed_until_they_have_the_wanted_bytes() {
    let (near, far) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let (mut server, mut client) = (Transport::from(near).compress(codec, b""), far);
    let mut frames = Vec::new();
    let mut codec = Codec::new(Algorithm::Zlib, 6, Remote::Backend);
    codec.encode(&vec![b' '; 4 * FRAME_PAYLOAD_BYTES], &mut frames);
    let (all_but_one_byte, last_byte) = frames.split_at(frames.len() - 1);
    let wanted = 3 * FRAME_PAYLOAD_BYTES + 1;
    let mut buffer = [0; 1024];
    let mut room = ReadBuf::new(&mut buffer);
    client.write_all(all_but_one_byte).await.unwrap();
    // Frames have arrived, and none is unpacked.
    while server.held_bytes() == 0 {
        let read = poll_once(|it| server.poll_read_wanting(wanted, it, &mut room)).await;
        assert!(read.is_pending());
        tokio::task::yield_now().await;
    }
    client.write_all(last_byte).await.unwrap();
    let read = std::future::poll_fn(|it| server.poll_read_wanting(wanted, it, &mut room));
    read.await.unwrap();
    assert_eq!(room.filled(), [b' '; 1024]);
}

#[tokio::test]
async fn packed_frames_are_unpacked_once_they_take_the_wanted_memory() {
    let (near, far) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let (mut server, mut client) = (Transport::from(near).compress(codec, b""), far);
    // Frames of one byte each.
    let frames = b"\x01\0\0\0\0\0\0x".repeat(1_000);
    client.write_all(&frames).await.unwrap();
    let mut buffer = [0; 10];
    let mut room = ReadBuf::new(&mut buffer);
    let read = std::future::poll_fn(|it| server.poll_read_wanting(5_000, it, &mut room));
    read.await.unwrap();
    assert!(!room.filled().is_empty());
}

#[tokio::test]
async fn a_client_that_closes_before_the_wanted_bytes_is_noticed() {
    let (near, far) = sockets();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    let (mut server, mut client) = (Transport::from(near).compress(codec, b""), far);
    client.write_all(b"\x01\0\0\0\0\0\0x").await.unwrap();
    drop(client);
    let mut buffer = [0; 10];
    let mut room = ReadBuf::new(&mut buffer);
    let read = std::future::poll_fn(|it| server.poll_read_wanting(100, it, &mut room));
    assert_eq!(read.await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}
