//! One client session: log in without a password, ask, wait for the reply, check that it is the reply
//! to what was asked.

use std::time::Duration;

use auth::{Challenge, Channel, Credential, Password, Privacy};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::reply::{Reply, ReplyScanner, RowFormat};
use super::stream::Stream;
use super::{Failure, Target};
use crate::protocol::{EofStyle, capability, column_type, command, first_packet, frame};

const CAPABILITIES: u32 = capability::LONG_PASSWORD
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PLUGIN_AUTH;

/// One read takes up to so many bytes: a full socket buffer of a large result.
const READ_BYTES: usize = 64 * 1024;

/// Sessions that only ask for single rows keep this much.
const READ_SMALL_BYTES: usize = 2048;

/// A logged-in connection with no command running.
pub struct Session {
    stream: Stream,
    eof: EofStyle,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Session {
    /// Connects and logs in.
    ///
    /// # Errors
    /// When the connection breaks, the login is refused, or it asks for a password.
    pub async fn open(target: &Target) -> Result<Self, Failure> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        let session = Self {
            stream: Stream::Clear(stream),
            eof: EofStyle::Classic,
            input: Vec::with_capacity(READ_SMALL_BYTES),
            output: Vec::with_capacity(256),
        };
        session.log_in(target).await
    }

    async fn log_in(mut self, target: &Target) -> Result<Self, Failure> {
        let greeting = self.packet().await?;
        let offered = greeting_capabilities(&greeting.payload)?;
        let mut capabilities = CAPABILITIES | (target.eof_capability() & offered);
        self.eof = EofStyle::negotiated(capabilities);
        let mut sequence = greeting.sequence + 1;
        if let Some(connector) = &target.tls {
            capabilities |= capability::SSL;
            frame(&mut self.output, sequence, |out| {
                put_login_head(out, capabilities)
            });
            self.send().await?;
            self.stream = self.stream.over_tls(connector).await?;
            sequence += 1;
        }
        frame(&mut self.output, sequence, |out| {
            put_login(out, capabilities, target)
        });
        loop {
            self.send().await?;
            let answer = self.packet().await?;
            match answer.payload.first() {
                Some(0x00) => return Ok(self),
                Some(0xff) => return Err(Failure::answered(&answer.payload)),
                Some(0xfe) => {
                    let proof = proof(&answer.payload, target);
                    frame(&mut self.output, answer.sequence + 1, |out| {
                        out.extend_from_slice(&proof);
                    });
                }
                // caching_sha2_password knows it: OK follows.
                Some(0x01) if answer.payload[1..] == [3] => {}
                _ => return Err(Failure::Malformed("answer to the login")),
            }
        }
    }

