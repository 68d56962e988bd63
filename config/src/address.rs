//! The addresses of listeners and backends: an IP address or name with a port, or the
//! path of a Unix socket.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The port for clients if an address names none.
pub const LISTEN_PORT: u16 = 4040;
/// The admin port if an address names none.
pub const ADMIN_PORT: u16 = 4041;
/// The HTTP port if an address names none.
pub const HTTP_PORT: u16 = 4042;
/// The port of a MySQL or MariaDB server if an address names none.
pub const BACKEND_PORT: u16 = 3306;

/// An address on which the proxy accepts clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// An IPv4 or IPv6 address with its port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The address of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BackendAddress {
    /// A name or IP address (IPv6 without brackets) with its port.
    Tcp {
        /// Name or address; a name is resolved again from time to time.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// Nothing was given.
    Empty,
    /// The part behind the last colon is no port from 1 to 65535.
    Port(String),
    /// A bracket `[` without its `]`, or text between `]` and the port.
    Bracket,
    /// The text is a name, but a listen address must be an IP address.
    Name(String),
    /// A host name with an invalid character.
    Host(String),
    /// A Unix socket needs an absolute path of at most 107 bytes.
    SocketPath(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the address is empty"),
            Self::Port(port) => write!(f, "\"{port}\" is not a port (1 to 65535)"),
            Self::Bracket => f.write_str("an IPv6 address is written [address]:port"),
            Self::Name(name) => write!(f, "\"{name}\" is not an IP address of this machine's"),
            Self::Host(host) => write!(f, "\"{host}\" is neither a host name nor an IP address"),
            Self::SocketPath(path) => {
                write!(f, "\"{path}\" is not an absolute path of at most 107 bytes")
            }
        }
    }
}

impl std::error::Error for AddressError {}

/// The parts of an address's text.
enum Parts<'a> {
    Tcp { host: &'a str, port: Option<u16> },
    Unix(&'a Path),
}

fn take_apart(text: &str) -> Result<Parts<'_>, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    if let Some(path) = text.strip_prefix("unix:") {
        return socket_path(path);
    }
    if text.starts_with('/') {
        return socket_path(text);
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or(AddressError::Bracket)?;
        host.parse::<Ipv6Addr>()
            .map_err(|_| AddressError::Bracket)?;
        let port = match port.strip_prefix(':') {
            Some(port) => Some(parse_port(port)?),
            None if port.is_empty() => None,
            None => return Err(AddressError::Bracket),
        };
        return Ok(Parts::Tcp { host, port });
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok(Parts::Tcp {
            host: text,
            port: None,
        });
    }
    match text.rsplit_once(':') {
        Some((host, port)) => Ok(Parts::Tcp {
            host,
            port: Some(parse_port(port)?),
        }),
        None => Ok(Parts::Tcp {
            host: text,
            port: None,
        }),
    }
}

fn socket_path(text: &str) -> Result<Parts<'_>, AddressError> {
    // sun_path holds 108 bytes with its NUL.
    if !text.starts_with('/') || text.len() > 107 {
        return Err(AddressError::SocketPath(text.to_owned()));
    }
    Ok(Parts::Unix(Path::new(text)))
}

fn parse_port(text: &str) -> Result<u16, AddressError> {
    match text.parse() {
        Ok(port) if port != 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(AddressError::Port(text.to_owned())),
    }
}

fn is_host_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| label.len() <= 63)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !text.starts_with(['-', '.'])
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    /// Reads `1.2.3.4:4040`, `[::1]:4040`, `:4040`, `4040`, `*:4040`, `1.2.3.4`, `localhost:4040`,
    /// `/path` and `unix:/path`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let port = parse_port(text)?;
            return Ok(Self::Tcp(SocketAddr::new(
                Ipv4Addr::UNSPECIFIED.into(),
                port,
            )));
        }
        match take_apart(text)? {
            Parts::Unix(path) => Ok(Self::Unix(path.to_owned())),
            Parts::Tcp { host, port } => {
                let ip = match host {
                    "" | "*" => Ipv4Addr::UNSPECIFIED.into(),
                    "localhost" => Ipv4Addr::LOCALHOST.into(),
                    _ => host
                        .parse::<IpAddr>()
                        .map_err(|_| AddressError::Name(host.to_owned()))?,
                };
                Ok(Self::Tcp(SocketAddr::new(ip, port.unwrap_or(LISTEN_PORT))))
            }
        }
    }
}

impl FromStr for BackendAddress {
    type Err = AddressError;

    /// Reads `db1`, `db1:3306`, `10.0.0.1:3306`, `[::1]:3306`, `::1`, `/path` and `unix:/path`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        match take_apart(text)? {
            Parts::Unix(path) => Ok(Self::Unix(path.to_owned())),
            Parts::Tcp { host, port } => {
                if host.parse::<IpAddr>().is_err() && !is_host_name(host) {
                    return Err(AddressError::Host(host.to_owned()));
                }
                Ok(Self::Tcp {
                    host: host.to_owned(),
                    port: port.unwrap_or(BACKEND_PORT),
                })
            }
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for BackendAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
