//! A client of a dialogue: it speaks the protocol, and shows what it hears.

use std::collections::BTreeMap;
use std::io;

use auth::{Challenge, Channel, Credential, Password, Privacy, ServerKey};
use system::Entropy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire::auth::AuthPacket;
use wire::binary_row::{BinaryRow, BinaryType, BinaryValue};
use wire::bound_values::{BoundValue, BoundValues};
use wire::change_user::ChangeUser;
use wire::column::ColumnDefinition;
use wire::execute::Execute;
use wire::handshake::HandshakeHead;
use wire::query::Query;
use wire::reply::{EOF, ERR, LOCAL_INFILE, OK, OkPacket, eof_status};
use wire::result::TextRow;
use wire::statement::{Fetch, LongData, PrepareOk, put_close, put_reset};
use wire::write::put_packets;
use wire::{
    Capabilities, Command, Greeting, HEADER_BYTES, HandshakeResponse, Header, Reader, StatusFlags,
};

use super::step::Act;
use super::{Asks, Awaited, Stream, shown};

/// A session's side of the connection.
pub(super) struct Client {
    stream: Option<Box<dyn Stream>>,
    greeting: Option<Greeting>,
    capabilities: Capabilities,
    user: String,
    password: String,
    refusal: Option<String>,
    /// The ids of prepared statements by their names.
    prepared: BTreeMap<String, u32>,
    /// The types of the last result's columns: rows that are fetched come without them.
    types: Vec<BinaryType>,
    /// Whether the reply to a command is still to come, and whether it is a binary one.
    owed: Option<Rows>,
}

/// How rows come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    Text,
    Binary,
}

/// Where the flags of an execution's payload stand.
const EXECUTE_FLAGS: usize = 5;

const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::LOCAL_FILES.0,
);

impl Client {
    /// Connects and logs in. Options: `eof` without DEPRECATE_EOF, `found`, `single` without multi-statements,
    /// `schema=x`, `password=x`.
    pub async fn log_in(
        stream: io::Result<Box<dyn Stream>>,
        user: &str,
        password: &str,
        schema: Option<&str>,
        options: &str,
    ) -> Self {
        let mut client = Self {
            stream: stream.ok(),
            greeting: None,
            capabilities: CAPABILITIES,
            user: user.to_owned(),
            password: password.to_owned(),
            refusal: None,
            prepared: BTreeMap::new(),
            types: Vec::new(),
            owed: None,
        };
        let mut schema = schema.map(str::to_owned);
        for option in options.split_whitespace() {
            let flags = &mut client.capabilities;
            match option.split_once('=') {
                Some(("schema", "")) => schema = None,
                Some(("schema", name)) => schema = Some(name.to_owned()),
                Some(("password", password)) => client.password = password.to_owned(),
                _ if option == "eof" => *flags = flags.with(Capabilities::DEPRECATE_EOF, false),
                _ if option == "found" => *flags = flags.with(Capabilities::FOUND_ROWS, true),
                _ if option == "single" => {
                    *flags = flags.with(Capabilities::MULTI_STATEMENTS, false)
                }
                _ => client.refusal = Some(format!("an option that no dialogue has: {option}")),
            }
        }
        if client.refusal.is_none() {
            let entered = client.enter(schema.as_deref()).await;
            client.refusal = entered.unwrap_or_else(|_| Some("closed".to_owned()));
        }
        client
    }

    /// What the server said instead of letting it in.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The connection's id.
    pub fn id(&self) -> u32 {
        self.greeting.as_ref().map_or(0, |it| it.thread_id)
    }

    async fn enter(&mut self, schema: Option<&str>) -> io::Result<Option<String>> {
        let (_, payload) = self.packet().await?;
        if payload.first() == Some(&ERR) {
            return Ok(Some(shown::error(&payload)));
        }
        let greeting = Greeting::decode(&payload).map_err(io::Error::other)?;
        let wanted = self
            .capabilities
            .with(Capabilities::CONNECT_WITH_DB, schema.is_some());
        let own = Capabilities::LONG_PASSWORD | Capabilities::MULTI_STATEMENTS;
        self.capabilities = wanted & (greeting.capabilities | own);
        let mut challenge = Challenge::greeted(&greeting);
        let answer = self.answer(&challenge)?;
        let mut response = Vec::new();
        HandshakeResponse {
            head: HandshakeHead {
                capabilities: self.capabilities,
                packet_bytes_max: 1 << 24,
                collation: 45,
            },
            user: self.user.as_bytes(),
            auth_response: &answer,
            schema: schema.map(str::as_bytes),
            plugin: Some(&challenge.plugin),
            attributes: None,
            zstd_level: None,
            trailing: b"",
        }
        .encode(&mut response);
        self.greeting = Some(greeting);
        self.write(1, &response).await?;
        self.authenticate(&mut challenge).await
    }