    /// Runs a text statement and checks its reply.
    ///
    /// # Errors
    /// When the connection breaks, the statement fails, or the reply belongs to another statement.
    pub async fn query(&mut self, text: &str, expected: Reply) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::QUERY);
            out.extend_from_slice(text.as_bytes());
        });
        self.exchange(RowFormat::Text, expected).await
    }

    /// Runs a text statement; how many rows it had.
    ///
    /// # Errors
    /// When the connection breaks or the statement fails.
    pub async fn look(&mut self, text: &str) -> Result<u64, Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::QUERY);
            out.extend_from_slice(text.as_bytes());
        });
        self.send().await?;
        let mut scanner = ReplyScanner::new(RowFormat::Any, self.eof);
        loop {
            self.receive().await?;
            let (taken, reply) = scanner.feed(&self.input)?;
            self.input.drain(..taken);
            if let Some(reply) = reply {
                return Ok(reply.rows);
            }
        }
    }

    /// Sends a command whose answer is OK.
    ///
    /// # Errors
    /// When the connection breaks or the command is refused.
    pub async fn command(&mut self, payload: &[u8]) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| out.extend_from_slice(payload));
        self.exchange(RowFormat::Text, Reply::default()).await
    }

    /// Sends a command whose answer is a stream without end, and hands out the connection.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn into_stream(mut self, payload: &[u8]) -> Result<TcpStream, Failure> {
        frame(&mut self.output, 0, |out| out.extend_from_slice(payload));
        self.send().await?;
        let stream = self.stream.into_clear();
        stream.ok_or(Failure::Malformed("a stream over TLS"))
    }

    /// As [`Self::query`], with a pause before each read; `count` is told how much each brought.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn query_slowly(
        &mut self,
        text: &str,
        expected: Reply,
        pause: Duration,
        count: impl Fn(usize),
    ) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::QUERY);
            out.extend_from_slice(text.as_bytes());
        });
        self.send().await?;
        let mut scanner = ReplyScanner::new(RowFormat::Text, self.eof);
        loop {
            sleep(pause).await;
            let before = self.input.len();
            self.receive().await?;
            count(self.input.len() - before);
            let (taken, reply) = scanner.feed(&self.input)?;
            if let Some(reply) = reply {
                return self.check(taken, reply, expected);
            }
            self.input.drain(..taken);
        }
    }

    /// Makes the session as it was behind the login.
    ///
    /// # Errors
    /// When the connection breaks or the command is refused.
    pub async fn reset(&mut self) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::RESET_CONNECTION);
        });
        self.exchange(RowFormat::Text, Reply::default()).await
    }

    /// Prepares a statement of one parameter and returns its id.
    ///
    /// # Errors
    /// When the connection breaks or the statement cannot be prepared.
    pub async fn prepare(&mut self, text: &str) -> Result<u32, Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::STMT_PREPARE);
            out.extend_from_slice(text.as_bytes());
        });
        self.send().await?;
        let answer = self.packet().await?.payload;
        if answer.first() == Some(&0xff) {
            return Err(Failure::answered(&answer));
        }
        let fields: &[u8; 9] = answer
            .first_chunk()
            .ok_or(Failure::Malformed("answer to prepare"))?;
        let [_, id @ .., column_0, column_1, parameter_0, parameter_1] = *fields;
        for count in [[parameter_0, parameter_1], [column_0, column_1]].map(u16::from_le_bytes) {
            let end = u16::from(count > 0 && self.eof == EofStyle::Classic);
            for _ in 0..count + end {
                self.packet().await?;
            }
        }
        Ok(u32::from_le_bytes(id))
    }

    /// Forgets a prepared statement, which has no reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn forget(&mut self, statement: u32) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::STMT_CLOSE);
            out.extend_from_slice(&statement.to_le_bytes());
        });
        self.send().await
    }

    /// Executes a prepared statement with its one parameter and checks its reply.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn execute(
        &mut self,
        statement: u32,
        key: u64,
        expected: Reply,
    ) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| {
            out.push(command::STMT_EXECUTE);
            out.extend_from_slice(&statement.to_le_bytes());
            out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
            out.extend_from_slice(&[0, 1, column_type::LONGLONG, 0]); // no NULL, types follow
            out.extend_from_slice(&key.to_le_bytes());
        });
        self.exchange(RowFormat::Binary, expected).await
    }

    /// Sends COM_QUIT and closes, as client libraries do.
    ///
    /// # Errors
    /// When the connection is broken already.
    pub async fn close(mut self) -> Result<(), Failure> {
        frame(&mut self.output, 0, |out| out.push(command::QUIT));
        self.send().await
    }

    /// Sends the command that `output` holds and reads its whole reply.
    async fn exchange(&mut self, format: RowFormat, expected: Reply) -> Result<(), Failure> {
        self.send().await?;
        let mut scanner = ReplyScanner::new(format, self.eof);
        loop {
            self.receive().await?;
            let (taken, reply) = scanner.feed(&self.input)?;
            if let Some(reply) = reply {
                return self.check(taken, reply, expected);
            }
            self.input.drain(..taken);
        }
    }

    /// Checks that the reply is the expected one, and that no unexpected bytes follow it.
    fn check(&mut self, taken: usize, reply: Reply, expected: Reply) -> Result<(), Failure> {
        if taken != self.input.len() {
            return Err(Failure::Malformed("bytes behind the reply"));
        }
        self.input.clear();
        match reply == expected {
            true => Ok(()),
            false => Err(Failure::Wrong { reply, expected }),
        }
    }

    async fn packet(&mut self) -> Result<OwnedPacket, Failure> {
        loop {
            if let Some(packet) = first_packet(&self.input) {
                let bytes = packet.wire_bytes();
                let owned = OwnedPacket {
                    sequence: packet.sequence,
                    payload: packet.payload.to_vec(),
                };
                self.input.drain(..bytes);
                return Ok(owned);
            }
            self.receive().await?;
        }
    }

    async fn send(&mut self) -> Result<(), Failure> {
        self.stream.write_all(&self.output).await?;
        self.output.clear();
        Ok(())
    }

    /// Reads once. A read that filled all there was makes room for a large result; so does a packet
    /// that needs it.
    async fn receive(&mut self) -> Result<(), Failure> {
        if self.input.capacity() - self.input.len() < READ_SMALL_BYTES / 2 {
            self.input.reserve(READ_BYTES);
        }
        if self.stream.read(&mut self.input).await? == 0 {
            return Err(Failure::Closed);
        }
        let is_full = self.input.len() == self.input.capacity();
        if is_full && self.input.capacity() < READ_BYTES {
            self.input.reserve(READ_BYTES);
        }
        Ok(())
    }
}

