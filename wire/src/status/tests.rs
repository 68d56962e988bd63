//! Values of the status flags, compared with another implementation.

use mysql_common::constants::StatusFlags as Oracle;

use super::*;

#[test]
fn values_agree_with_mysql_common() {
    let pairs = [
        (StatusFlags::IN_TRANS, Oracle::SERVER_STATUS_IN_TRANS),
        (StatusFlags::AUTOCOMMIT, Oracle::SERVER_STATUS_AUTOCOMMIT),
        (
            StatusFlags::MORE_RESULTS_EXISTS,
            Oracle::SERVER_MORE_RESULTS_EXISTS,
        ),
        (
            StatusFlags::NO_GOOD_INDEX_USED,
            Oracle::SERVER_STATUS_NO_GOOD_INDEX_USED,
        ),
        (
            StatusFlags::NO_INDEX_USED,
            Oracle::SERVER_STATUS_NO_INDEX_USED,
        ),
        (
            StatusFlags::CURSOR_EXISTS,
            Oracle::SERVER_STATUS_CURSOR_EXISTS,
        ),
        (
            StatusFlags::LAST_ROW_SENT,
            Oracle::SERVER_STATUS_LAST_ROW_SENT,
        ),
        (StatusFlags::DB_DROPPED, Oracle::SERVER_STATUS_DB_DROPPED),
        (
            StatusFlags::NO_BACKSLASH_ESCAPES,
            Oracle::SERVER_STATUS_NO_BACKSLASH_ESCAPES,
        ),
        (
            StatusFlags::METADATA_CHANGED,
            Oracle::SERVER_STATUS_METADATA_CHANGED,
        ),
        (StatusFlags::QUERY_WAS_SLOW, Oracle::SERVER_QUERY_WAS_SLOW),
        (StatusFlags::PS_OUT_PARAMS, Oracle::SERVER_PS_OUT_PARAMS),
        (
            StatusFlags::IN_TRANS_READONLY,
            Oracle::SERVER_STATUS_IN_TRANS_READONLY,
        ),
        (
            StatusFlags::SESSION_STATE_CHANGED,
            Oracle::SERVER_SESSION_STATE_CHANGED,
        ),
        (StatusFlags::ANSI_QUOTES, Oracle::SERVER_STATUS_ANSI_QUOTES),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours.0, theirs.bits(), "{ours:?}");
    }
    assert_eq!(pairs.len(), StatusFlags::NAMES.len());
    assert_eq!(pairs.len(), Oracle::all().iter().count());
}
