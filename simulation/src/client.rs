//! A client of the simulation. It logs in, sends commands, and checks each byte of the replies.

mod reply;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use auth::{Challenge, Channel, Credential, Password, Privacy};
use system::Entropy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire::binary_row::BinaryType;
use wire::change_user::ChangeUser;
use wire::execute::Execute;
use wire::handshake::HandshakeHead;
use wire::reply::LOCAL_INFILE;
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, Greeting, HEADER_BYTES, HandshakeResponse, Header};

use crate::network::{End, Hosts};
pub use reply::{Reply, ServerError, Value};

/// The capabilities of every client.
const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .with(Capabilities::LONG_PASSWORD, true)
    .with(Capabilities::SECURE_CONNECTION, true)
    .with(Capabilities::PLUGIN_AUTH, true)
    .with(Capabilities::TRANSACTIONS, true)
    .with(Capabilities::MULTI_STATEMENTS, true)
    .with(Capabilities::MULTI_RESULTS, true)
    .with(Capabilities::PS_MULTI_RESULTS, true)
    .with(Capabilities::CONNECT_WITH_DB, true)
    .with(Capabilities::LOCAL_FILES, true);

/// `utf8mb4_general_ci`.
const COLLATION: u8 = 45;

/// Bytes that one read takes at most.
const READ_BYTES: usize = 16 * 1024;

/// The account of a login, and its address.
#[derive(Clone, Debug)]
pub struct Login {
    /// The client's host.
    pub host: IpAddr,
    /// The address of a proxy or a server.
    pub address: SocketAddr,
    /// The account.
    pub user: String,
    /// The account's password.
    pub password: String,
    /// The first default schema.
    pub schema: Option<String>,
    /// Whether the client accepts OK packets in place of EOF packets after rows.
    pub deprecates_eof: bool,
    /// The counts to which the client's statements are added.
    pub tally: Option<Rc<Tally>>,
}

/// Statements of clients: texts and executions.
#[derive(Debug, Default)]
pub struct Tally {
    /// Statements that clients have sent, or have begun to send.
    pub sent: Cell<u64>,
    /// Statements whose whole replies have come.
    pub answered: Cell<u64>,
    /// Errors among these replies, by their numbers.
    pub errors: RefCell<BTreeMap<u16, u64>>,
}

impl Tally {
    fn count(of: &Cell<u64>) {
        of.set(of.get() + 1);
    }

    fn count_reply(&self, reply: &Reply) {
        Self::count(&self.answered);
        if let Reply::Error(error) = reply {
            *self.errors.borrow_mut().entry(error.number).or_default() += 1;
        }
    }
}

/// Why a client has no reply.
#[derive(Debug)]
pub enum Broken {
    /// The connection is broken.
    Connection(io::Error),
    /// The reply breaks the protocol, which no proxy may cause.
    Protocol(String),
}

/// Why a client is not logged in.
#[derive(Debug)]
pub enum NotIn {
    /// The server or the proxy has refused the login.
    Refused(ServerError),
    /// The server or the proxy asked for the password in clear text, and the client has disconnected.
    AskedInClear,
    /// The connection has broken.
    Broken(Broken),
}

/// A connection that is logged in.
pub struct Client {
    end: End,
    capabilities: Capabilities,
    /// Bytes that were read. The first `seen` of them are already parsed.
    buffer: Vec<u8>,
    seen: usize,
    sequence: u8,
    out: Vec<u8>,
    tally: Option<Rc<Tally>>,
    /// The challenge of the last login.
    challenge: Option<Challenge>,
    /// The types of the last result's columns.
    types: Vec<BinaryType>,
    /// The types of the columns of the last opened cursor, because fetched rows come without their types.
    cursor: Vec<BinaryType>,
    /// The connection id that the server gave.
    pub thread_id: u32,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Broken::Connection(error)
    }
}

impl From<wire::Malformed> for Broken {
    fn from(malformed: wire::Malformed) -> Self {
        Broken::Protocol(malformed.to_string())
    }
}

