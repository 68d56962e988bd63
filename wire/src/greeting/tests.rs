//! Greetings of real servers, of another implementation, and truncated ones.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::packets::HandshakePacket;
use mysql_common::proto::MySerialize;
use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

fn encoded(greeting: &Greeting) -> Vec<u8> {
    let mut payload = Vec::new();
    greeting.encode(&mut payload);
    payload
}

fn mysql() -> Greeting {
    Greeting {
        version: b"9.7.0".to_vec(),
        thread_id: 0x0403_0201,
        scramble: b"abcdefghijklmnopqrst".to_vec(),
        capabilities: Capabilities(0xffff_ffff),
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        plugin: b"caching_sha2_password".to_vec(),
    }
}

/// Any greeting that [`Greeting::decode`] can give.
fn any_greeting() -> impl Strategy<Value = Greeting> {
    let text = || prop::collection::vec(1u8.., 0..40);
    let parts = (
        (
            text(),
            any::<u32>(),
            any::<u64>(),
            any::<u8>(),
            any::<u16>(),
            text(),
        ),
        prop::collection::vec(any::<u8>(), SCRAMBLE_BYTES..=254),
    );
    parts.prop_map(
        |((version, thread_id, bits, collation, status, plugin), mut scramble)| {
            let capabilities = with_extended(bits as u32, (bits >> 32) as u32);
            if !capabilities.contains(Capabilities::SECURE_CONNECTION) {
                scramble.truncate(SCRAMBLE_HEAD_BYTES);
            }
            let has_plugin = capabilities.contains(Capabilities::PLUGIN_AUTH);
            Greeting {
                version,
                thread_id,
                scramble,
                capabilities,
                collation,
                // mysql_common refuses the flag 0x0004, which is not defined.
                status: StatusFlags(status & !0x0004),
                plugin: if has_plugin { plugin } else { Vec::new() },
            }
        },
    )
}

#[test]
fn a_cut_greeting_names_the_item_it_ends_in() {
    let payload = encoded(&mysql());
    let items = [
        ("protocol version", 1),
        ("server version", 6),
        ("thread id", 4),
        ("scramble, first part", 8),
        ("filler", 1),
        ("capabilities, lower half", 2),
        ("collation", 1),
        ("status flags", 2),
        ("capabilities, upper half", 2),
        ("scramble length", 1),
        ("filler", 6),
        ("extended capabilities", 4),
        ("scramble, second part", 13),
    ];
    let fixed = assert_named(&payload, &items, Greeting::decode);
    // The plugin's name ends where the payload ends.
    for cut in fixed..payload.len() {
        let greeting = Greeting::decode(&payload[..cut]).unwrap();
        assert_eq!(greeting.plugin, payload[fixed..cut]);
    }
}

#[test]
fn a_greeting_of_another_protocol_version_is_refused() {
    for version in [0, 9, 11, 0xff] {
        let mut payload = encoded(&mysql());
        payload[0] = version;
        assert_eq!(
            Greeting::decode(&payload),
            Err(Malformed::Invalid("protocol version"))
        );
    }
}

#[test]
fn extended_capabilities_count_only_where_mysqls_flag_is_off() {
    let mut payload = encoded(&mysql());
    let extended_at = payload.len() - b"caching_sha2_password\0".len() - 13 - 4;
    payload[extended_at] = 0x14;
    assert_eq!(Greeting::decode(&payload).unwrap(), mysql());
    let mariadb = mysql()
        .capabilities
        .with(Capabilities::LONG_PASSWORD, false);
    patch_capabilities(&mut payload, mariadb);
    let extended =
        Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_CACHE_METADATA;
    assert_eq!(
        Greeting::decode(&payload).unwrap().capabilities,
        mariadb | extended
    );
}

#[test]
fn a_short_scramble_still_makes_a_greeting() {
    for length in 0..SCRAMBLE_BYTES {
        let mut greeting = mysql();
        greeting.scramble.truncate(length);
        let read = Greeting::decode(&encoded(&greeting)).unwrap();
        assert!(read.scramble.starts_with(&greeting.scramble));
        assert_eq!(read.plugin, greeting.plugin);
    }
}

