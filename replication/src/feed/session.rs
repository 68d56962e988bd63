//! One replica's session: its variables, and the answer to each of its commands.

use std::sync::Arc;

use route::Family;
use system::Clock;
use wire::column::{ColumnDefinition, ColumnType};
use wire::reply::{OkHeader, OkPacket};
use wire::result::put_text_result;
use wire::session_track::put_ok;
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, StatusFlags, errors};

use super::connection::{FIRST, ReplicaConnection};
use super::dump::{Dump, Refusal, Request};
use super::running::{Feeds, ReplicaView};
use super::statement::{Statement, Value, read};
use super::variables::Variables;
use crate::relay::RelayLog;

/// `utf8mb4_general_ci`
const COLLATION: u16 = 45;

/// The length that column definitions state, in bytes.
const COLUMN_LENGTH: u32 = 1 << 20;

/// The session of one replica.
pub struct Session {
    log: Arc<RelayLog>,
    feeds: Arc<Feeds>,
    clock: Clock,
    capabilities: Capabilities,
    variables: Variables,
}

impl Session {
    /// The session of a replica that has logged in.
    pub fn new(
        log: Arc<RelayLog>,
        feeds: Arc<Feeds>,
        clock: Clock,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            log,
            feeds,
            clock,
            capabilities,
            variables: Variables::default(),
        }
    }

    /// Answers a command. Returns false if the replica has disconnected, or is to be disconnected.
    pub async fn answer<C: ReplicaConnection>(
        &mut self,
        payload: &[u8],
        connection: &mut C,
    ) -> bool {
        let (command, argument) = payload.split_first().unwrap_or((&0, &[]));
        let packets = match Command(*command) {
            Command::QUIT => return false,
            Command::PING
            | Command::REGISTER_SLAVE
            | Command::RESET_CONNECTION
            | Command::INIT_DB => self.ok(),
            Command::QUERY => self.query(&String::from_utf8_lossy(argument)),
            Command::BINLOG_DUMP | Command::BINLOG_DUMP_GTID => {
                return self.dump(payload, connection).await;
            }
            _ => not_here(),
        };
        connection.send_packets(&packets).await
    }

    async fn dump<C: ReplicaConnection>(&mut self, payload: &[u8], connection: &mut C) -> bool {
        let request = match Request::read(payload, &self.variables, self.log.family()) {
            Ok(request) => request,
            Err(refusal) => return self.refuse(&refusal, connection).await,
        };
        let feeding = self.feeds.begin(ReplicaView {
            cluster: connection.cluster(),
            identity: request.identity.clone(),
            name: connection.name(),
            since: self.clock.unix_micros(),
            ..ReplicaView::default()
        });
        let begun = Dump::begin(&self.log, request);
        let outcome = match begun {
            Ok(mut dump) => dump.run(connection, feeding).await,
            Err(refusal) => Err(refusal),
        };
        match outcome {
            Ok(goes_on) => goes_on,
            Err(refusal) => self.refuse(&refusal, connection).await,
        }
    }

    /// Sends an error. Returns false if a stream has begun, because then the connection ends with it, as on servers.
    async fn refuse<C: ReplicaConnection>(&self, refusal: &Refusal, connection: &mut C) -> bool {
        tracing::warn!(
            kind = "replica_refused",
            replica = connection.name(),
            cause = refusal.text,
            "the proxy has refused a replica's stream or ended it"
        );
        let mut packets = Vec::new();
        let payload = error(refusal.number, *b"HY000", &refusal.text);
        put_packets(&mut packets, refusal.sequence, &payload);
        connection.send_packets(&packets).await && refusal.sequence == FIRST
    }

    fn query(&mut self, text: &str) -> Vec<u8> {
        match read(text) {
            Statement::Set(all) => self.set(all),
            Statement::Select(all) => self.select(&all),
            Statement::ShowVariable(name) => {
                let rows = self
                    .system(&name)
                    .map(|value| vec![Some(name), Some(value)]);
                self.rows(&["Variable_name", "Value"], rows.into_iter().collect())
            }
            Statement::Unknown => not_here(),
        }
    }

    fn set(&mut self, all: Vec<(String, Value)>) -> Vec<u8> {
        for (name, value) in all {
            let is_own = name.starts_with('@') && !name.starts_with("@@");
            if !is_own {
                continue;
            }
            let value = match self.value(&value) {
                Ok(value) => value,
                Err(packets) => return packets,
            };
            if !self.variables.set(name, value.unwrap_or_default()) {
                return not_here();
            }
        }
        self.ok()
    }

    fn select(&self, all: &[(String, Value)]) -> Vec<u8> {
        let mut row = Vec::new();
        for (_, value) in all {
            match self.value(value) {
                Ok(value) => row.push(value),
                Err(packets) => return packets,
            }
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        self.rows(&names, vec![row])
    }

    /// Returns the value, or the packets of an error if there is no such value.
    fn value(&self, value: &Value) -> Result<Option<String>, Vec<u8>> {
        Ok(match value {
            Value::Literal(text) => Some(text.clone()),
            Value::User(name) => self.variables.get(name).map(str::to_owned),
            Value::Clock => Some((self.clock.unix_micros() / 1_000_000).to_string()),
            Value::Version => Some(self.log.version()),
            Value::System(name) => Some(self.system(name).ok_or_else(|| {
                // ER_UNKNOWN_SYSTEM_VARIABLE, which replicas take as "not in this version".
                let text = format!("Unknown system variable '{name}'");
                packets(&error(1193, *b"HY000", &text))
            })?),
        })
    }

    /// Returns a system variable that replicas read.
    fn system(&self, name: &str) -> Option<String> {
        let is_mysql = self.log.family() == Family::MySql;
        let position = || self.log.position().to_string();
        Some(match name {
            "server_id" => self.log.server_id().to_string(),
            "server_uuid" if is_mysql => self.log.uuid().to_owned(),
            "gtid_mode" if is_mysql => "ON".to_owned(),
            "enforce_gtid_consistency" if is_mysql => "ON".to_owned(),
            "gtid_executed" if is_mysql => position(),
            "gtid_purged" if is_mysql => self.log.deleted().to_string(),
            "gtid_domain_id" if !is_mysql => "0".to_owned(),
            "gtid_binlog_pos" | "gtid_current_pos" | "gtid_slave_pos" if !is_mysql => position(),
            "binlog_checksum" => "CRC32".to_owned(),
            "binlog_format" => "ROW".to_owned(),
            "log_bin" | "read_only" => "1".to_owned(),
            "version" => self.log.version(),
            "version_comment" => "Pilotfish".to_owned(),
            "max_allowed_packet" => (1 << 30).to_string(),
            _ => return None,
        })
    }

    fn ok(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        let ok = OkPacket {
            status: StatusFlags::AUTOCOMMIT,
            ..OkPacket::default()
        };
        put_ok(&mut payload, OkHeader::Ok, self.capabilities, &ok, b"", []);
        packets(&payload)
    }

    fn rows(&self, names: &[&str], rows: Vec<Vec<Option<String>>>) -> Vec<u8> {
        let columns: Vec<_> = names.iter().map(|name| definition(name)).collect();
        let rows = rows.iter().map(|row| {
            let values = row.iter().map(|value| value.as_deref().map(str::as_bytes));
            values.collect::<Vec<_>>()
        });
        let mut packets = Vec::new();
        let status = StatusFlags::AUTOCOMMIT;
        put_text_result(
            &mut packets,
            FIRST,
            self.capabilities,
            &columns,
            rows,
            status,
            0,
        );
        packets
    }
}

fn definition(name: &str) -> ColumnDefinition<'_> {
    ColumnDefinition::new(
        name.as_bytes(),
        ColumnType::VAR_STRING,
        COLLATION,
        COLUMN_LENGTH,
    )
}

fn packets(payload: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    put_packets(&mut packets, FIRST, payload);
    packets
}

fn not_here() -> Vec<u8> {
    packets(&errors::replication_only().payload())
}

/// The payload of an error.
fn error(number: u16, sqlstate: [u8; 5], text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    ErrPacket {
        number,
        sqlstate: Some(sqlstate),
        text: text.as_bytes(),
    }
    .encode(&mut payload);
    payload
}