impl From<Broken> for NotIn {
    fn from(broken: Broken) -> Self {
        NotIn::Broken(broken)
    }
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The login is refused, or the connection breaks.
    pub async fn log_in(hosts: &Rc<Hosts>, login: &Login) -> Result<Self, NotIn> {
        let connected = hosts.connect_from(login.host, login.address);
        let Some(end) = connected.map_err(Broken::Connection)? else {
            return std::future::pending().await;
        };
        let mut client = Client {
            end,
            capabilities: CAPABILITIES.with(Capabilities::DEPRECATE_EOF, login.deprecates_eof),
            buffer: Vec::with_capacity(READ_BYTES),
            seen: 0,
            sequence: 0,
            out: Vec::new(),
            tally: login.tally.clone(),
            challenge: None,
            types: Vec::new(),
            cursor: Vec::new(),
            thread_id: 0,
        };
        client.enter(login).await?;
        Ok(client)
    }

    async fn enter(&mut self, login: &Login) -> Result<(), NotIn> {
        let greeting = self.packet().await?;
        refused(greeting)?;
        let greeting = Greeting::decode(greeting).map_err(Broken::from)?;
        self.thread_id = greeting.thread_id;
        self.capabilities = Capabilities(self.capabilities.0 & greeting.capabilities.0);
        let credential = Credential::Password(Password::new(login.password.as_str()));
        let challenge = Challenge::greeted(&greeting);
        let answer = answer_to(&challenge, &credential)?;
        let mut payload = Vec::new();
        HandshakeResponse {
            head: HandshakeHead {
                capabilities: self.capabilities,
                packet_bytes_max: 1 << 24,
                collation: COLLATION,
            },
            user: login.user.as_bytes(),
            auth_response: &answer,
            schema: login.schema.as_ref().map(|schema| schema.as_bytes()),
            plugin: Some(&greeting.plugin),
            attributes: None,
            zstd_level: None,
            trailing: &[],
        }
        .encode(&mut payload);
        self.write(&payload).await?;
        self.authenticate(challenge, &credential).await
    }

    /// Logs in anew on the same connection, without a schema: COM_CHANGE_USER.
    ///
    /// # Errors
    /// The login is refused, or the connection breaks.
    pub async fn change_user(&mut self, user: &str, password: &str) -> Result<(), NotIn> {
        let Some(challenge) = self.challenge.clone() else {
            return Err(Broken::Protocol("nobody has logged in".to_owned()).into());
        };
        let credential = Credential::Password(Password::new(password));
        let answer = answer_to(&challenge, &credential)?;
        let mut payload = vec![Command::CHANGE_USER.0];
        ChangeUser {
            user: user.as_bytes(),
            auth_response: &answer,
            schema: None,
            collation: Some(COLLATION.into()),
            plugin: Some(&challenge.plugin),
            attributes: None,
        }
        .encode(self.capabilities, &mut payload);
        self.sequence = 0;
        self.write(&payload).await?;
        self.authenticate(challenge, &credential).await
    }

    /// Answers challenges until the other side accepts or refuses the client.
    async fn authenticate(
        &mut self,
        mut challenge: Challenge,
        credential: &Credential,
    ) -> Result<(), NotIn> {
        loop {
            let packet = self.packet().await?;
            refused(packet)?;
            let answer = match packet.split_first() {
                Some((0x00, _)) => {
                    self.challenge = Some(challenge);
                    return Ok(());
                }
                Some((0xfe, data)) => {
                    let nul = data
                        .iter()
                        .position(|&byte| byte == 0)
                        .unwrap_or(data.len());
                    let (plugin, scramble) = data.split_at(nul);
                    challenge = Challenge::switched(plugin, scramble.get(1..).unwrap_or_default());
                    Some(answer_to(&challenge, credential)?)
                }
                Some((0x01, data)) => {
                    let channel = Channel::keyless(Privacy::Open);
                    let answer =
                        challenge.answer_to(data, credential, channel, &Entropy::seeded(0));
                    let answer = answer.map_err(|_| NotIn::AskedInClear)?;
                    answer.map(|it| it.to_vec())
                }
                _ => return Err(Broken::Protocol("the login has an odd packet".to_owned()).into()),
            };
            if let Some(answer) = answer {
                self.write(&answer).await?;
            }
        }
    }

