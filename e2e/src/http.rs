//! HTTP by hand: a request, its answer, again, over one connection, with TLS if wanted.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use crate::raw::{TlsChoice, tls_config};

/// A client that sends HTTP requests.
#[derive(Clone, Debug)]
pub struct Http {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    tls: bool,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, with small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// A client of this port, which sends the required headers only.
    pub fn new(port: u16) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            headers: vec![("host".to_owned(), format!("127.0.0.1:{port}"))],
            tls: false,
        }
    }

    /// Connects to another address, and names it in the header `Host`.
    pub fn at(mut self, address: std::net::IpAddr) -> Self {
        self.address.set_ip(address);
        let host = self.address.to_string();
        self.header("host", &host)
    }

    /// Adds a header, or replaces its value.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Logs in with a user and a password, `user:password`, encoded in base 64 already.
    pub fn basic(self, base64: &str) -> Self {
        self.header("authorization", &format!("Basic {base64}"))
    }

    /// Uses TLS, and accepts any certificate.
    pub fn over_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// The answer to GET.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    /// The answer to a statement of SQL.
    #[track_caller]
    pub fn query(&self, body: &Value) -> Answer {
        self.clone().header("content-type", "application/json").ask(
            "POST",
            "/api/query",
            Some(&body.to_string()),
        )
    }

    /// The answer to a request.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        match self.try_ask(method, path, body) {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {path} is not answered: {error}"),
        }
    }

    /// The answer to a request, which may fail.
    ///
    /// # Errors
    /// The connection's errors.
    pub fn try_ask(&self, method: &str, path: &str, body: Option<&str>) -> io::Result<Answer> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body.unwrap_or_default());
        self.send(text.as_bytes())
    }

    /// Sends these bytes, and returns the answer.
    ///
    /// # Errors
    /// The connection's errors.
    pub fn send(&self, bytes: &[u8]) -> io::Result<Answer> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        if !self.tls {
            return exchange(stream, bytes);
        }
        let name = ServerName::try_from("localhost").expect("it is a name");
        let config = Arc::new(tls_config(&TlsChoice::default()));
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        exchange(StreamOwned::new(session, stream), bytes)
    }
}

fn exchange(mut stream: impl Read + Write, bytes: &[u8]) -> io::Result<Answer> {
    // The server may answer a refused request before it has read all of it.
    let sent = stream.write_all(bytes).and_then(|()| stream.flush());
    let mut reader = BufReader::new(stream);
    let answer = Answer::read(&mut reader);
    match (answer, sent) {
        (Err(_), Err(error)) => Err(error),
        (answer, _) => answer,
    }
}

impl Answer {
    /// Reads one answer.
    ///
    /// # Errors
    /// The connection's errors, or that the bytes are not HTTP.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let odd = || io::Error::other("this is no HTTP");
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.ok_or_else(odd)?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim_end().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(odd)?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Self {
            status,
            headers,
            body: Vec::new(),
        };
        let length = answer.header("content-length").map(str::parse::<u64>);
        match length {
            Some(Ok(length)) => {
                reader.take(length).read_to_end(&mut answer.body)?;
            }
            _ if status == 204 => {}
            _ => return Err(odd()),
        }
        Ok(answer)
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {}", self.text()),
        }
    }

    /// The text of the error in the answer.
    #[track_caller]
    pub fn complaint(&self) -> String {
        self.json()["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {}", self.text()))
            .to_owned()
    }
}
