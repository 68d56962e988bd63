//! Values of the capability flags, compared with another implementation, and the two halves of the flags.

use mysql_common::constants::{CapabilityFlags as Oracle, MariadbCapabilities as Extended};
use proptest::prelude::*;

use super::*;

#[test]
fn protocol_flags_agree_with_mysql_common() {
    let pairs = [
        (Capabilities::LONG_PASSWORD, Oracle::CLIENT_LONG_PASSWORD),
        (Capabilities::FOUND_ROWS, Oracle::CLIENT_FOUND_ROWS),
        (Capabilities::LONG_FLAG, Oracle::CLIENT_LONG_FLAG),
        (
            Capabilities::CONNECT_WITH_DB,
            Oracle::CLIENT_CONNECT_WITH_DB,
        ),
        (Capabilities::NO_SCHEMA, Oracle::CLIENT_NO_SCHEMA),
        (Capabilities::COMPRESS, Oracle::CLIENT_COMPRESS),
        (Capabilities::ODBC, Oracle::CLIENT_ODBC),
        (Capabilities::LOCAL_FILES, Oracle::CLIENT_LOCAL_FILES),
        (Capabilities::IGNORE_SPACE, Oracle::CLIENT_IGNORE_SPACE),
        (Capabilities::PROTOCOL_41, Oracle::CLIENT_PROTOCOL_41),
        (Capabilities::INTERACTIVE, Oracle::CLIENT_INTERACTIVE),
        (Capabilities::SSL, Oracle::CLIENT_SSL),
        (Capabilities::IGNORE_SIGPIPE, Oracle::CLIENT_IGNORE_SIGPIPE),
        (Capabilities::TRANSACTIONS, Oracle::CLIENT_TRANSACTIONS),
        (Capabilities::RESERVED, Oracle::CLIENT_RESERVED),
        (
            Capabilities::SECURE_CONNECTION,
            Oracle::CLIENT_SECURE_CONNECTION,
        ),
        (
            Capabilities::MULTI_STATEMENTS,
            Oracle::CLIENT_MULTI_STATEMENTS,
        ),
        (Capabilities::MULTI_RESULTS, Oracle::CLIENT_MULTI_RESULTS),
        (
            Capabilities::PS_MULTI_RESULTS,
            Oracle::CLIENT_PS_MULTI_RESULTS,
        ),
        (Capabilities::PLUGIN_AUTH, Oracle::CLIENT_PLUGIN_AUTH),
        (Capabilities::CONNECT_ATTRS, Oracle::CLIENT_CONNECT_ATTRS),
        (
            Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA,
            Oracle::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA,
        ),
        (
            Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS,
            Oracle::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS,
        ),
        (Capabilities::SESSION_TRACK, Oracle::CLIENT_SESSION_TRACK),
        (Capabilities::DEPRECATE_EOF, Oracle::CLIENT_DEPRECATE_EOF),
        (
            Capabilities::OPTIONAL_RESULTSET_METADATA,
            Oracle::CLIENT_OPTIONAL_RESULTSET_METADATA,
        ),
        (
            Capabilities::ZSTD_COMPRESSION_ALGORITHM,
            Oracle::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
        ),
        (
            Capabilities::QUERY_ATTRIBUTES,
            Oracle::CLIENT_QUERY_ATTRIBUTES,
        ),
        (
            Capabilities::MULTI_FACTOR_AUTHENTICATION,
            Oracle::MULTI_FACTOR_AUTHENTICATION,
        ),
        // MariaDB's name for the flag that MySQL calls the capability extension.
        (
            Capabilities::CAPABILITY_EXTENSION,
            Oracle::CLIENT_PROGRESS_OBSOLETE,
        ),
        (
            Capabilities::SSL_VERIFY_SERVER_CERT,
            Oracle::CLIENT_SSL_VERIFY_SERVER_CERT,
        ),
        (
            Capabilities::REMEMBER_OPTIONS,
            Oracle::CLIENT_REMEMBER_OPTIONS,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, Capabilities::from_parts(theirs.bits(), 0));
    }
    assert_eq!(pairs.len(), 32);
}

#[test]
fn extended_flags_agree_with_mysql_common() {
    let pairs = [
        (
            Capabilities::MARIADB_PROGRESS,
            Extended::MARIADB_CLIENT_PROGRESS,
        ),
        (
            Capabilities::MARIADB_COM_MULTI,
            Extended::MARIADB_CLIENT_RESERVED_1,
        ),
        (
            Capabilities::MARIADB_STMT_BULK_OPERATIONS,
            Extended::MARIADB_CLIENT_STMT_BULK_OPERATIONS,
        ),
        (
            Capabilities::MARIADB_EXTENDED_METADATA,
            Extended::MARIADB_CLIENT_EXTENDED_METADATA,
        ),
        (
            Capabilities::MARIADB_CACHE_METADATA,
            Extended::MARIADB_CLIENT_CACHE_METADATA,
        ),
        (
            Capabilities::MARIADB_BULK_UNIT_RESULTS,
            Extended::MARIADB_CLIENT_BULK_UNIT_RESULTS,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, Capabilities::from_parts(0, theirs.bits()));
    }
    assert_eq!(32 + pairs.len(), Capabilities::NAMES.len());
}

proptest! {
    #[test]
    fn capability_flags_are_joined_from_their_two_halves(bits: u64) {
        let whole = Capabilities(bits);
        prop_assert_eq!(Capabilities::from_parts(whole.lower(), whole.extended()), whole);
    }

    #[test]
    fn flags_are_set_and_cleared_without_touching_others(bits: u64, flags: u64) {
        let (whole, flags) = (Capabilities(bits), Capabilities(flags));
        prop_assert!(whole.with(flags, true).contains(flags));
        prop_assert_eq!(whole.with(flags, false) & flags, Capabilities(0));
        prop_assert_eq!(whole.with(flags, true), whole | flags);
        prop_assert_eq!(whole.with(flags, false).0 | (whole & flags).0, bits);
    }
}
