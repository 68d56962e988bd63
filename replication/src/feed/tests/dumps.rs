//! The dump commands of replicas, and the events that the replicas get.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use binlog::{Checksum, EventType, RawEvent};
use route::Family;
use wire::{Capabilities, Command};

use crate::feed::{ReplicaConnection, feed};
use crate::position::Position;
use crate::relay::tests::{options, transaction, write};
use crate::relay::{RelayLog, RelayWriter};
use crate::tests::system;

/// A flag of both dump commands: the stream ends at the end of the log.
const NON_BLOCKING: u16 = 1;

const PRIMARY: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/// A replica that sends its commands, and then disconnects or waits.
struct Script {
    commands: VecDeque<Vec<u8>>,
    waits: bool,
    said: Arc<Mutex<Vec<u8>>>,
}

impl ReplicaConnection for Script {
    async fn command(&mut self) -> Option<Vec<u8>> {
        match self.commands.pop_front() {
            None if self.waits => std::future::pending().await,
            command => command,
        }
    }

    async fn send_packets(&mut self, packets: &[u8]) -> bool {
        self.said.lock().unwrap().extend_from_slice(packets);
        true
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::PROTOCOL_41
    }

    fn name(&self) -> String {
        "a script".to_owned()
    }

    fn cluster(&self) -> String {
        "main".to_owned()
    }
}

impl Script {
    fn new(statements: &[&str], dump: Vec<u8>) -> Self {
        let statement = |it: &&str| [&[Command::QUERY.0], it.as_bytes()].concat();
        let mut commands: VecDeque<_> = statements.iter().map(statement).collect();
        commands.push_back(dump);
        Self {
            commands,
            waits: false,
            said: Arc::default(),
        }
    }

    /// A replica of MariaDB that has all transactions up to `had`.
    fn of_mariadb(had: &str, flags: u16) -> Self {
        let mut dump = vec![Command::BINLOG_DUMP.0, 4, 0, 0, 0];
        dump.extend(flags.to_le_bytes());
        dump.extend([9, 0, 0, 0]);
        let state = format!("SET @slave_connect_state='{had}'");
        let statements = [
            "SET @master_binlog_checksum='CRC32'",
            "SET @mariadb_slave_capability=4",
            &state,
        ];
        Self::new(&statements, dump)
    }

