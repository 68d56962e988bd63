//! Headers are read completely, in any pieces; other bytes are refused at the first byte that does not fit.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::*;

fn proxied(source: &str, destination: &str) -> Header {
    Header::Proxied {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
    }
}

fn v2(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_v2(header, &mut bytes);
    bytes
}

fn v2_raw(version_command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    let preamble = [version_command, family, length[0], length[1]];
    [&SIGNATURE[..], &preamble, rest].concat()
}

/// Headers of every kind, each with its decoded form.
fn samples() -> Vec<(Vec<u8>, Header)> {
    let v4 = proxied("192.0.2.7:51000", "198.51.100.1:4040");
    let v6 = proxied("[2001:db8::7]:51000", "[2001:db8::1]:4040");
    let mut with_extensions = v2_raw(0x21, 0x11, &[0; 12 + 300]);
    with_extensions[16..28].copy_from_slice(&v2(&v4)[16..]);
    let longest = format!("PROXY UNKNOWN {}\r\n", "f".repeat(107 - 16));
    vec![
        (
            b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 4040\r\n".to_vec(),
            v4,
        ),
        (
            b"PROXY TCP6 2001:db8::7 2001:db8::1 51000 4040\r\n".to_vec(),
            v6,
        ),
        (
            b"PROXY TCP6 :: :: 1 1\r\n".to_vec(),
            proxied("[::]:1", "[::]:1"),
        ),
        (b"PROXY UNKNOWN\r\n".to_vec(), Header::Own),
        (longest.into_bytes(), Header::Own),
        (v2(&v4), v4),
        (v2(&v6), v6),
        (v2(&Header::Own), Header::Own),
        (with_extensions, v4),
        (v2_raw(0x20, 0x11, &[9; 40]), Header::Own),
        (v2_raw(0x21, 0x00, b"whatever"), Header::Own),
        (v2_raw(0x21, 0x31, &[0; 216]), Header::Own),
    ]
}

#[test]
fn every_kind_of_header_is_understood_and_measured() {
    for (bytes, header) in samples() {
        let length = bytes.len();
        let followed = [&bytes[..], b"the greeting comes first"].concat();
        assert_eq!(parse(&followed), Ok(Progress::Complete { header, length }));
    }
}

#[test]
fn a_partial_proxy_header_requests_at_most_the_missing_bytes() {
    for (bytes, _) in samples() {
        for length in 0..bytes.len() {
            match parse(&bytes[..length]).unwrap() {
                Progress::Need(more) => {
                    assert!(
                        (1..=bytes.len() - length).contains(&more),
                        "{length} {more}"
                    );
                }
                complete => panic!("{complete:?} after {length} bytes"),
            }
        }
    }
}

#[tokio::test]
async fn a_header_that_comes_in_two_parts_is_read_and_nothing_behind_it() {
    for (bytes, header) in samples() {
        for cut in 0..=bytes.len() {
            let (mut sender, mut receiver) = tokio::io::duplex(1_000);
            let (first, second) = bytes.split_at(cut);
            let reading = async {
                let read_header = read(&mut receiver).await.unwrap();
                assert_eq!(read_header, header);
                let mut behind = Vec::new();
                receiver.read_to_end(&mut behind).await.unwrap();
                assert_eq!(behind, b"behind");
            };
            let writing = async {
                sender.write_all(first).await.unwrap();
                tokio::task::yield_now().await;
                sender.write_all(second).await.unwrap();
                sender.write_all(b"behind").await.unwrap();
                drop(sender);
            };
            tokio::join!(reading, writing);
        }
    }
}

