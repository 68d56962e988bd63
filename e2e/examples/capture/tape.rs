//! What passes between a client and a server, written down on its way.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What passed, in order.
#[derive(Default)]
pub struct Tape(Mutex<Vec<Entry>>);

pub enum Entry {
    Client(Vec<u8>),
    Server(Vec<u8>),
    Note(String),
    ServerClosed,
}

impl Tape {
    pub fn with<T>(&self, act: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        act(&mut self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub fn clear(&self) {
        self.with(Vec::clear);
    }

    pub fn note(&self, text: String) {
        self.with(|entries| entries.push(Entry::Note(text)));
    }

    pub fn is_closed(&self) -> bool {
        self.with(|entries| {
            let closed = matches!(entries.last(), Some(Entry::ServerClosed));
            if closed {
                entries.pop();
            }
            closed
        })
    }

    pub fn passed(&self, bytes: &[u8], from_client: bool) {
        self.with(|entries| match (entries.last_mut(), from_client) {
            (Some(Entry::Client(last)), true) | (Some(Entry::Server(last)), false) => {
                last.extend(bytes);
            }
            (_, true) => entries.push(Entry::Client(bytes.to_vec())),
            (_, false) => entries.push(Entry::Server(bytes.to_vec())),
        });
    }

    /// A line for each packet and each note.
    pub fn lines(&self) -> Vec<String> {
        self.with(|entries| {
            let mut lines = Vec::new();
            for entry in entries {
                match entry {
                    Entry::Client(bytes) => packet_lines('>', bytes, &mut lines),
                    Entry::Server(bytes) => packet_lines('<', bytes, &mut lines),
                    Entry::Note(text) => lines.push(text.clone()),
                    Entry::ServerClosed => {}
                }
            }
            lines
        })
    }
}

pub fn packet_lines(mark: char, mut bytes: &[u8], lines: &mut Vec<String>) {
    while let [a, b, c, ..] = *bytes {
        let length = 4 + u32::from_le_bytes([a, b, c, 0]) as usize;
        let (packet, rest) = bytes.split_at(length);
        let mut line = format!("{mark} ");
        for byte in packet {
            write!(line, "{byte:02x}").expect("memory takes all");
        }
        lines.push(line);
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a header");
}

/// Stands between one client and the server, and writes down what it passes on.
pub struct Relay {
    pub address: SocketAddr,
    pub tape: Arc<Tape>,
}

impl Relay {
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let tape = Arc::new(Tape::default());
        let writer = Arc::clone(&tape);
        thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client comes");
            let server = TcpStream::connect(server).expect("the server is there");
            let copies = (client.try_clone(), server.try_clone());
            let (Ok(from_client), Ok(to_server)) = copies else {
                panic!("sockets can be duplicated");
            };
            let tape = Arc::clone(&writer);
            thread::spawn(move || pass(from_client, to_server, &tape, true));
            pass(server, client, &writer, false);
            writer.with(|entries| entries.push(Entry::ServerClosed));
        });
        Self { address, tape }
    }
}

pub fn pass(mut from: TcpStream, mut to: TcpStream, tape: &Tape, from_client: bool) {
    let mut buffer = [0; 4096];
    let mut step = || -> io::Result<bool> {
        let count = from.read(&mut buffer)?;
        tape.passed(&buffer[..count], from_client);
        to.write_all(&buffer[..count])?;
        Ok(count > 0)
    };
    while step().unwrap_or(false) {}
    let _ = to.shutdown(Shutdown::Write);
}