    /// A replica of MySQL 9.7 that has these transactions, with one interval for each source.
    fn of_mysql(had: &[(&str, u64)]) -> Self {
        let mut dump = vec![Command::BINLOG_DUMP_GTID.0];
        dump.extend(NON_BLOCKING.to_le_bytes());
        dump.extend([9, 0, 0, 0]);
        // The command names no file, and has the position at which files begin.
        dump.extend([0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
        let mut set = (had.len() as u64).to_le_bytes().to_vec();
        for (uuid, last) in had {
            let digits = uuid.replace('-', "");
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            set.extend((0..32).step_by(2).map(byte));
            for number in [1, 1, last + 1] {
                set.extend(number.to_le_bytes());
            }
        }
        dump.extend((set.len() as u32).to_le_bytes());
        dump.extend(set);
        Self::new(&["SET @source_binlog_checksum='CRC32'"], dump)
    }

    /// Feeds the replica. Returns the payloads that the replica gets.
    async fn run(self, log: &Arc<RelayLog>) -> Vec<Vec<u8>> {
        let said = Arc::clone(&self.said);
        feed(self, Arc::clone(log), Arc::default(), system(0).clock).await;
        let said = said.lock().unwrap();
        let mut rest = said.as_slice();
        let mut payloads = Vec::new();
        while let [one, two, three, _, behind @ ..] = rest {
            let length = u32::from_le_bytes([*one, *two, *three, 0]) as usize;
            payloads.push(behind[..length].to_vec());
            rest = &behind[length..];
        }
        payloads
    }
}

/// The types of the events among payloads.
fn events(payloads: &[Vec<u8>]) -> Vec<EventType> {
    let of_event = |it: &Vec<u8>| {
        let raw = RawEvent::parse(it.get(1..)?, Checksum::Crc32).ok()?;
        raw.verify().ok()?;
        Some(raw.header().event_type)
    };
    payloads.iter().filter_map(of_event).collect()
}

/// The error in the last payload: its number and text.
fn error(payloads: &[Vec<u8>]) -> (u16, String) {
    let last = payloads.last().unwrap();
    assert_eq!(last[0], 0xff, "{last:?}");
    let number = u16::from_le_bytes([last[1], last[2]]);
    (number, String::from_utf8_lossy(&last[9..]).into_owned())
}

fn relay(folder: &Path, family: Family, position: &str) -> RelayWriter {
    let position = Position::parse(family, position).unwrap();
    RelayWriter::open(options(folder), &position).unwrap()
}

/// A relay of MariaDB with two transactions.
fn two_transactions(folder: &Path) -> RelayWriter {
    let mut relay = relay(folder, Family::MariaDb, "");
    for sequence in [1, 2] {
        write(&mut relay, &transaction(sequence, 10));
    }
    relay.sync().unwrap();
    relay
}

#[tokio::test]
async fn a_replica_gets_the_head_of_a_file_and_its_missing_events() {
    let folder = tempfile::tempdir().unwrap();
    let relay = two_transactions(folder.path());
    let script = Script::of_mariadb("0-1-1", NON_BLOCKING);
    let payloads = script.run(relay.log()).await;
    let expected = [
        EventType::ROTATE,
        EventType::FORMAT_DESCRIPTION,
        EventType::GTID_LIST,
        EventType::MARIADB_GTID,
        EventType::QUERY,
        EventType::XID,
    ];
    assert_eq!(events(&payloads), expected);
    // EOF
    assert_eq!(payloads.last().unwrap()[0], 0xfe);
}

#[tokio::test]
async fn the_set_of_a_replica_of_mysql_decides_about_missing_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let relay = relay(folder.path(), Family::MySql, &format!("{PRIMARY}:1-39"));
    let own = "00000000-71ca-11e1-9e33-c80aa9429562";
    let lacks = Script::of_mysql(&[(own, 3), (PRIMARY, 35)]);
    let (number, text) = error(&lacks.run(relay.log()).await);
    assert_eq!(number, 1236, "{text}");
    assert!(text.contains(&format!("lacks '{PRIMARY}:36-39'")), "{text}");
}

#[tokio::test]
async fn a_replica_before_the_first_relay_file_gets_a_retryable_error() {
    let folder = tempfile::tempdir().unwrap();
    let relay = relay(folder.path(), Family::MySql, &format!("{PRIMARY}:1-39"));
    assert!(!relay.log().has_started());
    let has_all = Script::of_mysql(&[(PRIMARY, 39)]);
    // The error is ER_SERVER_SHUTDOWN, because a replica stops after error 1236.
    assert_eq!(error(&has_all.run(relay.log()).await).0, 1053);
}

#[tokio::test]
async fn the_stream_ends_when_the_replica_disconnects() {
    let folder = tempfile::tempdir().unwrap();
    let relay = two_transactions(folder.path());
    let payloads = Script::of_mariadb("", 0).run(relay.log()).await;
    assert_eq!(events(&payloads).len(), 3 + 2 * 3);
}

#[tokio::test]
async fn the_streams_of_a_relay_end_with_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let relay = two_transactions(folder.path());
    let log = Arc::clone(relay.log());
    let mut script = Script::of_mariadb("", 0);
    script.waits = true;
    let said = Arc::clone(&script.said);
    let leave = async move {
        let is_fed = || events_begun(&said.lock().unwrap());
        while !is_fed() {
            tokio::task::yield_now().await;
        }
        drop(relay);
    };
    let (payloads, ()) = tokio::join!(script.run(&log), leave);
    assert_eq!(events(&payloads).len(), 3 + 2 * 3);
}

/// Whether the proxy has sent more bytes than the answers to statements.
fn events_begun(said: &[u8]) -> bool {
    said.len() > 100
}
