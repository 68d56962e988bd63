//! A relay between the proxy and a server: counts round trips, and cuts connections at a chosen point.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the statement reaches the server.
    Unsent,
    /// After the server has answered, before its answer reaches the proxy.
    Unanswered,
    /// After the first piece of the server's answer.
    PartlyAnswered,
    /// After an error in place of the server's answer, with this number and sequence id.
    Farewell(u16, u8),
    /// No cut: the relay answers the statement with this error number. The statement must be the first in its write,
    /// and does not reach the server. The rest of the write does.
    Denied(u16),
    /// After a request for a file of the client, in place of the server's answer.
    AskFile(&'static str),
}

#[derive(Debug, Default)]
struct State {
    /// The next cut, and the text in the statement that it is for.
    plan: Option<(Cut, Vec<u8>)>,
    /// How many round trips there were: how often the proxy sent bytes after the server had.
    turns: usize,
    server_spoke: bool,
    cuts: usize,
}

/// A relay. Its connections last until either side closes them, or until they are cut.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
}

impl Relay {
    /// Starts one in front of a server, on a free port of 127.0.0.1.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(State::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&state), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                if let (Ok(proxy), Ok(server)) = (stream, TcpStream::connect(server)) {
                    Line::open(proxy, server, &shared);
                }
            }
        });
        Self {
            address,
            state,
            stop,
        }
    }

    /// The relay's address.
    pub fn tcp(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the connection on which the next statement with this text in it is sent.
    pub fn cut(&self, cut: Cut, text: &str) {
        lock(&self.state).plan = Some((cut, text.as_bytes().to_vec()));
    }

    /// How many connections were cut so far.
    pub fn cuts(&self) -> usize {
        lock(&self.state).cuts
    }

    /// Round trips so far: how often the proxy sent bytes after the server had.
    pub fn round_trips(&self) -> usize {
        lock(&self.state).turns
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener, which then reads the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both directions of one connection.
struct Line {
    proxy: TcpStream,
    server: TcpStream,
    relay: Arc<Mutex<State>>,
    /// How the next piece from the server is cut.
    pending: Mutex<Option<Cut>>,
}

impl Line {
    fn open(proxy: TcpStream, server: TcpStream, relay: &Arc<Mutex<State>>) {
        for socket in [&proxy, &server] {
            socket.set_nodelay(true).expect("TCP has it");
        }
        let line = Arc::new(Self {
            proxy,
            server,
            relay: Arc::clone(relay),
            pending: Mutex::new(None),
        });
        let back = Arc::clone(&line);
        std::thread::spawn(move || line.there());
        std::thread::spawn(move || back.back());
    }

    /// Passes the proxy's bytes to the server.
    fn there(&self) {
        pass(&self.proxy, &self.server, |piece| {
            let mut relay = lock(&self.relay);
            relay.turns += usize::from(std::mem::take(&mut relay.server_spoke));
            let is_meant = |(_, text): &mut (Cut, Vec<u8>)| {
                piece.windows(text.len()).any(|window| window == &text[..])
            };
            match relay.plan.take_if(is_meant) {
                Some((Cut::Unsent, _)) => {
                    relay.cuts += 1;
                    Pass::Not
                }
                Some((Cut::Denied(number), _)) => {
                    relay.cuts += 1;
                    relay.server_spoke = true;
                    self.say_error(number, 1);
                    Pass::Behind(4 + usize::from(piece[0]))
                }
                Some((cut, _)) => {
                    *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut);
                    Pass::On
                }
                None => Pass::On,
            }
        });
        self.close();
    }

    /// Passes the server's bytes to the proxy.
    fn back(&self) {
        pass(&self.server, &self.proxy, |_| {
            let mut relay = lock(&self.relay);
            relay.server_spoke = true;
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let pass = match pending.take() {
                None => return Pass::On,
                Some(Cut::PartlyAnswered) => Pass::Last,
                Some(Cut::Farewell(number, sequence)) => {
                    self.say_error(number, sequence);
                    Pass::Not
                }
                Some(Cut::AskFile(name)) => {
                    let length = u8::try_from(name.len() + 1).expect("it is a short name");
                    let head = [length, 0, 0, 1, 0xFB];
                    let _ = (&self.proxy).write_all(&[&head, name.as_bytes()].concat());
                    Pass::Not
                }
                Some(_) => Pass::Not,
            };
            relay.cuts += 1;
            pass
        });
        self.close();
    }

    fn say_error(&self, number: u16, sequence: u8) {
        let [low, high] = number.to_le_bytes();
        let packet = [9, 0, 0, sequence, 0xFF, low, high];
        let _ = (&self.proxy).write_all(&[&packet, &b"#HY000"[..]].concat());
    }

    fn close(&self) {
        for socket in [&self.proxy, &self.server] {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// How a piece is passed, and whether the connection goes on.
enum Pass {
    On,
    /// On, without this number of bytes at its begin.
    Behind(usize),
    Last,
    Not,
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, mut judge: impl FnMut(&[u8]) -> Pass) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let verdict = judge(&buffer[..count]);
        let begin = match verdict {
            Pass::Behind(begin) => begin,
            Pass::On | Pass::Last | Pass::Not => 0,
        };
        if matches!(verdict, Pass::Not) || to.write_all(&buffer[begin..count]).is_err() {
            return;
        }
        if matches!(verdict, Pass::Last) {
            return;
        }
    }
}
