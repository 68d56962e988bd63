//! The PROXY protocol, by which a load balancer tells whom it connects for: versions 1 (a line of
//! text) and 2 (binary), as HAProxy's `proxy-protocol.txt` specifies them.
//!
//! MySQL's server speaks first, so a client that sends no header cannot be told from a client whose
//! header is late. Therefore a connection from a trusted network must begin with a header, and any other
//! connection must not ([`Trust`]).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::socket::Endpoint;

/// How version 2 begins: bytes no other protocol sends first.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// How version 1 begins.
const PREFIX: &[u8] = b"PROXY ";
/// The shortest version 1 header: `PROXY UNKNOWN` and the line's end.
const TEXT_BYTES_MIN: usize = 15;
/// The longest version 1 header, by the specification.
const TEXT_BYTES_MAX: usize = 107;
/// Version 2: signature, version and command, family, length.
const BINARY_PREAMBLE_BYTES: usize = 16;
/// What may follow the preamble. Addresses take 36 bytes; the rest is for extensions (TLVs), of
/// which balancers send a few hundred bytes at most.
const BINARY_REST_BYTES_MAX: usize = 4096;

/// The content of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// The balancer has made the connection for a client.
    Proxied {
        /// The client's own address.
        source: SocketAddr,
        /// The address that the client connected to.
        destination: SocketAddr,
    },
    /// The connection's own addresses are valid: the balancer connects for itself (`LOCAL`, its health
    /// check) or does not know the client's address (`UNKNOWN`, `UNSPEC`, a Unix socket).
    Own,
}

/// How far [`parse`] came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The header is complete.
    Complete {
        /// The header's content.
        header: Header,
        /// How many of the bytes are the header's.
        length: usize,
    },
    /// At least this many more bytes belong to the header: reading them takes no bytes that follow the header.
    Need(usize),
}

/// Why bytes are no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// The bytes begin like neither version.
    #[error("no PROXY header, but one is required from this network")]
    Absent,
    /// A version 1 line without an end, or a version 2 header beyond the bound.
    #[error("the PROXY header is too long")]
    TooLong,
    /// The named item is not as the specification has it.
    #[error("the PROXY header's {0} is invalid")]
    Item(&'static str),
}

/// Why no header could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are no header.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The connection ended before the header did. `true` if not one byte had come: balancers
    /// check for life this way.
    #[error("the connection was closed before its PROXY header was complete")]
    Closed {
        /// Whether not a single byte had come.
        silent: bool,
    },
    /// The socket failed.
    #[error("cannot read the PROXY header: {0}")]
    Io(#[from] io::Error),
}

/// The connections that must begin with a header. No other connection may.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trust {
    /// Networks of the balancers.
    pub networks: Vec<IpNet>,
    /// Whether connections over Unix sockets come from balancers too.
    pub unix: bool,
}

impl Trust {
    /// Whether a connection from `remote` begins with a header.
    pub fn requires_header(&self, remote: &Endpoint) -> bool {
        match remote {
            Endpoint::Unix(_) => self.unix,
            Endpoint::Tcp(address) => {
                let address = address.ip().to_canonical();
                self.networks
                    .iter()
                    .any(|network| network.contains(&address))
            }
        }
    }
}

/// Whether the first four bytes, which should begin a MySQL packet, begin a PROXY header instead.
/// Then a client outside the trusted networks has sent a header, and the log should say so.
pub fn begins_header(bytes: [u8; 4]) -> bool {
    PREFIX.starts_with(&bytes) || SIGNATURE.starts_with(&bytes)
}

/// Reads exactly one header and not a byte more. The caller limits the time.
///
/// # Errors
/// See [`ReadError`].
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Header, ReadError> {
    let mut bytes = Vec::new();
    loop {
        match parse(&bytes)? {
            Progress::Complete { header, .. } => return Ok(header),
            Progress::Need(more) => {
                let more = u64::try_from(more).unwrap_or(u64::MAX);
                if stream.take(more).read_buf(&mut bytes).await? == 0 {
                    let silent = bytes.is_empty();
                    return Err(ReadError::Closed { silent });
                }
            }
        }
    }
}

/// Reads a header at the start of `bytes`, of either version.
///
/// # Errors
/// The bytes cannot become a header any more.
pub fn parse(bytes: &[u8]) -> Result<Progress, Invalid> {
    if begins_like(bytes, SIGNATURE) && !bytes.is_empty() {
        parse_binary(bytes)
    } else if begins_like(bytes, PREFIX) {
        parse_text(bytes)
    } else {
        Err(Invalid::Absent)
    }
}

/// Whether `bytes` begins with `mark`, or `mark` with `bytes`.
fn begins_like(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(byte, mark)| byte == mark)
}