    /// Sends a statement as a text.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn query(&mut self, text: &str) -> Result<Reply, Broken> {
        self.queue(text);
        self.flush().await?;
        self.reply(false).await
    }

    /// Adds a statement to the bytes of the next flush.
    pub fn queue(&mut self, text: &str) {
        self.count_sent();
        self.send(Command::QUERY, text.as_bytes());
    }

    /// Writes the queued bytes.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn flush(&mut self) -> Result<(), Broken> {
        let out = std::mem::take(&mut self.out);
        self.end.write_all(&out).await?;
        self.out = out;
        self.out.clear();
        Ok(())
    }

    /// Writes only the first `bytes` queued bytes.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn flush_part(&mut self, bytes: usize) -> Result<(), Broken> {
        self.end
            .write_all(&self.out[..bytes.min(self.out.len())])
            .await?;
        Ok(())
    }

    /// Reads the next reply to a statement: to a text or (`is_binary`) to an execution.
    ///
    /// # Errors
    /// The connection is broken, or the reply is none.
    pub async fn reply(&mut self, is_binary: bool) -> Result<Reply, Broken> {
        let reply = self.reply_to_command(is_binary).await?;
        if let Some(tally) = &self.tally {
            tally.count_reply(&reply);
        }
        Ok(reply)
    }

    async fn reply_to_command(&mut self, is_binary: bool) -> Result<Reply, Broken> {
        self.sequence = 1;
        reply::read(self, is_binary).await
    }

    fn count_sent(&self) {
        if let Some(tally) = &self.tally {
            Tally::count(&tally.sent);
        }
    }

    /// Sends a command whose arguments are bytes, and reads its reply, which has no rows.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn command(&mut self, command: Command, arguments: &[u8]) -> Result<Reply, Broken> {
        self.send(command, arguments);
        self.flush().await?;
        self.reply_to_command(false).await
    }

    /// Prepares a statement, and returns its id or the error.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn prepare(&mut self, text: &str) -> Result<Result<u32, ServerError>, Broken> {
        self.send(Command::STMT_PREPARE, text.as_bytes());
        self.flush().await?;
        self.sequence = 1;
        reply::read_prepared(self).await
    }

    /// Executes a prepared statement with integers.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn execute(&mut self, statement: u32, parameters: &[i64]) -> Result<Reply, Broken> {
        self.execute_with(0, statement, parameters).await
    }

    /// Executes a prepared statement with a cursor, whose rows are to be fetched.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn open_cursor(
        &mut self,
        statement: u32,
        parameters: &[i64],
    ) -> Result<Reply, Broken> {
        let flags = Execute::CURSOR_READ_ONLY;
        let reply = self.execute_with(flags, statement, parameters).await?;
        self.cursor.clone_from(&self.types);
        Ok(reply)
    }

    /// Fetches so many rows of the cursor that was opened last.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn fetch(&mut self, statement: u32, rows: u32) -> Result<Reply, Broken> {
        let arguments = [statement.to_le_bytes(), rows.to_le_bytes()].concat();
        self.send(Command::STMT_FETCH, &arguments);
        self.flush().await?;
        self.sequence = 1;
        let types = self.cursor.clone();
        reply::read_rows(self, types, true).await
    }

    async fn execute_with(
        &mut self,
        flags: u8,
        statement: u32,
        parameters: &[i64],
    ) -> Result<Reply, Broken> {
        let mut arguments = statement.to_le_bytes().to_vec();
        arguments.extend([flags, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            arguments.extend(std::iter::repeat_n(0, parameters.len().div_ceil(8)));
            arguments.push(1);
            for _ in parameters {
                arguments.extend([wire::column::ColumnType::LONGLONG.0, 0]);
            }
            for parameter in parameters {
                arguments.extend(parameter.to_le_bytes());
            }
        }
        self.count_sent();
        self.send(Command::STMT_EXECUTE, &arguments);
        self.flush().await?;
        self.reply(true).await
    }

    /// Sends a statement for which the other side asks for a file. Returns the file's name, or the error.
    ///
    /// # Errors
    /// The connection is broken, or something else comes back.
    pub async fn begin_file(&mut self, text: &str) -> Result<Result<String, ServerError>, Broken> {
        self.queue(text);
        self.flush().await?;
        self.sequence = 1;
        let packet = self.packet().await?;
        match packet.split_first() {
            Some((&LOCAL_INFILE, name)) => Ok(Ok(String::from_utf8_lossy(name).into_owned())),
            Some((0xff, _)) => Ok(Err(ServerError::of(&ErrPacket::decode(packet)?))),
            _ => Err(Broken::Protocol("no file is asked for".to_owned())),
        }
    }

    /// Sends a part of a file.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn send_file_part(&mut self, part: &[u8]) -> Result<(), Broken> {
        self.write(part).await
    }

    /// Ends a file, and reads the statement's reply.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn end_file(&mut self) -> Result<Reply, Broken> {
        self.write(&[]).await?;
        let reply = reply::read(self, false).await?;
        if let Some(tally) = &self.tally {
            tally.count_reply(&reply);
        }
        Ok(reply)
    }

    /// Closes a prepared statement, which has no reply.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn close_statement(&mut self, statement: u32) -> Result<(), Broken> {
        self.send(Command::STMT_CLOSE, &statement.to_le_bytes());
        self.flush().await
    }

    /// Ends the session with COM_QUIT.
    pub async fn quit(mut self) {
        self.send(Command::QUIT, &[]);
        // The client disconnects even if this write fails.
        let _ = self.flush().await;
    }

    /// Disconnects without COM_QUIT. The other side sees a reset.
    pub fn vanish(self) {
        net::memory::MemoryStream::abort(Box::new(self.end));
    }

    /// Makes the client's host silent for a time. Only afterwards does the other side learn that the session is over.
    pub fn fall_silent(self, away: Duration) {
        self.end.fall_silent(away);
    }

    fn send(&mut self, command: Command, arguments: &[u8]) {
        let length = arguments.len() + 1;
        let header = Header {
            length,
            sequence: 0,
        };
        self.out.extend(header.encode());
        self.out.push(command.0);
        self.out.extend_from_slice(arguments);
    }

    async fn write(&mut self, payload: &[u8]) -> Result<(), Broken> {
        self.out.clear();
        self.sequence = put_packets(&mut self.out, self.sequence, payload);
        self.flush().await
    }

    /// Reads the next packet's payload, and checks its sequence id.
    async fn packet(&mut self) -> Result<&[u8], Broken> {
        let held = self.hold(HEADER_BYTES).await?;
        let [a, b, c, d, ..] = *held else {
            return Err(Broken::Protocol("no header".to_owned()));
        };
        let header = Header::decode([a, b, c, d]);
        if header.sequence != self.sequence {
            // A server that ends a session between two commands sends an error unasked, and a command of the client may
            // cross that error. The answer to a login may cross the login's end in the same way.
            let is_farewell = header.sequence + 1 == self.sequence && self.sequence <= 2;
            if is_farewell {
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
            }
            let (is, wanted) = (header.sequence, self.sequence);
            let text = format!("a packet has the sequence id {is}, not {wanted}");
            return Err(Broken::Protocol(text));
        }
        self.sequence = self.sequence.wrapping_add(1);
        let whole = HEADER_BYTES + header.length;
        self.hold(whole).await?;
        let begin = self.seen + HEADER_BYTES;
        self.seen += whole;
        Ok(&self.buffer[begin..begin + header.length])
    }

    /// Reads until `count` unparsed bytes are in the buffer.
    async fn hold(&mut self, count: usize) -> Result<&[u8], Broken> {
        if self.seen == self.buffer.len() {
            self.buffer.clear();
            self.seen = 0;
        }
        while self.buffer.len() - self.seen < count {
            if self.end.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
        Ok(&self.buffer[self.seen..])
    }

    /// Whether the proxy has sent bytes that answer no command.
    pub fn has_unasked(&self) -> bool {
        self.seen < self.buffer.len()
    }
}

/// Returns a client's answer to a challenge.
fn answer_to(challenge: &Challenge, credential: &Credential) -> Result<Vec<u8>, NotIn> {
    let answer = challenge.answer(credential, Channel::keyless(Privacy::Open));
    let answer = answer.map_err(|_| NotIn::AskedInClear)?;
    Ok(answer.to_vec())
}

fn refused(packet: &[u8]) -> Result<(), NotIn> {
    match packet.first() {
        Some(0xff) => {
            let error = ErrPacket::decode(packet).map_err(Broken::from)?;
            Err(NotIn::Refused(ServerError::of(&error)))
        }
        _ => Ok(()),
    }
}
