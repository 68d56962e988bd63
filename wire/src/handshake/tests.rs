//! Responses of every layout, of another implementation, and truncated ones.

use mysql_common::io::ParseBuf;
use mysql_common::packets::{HandshakeResponse as Oracle, SslRequest};
use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

/// The flags that change a response's layout.
const LAYOUT: [Capabilities; 6] = [
    Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA,
    Capabilities::SECURE_CONNECTION,
    Capabilities::CONNECT_WITH_DB,
    Capabilities::PLUGIN_AUTH,
    Capabilities::CONNECT_ATTRS,
    Capabilities::ZSTD_COMPRESSION_ALGORITHM,
];

fn head(capabilities: Capabilities) -> HandshakeHead {
    HandshakeHead {
        capabilities: capabilities | Capabilities::PROTOCOL_41,
        packet_bytes_max: 1 << 24,
        collation: 45,
    }
}

fn encoded(response: &HandshakeResponse<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    response.encode(&mut payload);
    payload
}

/// A response with every optional item.
fn full() -> HandshakeResponse<'static> {
    let all = LAYOUT
        .into_iter()
        .fold(Capabilities(0), |all, flag| all | flag);
    HandshakeResponse {
        head: head(all),
        user: b"app",
        auth_response: b"answer",
        schema: Some(b"demo"),
        plugin: Some(b"plugin"),
        attributes: Some(b"\x01k\x01v"),
        zstd_level: Some(7),
        trailing: b"",
    }
}

const HEAD_ITEMS: [(&str, usize); 5] = [
    ("client capabilities", 4),
    ("maximum packet size", 4),
    ("collation", 1),
    ("filler", 19),
    ("extended capabilities", 4),
];

/// The values of a response, independent of its layout.
#[derive(Debug, Clone)]
struct Values {
    head: HandshakeHead,
    user: Vec<u8>,
    auth_response: Vec<u8>,
    schema: Vec<u8>,
    plugin: Vec<u8>,
    attributes: Vec<u8>,
    zstd_level: u8,
    trailing: Vec<u8>,
}

impl Values {
    fn response(&self) -> HandshakeResponse<'_> {
        let has = |flag| self.head.capabilities.contains(flag);
        HandshakeResponse {
            head: self.head,
            user: &self.user,
            auth_response: &self.auth_response,
            schema: has(Capabilities::CONNECT_WITH_DB).then_some(&self.schema),
            plugin: has(Capabilities::PLUGIN_AUTH).then_some(&self.plugin),
            attributes: has(Capabilities::CONNECT_ATTRS).then_some(&self.attributes),
            zstd_level: has(Capabilities::ZSTD_COMPRESSION_ALGORITHM).then_some(self.zstd_level),
            trailing: &self.trailing,
        }
    }
}

fn any_values() -> impl Strategy<Value = Values> {
    let text = || prop::collection::vec(1u8.., 0..40);
    let answer = prop::collection::vec(1u8.., 0..255);
    let attributes = prop::collection::vec(any::<u8>(), 0..300);
    let trailing = prop::collection::vec(any::<u8>(), 0..10);
    let numbers = any::<(u64, u32, u8, u8)>();
    let strings = (text(), answer, text(), text(), attributes, trailing);
    (numbers, strings).prop_map(|(numbers, strings)| {
        let (bits, packet_bytes_max, collation, zstd_level) = numbers;
        let (user, auth_response, schema, plugin, attributes, trailing) = strings;
        let protocol = bits as u32 | Capabilities::PROTOCOL_41.lower();
        let head = HandshakeHead {
            capabilities: with_extended(protocol, (bits >> 32) as u32),
            packet_bytes_max,
            collation,
        };
        Values {
            head,
            user,
            auth_response,
            schema,
            plugin,
            attributes,
            zstd_level,
            trailing,
        }
    })
}

#[test]
fn a_cut_response_names_the_item_it_ends_in() {
    let payload = encoded(&full());
    let strings = [("user name", 4), ("authentication response", 7)];
    let items = [&HEAD_ITEMS[..], &strings].concat();
    let schema_at = assert_named(&payload, &items, HandshakeResponse::decode);
    let attributes_at = schema_at + b"demo\0plugin\0".len();
    let attributes = &payload[..payload.len() - 1];
    for cut in attributes_at + 1..attributes.len() {
        assert_eq!(
            HandshakeResponse::decode(&attributes[..cut]),
            Err(Malformed::Truncated("connection attributes"))
        );
    }
}

#[test]
fn a_cut_response_with_a_length_byte_names_the_item_it_ends_in() {
    let mut response = full();
    response.head.capabilities = head(Capabilities::SECURE_CONNECTION).capabilities;
    let strings = [
        ("user name", 4),
        ("authentication response length", 1),
        ("authentication response", 6),
    ];
    let items = [&HEAD_ITEMS[..], &strings].concat();
    assert_named(&encoded(&response), &items, HandshakeResponse::decode);
}

#[test]
fn a_cut_head_names_the_item_it_ends_in() {
    let mut request = Vec::new();
    full().head.encode(&mut request);
    let length = assert_named(&request, &HEAD_ITEMS, HandshakeHead::decode);
    assert_eq!(length, SSL_REQUEST_BYTES);
    assert_eq!(request.len(), SSL_REQUEST_BYTES);
}

