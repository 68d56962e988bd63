//! How it is written down: a connection, and the file that its dialogue goes to.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use e2e::raw::{Address, Execute, Login, Outcome, RawConn, Reply, Shape, command};
use e2e::{Server, wait};

use crate::tape::{Entry, Relay, Tape};

/// A dialogue's file is smaller than this, in bytes.
const FILE_BYTES_MAX: usize = 4096;

/// One server, and the folder for its dialogues.
pub struct Studio<'a> {
    pub server: &'a Server,
    pub folder: PathBuf,
}

impl Studio<'_> {
    pub fn record(&self, name: &str, origin: &str, login: &Login, act: &dyn Fn(&mut Take)) {
        let relay = Relay::start(self.server.tcp());
        let conn = RawConn::connect(&Address::Tcp(relay.address), login)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // What the login said is not part of the dialogue.
        relay.tape.clear();
        let mut take = Take {
            capabilities: conn.capabilities,
            conn,
            tape: Arc::clone(&relay.tape),
            socket: self.server.socket(),
        };
        act(&mut take);
        let mut text = format!("# {}: {origin}\n", version(&take.conn));
        writeln!(text, "capabilities {:#x}", take.capabilities).expect("memory takes all");
        for line in take.tape.lines() {
            text.push_str(&line);
            text.push('\n');
        }
        assert!(text.len() < FILE_BYTES_MAX, "{name}: {} bytes", text.len());
        write_file(&self.folder.join(format!("{name}.txt")), &text);
    }

    /// A dump of a binary log with little in it.
    pub fn binlog(&self, name: &str, origin: &str, act: &dyn Fn(&mut Take)) {
        let mut root = self.server.root();
        root.run("FLUSH BINARY LOGS");
        root.run("REPLACE INTO demo.u VALUES (1, 'a')");
        self.record(name, origin, &Login::app(), act);
    }
}

pub fn version(conn: &RawConn) -> String {
    let version = conn.version.trim_start_matches("5.5.5-");
    match version.contains("MariaDB") {
        true => version.to_owned(),
        false => format!("{version} (MySQL)"),
    }
}

pub fn write_file(path: &Path, text: &str) {
    let folder = path.parent().expect("it is in a folder");
    std::fs::create_dir_all(folder).expect("the folder is writable");
    std::fs::write(path, text).expect("the folder is writable");
    println!("{} ({} bytes)", path.display(), text.len());
}

/// One connection that is written down.
pub struct Take {
    pub conn: RawConn,
    pub capabilities: u64,
    pub tape: Arc<Tape>,
    pub socket: PathBuf,
}

impl Take {
    pub fn root(&self) -> RawConn {
        RawConn::connect(&Address::Unix(self.socket.clone()), &Login::root())
            .unwrap_or_else(|error| panic!("root cannot connect: {error}"))
    }

    pub fn query(&mut self, sql: &str) -> Reply {
        self.conn.send_query(sql).expect("it can be sent");
        self.ends(command::QUERY, Shape::Results)
    }

    pub fn simple(&mut self, number: u8, argument: &[u8]) -> Reply {
        self.exchange(&[&[number], argument].concat(), Shape::Results)
    }

    pub fn exchange(&mut self, payload: &[u8], shape: Shape) -> Reply {
        self.conn.send(payload);
        self.ends(payload[0], shape)
    }

    pub fn prepare(&mut self, sql: &str) -> u32 {
        let payload = [&[command::STMT_PREPARE], sql.as_bytes()].concat();
        match self.exchange(&payload, Shape::Prepared).outcomes.first() {
            Some(Outcome::Prepared { id, .. }) => *id,
            _ => 0,
        }
    }

    pub fn execute(&mut self, execute: &Execute<'_>) -> Reply {
        let payload = execute.payload(&self.conn);
        self.exchange(&payload, Shape::Results)
    }

    /// MySQL says that more follows the OUT parameters in the EOF behind their definitions, and
    /// not in the one behind their row (`read_binary_rows` in its client library knows).
    pub fn execute_with_out_parameters(&mut self, execute: &Execute<'_>) {
        const MORE_RESULTS: u16 = 8;
        let payload = execute.payload(&self.conn);
        self.conn.send(&payload);
        let reply = self.conn.reply(Shape::Results);
        if matches!(reply.outcomes.last(), Some(Outcome::Rows(rows)) if rows.status & MORE_RESULTS == 0)
        {
            self.conn.reply(Shape::Results);
        }
        self.tape.note("= COM_STMT_EXECUTE ok".to_owned());
    }

