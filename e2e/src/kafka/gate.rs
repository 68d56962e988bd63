//! A gate in front of a broker, which can be closed.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Passes bytes between clients and the broker.
#[derive(Debug)]
pub struct Gate {
    /// Where clients connect.
    pub port: u16,
    state: Arc<Mutex<GateState>>,
}

#[derive(Debug, Default)]
struct GateState {
    is_closed: bool,
    streams: Vec<TcpStream>,
}

impl Gate {
    pub fn before(broker: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let gate = Self {
            port,
            state: Arc::default(),
        };
        let state = Arc::clone(&gate.state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = locked(&state);
                if state.is_closed {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", broker)) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let pair = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = pair else { continue };
                    std::thread::spawn(move || pass(from, to));
                }
                state.streams.extend([client, server]);
            }
        });
        gate
    }

    /// Ends all connections, and lets no client in.
    pub fn close(&self) {
        let mut state = self.locked();
        state.is_closed = true;
        for stream in state.streams.drain(..) {
            // The client may have closed its connection already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets clients in again.
    pub fn open(&self) {
        self.locked().is_closed = false;
    }

    fn locked(&self) -> MutexGuard<'_, GateState> {
        locked(&self.state)
    }
}

fn locked(state: &Mutex<GateState>) -> MutexGuard<'_, GateState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The other direction ends as well.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