    fn channel(&self) -> Channel<'static> {
        Channel {
            privacy: Privacy::Open,
            key: ServerKey::Asked,
        }
    }

    fn credential(&self) -> Credential {
        Credential::Password(Password::new(self.password.as_bytes()))
    }

    fn answer(&self, challenge: &Challenge) -> io::Result<Vec<u8>> {
        let answer = challenge.answer(&self.credential(), self.channel());
        Ok(answer.map_err(io::Error::other)?.to_vec())
    }

    /// Answers until the server lets it in or does not.
    async fn authenticate(&mut self, challenge: &mut Challenge) -> io::Result<Option<String>> {
        loop {
            let (sequence, payload) = self.packet().await?;
            let packet = AuthPacket::decode(&payload).map_err(io::Error::other)?;
            let answer = match packet {
                AuthPacket::Ok => return Ok(None),
                AuthPacket::Err => return Ok(Some(shown::error(&payload))),
                AuthPacket::Switch { plugin, data } => {
                    *challenge = Challenge::switched(plugin, data);
                    Some(self.answer(challenge)?)
                }
                AuthPacket::MoreData(data) => {
                    let answer = challenge.answer_to(
                        data,
                        &self.credential(),
                        self.channel(),
                        &Entropy::seeded(0),
                    );
                    answer.map_err(io::Error::other)?.map(|it| it.to_vec())
                }
                _ => return Ok(Some("a login that makes no sense".to_owned())),
            };
            if let Some(answer) = answer {
                self.write(sequence.wrapping_add(1), &answer).await?;
            }
        }
    }

    async fn write(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        put_packets(&mut bytes, sequence, payload);
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        stream.write_all(&bytes).await?;
        stream.flush().await
    }

    async fn packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let mut header = [0; HEADER_BYTES];
        stream.read_exact(&mut header).await?;
        let header = Header::decode(header);
        let mut payload = vec![0; header.length];
        stream.read_exact(&mut payload).await?;
        Ok((header.sequence, payload))
    }

    /// Does something; what came of it.
    pub async fn act(&mut self, act: &Act) -> String {
        let mut lines = Vec::new();
        if self.try_act(act, &mut lines).await.is_err() {
            self.stream = None;
            lines.push("closed".to_owned());
        }
        lines.join("\n")
    }

    async fn try_act(&mut self, act: &Act, lines: &mut Vec<String>) -> io::Result<()> {
        match act {
            Act::Query(text) => {
                self.send_query(text).await?;
                self.replies(Rows::Text, lines).await
            }
            Act::Send(text) => {
                self.owed = Some(Rows::Text);
                self.send_query(text).await
            }
            Act::Receive => {
                let rows = self.owed.take().unwrap_or(Rows::Text);
                self.replies(rows, lines).await
            }
            Act::Command(command, arguments) => self.command(command, arguments, lines).await,
            Act::Connect(..) | Act::AwaitWait | Act::Disk(_) | Act::Blow(_) => Ok(()),
        }
    }

    async fn send_query(&mut self, text: &str) -> io::Result<()> {
        let mut payload = Vec::new();
        let query = Query {
            attributes: b"",
            text: text.as_bytes(),
        };
        query.encode(self.capabilities, &mut payload);
        self.write(0, &payload).await
    }

    async fn command(
        &mut self,
        command: &str,
        arguments: &str,
        lines: &mut Vec<String>,
    ) -> io::Result<()> {
        let mut payload = Vec::new();
        let plain = |command: Command, argument: &[u8]| [&[command.0], argument].concat();
        match command {
            "PING" => payload = plain(Command::PING, b""),
            "RESET_CONNECTION" => payload = plain(Command::RESET_CONNECTION, b""),
            "INIT_DB" => payload = plain(Command::INIT_DB, arguments.as_bytes()),
            "SET_OPTION" => {
                let option: u16 = arguments.parse().unwrap_or(9);
                payload = plain(Command::SET_OPTION, &option.to_le_bytes());
            }
            "UNKNOWN" => payload = vec![0x77],
            "STATISTICS" => {
                self.write(0, &[Command::STATISTICS.0]).await?;
                let (_, text) = self.packet().await?;
                let begins = text.starts_with(b"Uptime: ");
                lines.push(format!("a text that begins with its uptime: {begins}"));
                return Ok(());
            }
            "QUIT" => {
                self.write(0, &[Command::QUIT.0]).await?;
                return self.packet().await.map(|_| ());
            }
            "STANDING" => return self.standing(lines).await,
            "CHANGE_USER" => return self.change_user(arguments, lines).await,
            "PREPARE" => return self.prepare(arguments, lines).await,
            "EXECUTE" => return self.execute(0, arguments, lines).await,
            "CURSOR" => {
                let flags = Execute::CURSOR_READ_ONLY;
                return self.execute(flags, arguments, lines).await;
            }
            "FETCH" => return self.fetch(arguments, lines).await,
            "LOAD" => return self.load(arguments, lines).await,
            "LONG_DATA" => return self.long_data(arguments).await,
            "CLOSE" => {
                let id = self.statement(arguments);
                put_close(&mut payload, id);
                return self.write(0, &payload).await;
            }
            "STMT_RESET" => {
                let id = self.statement(arguments);
                put_reset(&mut payload, id);
            }
            other => {
                lines.push(format!("a command that no dialogue has: {other}"));
                return Ok(());
            }
        }
        self.write(0, &payload).await?;
        self.replies(Rows::Text, lines).await
    }

    /// A statement's id; for one that is not there, an id that none has.
    fn statement(&self, name: &str) -> u32 {
        self.prepared.get(name).copied().unwrap_or(1_000_000_000)
    }

    async fn change_user(&mut self, arguments: &str, lines: &mut Vec<String>) -> io::Result<()> {
        let mut words = arguments.split_whitespace();
        self.user = words.next().unwrap_or_default().to_owned();
        let schema = words.next().map(|it| it.as_bytes().to_vec());
        if let Some(password) = words.next() {
            self.password = password.to_owned();
        }
        let Some(greeting) = self.greeting.clone() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut challenge = Challenge::greeted(&greeting);
        let answer = self.answer(&challenge)?;
        let mut payload = vec![Command::CHANGE_USER.0];
        ChangeUser {
            user: self.user.as_bytes(),
            auth_response: &answer,
            schema: schema.as_deref(),
            collation: Some(45),
            plugin: Some(&challenge.plugin),
            attributes: None,
        }
        .encode(self.capabilities, &mut payload);
        self.prepared.clear();
        self.write(0, &payload).await?;
        let refusal = self.authenticate(&mut challenge).await?;
        lines.push(refusal.unwrap_or_else(|| "entered".to_owned()));
        Ok(())
    }

    /// How a replica stands: of the many columns those by which the proxy judges.
    async fn standing(&mut self, lines: &mut Vec<String>) -> io::Result<()> {
        let version = self.greeting.as_ref().map(|it| it.version.clone());
        let is_mariadb = version.is_some_and(|it| contains(&it, b"MariaDB"));
        self.send_query(match is_mariadb {
            true => "SHOW SLAVE STATUS",
            false => "SHOW REPLICA STATUS",
        })
        .await?;
        let mut said = Vec::new();
        self.replies(Rows::Text, &mut said).await?;
        let part = |at: usize, start: &str| {
            let line = said.get(at).and_then(|it: &String| it.strip_prefix(start));
            line.unwrap_or_default().to_owned()
        };
        let (columns, values) = (part(0, "rows "), part(1, "| "));
        if values.is_empty() {
            lines.push("no row".to_owned());
        }
        for (column, value) in columns.split(", ").zip(values.split(" | ")) {
            let name = column.split(' ').next().unwrap_or_default();
            let is_shown = name.ends_with("_IO_Running")
                || name.ends_with("_SQL_Running")
                || name.starts_with("Seconds_Behind_");
            // How many seconds these are, real clocks decide.
            let is_number = name.starts_with("Seconds") && value.parse::<u64>().is_ok();
            if is_shown && !values.is_empty() {
                let value = if is_number { "a number" } else { value };
                lines.push(format!("{name}={value}"));
            }
        }
        Ok(())
    }

    /// `PREPARE name text`.
    async fn prepare(&mut self, arguments: &str, lines: &mut Vec<String>) -> io::Result<()> {
        let (name, text) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let payload = [&[Command::STMT_PREPARE.0], text.as_bytes()].concat();
        self.write(0, &payload).await?;
        let (_, payload) = self.packet().await?;
        if payload.first() == Some(&ERR) {
            lines.push(shown::error(&payload));
            return Ok(());
        }
        let ok = PrepareOk::decode(&payload).map_err(io::Error::other)?;
        self.prepared.insert(name.to_owned(), ok.statement_id);
        let mut names = Vec::new();
        for (count, is_column) in [(ok.parameters, false), (ok.columns, true)] {
            for _ in 0..count {
                let (_, payload) = self.packet().await?;
                let column = ColumnDefinition::decode(&payload, self.capabilities);
                let name = column.map(|it| String::from_utf8_lossy(it.name).into_owned());
                if is_column {
                    names.push(name.unwrap_or_default());
                }
            }
            if count > 0 && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                self.packet().await?;
            }
        }
        lines.push(format!(
            "prepared parameters={} columns=[{}] warnings={}",
            ok.parameters,
            names.join(", "),
            ok.warnings
        ));
        Ok(())
    }

    /// `EXECUTE name value value …`: integers, `'texts'`, NULL, `LONG` for what came before. CURSOR is the same with a
    /// cursor.
    async fn execute(
        &mut self,
        flags: u8,
        arguments: &str,
        lines: &mut Vec<String>,
    ) -> io::Result<()> {
        let mut words = arguments.split_whitespace();
        let name = words.next().unwrap_or_default();
        let id = self.statement(name);
        let words: Vec<&str> = words.collect();
        let mut values = BoundValues::default();
        for word in &words {
            let value = match (*word, word.parse::<i64>(), word.parse::<f64>()) {
                ("NULL", ..) => BoundValue::Null,
                (_, Ok(number), _) => BoundValue::Signed(number),
                (_, _, Ok(number)) => BoundValue::Double(number),
                (text, ..) => BoundValue::Text(text.trim_matches('\'').as_bytes()),
            };
            values.push(value);
        }
        let mut payload = values.execute(id);
        if let Some(byte) = payload.get_mut(EXECUTE_FLAGS) {
            *byte |= flags;
        }
        self.write(0, &payload).await?;
        self.replies(Rows::Binary, lines).await
    }

    /// `FETCH name count`: rows of the cursor that was opened last.
    async fn fetch(&mut self, arguments: &str, lines: &mut Vec<String>) -> io::Result<()> {
        let (name, count) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let fetch = Fetch {
            statement_id: self.statement(name),
            rows: count.parse().unwrap_or(0),
        };
        let mut payload = Vec::new();
        fetch.encode(&mut payload);
        self.write(0, &payload).await?;
        self.row_packets(Rows::Binary, lines).await.map(|_| ())
    }

    /// `LOAD table line line …`: LOAD DATA LOCAL; a line has commas between its values.
    async fn load(&mut self, arguments: &str, lines: &mut Vec<String>) -> io::Result<()> {
        let mut words = arguments.split_whitespace();
        let table = words.next().unwrap_or_default();
        let file: String = words.map(|it| it.replace(',', "\t") + "\n").collect();
        let text = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}");
        self.send_query(&text).await?;
        let (sequence, payload) = self.packet().await?;
        if payload.first() != Some(&LOCAL_INFILE) {
            lines.push(shown::error(&payload));
            return Ok(());
        }
        let named = String::from_utf8_lossy(payload.get(1..).unwrap_or_default());
        lines.push(format!("asks for {named}"));
        self.write(sequence.wrapping_add(1), file.as_bytes())
            .await?;
        self.write(sequence.wrapping_add(2), b"").await?;
        self.replies(Rows::Text, lines).await
    }

    /// `LONG_DATA name parameter text`.
    async fn long_data(&mut self, arguments: &str) -> io::Result<()> {
        let mut words = arguments.splitn(3, ' ');
        let (name, parameter) = (words.next(), words.next());
        let data = words.next().unwrap_or_default();
        let statement_id = self.statement(name.unwrap_or_default());
        let mut payload = Vec::new();
        LongData {
            statement_id,
            parameter: parameter.and_then(|it| it.parse().ok()).unwrap_or(0),
            data: data.as_bytes(),
        }
        .encode(&mut payload);
        self.write(0, &payload).await
    }

    /// Reads all results of a command.
    async fn replies(&mut self, rows: Rows, lines: &mut Vec<String>) -> io::Result<()> {
        loop {
            let (_, payload) = self.packet().await?;
            let more = match payload.first() {
                Some(&OK) => {
                    lines.push(shown::ok(&payload, self.capabilities, false));
                    OkPacket::decode(&payload).map_err(io::Error::other)?.status
                }
                Some(&ERR) => {
                    lines.push(shown::error(&payload));
                    return Ok(());
                }
                Some(&EOF) => {
                    lines.push(shown::eof(eof_status(&payload).unwrap_or_default(), 0));
                    return Ok(());
                }
                _ => self.rows(&payload, rows, lines).await?,
            };
            if !more.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                return Ok(());
            }
        }
    }

    /// Reads a result with rows; the status flags at its end.
    async fn rows(
        &mut self,
        head: &[u8],
        how: Rows,
        lines: &mut Vec<String>,
    ) -> io::Result<StatusFlags> {
        let has_eof = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let count = Reader::new(head)
            .lenenc("column count")
            .map_err(io::Error::other)?;
        let (mut columns, mut types) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (_, payload) = self.packet().await?;
            columns.push(shown::column(&payload, self.capabilities));
            let column = ColumnDefinition::decode(&payload, self.capabilities);
            let column = column.map_err(io::Error::other)?;
            types.push(BinaryType {
                kind: column.kind,
                is_unsigned: column.flags & ColumnDefinition::UNSIGNED != 0,
            });
        }
        lines.push(format!("rows {}", columns.join(", ")));
        self.types = types;
        if has_eof {
            self.packet().await?;
        }
        self.row_packets(how, lines).await
    }

    /// Reads rows; the status flags behind them.
    async fn row_packets(&mut self, how: Rows, lines: &mut Vec<String>) -> io::Result<StatusFlags> {
        let has_eof = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        loop {
            let (_, payload) = self.packet().await?;
            match payload.first() {
                Some(&ERR) => {
                    lines.push(shown::error(&payload));
                    return Ok(StatusFlags::default());
                }
                Some(&EOF) if has_eof && payload.len() < 9 => {
                    let warnings = Reader::new(&payload[1..]).u16("warnings").unwrap_or(0);
                    let status = eof_status(&payload).unwrap_or_default();
                    lines.push(shown::eof(status, warnings));
                    return Ok(status);
                }
                Some(&EOF) if !has_eof => {
                    lines.push(shown::ok(&payload, self.capabilities, true));
                    return Ok(OkPacket::decode(&payload).map_err(io::Error::other)?.status);
                }
                _ => lines.push(row(&payload, how, &self.types)),
            }
        }
    }
}

