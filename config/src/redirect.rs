//! The address to which drivers are redirected, away from the proxy (`redirect_url` of MariaDB).

use std::fmt;
use std::str::FromStr;

use crate::raw_setting::RawSetting;
use crate::value::{Value, parse, quoted};
use crate::{AddressError, BackendAddress, Fault, ValueType};

/// The word that stands for the session's backend.
const BACKEND: &str = "backend";

/// The target of a redirect, which a driver gets at its login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// The address of the backend that the session has.
    Backend,
    /// Another address, for example of another proxy.
    Address(RedirectAddress),
}

/// A host and a port that `redirect_url` can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectAddress {
    host: String,
    port: u16,
}

/// Why a text is no target of a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectError {
    /// The text is no address.
    Address(AddressError),
    /// `redirect_url` cannot express the address.
    NotNameable(String),
}

impl RedirectAddress {
    /// The address of `host` and `port`; none for IPv6, because a host in `redirect_url` has no colon.
    pub fn of(host: &str, port: u16) -> Option<Self> {
        let is_nameable = !host.is_empty() && !host.contains([':', '/', '@', '?']);
        is_nameable.then(|| Self {
            host: host.to_owned(),
            port,
        })
    }

    /// The value of `redirect_url`. It ends with the port, because MariaDB Connector/J accepts no lone slash after it.
    pub fn url(&self) -> String {
        format!("mariadb://{}:{}", self.host, self.port)
    }
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::NotNameable(address) => {
                write!(
                    f,
                    "redirect_url cannot name {address}; a host name or an IPv4 address can be named"
                )
            }
        }
    }
}

impl std::error::Error for RedirectError {}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend => f.write_str(BACKEND),
            Self::Address(address) => write!(f, "{}:{}", address.host, address.port),
        }
    }
}

impl FromStr for Redirect {
    type Err = RedirectError;

    /// Reads `backend`, `proxy2`, `proxy2:4040` and `10.0.0.1:4040`.
    fn from_str(text: &str) -> Result<Self, RedirectError> {
        if text == BACKEND {
            return Ok(Self::Backend);
        }
        let address = text.parse().map_err(RedirectError::Address)?;
        let named = match &address {
            BackendAddress::Tcp { host, port } => RedirectAddress::of(host, *port),
            BackendAddress::Unix(_) => None,
        };
        let unnameable = || RedirectError::NotNameable(address.to_string());
        named.map(Self::Address).ok_or_else(unnameable)
    }
}

impl Value for Redirect {
    const KIND: ValueType = ValueType::Redirect;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        parse(given)
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn redirect_urls_of_drivers_are_read_and_written() {
        for (text, shown, url) in [
            ("backend", "backend", None),
            ("proxy2:4040", "proxy2:4040", Some("mariadb://proxy2:4040")),
            ("10.0.0.1", "10.0.0.1:3306", Some("mariadb://10.0.0.1:3306")),
        ] {
            let redirect: Redirect = text.parse().unwrap();
            assert_eq!(redirect.to_string(), shown);
            let told = match &redirect {
                Redirect::Backend => None,
                Redirect::Address(address) => Some(address.url()),
            };
            assert_eq!(told.as_deref(), url);
        }
    }

    #[test]
    fn addresses_that_redirect_url_cannot_name_are_refused() {
        for text in ["[::1]:4040", "::1", "/run/db.sock", "unix:/run/db.sock"] {
            let refused = text.parse::<Redirect>().unwrap_err();
            assert!(
                matches!(refused, RedirectError::NotNameable(_)),
                "{text}: {refused}"
            );
        }
        assert!(matches!(
            "a b".parse::<Redirect>(),
            Err(RedirectError::Address(_))
        ));
    }
}