    pub fn fetch(&mut self, statement: u32, rows: u32) {
        let numbers = [statement.to_le_bytes(), rows.to_le_bytes()].concat();
        self.exchange(
            &[&[command::STMT_FETCH], &numbers[..]].concat(),
            Shape::Rows,
        );
    }

    pub fn load(&mut self, sql: &str, chunks: &[&[u8]]) {
        self.conn.send_query(sql).expect("it can be sent");
        let reply = self.conn.reply(Shape::Results);
        assert!(
            matches!(reply.outcomes[..], [Outcome::LocalFile(_)]),
            "{reply:?}"
        );
        self.tape.note("? file".to_owned());
        for chunk in chunks {
            self.conn.send_on(chunk);
        }
        self.conn.send_on(b"");
        self.ends(command::QUERY, Shape::Results);
    }

    pub fn change_user(&mut self, login: &Login) {
        let outcome = match self.conn.change_user(login) {
            Ok(()) => "ok".to_owned(),
            Err(failure) => format!("error {}", failure.refusal().code),
        };
        self.tape.note(format!("= COM_CHANGE_USER {outcome}"));
    }

    pub fn binlog_file(&mut self) -> String {
        let mut root = self.root();
        let file = root.run("SHOW BINARY LOGS").texts().pop();
        file.expect("there is a binary log").swap_remove(0)
    }

    /// Reads events up to the end.
    pub fn dump(&mut self, payload: &[u8]) {
        self.conn.send(payload);
        let outcome = loop {
            let packet = self.conn.packet().expect("the dump comes to an end");
            match packet[..] {
                [0xFE, ..] if packet.len() < 9 => break "ok".to_owned(),
                [0xFF, a, b, ..] => break format!("error {}", u16::from_le_bytes([a, b])),
                _ => {}
            }
        };
        let name = name(payload[0]);
        self.tape.note(format!("= {name} {outcome}"));
    }

    /// Reads one reply and notes how the exchange ended.
    pub fn ends(&mut self, number: u8, shape: Shape) -> Reply {
        let reply = self.conn.reply(shape);
        self.note_end(number, &reply);
        reply
    }

    pub fn note_end(&self, number: u8, reply: &Reply) {
        let outcome = match reply.error() {
            Some(error) => format!("error {}", error.code),
            None => "ok".to_owned(),
        };
        self.tape.note(format!("= {} {outcome}", name(number)));
    }

    /// The server closes, with or without a last word.
    pub fn farewell(&mut self) {
        let mut bytes = Vec::new();
        wait::until("the server closes", wait::SOON, || self.tape.is_closed());
        self.tape.with(|entries| {
            if let Some(Entry::Server(last)) = entries.last() {
                bytes.clone_from(last);
            }
        });
        if let [_, _, _, _, 0xFF, a, b, ..] = bytes[..] {
            let number = u16::from_le_bytes([a, b]);
            self.tape.note(format!("! error {number}"));
        }
    }
}

pub fn name(number: u8) -> String {
    let name = match number {
        command::INIT_DB => "INIT_DB",
        command::QUERY => "QUERY",
        command::FIELD_LIST => "FIELD_LIST",
        command::STATISTICS => "STATISTICS",
        command::PROCESS_KILL => "PROCESS_KILL",
        command::DEBUG => "DEBUG",
        command::PING => "PING",
        command::BINLOG_DUMP => "BINLOG_DUMP",
        command::REGISTER_SLAVE => "REGISTER_SLAVE",
        command::STMT_PREPARE => "STMT_PREPARE",
        command::STMT_EXECUTE => "STMT_EXECUTE",
        command::STMT_RESET => "STMT_RESET",
        command::SET_OPTION => "SET_OPTION",
        command::STMT_FETCH => "STMT_FETCH",
        command::BINLOG_DUMP_GTID => "BINLOG_DUMP_GTID",
        command::RESET_CONNECTION => "RESET_CONNECTION",
        command::STMT_BULK_EXECUTE => "STMT_BULK_EXECUTE",
        0x00 => "SLEEP",
        0x05 => "CREATE_DB",
        0x07 => "REFRESH",
        command::PROCESS_INFO => "PROCESS_INFO",
        0x0B => "CONNECT",
        0x0F => "TIME",
        0x1D => "DAEMON",
        _ => return format!("COM_ 0x{number:02x}"),
    };
    format!("COM_{name}")
}
