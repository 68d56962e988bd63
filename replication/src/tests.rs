//! Handmade events, and a scripted server over a pipe in memory.

mod changes;
mod disorder;
mod groups;
mod registering;
mod streams;

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use binlog::{
    Checksum, EventFlags, EventHeader, EventType, MariadbGtid, MariadbGtidEvent, put_event,
};
use control::BackendClient;
use system::{Clock, Entropy, System, Threads};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

/// A system whose clock shows so many seconds after 1970.
pub fn system(seconds: u64) -> System {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    System {
        clock: Clock::new(Instant::now, move || now),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|name, work| thread::Builder::new().name(name).spawn(work)),
    }
}

/// Builds one event of a log.
pub fn event(
    event_type: EventType,
    next_position: u32,
    body: &[u8],
    checksum: Checksum,
) -> Vec<u8> {
    let header = EventHeader {
        time: 1_700_000_000,
        event_type,
        server_id: 1,
        length: 0,
        next_position,
        flags: EventFlags(0),
    };
    let mut bytes = Vec::new();
    put_event(&mut bytes, &header, body, checksum).unwrap();
    bytes
}

/// A FORMAT_DESCRIPTION event of MariaDB. Events after it have this checksum.
pub fn format_event(checksum: Checksum) -> Vec<u8> {
    let mut body = 4_u16.to_le_bytes().to_vec();
    let mut version = [0; 50];
    let text = b"10.11.14-MariaDB-log";
    version[..text.len()].copy_from_slice(text);
    body.extend(version);
    body.extend([0; 4]);
    body.push(19);
    // The lengths of the fixed parts: QUERY 13, ROTATE 8.
    body.extend([0, 13, 0, 8]);
    body.push(match checksum {
        Checksum::None => 0,
        Checksum::Crc32 => 1,
    });
    event(EventType::FORMAT_DESCRIPTION, 256, &body, Checksum::Crc32)
}

/// The body of a QUERY event.
pub fn query_body(schema: &str, text: &str) -> Vec<u8> {
    let mut body = 7_u32.to_le_bytes().to_vec();
    body.extend(2_u32.to_le_bytes());
    body.push(schema.len() as u8);
    body.extend([0; 4]);
    body.extend(schema.as_bytes());
    body.push(0);
    body.extend(text.as_bytes());
    body
}

pub fn query(next_position: u32, text: &str) -> Vec<u8> {
    event(
        EventType::QUERY,
        next_position,
        &query_body("shop", text),
        Checksum::None,
    )
}

/// A GTID event of MariaDB in domain 0.
pub fn gtid(next_position: u32, sequence: u64, flags: u8) -> Vec<u8> {
    let mut body = Vec::new();
    let event_of = MariadbGtidEvent {
        gtid: MariadbGtid {
            domain: 0,
            server: 1,
            sequence,
        },
        flags,
        commit_id: None,
        xid: None,
        extra_flags: 0,
        extra_engines: None,
        alter_start: None,
        thread_id: None,
    };
    event_of.encode(&mut body);
    event(
        EventType::MARIADB_GTID,
        next_position,
        &body,
        Checksum::None,
    )
}

/// The server's end of a client's connection.
pub struct ScriptedServer {
    stream: DuplexStream,
}

impl ScriptedServer {
    /// A client, and the scripted server to which it has logged in.
    pub fn pair(version: &str) -> (BackendClient, Self) {
        let (near, far) = duplex(1 << 20);
        (BackendClient::over(near, version), Self { stream: far })
    }

    /// Reads the next command.
    pub async fn command(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await.unwrap();
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.unwrap();
        payload
    }

    /// Reads the next command as text, without its first byte.
    pub async fn statement(&mut self) -> String {
        String::from_utf8(self.command().await.split_off(1)).unwrap()
    }

    /// Sends one packet.
    pub async fn packet(&mut self, sequence: u8, payload: &[u8]) {
        let mut bytes = (payload.len() as u32).to_le_bytes();
        bytes[3] = sequence;
        self.stream.write_all(&bytes).await.unwrap();
        self.stream.write_all(payload).await.unwrap();
    }

    pub async fn ok(&mut self) {
        self.packet(1, &[0, 0, 0, 2, 0, 0, 0]).await;
    }

    /// Sends a result of one column and at most one row.
    pub async fn value(&mut self, value: Option<&str>) {
        self.packet(1, &[1]).await;
        let mut column = Vec::new();
        for text in ["def", "", "", "", "value", ""] {
            column.push(text.len() as u8);
            column.extend(text.as_bytes());
        }
        column.extend([0x0c, 45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
        self.packet(2, &column).await;
        self.packet(3, &[0xfe, 0, 0, 2, 0]).await;
        let mut sequence = 4;
        if let Some(value) = value {
            let mut row = Vec::new();
            wire::write::put_lenenc_bytes(&mut row, value.as_bytes());
            self.packet(sequence, &row).await;
            sequence += 1;
        }
        self.packet(sequence, &[0xfe, 0, 0, 2, 0]).await;
    }

    /// Sends an event, as one packet.
    pub async fn event(&mut self, sequence: u8, event: &[u8]) {
        let mut payload = vec![0];
        payload.extend(event);
        self.packet(sequence, &payload).await;
    }

    pub async fn error(&mut self, sequence: u8, number: u16, text: &str) {
        let mut payload = vec![0xff];
        payload.extend(number.to_le_bytes());
        payload.extend(b"#HY000");
        payload.extend(text.as_bytes());
        self.packet(sequence, &payload).await;
    }
}
