//! The HTTP port.

use super::{File, load, with_backend};

#[test]
fn the_http_port_opens_if_an_administrator_or_a_token_is_configured() {
    assert!(!load("").has_http_callers());
    assert!(load("[admin]\nusername = \"root\"\npassword = \"a\"").has_http_callers());
    assert!(load("[http]\nmetrics = \"local\"").has_http_callers());
    let token = load("[http]\ntoken = \"0123456789abcdef\"");
    assert!(token.has_http_callers());
    assert_eq!(token.http.address, ["127.0.0.1:4042".parse().unwrap()]);
}

#[test]
fn a_token_cannot_be_guessed_and_fits_a_header() {
    for (token, expected) in [
        (
            "short",
            "pilotfish.toml:2:9: http.token: must have 16 bytes or more; hint: openssl rand -hex 32",
        ),
        (
            "with a space in it",
            "pilotfish.toml:2:9: http.token: must be of visible ASCII characters, without spaces",
        ),
    ] {
        let text = format!("[http]\ntoken = {token:?}");
        assert_eq!(File::new(&with_backend(&text)).faults(), [expected]);
    }
}

#[test]
fn index_usage_needs_digests() {
    let text = with_backend("[statement_stats]\nindex_usage = true\ndigests = false");
    assert_eq!(
        File::new(&text).faults(),
        [
            "pilotfish.toml:2:15: statement_stats.index_usage: is of no use without statement_stats.digests; hint: \
             statement_stats.digests = true"
        ]
    );
}

#[test]
fn a_history_in_memory_has_no_file() {
    let text = with_backend("[statement_stats]\nhistory = \"memory\"\nhistory_file = \"/h.db\"");
    assert_eq!(
        File::new(&text).faults(),
        [
            "pilotfish.toml:3:16: statement_stats.history_file: is of no use with statement_stats.history = \"memory\"; hint: \
             statement_stats.history = \"file\""
        ]
    );
}
