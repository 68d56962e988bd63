//! An address of HTTP to which the proxy sends something.

/// A URL in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    /// Whether that is `https`.
    pub is_tls: bool,
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path, and what belongs to it.
    pub path: String,
}

impl HttpTarget {
    /// Reads a URL. `port` is that of `http` if it names none, and `path` stands for none.
    ///
    /// # Errors
    /// Why that is no URL.
    pub(super) fn parse(url: &str, (port, path): (u16, &str)) -> Result<Self, &'static str> {
        let default = (port, path);
        let (is_tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err("must begin with http:// or https://"),
        };
        if !rest.bytes().all(|it| it.is_ascii_graphic()) {
            return Err("must be of visible ASCII characters");
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err("must have no user and no password");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (
                host,
                port.parse().map_err(|_| "has no port behind its colon")?,
            ),
            _ => (authority, if is_tls { 443 } else { default.0 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['[', ']', '?', '#']) || port == 0 {
            return Err("names no host");
        }
        Ok(Self {
            is_tls,
            host: host.to_owned(),
            port,
            path: match path {
                "" | "/" => default.1.to_owned(),
                path => path.to_owned(),
            },
        })
    }
}
