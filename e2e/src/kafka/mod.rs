//! A broker of Kafka for tests, and a gate in front of it that can be closed. `clients/provision.sh` fetches the broker.

mod gate;
mod tool;

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::certs::Certs;
use crate::process::{Folder, Process};
use crate::product::{PASSWORD, cache};
use crate::server::free_port;
use crate::wait;
use gate::Gate;
pub use tool::KafkaTool;

/// A broker that takes connections.
#[derive(Debug)]
pub struct Kafka {
    gate: Gate,
    secure_port: u16,
    jars: PathBuf,
    process: Process,
    folder: Folder,
}

impl Kafka {
    /// Starts a broker without topics. The broker makes a topic when a client asks for it. None: `clients/provision.sh`
    /// could not fetch the broker.
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
        let (port, secure_port, controller) = (free_port(), free_port(), free_port());
        let gate = Gate::before(port);
        let common = include_str!("../../kafka/server.properties");
        let properties = format!(
            "{common}\n{}\nlisteners=PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{secure_port},\
             CONTROLLER://127.0.0.1:{controller}\nadvertised.listeners=PLAINTEXT://127.0.0.1:{},\
             SASL_SSL://127.0.0.1:{secure_port}\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             log.dirs={}\n",
            secure_listener(),
            gate.port,
            log.display()
        );
        let file = folder.path().join("server.properties");
        std::fs::write(&file, properties).expect("the folder is writable");
        let jars = root.join("jars/*");
        let mut command = Command::new("java");
        command
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"])
            .arg("-cp")
            .arg(&jars)
            .arg("kafka.Kafka")
            .arg(&file);
        let process = Process::start("kafka", command, &folder.path().join("output"));
        let mut broker = Self {
            gate,
            secure_port,
            jars,
            process,
            folder,
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

    /// The address of the broker for clients.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.gate.port)
    }

    /// The address of the broker for clients that use TLS and log in.
    pub fn secure_address(&self) -> String {
        format!("127.0.0.1:{}", self.secure_port)
    }

    /// Ends all connections, and lets no client in.
    pub fn close(&self) {
        self.gate.close();
    }

    /// Lets clients in again.
    pub fn open(&self) {
        self.gate.open();
    }

    /// Kafka's own clients of this broker.
    pub fn tool(&self) -> KafkaTool {
        KafkaTool::start(&self.jars, &self.folder, &self.address())
    }
}

/// The listener for TLS: its certificate and its login mechanisms. [`KafkaTool::add_user`] makes users of SCRAM.
fn secure_listener() -> String {
    let server = &Certs::shared().server;
    let file = |path: &Path| std::fs::read_to_string(path).expect("the file is there");
    let line = |pem: String| pem.trim_end().replace('\n', "\\n");
    let modules = "org.apache.kafka.common.security";
    let name = "listener.name.sasl_ssl";
    format!(
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL\n\
         sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512,PLAIN\n\
         {name}.ssl.keystore.type=PEM\n{name}.ssl.keystore.certificate.chain={}\n{name}.ssl.keystore.key={}\n\
         {name}.scram-sha-256.sasl.jaas.config={modules}.scram.ScramLoginModule required;\n\
         {name}.scram-sha-512.sasl.jaas.config={modules}.scram.ScramLoginModule required;\n\
         {name}.plain.sasl.jaas.config={modules}.plain.PlainLoginModule required user_plain=\"{PASSWORD}\";\n",
        line(file(&server.certificate)),
        line(file(&server.key)),
    )
}
