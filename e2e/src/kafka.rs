//! A broker of Kafka for tests, and a gate in front of it that can be closed. `clients/provision.sh` fetches the broker.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::process::{Folder, Process};
use crate::product::cache;
use crate::server::free_port;
use crate::wait;

/// A broker that takes connections.
#[derive(Debug)]
pub struct Kafka {
    gate: Gate,
    process: Process,
    _folder: Folder,
}

impl Kafka {
    /// Starts a broker without topics. It makes the topics that are asked for. None: `clients/provision.sh` could not
    /// fetch one.
    pub fn start() -> Option<Self> {
        let root = cache().join("clients/kafka");
        if !root.join("recipe").exists() {
            println!("LEFT OUT: there is no broker of Kafka (e2e/clients/provision.sh)");
            return None;
        }
        let folder = Folder::new("kafka");
        let log = folder.path().join("log");
        std::fs::create_dir(&log).expect("the folder is new");
        for file in ["meta.properties", "bootstrap.checkpoint"] {
            std::fs::copy(root.join("log").join(file), log.join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
        }
        let (port, controller) = (free_port(), free_port());
        let gate = Gate::before(port);
        let common = include_str!("../kafka/server.properties");
        let properties = format!(
            "{common}\nlisteners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{}\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             log.dirs={}\n",
            gate.port,
            log.display()
        );
        let file = folder.path().join("server.properties");
        std::fs::write(&file, properties).expect("the folder is writable");
        let mut command = Command::new("java");
        command
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"])
            .arg("-cp")
            .arg(root.join("jars/*"))
            .arg("kafka.Kafka")
            .arg(&file);
        let process = Process::start("kafka", command, &folder.path().join("output"));
        let mut broker = Self {
            gate,
            process,
            _folder: folder,
        };
        broker.wait_up(port);
        Some(broker)
    }

    fn wait_up(&mut self, port: u16) {
        wait::until("Kafka takes connections", wait::SOON, || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "{ended:?}\n{}", self.process.log_tail());
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    /// Where clients reach it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.gate.port)
    }

    /// Ends all connections, and lets no client in.
    pub fn close(&self) {
        let mut state = self.gate.locked();
        state.is_closed = true;
        for stream in state.streams.drain(..) {
            // A client may have gone by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets clients in again.
    pub fn open(&self) {
        self.gate.locked().is_closed = false;
    }
}

/// Passes bytes between clients and the broker.
#[derive(Debug)]
struct Gate {
    port: u16,
    state: Arc<Mutex<GateState>>,
}

#[derive(Debug, Default)]
struct GateState {
    is_closed: bool,
    streams: Vec<TcpStream>,
}

impl Gate {
    fn before(broker: u16) -> Self {
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