#[test]
fn malformed_greetings_are_not_patched() {
    // ER_WRONG_NAME_FOR_INDEX: a zero byte stands where a version would end.
    let mut error = b"\xff\x00\x05#42000 an error whose text is long enough".to_vec();
    let before = error.clone();
    patch_capabilities(&mut error, Capabilities(0));
    assert_eq!(error, before);
    let mut short = encoded(&mysql())[..20].to_vec();
    let before = short.clone();
    patch_capabilities(&mut short, Capabilities(0));
    assert_eq!(short, before);
    patch_capabilities(&mut [], Capabilities(0));
}

proptest! {
    #[test]
    fn greetings_round_trip(greeting in any_greeting()) {
        prop_assert_eq!(Greeting::decode(&encoded(&greeting)), Ok(greeting));
    }

    #[test]
    fn any_bytes_are_survived(mut bytes: Vec<u8>, is_greeting: bool) {
        if let (true, Some(first)) = (is_greeting, bytes.first_mut()) {
            *first = PROTOCOL_VERSION;
        }
        let _ = Greeting::decode(&bytes);
        patch_capabilities(&mut bytes, Capabilities(0));
    }

    #[test]
    fn mysql_common_reads_our_packets(greeting in any_greeting()) {
        // mysql_common reads the scramble's length as a signed byte.
        prop_assume!(greeting.scramble.len() < 127);
        let payload = encoded(&greeting);
        let theirs: HandshakePacket<'_> = read_by_oracle(&payload);
        prop_assert_eq!(theirs.server_version_ref(), &greeting.version);
        prop_assert_eq!(theirs.connection_id(), greeting.thread_id);
        prop_assert_eq!(theirs.capabilities().bits(), greeting.capabilities.lower());
        // mysql_common drops unknown flags.
        let known = MariadbCapabilities::all().bits();
        let extended = theirs.mariadb_ext_capabilities().bits();
        prop_assert_eq!(extended, greeting.capabilities.extended() & known);
        prop_assert_eq!(theirs.default_collation(), greeting.collation);
        prop_assert_eq!(theirs.auth_plugin_name_ref().unwrap_or_default(), &greeting.plugin);
        let tail = theirs.scramble_2_ref().unwrap_or(&[0]);
        let scramble = [theirs.scramble_1_ref(), &tail[..tail.len() - 1]].concat();
        prop_assert_eq!(scramble, greeting.scramble);
    }

    #[test]
    fn packets_of_mysql_common_are_read(
        version in "[ -~]{0,30}", id: u32, head: [u8; 8], tail: [u8; 12], bits: u32, collation: u8,
        plugin in "[a-z_0-9]{0,30}",
    ) {
        let capabilities = CapabilityFlags::from_bits_retain(bits)
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH;
        let tail_with_nul = [&tail[..], &[0]].concat();
        let status = mysql_common::constants::StatusFlags::SERVER_STATUS_AUTOCOMMIT;
        let theirs = HandshakePacket::new(
            PROTOCOL_VERSION, version.as_bytes(), id, head, Some(tail_with_nul), capabilities,
            collation, status, Some(plugin.as_bytes()),
        );
        let mut payload = Vec::new();
        theirs.serialize(&mut payload);
        let expected = Greeting {
            version: version.into_bytes(),
            thread_id: id,
            scramble: [&head[..], &tail].concat(),
            capabilities: Capabilities::from_parts(capabilities.bits(), 0),
            collation,
            status: StatusFlags::AUTOCOMMIT,
            plugin: plugin.into_bytes(),
        };
        prop_assert_eq!(Greeting::decode(&payload), Ok(expected));
    }

    #[test]
    fn a_patch_changes_the_protocols_flags_and_nothing_else(
        greeting in any_greeting(),
        bits: u32,
    ) {
        // Flags that change no layout.
        let layout = Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::LONG_PASSWORD;
        let patched = Capabilities::from_parts(bits, greeting.capabilities.extended())
            .with(layout, false)
            | (greeting.capabilities & layout);
        let mut payload = encoded(&greeting);
        patch_capabilities(&mut payload, patched);
        let expected = Greeting { capabilities: patched, ..greeting };
        prop_assert_eq!(Greeting::decode(&payload), Ok(expected));
    }
}

fn read_by_oracle(payload: &[u8]) -> HandshakePacket<'_> {
    mysql_common::io::ParseBuf(payload).parse(()).unwrap()
}
