//! How an error is defined: by its code, its text, and what the manual says of it.

use std::borrow::Cow;
use std::fmt;

use crate::{ErrPacket, ErrorCode};

/// An error of the proxy, for a client.
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
    /// When clients get the error.
    pub when: &'static str,
    /// What the reader can do.
    pub advice: &'static str,
}

/// Defines errors: the code, a function that makes the error, its arguments, its text, and what the manual says.
macro_rules! define {
    ($($code:ident $name:ident ( $($argument:ident),* ) = $text:literal when $when:literal advice $advice:literal;)*) => {
        $(
            #[doc = $when]
            pub fn $name($($argument: impl std::fmt::Display),*) -> crate::errors::definition::ProxyError {
                crate::errors::definition::ProxyError {
                    code: crate::ErrorCode::$code,
                    text: crate::errors::definition::text_of!($text $($argument)*),
                }
            }
        )*

        pub(crate) const ALL: &[crate::errors::definition::Definition] = &[$(crate::errors::definition::Definition {
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

pub(crate) use {define, text_of};
