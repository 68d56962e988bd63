//! `pilotfish health`: checks whether a proxy on this machine answers, for the health check of a container, whose image
//! has no shell and no other program.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use config::{Config, ListenAddress};

use crate::arguments::HealthArguments;

/// How long the proxy may take for each step.
const TIMEOUT: Duration = Duration::from_secs(3);

const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// The start of every answer, also that of a port that requires TLS.
const ANSWER: &[u8] = b"HTTP/1.1 ";

/// Asks the proxy; the exit code is 1 if it does not answer.
pub fn health(arguments: &HealthArguments) -> ExitCode {
    match ask_proxy(arguments) {
        Ok(()) => {
            println!("The proxy answers.");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("pilotfish: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn ask_proxy(arguments: &HealthArguments) -> Result<(), String> {
    let loaded = Config::load(Some(&arguments.config), &[]).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("\n")
    })?;
    let config = &loaded.config;
    let address = config.http.address.first();
    let address = address.filter(|_| config.has_http_callers()).ok_or(
        "the HTTP port, which answers whether the proxy is well, is closed; http.metrics = \"local\" opens it",
    )?;
    ask(address).map_err(|error| format!("the HTTP port {address} does not answer: {error}"))
}

fn ask(address: &ListenAddress) -> io::Result<()> {
    match address {
        ListenAddress::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            exchange(stream)
        }
        ListenAddress::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            exchange(stream)
        }
    }
}

fn exchange(mut stream: impl Read + Write) -> io::Result<()> {
    stream.write_all(REQUEST)?;
    let mut begin = [0; ANSWER.len()];
    stream.read_exact(&mut begin)?;
    match begin == ANSWER {
        true => Ok(()),
        false => Err(io::Error::other("another program listens there")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpListener;

    use super::*;

    fn asked_of(answer: &'static [u8]) -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ListenAddress::Tcp(listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; REQUEST.len()];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(answer).unwrap();
        });
        let asked = ask(&address);
        server.join().unwrap();
        asked
    }

    #[test]
    fn a_proxy_that_answers_is_alive_and_another_program_is_not() {
        assert!(asked_of(b"HTTP/1.1 200 OK\r\n\r\nok\n").is_ok());
        assert!(asked_of(b"SSH-2.0-OpenSSH\r\n").is_err());
        assert!(asked_of(b"").is_err());
    }

    #[test]
    fn the_health_check_fails_if_the_port_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ListenAddress::Tcp(listener.local_addr().unwrap());
        drop(listener);
        assert!(ask(&address).is_err());
    }

    #[test]
    fn a_closed_port_is_distinguished_from_a_silent_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("pilotfish.toml");
        std::fs::write(&config, "[[backend]]\naddress = \"127.0.0.1:3306\"\n").unwrap();
        let asked = ask_proxy(&HealthArguments { config });
        assert!(asked.unwrap_err().contains("http.metrics"));
    }
}
