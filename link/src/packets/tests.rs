#![allow(clippy::unwrap_used)]
use tokio::io::{DuplexStream, duplex};

use super::*;

fn stream(bytes: &[u8]) -> (PacketStream<DuplexStream>, DuplexStream) {
    let (near, mut far) = duplex(1 << 16);
    let bytes = bytes.to_vec();
    let near = PacketStream::new(near, 0);
    let sent = futures_now(async { far.write_all(&bytes).await });
    sent.unwrap();
    (near, far)
}

/// Runs a future that completes without waiting.
fn futures_now<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn payloads_are_read_however_the_bytes_come() {
    let bytes = b"\x03\0\0\0abc\0\0\0\x01\x01\0\0\x02z";
    for cut in 0..=bytes.len() {
        let (mut near, mut far) = stream(&bytes[..cut]);
        let payloads = futures_now(async {
            let rest = async { far.write_all(&bytes[cut..]).await.unwrap() };
            let all = async {
                [
                    near.read().await.unwrap(),
                    near.read().await.unwrap(),
                    near.read().await.unwrap(),
                ]
            };
            tokio::join!(all, rest).0
        });
        assert_eq!(
            payloads,
            [b"abc".to_vec(), Vec::new(), b"z".to_vec()],
            "cut at {cut}"
        );
    }
}

#[test]
fn bytes_read_ahead_are_handed_on() {
    let (mut near, _far) = stream(b"\x01\0\0\0a\x05\0\0\0next!");
    assert_eq!(futures_now(near.read()).unwrap(), b"a");
    assert_eq!(near.into_parts().unwrap().1, b"\x05\0\0\0next!");
}

#[test]
fn each_packet_read_error_has_its_own_variant() {
    let failure = |bytes: &[u8]| {
        let (mut near, far) = stream(bytes);
        drop(far);
        futures_now(near.read()).unwrap_err()
    };
    assert!(matches!(failure(b""), PacketError::Closed));
    assert!(matches!(failure(b"\x05\0\0"), PacketError::Truncated));
    assert!(matches!(failure(b"\x05\0\0\0abc"), PacketError::Truncated));
    assert!(matches!(
        failure(b"\x01\0\0\x09a"),
        PacketError::OutOfOrder {
            expected: 0,
            found: 9
        }
    ));
    assert!(matches!(
        failure(b"\xff\xff\xff\0"),
        PacketError::TooLong(0xff_ffff)
    ));
    assert!(matches!(failure(b"PROXY TCP4 "), PacketError::ProxyHeader));
}

#[test]
fn sequence_ids_run_through_both_directions() {
    let (mut near, mut far) = stream(b"\x01\0\0\0a");
    futures_now(async {
        near.read().await.unwrap();
        near.write(b"b").await.unwrap();
        let mut answer = [0; 5];
        far.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"\x01\0\0\x01b");
    });
}
