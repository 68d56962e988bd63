//! Login packets of real servers and their clients, decoded and encoded again.
//!
//! The files in `logins/` were captured by `cargo run -p pilotfish-e2e --example capture`.

use std::path::Path;

use pilotfish_wire::auth::{AuthPacket, CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};
use pilotfish_wire::reply::OkPacket;
use pilotfish_wire::{Capabilities, Greeting, HandshakeResponse, Header, StatusFlags};

/// A packet of the client or the server: its sequence id and payload.
#[derive(Debug)]
struct Packet {
    of_client: bool,
    sequence: u8,
    payload: Vec<u8>,
}

fn packets(product: &str) -> Vec<Packet> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logins");
    let text = std::fs::read_to_string(folder.join(format!("{product}.txt"))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(packet).collect()
}

fn packet(line: &str) -> Packet {
    let (side, hex) = line.split_once(' ').unwrap();
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    let bytes: Vec<u8> = pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect();
    let (header, payload) = bytes.split_first_chunk::<4>().unwrap();
    let header = Header::decode(*header);
    assert_eq!(header.length, payload.len());
    Packet {
        of_client: side == ">",
        sequence: header.sequence,
        payload: payload.to_vec(),
    }
}

const PRODUCTS: [&str; 3] = ["mariadb", "mariadb-11.8", "mysql-9.7"];

#[test]
fn greetings_are_written_as_they_were_read() {
    for product in PRODUCTS {
        let payload = &packets(product)[0].payload;
        let greeting = Greeting::decode(payload).unwrap();
        assert_eq!(greeting.scramble.len(), 20);
        assert_eq!(greeting.status, StatusFlags::AUTOCOMMIT);
        let mut again = Vec::new();
        greeting.encode(&mut again);
        assert_eq!(&again, payload, "{product}");
    }
}

#[test]
fn a_capability_flag_distinguishes_the_families() {
    let greeting = |product| Greeting::decode(&packets(product)[0].payload).unwrap();
    for (product, plugin) in [
        ("mariadb", MYSQL_NATIVE_PASSWORD),
        ("mariadb-11.8", MYSQL_NATIVE_PASSWORD),
        ("mysql-9.7", CACHING_SHA2_PASSWORD),
    ] {
        let greeting = greeting(product);
        let is_mysql = product == "mysql-9.7";
        let flags = greeting.capabilities;
        assert_eq!(flags.contains(Capabilities::LONG_PASSWORD), is_mysql);
        assert_eq!(
            flags.contains(Capabilities::MARIADB_CACHE_METADATA),
            !is_mysql
        );
        assert_eq!(flags.contains(Capabilities::QUERY_ATTRIBUTES), is_mysql);
        assert_eq!(greeting.plugin, plugin);
    }
    let units = |product| greeting(product).capabilities & Capabilities::MARIADB_BULK_UNIT_RESULTS;
    assert_eq!(units("mariadb"), Capabilities(0));
    assert_eq!(
        units("mariadb-11.8"),
        Capabilities::MARIADB_BULK_UNIT_RESULTS
    );
}

#[test]
fn responses_are_written_as_they_were_read() {
    for product in PRODUCTS {
        let payload = &packets(product)[1].payload;
        let response = HandshakeResponse::decode(payload).unwrap();
        let is_mysql = product == "mysql-9.7";
        assert_eq!(
            response.user,
            if is_mysql { b"sha2".as_slice() } else { b"app" }
        );
        assert_eq!(response.schema, Some(&b"mysql"[..]));
        assert!(response.plugin.is_some());
        let attributes = response.attributes.unwrap();
        assert!(
            attributes.windows(12).any(|text| text == b"_client_name"),
            "{product}"
        );
        assert_eq!(response.trailing, b"", "{product}");
        let mut again = Vec::new();
        response.encode(&mut again);
        assert_eq!(&again, payload, "{product}");
    }
}

#[test]
fn login_packets_after_the_handshake_response_are_decoded() {
    for product in PRODUCTS {
        let packets = packets(product);
        let sequences = packets.iter().map(|packet| usize::from(packet.sequence));
        assert!(sequences.eq(0..packets.len()), "{product}");
        let (last, dialogue) = packets[2..].split_last().unwrap();
        assert_eq!(AuthPacket::decode(&last.payload), Ok(AuthPacket::Ok));
        let status = OkPacket::decode(&last.payload).unwrap().status;
        assert!(status.contains(StatusFlags::AUTOCOMMIT));
        for packet in dialogue.iter().filter(|packet| !packet.of_client) {
            let read = AuthPacket::decode(&packet.payload).unwrap();
            let AuthPacket::MoreData(data) = read else {
                panic!("{product}: {read:?}");
            };
            // The server requests full authentication; then it sends its public key.
            assert!(data == [4] || data.starts_with(b"-----BEGIN PUBLIC KEY-----"));
        }
    }
}