fn row(payload: &[u8], how: Rows, types: &[BinaryType]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut values = Vec::new();
    if how == Rows::Text {
        for value in TextRow::new(payload) {
            values.push(match value {
                Ok(Some(bytes)) => text(bytes),
                Ok(None) => "NULL".to_owned(),
                Err(error) => error.to_string(),
            });
        }
    } else if let Ok(mut row) = BinaryRow::new(payload, types.len()) {
        for kind in types {
            values.push(match row.value(*kind) {
                Ok(Some(BinaryValue::Integer(number))) => number.to_string(),
                Ok(Some(BinaryValue::Float(number))) => number.to_string(),
                Ok(Some(BinaryValue::Moment(moment))) => moment,
                Ok(Some(BinaryValue::Bytes(bytes))) => text(bytes),
                Ok(None) => "NULL".to_owned(),
                Err(error) => error.to_string(),
            });
        }
    }
    format!("| {}", values.join(" | "))
}

impl Asks for Client {
    fn ask<'a>(&'a mut self, statement: &'a str) -> Awaited<'a, String> {
        Box::pin(async move {
            let mut lines = Vec::new();
            let asked = async {
                self.send_query(statement).await?;
                self.replies(Rows::Text, &mut lines).await
            };
            if let Err(error) = asked.await {
                return error.to_string();
            }
            let row = lines.iter().find_map(|it| it.strip_prefix("| "));
            row.unwrap_or_default().to_owned()
        })
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}