struct OwnedPacket {
    sequence: u8,
    payload: Vec<u8>,
}

/// Both halves of the capabilities in a protocol 10 greeting.
fn greeting_capabilities(payload: &[u8]) -> Result<u32, Failure> {
    match payload.first() {
        Some(10) => {}
        Some(0xff) => return Err(Failure::answered(payload)),
        _ => return Err(Failure::Malformed("greeting")),
    }
    let version_bytes = payload.iter().position(|&byte| byte == 0);
    let fields = version_bytes.and_then(|end| payload.get(end + 1..));
    // Behind the version: connection id (4), salt (8), a zero, low half, charset, status (2), high half.
    let halves = fields.and_then(|fields| {
        let low: &[u8; 2] = fields.get(13..)?.first_chunk()?;
        let high: &[u8; 2] = fields.get(18..)?.first_chunk()?;
        Some(u32::from_le_bytes([low[0], low[1], high[0], high[1]]))
    });
    halves.ok_or(Failure::Malformed("greeting"))
}

/// What answers another method's challenge. An account without password answers each with nothing.
fn proof(switch: &[u8], target: &Target) -> Vec<u8> {
    if target.password.is_empty() {
        return Vec::new();
    }
    let (plugin, data) = take_until_zero(switch.get(1..).unwrap_or_default());
    let credential = Credential::Password(Password::new(target.password.as_bytes()));
    let challenge = Challenge::switched(plugin, data);
    let answer = challenge.answer(&credential, Channel::keyless(Privacy::Open));
    answer.unwrap_or_default().to_vec()
}

fn take_until_zero(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// What a request for TLS and a login begin with alike.
fn put_login_head(out: &mut Vec<u8>, capabilities: u32) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&(16_u32 << 20).to_le_bytes());
    out.push(45); // utf8mb4_general_ci, known to both families
    out.extend_from_slice(&[0; 23]);
}

fn put_login(out: &mut Vec<u8>, capabilities: u32, target: &Target) {
    put_login_head(out, capabilities);
    out.extend_from_slice(target.user.as_bytes());
    out.extend_from_slice(&[0, 0]); // end of the name, empty answer to the challenge
    out.extend_from_slice(target.schema.as_bytes());
    // If the account has a password, the server asks for it with another challenge.
    out.extend_from_slice(match target.password.is_empty() {
        true => b"\0mysql_native_password\0",
        false => b"\0asked_for_separately_\0",
    });
}