#[tokio::test]
async fn a_connection_that_ends_early_is_distinguished_from_a_silent_one() {
    for (sent, silent) in [(&b""[..], true), (b"PROXY TC", false)] {
        let mut stream = sent;
        match read(&mut stream).await {
            Err(ReadError::Closed { silent: told }) => assert_eq!(told, silent),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_malformed_header_is_refused_at_its_first_wrong_byte() {
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"PROXI",
        b"\r\n\r\n\x01",
        b"\x16\x03\x01",
    ] {
        assert_eq!(parse(bytes), Err(Invalid::Absent));
    }
    assert_eq!(parse(b"P"), Ok(Progress::Need(14)));
    assert_eq!(parse(b"X"), Err(Invalid::Absent));
}

#[test]
fn errors_of_proxy_headers_name_the_faulty_item() {
    let text = |line: &str| parse(format!("{line}\r\n").as_bytes());
    for (line, item) in [
        ("PROXY TCP5 1.2.3.4 1.2.3.4 1 1", "protocol family"),
        ("PROXY TCP4 1.2.3 1.2.3.4 1 1", "source address"),
        ("PROXY TCP4 ::1 1.2.3.4 1 1", "source address"),
        ("PROXY TCP6 1.2.3.4 ::1 1 1", "source address"),
        ("PROXY TCP4 1.2.3.4 01.2.3.4 1 1", "destination address"),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 +1 1", "source port"),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 65536 1", "source port"),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1", "destination port"),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 1 1", "line"),
        ("PROXY TCP4  1.2.3.4 1.2.3.4 1 1", "source address"),
    ] {
        assert_eq!(text(line), Err(Invalid::Item(item)), "{line}");
    }
    for (bytes, item) in [
        (v2_raw(0x11, 0x11, &[0; 12]), "version or command"),
        (v2_raw(0x22, 0x11, &[0; 12]), "version or command"),
        (v2_raw(0x21, 0x12, &[0; 12]), "address family"),
        (v2_raw(0x21, 0x11, &[0; 11]), "length"),
        (v2_raw(0x21, 0x21, &[0; 35]), "length"),
    ] {
        assert_eq!(parse(&bytes), Err(Invalid::Item(item)));
    }
}

#[test]
fn a_header_without_an_end_is_cut_off() {
    let line = format!("PROXY UNKNOWN {}", "f".repeat(200));
    assert_eq!(parse(&line.as_bytes()[..107]), Err(Invalid::TooLong));
    let line = format!("PROXY UNKNOWN {}\r\n", "f".repeat(107 - 15));
    assert_eq!(parse(line.as_bytes()), Err(Invalid::TooLong));
    let claims_64_kib = [&SIGNATURE[..], &[0x21, 0x11, 0xff, 0xff]].concat();
    assert_eq!(parse(&claims_64_kib), Err(Invalid::TooLong));
}

#[test]
fn addresses_of_two_families_are_written_as_one() {
    let mixed = proxied("192.0.2.7:1", "[2001:db8::1]:2");
    let Ok(Progress::Complete { header, .. }) = parse(&v2(&mixed)) else {
        panic!("not understood");
    };
    assert_eq!(header, proxied("[::ffff:192.0.2.7]:1", "[2001:db8::1]:2"));
}

#[test]
fn only_trusted_networks_send_headers() {
    let trust = Trust {
        networks: vec![
            "10.0.0.0/8".parse().unwrap(),
            "2001:db8::/32".parse().unwrap(),
        ],
        unix: false,
    };
    let requires = |address: &str| {
        let address: SocketAddr = address.parse().unwrap();
        trust.requires_header(&Endpoint::Tcp(address))
    };
    assert!(requires("10.1.2.3:5"));
    assert!(requires("[::ffff:10.1.2.3]:5"));
    assert!(requires("[2001:db8::9]:5"));
    assert!(!requires("11.1.2.3:5"));
    assert!(!trust.requires_header(&Endpoint::Unix("".into())));
    assert!(
        Trust {
            unix: true,
            ..trust
        }
        .requires_header(&Endpoint::Unix("".into()))
    );
}

#[test]
fn a_header_where_a_packet_should_be_is_recognised() {
    assert!(begins_header(*b"PROX"));
    assert!(begins_header(*b"\r\n\r\n"));
    assert!(!begins_header([0x20, 0, 0, 1]));
}

proptest! {
    #[test]
    fn an_encoded_header_comes_back(
        source: (std::net::IpAddr, u16),
        destination: (std::net::IpAddr, u16),
    ) {
        let header = Header::Proxied {
            source: source.into(),
            destination: destination.into(),
        };
        let bytes = v2(&header);
        let parsed = parse(&bytes).unwrap();
        let Progress::Complete { header: Header::Proxied { source: s, destination: d }, length } = parsed
        else {
            panic!("{parsed:?}");
        };
        prop_assert_eq!(length, bytes.len());
        prop_assert_eq!((s.ip().to_canonical(), s.port()), (source.0.to_canonical(), source.1));
        prop_assert_eq!((d.ip().to_canonical(), d.port()), (destination.0.to_canonical(), destination.1));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes: Vec<u8>, signed: bool) {
        let bytes = if signed { [&SIGNATURE[..], &bytes].concat() } else { bytes };
        if let Ok(Progress::Need(more)) = parse(&bytes) {
            prop_assert!(more > 0);
        }
    }
}
