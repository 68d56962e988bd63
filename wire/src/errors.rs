//! The errors that the proxy itself gives its clients, each with its number, its text, and what the manual says of it.
//! The manual's list of errors is written from these definitions by `xtask errors`. Errors of servers pass unchanged and
//! are not here, nor are those of the admin port.

mod connecting;
mod ending;
mod killing;
mod scripts;
mod statements;

use std::borrow::Cow;
use std::fmt;

pub use connecting::*;
pub use ending::*;
pub use killing::*;
pub use scripts::*;
pub use statements::*;

use crate::{ErrPacket, ErrorCode};

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyError {
    /// The number and the SQLSTATE.
    pub code: ErrorCode,
    /// The text. Clients show up to 512 bytes of it.
    pub text: Cow<'static, str>,
}

impl ProxyError {
    /// The payload of an ERR packet, for a client that has named its capabilities.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        ErrPacket {
            number: self.code.number,
            sqlstate: Some(self.code.sqlstate),
            text: self.text.as_bytes(),
        }
        .encode(&mut payload);
        payload
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<ProxyError> for String {
    fn from(error: ProxyError) -> Self {
        error.text.into_owned()
    }
}

/// A kind of error, for the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The number and the SQLSTATE.
    pub code: ErrorCode,
    /// The text, with placeholders in braces.
    pub text: &'static str,
    /// When clients get it.
    pub when: &'static str,
    /// What the reader can do.
    pub advice: &'static str,
}

/// All errors, sorted by their numbers.
pub fn all() -> Vec<Definition> {
    let mut all = [
        connecting::ALL,
        ending::ALL,
        statements::ALL,
        killing::ALL,
        scripts::ALL,
    ]
    .concat();
    all.sort_by_key(|it| it.code.number);
    all
}

/// Defines errors: the code, a function that makes the error, its arguments, its text, and what the manual says.
macro_rules! errors {
    ($($code:ident $name:ident ( $($argument:ident),* ) = $text:literal when $when:literal advice $advice:literal;)*) => {
        $(
            #[doc = $when]
            pub fn $name($($argument: impl std::fmt::Display),*) -> crate::errors::ProxyError {
                crate::errors::ProxyError {
                    code: crate::ErrorCode::$code,
                    text: crate::errors::text_of!($text $($argument)*),
                }
            }
        )*

        pub(super) const ALL: &[crate::errors::Definition] = &[$(crate::errors::Definition {
            code: crate::ErrorCode::$code,
            text: $text,
            when: $when,
            advice: $advice,
        }),*];
    };
}

macro_rules! text_of {
    ($text:literal) => {
        std::borrow::Cow::Borrowed($text)
    };
    ($text:literal $($argument:ident)+) => {
        std::borrow::Cow::Owned(format!($text))
    };
}

use {errors, text_of};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_arguments_in_its_text() {
        let error = lost_during("db1", "COM_QUERY", "it closed the connection");
        assert_eq!(
            error.text,
            "Lost connection to backend db1 during COM_QUERY: it closed the connection"
        );
        assert_eq!(interrupted().payload()[..9], *b"\xff\x25\x05#70100");
    }

    #[test]
    fn texts_leave_room_for_their_arguments_in_the_512_bytes_of_a_message() {
        for Definition { code, text, .. } in all() {
            assert!(text.len() < 300, "{} {text}", code.number);
        }
    }

    #[test]
    fn numbers_of_client_libraries_are_sent_to_clients_of_an_old_protocol_only() {
        let of_libraries = |it: &Definition| (2000..3000).contains(&it.code.number);
        let found: Vec<_> = all().into_iter().filter(of_libraries).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, old_protocol().text);
    }

    #[test]
    fn no_two_errors_have_the_same_text() {
        let mut texts: Vec<_> = all().iter().map(|it| it.text).collect();
        texts.sort_unstable();
        let count = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), count);
    }
}
