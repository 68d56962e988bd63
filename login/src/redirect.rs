//! The end of a login whose client may go to another address: an OK with `redirect_url` among the changes of
//! the session's state ("Connection Redirection Mechanism in the MariaDB Client/Server Protocol").
//!
//! A driver that supports this opens a connection to that address and closes this one. If it cannot
//! connect, it stays. Other clients do not know the variable.

use config::{Redirect, RedirectAddress};
use link::dialogue::{LoginObserver, Relayed};
use route::{Backend, Endpoint};
use wire::reply::{OK, OkHeader, OkPacket};
use wire::session_track::{Change, OkTail, put_ok};
use wire::{Capabilities, StatusFlags};

use crate::welcome::ok;

/// The variable that drivers look for.
const REDIRECT_URL: &[u8] = b"redirect_url";

/// Adds the address to the OK of a login that a backend answers.
pub struct RedirectObserver<'a> {
    redirect: &'a Redirect,
    capabilities: Capabilities,
    backend: Option<RedirectAddress>,
}

impl<'a> RedirectObserver<'a> {
    /// Returns an observer for a login that has just begun.
    pub fn new(redirect: &'a Redirect) -> Self {
        Self {
            redirect,
            capabilities: Capabilities(0),
            backend: None,
        }
    }

    fn address(&self) -> Option<&RedirectAddress> {
        match self.redirect {
            Redirect::Backend => self.backend.as_ref(),
            Redirect::Address(address) => Some(address),
        }
    }
}

impl LoginObserver for RedirectObserver<'_> {
    fn begins(&mut self, capabilities: Capabilities, backend: Option<(&str, u16)>) {
        self.capabilities = capabilities;
        self.backend = backend.and_then(|(host, port)| RedirectAddress::of(host, port));
    }

    fn observe(&mut self, payload: &[u8]) -> Relayed {
        let redirected = self
            .address()
            .and_then(|address| redirected(payload, self.capabilities, address));
        redirected.map_or(Relayed::AsItIs, |payload| Relayed::Instead(vec![payload]))
    }
}

/// Returns the address of a backend as its configuration names it; `None` for a Unix socket.
pub fn address_of(backend: &Backend) -> Option<(&str, u16)> {
    let port = backend
        .location
        .endpoints
        .iter()
        .find_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(address.port()),
            Endpoint::Unix(_) => None,
        });
    backend.location.host.as_deref().zip(port)
}

/// Returns the OK of a login that the proxy answers.
pub fn first_ok(
    redirect: Option<&Redirect>,
    capabilities: Capabilities,
    status: StatusFlags,
) -> Vec<u8> {
    let plain = ok(status).to_vec();
    match redirect {
        Some(Redirect::Address(address)) => {
            redirected(&plain, capabilities, address).unwrap_or(plain)
        }
        Some(Redirect::Backend) | None => plain,
    }
}

