//! A server that follows a script: for greetings, logins and replies that no real server gives.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::raw::{PACKET_MAX, capability, lenenc};

/// A scripted server. Every connection runs the script in a thread of its own; when the script
/// ends, in whatever way, the connection is closed.
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
}

impl Scripted {
    /// Starts one on a free port of 127.0.0.1.
    pub fn start(script: impl Fn(&mut Dialogue) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let stop = Arc::new(AtomicBool::new(false));
        let accepted = Arc::new(AtomicUsize::new(0));
        let (stopped, counter, script) = (stop.clone(), accepted.clone(), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                counter.fetch_add(1, Ordering::SeqCst);
                let script = Arc::clone(&script);
                std::thread::spawn(move || {
                    let mut dialogue = Dialogue::new(stream);
                    // An error means that the other side has closed, which is a script's normal end.
                    let _ = script(&mut dialogue);
                    dialogue.close();
                });
            }
        });
        Self {
            address,
            stop,
            accepted,
        }
    }

    /// The server's address.
    pub fn tcp(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener, which then reads the flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// One connection of a scripted server.
#[derive(Debug)]
pub struct Dialogue {
    stream: TcpStream,
    /// Sequence id of the next packet.
    pub sequence: u8,
}

/// The scramble of every scripted greeting.
pub const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";

impl Dialogue {
    fn new(stream: TcpStream) -> Self {
        // If the other side hangs, the script must not make the test hang.
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).expect("it is not zero");
        stream.set_nodelay(true).expect("TCP has it");
        Self {
            stream,
            sequence: 0,
        }
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a packet.
    pub fn send(&mut self, body: &[u8]) -> io::Result<()> {
        assert!(body.len() < PACKET_MAX, "one packet");
        let length = u32::try_from(body.len()).expect("checked").to_le_bytes();
        let mut bytes = vec![length[0], length[1], length[2], self.sequence];
        bytes.extend(body);
        self.sequence = self.sequence.wrapping_add(1);
        self.send_bytes(&bytes)
    }

    /// Reads a packet. The next packet that is sent follows its sequence id.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut body = vec![0; usize::try_from(length).expect("at most 16 MiB")];
        self.stream.read_exact(&mut body)?;
        self.sequence = header[3].wrapping_add(1);
        Ok(body)
    }

    /// Sends a greeting that names `plugin`, with the capabilities of a MySQL server without TLS.
    pub fn greet(&mut self, plugin: &str) -> io::Result<()> {
        self.greet_with(plugin, capability::USUAL | 1)
    }

    /// Sends a greeting with these capabilities.
    pub fn greet_with(&mut self, plugin: &str, capabilities: u64) -> io::Result<()> {
        let capabilities = capabilities.to_le_bytes();
        let mut body = vec![10];
        body.extend(b"9.9.9-scripted\0");
        body.extend([7, 0, 0, 0]);
        body.extend(&SCRAMBLE[..8]);
        body.push(0);
        body.extend(&capabilities[..2]);
        body.extend([45, 2, 0]);
        body.extend(&capabilities[2..4]);
        body.push(21);
        body.extend([0; 6]);
        body.extend(&capabilities[4..]);
        body.extend(&SCRAMBLE[8..]);
        body.push(0);
        body.extend(plugin.as_bytes());
        body.push(0);
        self.sequence = 0;
        self.send(&body)
    }

    /// Sends a greeting and accepts any client. Returns the client's response.
    pub fn welcome(&mut self) -> io::Result<Vec<u8>> {
        self.greet("mysql_native_password")?;
        let response = self.read()?;
        self.send_ok()?;
        Ok(response)
    }

    /// Sends OK.
    pub fn send_ok(&mut self) -> io::Result<()> {
        self.send(&[0, 0, 0, 2, 0, 0, 0])
    }

    /// Sends an ERR packet.
    pub fn send_error(&mut self, code: u16, text: &str) -> io::Result<()> {
        let mut body = vec![0xFF];
        body.extend(code.to_le_bytes());
        body.extend(b"#HY000");
        body.extend(text.as_bytes());
        self.send(&body)
    }

    /// Sends a result with one column named `name` and these rows, by CLIENT_DEPRECATE_EOF's rules, without the
    /// result's end.
    pub fn send_rows(&mut self, name: &str, rows: &[&str]) -> io::Result<()> {
        self.send(&[1])?;
        self.send_rows_after_count(name, rows)
    }

    /// Like [`Self::send_rows`], if the number of columns has already been sent.
    pub fn send_rows_after_count(&mut self, name: &str, rows: &[&str]) -> io::Result<()> {
        let mut column = Vec::new();
        for text in ["def", "", "", "", name, ""] {
            column.extend(lenenc(text.as_bytes()));
        }
        column.extend([0x0C, 45, 0, 0, 4, 0, 0, 0xFD, 0, 0, 0, 0, 0]);
        self.send(&column)?;
        rows.iter()
            .try_for_each(|row| self.send(&lenenc(row.as_bytes())))
    }

    /// Sends the OK that ends a result.
    pub fn send_end(&mut self) -> io::Result<()> {
        self.send(&[0xFE, 0, 0, 2, 0, 0, 0])
    }

    /// Answers every command with OK until the client disconnects.
    pub fn answer_with_ok(&mut self) -> io::Result<()> {
        loop {
            if self.read()?.first() == Some(&1) {
                return Ok(());
            }
            self.send_ok()?;
        }
    }

    /// Waits until the other side closes.
    pub fn wait_closed(&mut self) {
        let mut sink = [0; 4096];
        while matches!(self.stream.read(&mut sink), Ok(count) if count > 0) {}
    }

    /// Closes the connection without an error packet.
    pub fn close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