fn parse_text(bytes: &[u8]) -> Result<Progress, Invalid> {
    if bytes.len() < TEXT_BYTES_MIN {
        return Ok(Progress::Need(TEXT_BYTES_MIN - bytes.len()));
    }
    let longest = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    let Some(end) = longest.windows(2).position(|pair| pair == b"\r\n") else {
        return match longest {
            _ if longest.len() == TEXT_BYTES_MAX => Err(Invalid::TooLong),
            [.., b'\r'] => Ok(Progress::Need(1)),
            _ => Ok(Progress::Need((TEXT_BYTES_MAX - longest.len()).min(2))),
        };
    };
    let line = str::from_utf8(&bytes[..end]).map_err(|_| Invalid::Item("line"))?;
    Ok(Progress::Complete {
        header: parse_line(line)?,
        length: end + 2,
    })
}

fn parse_line(line: &str) -> Result<Header, Invalid> {
    let mut words = line.split(' ').skip(1);
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        return Ok(Header::Own);
    }
    let mut next = |item| words.next().ok_or(Invalid::Item(item));
    let source = parse_address(family, next("source address")?, "source address")?;
    let destination = parse_address(family, next("destination address")?, "destination address")?;
    let source_port = parse_port(next("source port")?, "source port")?;
    let destination_port = parse_port(next("destination port")?, "destination port")?;
    if words.next().is_some() {
        return Err(Invalid::Item("line"));
    }
    Ok(Header::Proxied {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    })
}

fn parse_address(family: &str, word: &str, item: &'static str) -> Result<IpAddr, Invalid> {
    match family {
        "TCP4" => word.parse::<Ipv4Addr>().map(IpAddr::from).ok(),
        "TCP6" => word.parse::<Ipv6Addr>().map(IpAddr::from).ok(),
        _ => return Err(Invalid::Item("protocol family")),
    }
    .ok_or(Invalid::Item(item))
}

fn parse_port(word: &str, item: &'static str) -> Result<u16, Invalid> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let port = word.parse().ok().filter(|_| digits);
    port.ok_or(Invalid::Item(item))
}

fn parse_binary(bytes: &[u8]) -> Result<Progress, Invalid> {
    let Some((preamble, rest)) = bytes.split_first_chunk::<BINARY_PREAMBLE_BYTES>() else {
        return Ok(Progress::Need(BINARY_PREAMBLE_BYTES - bytes.len()));
    };
    let [.., version_command, family, high, low] = *preamble;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > BINARY_REST_BYTES_MAX {
        return Err(Invalid::TooLong);
    }
    let Some(addresses) = rest.get(..length) else {
        return Ok(Progress::Need(length - rest.len()));
    };
    let header = match version_command {
        0x20 => Header::Own,
        0x21 => parse_addresses(family, addresses)?,
        _ => return Err(Invalid::Item("version or command")),
    };
    let length = BINARY_PREAMBLE_BYTES + length;
    Ok(Progress::Complete { header, length })
}

/// Reads the addresses, which come first. The extensions after them are ignored.
fn parse_addresses(family: u8, bytes: &[u8]) -> Result<Header, Invalid> {
    const SHORT: Invalid = Invalid::Item("length");
    match family {
        0x11 => {
            let (addresses, _) = bytes.split_first_chunk::<12>().ok_or(SHORT)?;
            let [a, b, c, d, e, f, g, h, ports @ ..] = *addresses;
            Ok(proxied([a, b, c, d].into(), [e, f, g, h].into(), ports))
        }
        0x21 => {
            let (source, bytes) = bytes.split_first_chunk::<16>().ok_or(SHORT)?;
            let (destination, bytes) = bytes.split_first_chunk::<16>().ok_or(SHORT)?;
            let (ports, _) = bytes.split_first_chunk::<4>().ok_or(SHORT)?;
            Ok(proxied((*source).into(), (*destination).into(), *ports))
        }
        // UNSPEC, and Unix stream sockets: neither has a client's address.
        0x00 | 0x31 => Ok(Header::Own),
        _ => Err(Invalid::Item("address family")),
    }
}

fn proxied(source: IpAddr, destination: IpAddr, ports: [u8; 4]) -> Header {
    let [a, b, c, d] = ports;
    Header::Proxied {
        source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
    }
}

/// Appends `header` in the form of version 2. Two addresses of different families are both
/// written as IPv6.
pub fn encode_v2(header: &Header, out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    let Header::Proxied {
        source,
        destination,
    } = header
    else {
        out.extend_from_slice(&[0x20, 0x00, 0, 0]);
        return;
    };
    match (source.ip().to_canonical(), destination.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend_from_slice(&[0x21, 0x11, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        }
        (from, to) => {
            out.extend_from_slice(&[0x21, 0x21, 0, 36]);
            out.extend_from_slice(&as_ipv6(from).octets());
            out.extend_from_slice(&as_ipv6(to).octets());
        }
    }
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
}

fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests;