/// Returns an OK with the address in it, in place of `payload`; `None` if `payload` is no OK, or if
/// the client does not read changes of the session's state.
fn redirected(
    payload: &[u8],
    capabilities: Capabilities,
    address: &RedirectAddress,
) -> Option<Vec<u8>> {
    if payload.first() != Some(&OK) || !capabilities.contains(Capabilities::SESSION_TRACK) {
        return None;
    }
    let packet = OkPacket::decode(payload).ok()?;
    let tail = OkTail::decode(payload, capabilities).ok()?;
    let said: Vec<Change<'_>> = tail.changes().collect::<Result<_, _>>().ok()?;
    let is_other = |change: &Change<'_>| !matches!(change, Change::Variable { name, .. } if *name == REDIRECT_URL);
    let url = address.url();
    let own = Change::Variable {
        name: REDIRECT_URL,
        value: url.as_bytes(),
    };
    let changes = said.into_iter().filter(is_other).chain([own]);
    let mut told = Vec::new();
    put_ok(
        &mut told,
        OkHeader::Ok,
        capabilities,
        &packet,
        tail.info,
        changes,
    );
    Some(told)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TRACKED: Capabilities = Capabilities::SESSION_TRACK;

    fn proxy2() -> Redirect {
        "proxy2:4040".parse().unwrap()
    }

    /// Returns the packet that replaces the original one for the client.
    fn instead(said: Relayed) -> Option<Vec<u8>> {
        match said {
            Relayed::Instead(payloads) => payloads.into_iter().next(),
            Relayed::AsItIs | Relayed::Last(..) => None,
        }
    }

    fn changes(payload: &[u8]) -> Vec<Change<'_>> {
        let tail = OkTail::decode(payload, TRACKED).unwrap();
        tail.changes().map(Result::unwrap).collect()
    }

    fn variable<'a>(name: &'a str, value: &'a str) -> Change<'a> {
        Change::Variable {
            name: name.as_bytes(),
            value: value.as_bytes(),
        }
    }

    #[test]
    fn the_redirect_address_follows_the_backends_own_text_in_an_ok() {
        let mut said = Vec::new();
        let status = OkPacket {
            status: StatusFlags::AUTOCOMMIT,
            ..OkPacket::default()
        };
        let by_backend = [
            variable("redirect_url", "mariadb://elsewhere"),
            variable("autocommit", "ON"),
        ];
        put_ok(
            &mut said,
            OkHeader::Ok,
            TRACKED,
            &status,
            b"proof",
            by_backend,
        );
        let redirect = proxy2();
        let mut observer = RedirectObserver::new(&redirect);
        observer.begins(TRACKED, Some(("db1", 3306)));
        let told = instead(observer.observe(&said)).unwrap();
        let own = variable("redirect_url", "mariadb://proxy2:4040");
        assert_eq!(changes(&told), [variable("autocommit", "ON"), own]);
        assert_eq!(OkTail::decode(&told, TRACKED).unwrap().info, b"proof");
        let status = OkPacket::decode(&told).unwrap().status;
        assert!(status.contains(StatusFlags::AUTOCOMMIT));
        assert!(status.contains(StatusFlags::SESSION_STATE_CHANGED));
    }

    #[test]
    fn the_backend_of_the_session_is_named_by_its_own_address() {
        let plain = ok(StatusFlags::AUTOCOMMIT);
        let mut observer = RedirectObserver::new(&Redirect::Backend);
        observer.begins(TRACKED, Some(("db1", 3307)));
        let told = instead(observer.observe(&plain)).unwrap();
        assert_eq!(
            changes(&told),
            [variable("redirect_url", "mariadb://db1:3307")]
        );
        for unnameable in [None, Some(("2001:db8::1", 3306))] {
            observer.begins(TRACKED, unnameable);
            assert_eq!(instead(observer.observe(&plain)), None);
        }
    }

    #[test]
    fn other_packets_and_an_ok_without_trackers_stay_unchanged() {
        let redirect = proxy2();
        let mut observer = RedirectObserver::new(&redirect);
        let plain = ok(StatusFlags::AUTOCOMMIT);
        assert_eq!(instead(observer.observe(&plain)), None);
        observer.begins(TRACKED, None);
        for payload in [
            &b"\xfemysql_native_password\0"[..],
            b"\xff\x15\x04",
            b"\x01\x04",
            b"\0",
            b"",
        ] {
            assert_eq!(instead(observer.observe(payload)), None, "{payload:?}");
        }
        assert_eq!(
            first_ok(Some(&redirect), Capabilities(0), StatusFlags::AUTOCOMMIT),
            plain
        );
        assert_eq!(first_ok(None, TRACKED, StatusFlags::AUTOCOMMIT), plain);
        let told = first_ok(Some(&redirect), TRACKED, StatusFlags::AUTOCOMMIT);
        assert_eq!(
            changes(&told),
            [variable("redirect_url", "mariadb://proxy2:4040")]
        );
    }
}
