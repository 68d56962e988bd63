//! Packets of the authentication exchange, distinguished by their first byte.

use mysql_common::io::ParseBuf;
use mysql_common::packets::AuthSwitchRequest;
use mysql_common::proto::MySerialize;
use proptest::prelude::*;

use super::*;

#[test]
fn the_first_byte_selects_the_kind_of_an_auth_packet() {
    let cases: [(&[u8], AuthPacket<'_>); 9] = [
        (b"\0\0\0\x02\0\0\0", AuthPacket::Ok),
        (b"\xff\x15\x04#28000denied", AuthPacket::Err),
        (b"\x01\x04", AuthPacket::MoreData(&[4])),
        (b"\x01", AuthPacket::MoreData(&[])),
        (
            b"\xfeplugin\0data\0",
            AuthPacket::Switch {
                plugin: b"plugin",
                data: b"data\0",
            },
        ),
        (
            b"\xfe",
            AuthPacket::Switch {
                plugin: b"",
                data: b"",
            },
        ),
        (
            b"\xfeplugin",
            AuthPacket::Switch {
                plugin: b"plugin",
                data: b"",
            },
        ),
        (
            b"\x02second\0data",
            AuthPacket::NextFactor {
                plugin: b"second",
                data: b"data",
            },
        ),
        (b"Password: ", AuthPacket::Other),
    ];
    for (payload, expected) in cases {
        assert_eq!(
            AuthPacket::decode(payload),
            Ok(expected),
            "{}",
            payload.escape_ascii()
        );
    }
}

#[test]
fn an_empty_payload_is_truncated() {
    assert_eq!(
        AuthPacket::decode(&[]),
        Err(Malformed::Truncated("authentication packet"))
    );
}

proptest! {
    #[test]
    fn every_payload_that_is_not_empty_decodes_as_an_auth_packet(payload in prop::collection::vec(any::<u8>(), 1..100)) {
        prop_assert!(AuthPacket::decode(&payload).is_ok());
    }

    #[test]
    fn auth_switch_packets_round_trip(plugin in prop::collection::vec(1u8.., 0..40), data: Vec<u8>) {
        let mut payload = Vec::new();
        put_auth_switch(&mut payload, &plugin, &data);
        let switch = AuthPacket::Switch { plugin: &plugin, data: &data };
        prop_assert_eq!(AuthPacket::decode(&payload), Ok(switch));
    }

    #[test]
    fn switches_agree_with_mysql_common(
        plugin in prop::collection::vec(1u8.., 1..40),
        data in prop::collection::vec(1u8.., 0..40),
    ) {
        let mut ours = Vec::new();
        put_auth_switch(&mut ours, &plugin, &data);
        let read: AuthSwitchRequest<'_> = ParseBuf(&ours).parse(()).unwrap();
        let read_plugin = read.auth_plugin();
        prop_assert_eq!(read_plugin.as_bytes(), &plugin);
        prop_assert_eq!(read.plugin_data(), &data);
        let mut theirs = Vec::new();
        AuthSwitchRequest::new(&plugin[..], &data[..]).serialize(&mut theirs);
        prop_assert_eq!(ours, theirs);
    }
}