#[test]
fn the_last_strings_may_lack_their_nul_or_be_missing() {
    let payload = encoded(&full());
    let schema_at = SSL_REQUEST_BYTES + b"app\0\x06answer".len();
    let decoded = |cut: usize| HandshakeResponse::decode(&payload[..schema_at + cut]).unwrap();
    let nothing = HandshakeResponse {
        schema: None,
        plugin: None,
        attributes: None,
        zstd_level: None,
        ..full()
    };
    assert_eq!(decoded(0), nothing);
    let schema_only = HandshakeResponse {
        schema: Some(b"demo"),
        ..nothing
    };
    assert_eq!(decoded(b"demo".len()), schema_only);
    assert_eq!(decoded(b"demo\0".len()), schema_only);
    let with_plugin = HandshakeResponse {
        plugin: Some(b"plugin"),
        ..schema_only
    };
    assert_eq!(decoded(b"demo\0plugin".len()), with_plugin);
    assert_eq!(decoded(b"demo\0plugin\0".len()), with_plugin);
    let with_attributes = HandshakeResponse {
        attributes: Some(b"\x01k\x01v"),
        ..with_plugin
    };
    assert_eq!(
        decoded(b"demo\0plugin\0\x04\x01k\x01v".len()),
        with_attributes
    );
    assert_eq!(decoded(b"demo\0plugin\0\x04\x01k\x01v\x07".len()), full());
}

#[test]
fn clients_older_than_4_1_are_recognised() {
    let mut payload = encoded(&full());
    payload[1] &= !(Capabilities::PROTOCOL_41.lower() >> 8) as u8;
    let refused = Malformed::Invalid("client capabilities (protocol 4.0)");
    assert_eq!(HandshakeHead::decode(&payload), Err(refused));
    assert_eq!(HandshakeResponse::decode(&payload), Err(refused));
}

#[test]
fn an_ssl_request_equals_that_of_mysql_common() {
    use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
    use mysql_common::proto::MySerialize;
    let head = HandshakeHead {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::SSL
            | Capabilities::MARIADB_STMT_BULK_OPERATIONS,
        packet_bytes_max: 0x0102_0304,
        collation: 224,
    };
    let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SSL;
    let oracle = SslRequest::new(capabilities, head.packet_bytes_max, head.collation)
        .with_mariadb_capabilities(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    head.encode(&mut ours);
    oracle.serialize(&mut theirs);
    assert_eq!(ours, theirs);
    assert_eq!(HandshakeHead::decode(&theirs), Ok(head));
}

#[test]
fn a_short_payload_is_not_patched() {
    let mut short = encoded(&full())[..SSL_REQUEST_BYTES - 1].to_vec();
    let before = short.clone();
    patch_capabilities(&mut short, Capabilities(0));
    assert_eq!(short, before);
}

proptest! {
    #[test]
    fn handshake_responses_round_trip(mut values in any_values()) {
        // If the flag is absent, the item cannot be distinguished from trailing bytes.
        let last = [Capabilities::CONNECT_ATTRS, Capabilities::ZSTD_COMPRESSION_ALGORITHM];
        if last.into_iter().any(|flag| !values.head.capabilities.contains(flag)) {
            values.trailing.clear();
        }
        let response = values.response();
        let payload = encoded(&response);
        prop_assert_eq!(HandshakeResponse::decode(&payload), Ok(response));
    }

    #[test]
    fn heads_come_back(values in any_values()) {
        let mut payload = Vec::new();
        values.head.encode(&mut payload);
        prop_assert_eq!(HandshakeHead::decode(&payload), Ok(values.head));
    }

    #[test]
    fn trailing_bytes_are_kept(mut values in any_values(), trailing: Vec<u8>) {
        values.head.capabilities = full().head.capabilities;
        values.trailing = trailing;
        let response = values.response();
        let payload = encoded(&response);
        prop_assert_eq!(HandshakeResponse::decode(&payload), Ok(response));
    }

    #[test]
    fn any_bytes_are_survived(mut bytes: Vec<u8>, capabilities: u64) {
        let _ = HandshakeResponse::decode(&bytes);
        patch_capabilities(&mut bytes, Capabilities(capabilities));
    }

    #[test]
    fn any_bytes_behind_a_head_are_survived(values in any_values(), bytes: Vec<u8>) {
        let mut payload = Vec::new();
        values.head.encode(&mut payload);
        payload.extend_from_slice(&bytes);
        let _ = HandshakeResponse::decode(&payload);
    }

    #[test]
    fn mysql_common_reads_our_packets(mut values in any_values()) {
        values.attributes = b"\x03key\x05value".to_vec();
        let payload = encoded(&values.response());
        let theirs: Oracle<'_> = ParseBuf(&payload).parse(()).unwrap();
        let ours = values.response();
        prop_assert_eq!(theirs.capabilities().bits(), ours.head.capabilities.lower());
        prop_assert_eq!(theirs.collation(), ours.head.collation);
        prop_assert_eq!(theirs.user(), ours.user);
        prop_assert_eq!(theirs.scramble_buf(), ours.auth_response);
        prop_assert_eq!(theirs.db_name(), ours.schema);
        prop_assert_eq!(theirs.auth_plugin().map(|plugin| plugin.as_bytes()), ours.plugin);
        let attributes = ours.attributes.map(|_| [("key".into(), "value".into())].into());
        prop_assert_eq!(theirs.connect_attributes(), attributes);
    }

    #[test]
    fn a_patch_changes_the_flags_and_nothing_else(values in any_values(), bits: u64) {
        let layout = LAYOUT
            .into_iter()
            .fold(Capabilities::PROTOCOL_41, |all, flag| all | flag);
        let capabilities = values.head.capabilities;
        let patched = with_extended(bits as u32, (bits >> 32) as u32).with(layout, false)
            | (capabilities & layout);
        let mut payload = encoded(&values.response());
        let mut expected = values.clone();
        expected.head.capabilities = patched;
        patch_capabilities(&mut payload, patched);
        prop_assert_eq!(payload, encoded(&expected.response()));
    }
}
