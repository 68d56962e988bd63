//! A client that speaks the protocol by hand: any capabilities, any bytes, and a transcript of
//! every packet of every reply. Blocking, small, and independent of the proxy's own codec.

mod login;
mod reply;
mod signatures;
mod statement;
mod transcript;
mod transport;

pub(crate) use login::tls_config;
pub use login::{Compress, Login, LoginFailure, TlsChoice, capability};
pub use reply::{Outcome, Reply, Rows, ServerError, Shape, lenenc};
pub use statement::{Execute, Param, bulk_execute, query_with_attributes};
pub use transcript::Transcript;
pub use transport::Address;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::Shutdown;
use std::time::Duration;

use transport::Transport;

/// The longest body of one packet.
pub const PACKET_MAX: usize = 0xFF_FFFF;

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Command bytes.
#[allow(missing_docs)] // the protocol's own names
pub mod command {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const REFRESH: u8 = 0x07;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0A;
    pub const PROCESS_KILL: u8 = 0x0C;
    pub const DEBUG: u8 = 0x0D;
    pub const PING: u8 = 0x0E;
    pub const CHANGE_USER: u8 = 0x11;
    pub const BINLOG_DUMP: u8 = 0x12;
    pub const REGISTER_SLAVE: u8 = 0x15;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1A;
    pub const SET_OPTION: u8 = 0x1B;
    pub const STMT_FETCH: u8 = 0x1C;
    pub const BINLOG_DUMP_GTID: u8 = 0x1E;
    pub const RESET_CONNECTION: u8 = 0x1F;
    pub const STMT_BULK_EXECUTE: u8 = 0xFA;
}

/// One connection.
#[derive(Debug)]
pub struct RawConn {
    transport: Transport,
    /// The capabilities of both sides: the low 32 bits as in the handshake, MariaDB's extended ones above.
    pub capabilities: u64,
    /// The server's version text.
    pub version: String,
    /// The connection id the greeting named.
    pub id: u32,
    /// The steps of the login: `switch to …`, `fast`, `full`, `RSA`, `factor 2`, `OK`.
    pub login_path: Vec<String>,
    /// The payload of the OK that ended the login.
    pub login_ok: Vec<u8>,
    scramble: Vec<u8>,
    secure: bool,
    /// Sequence id expected of the next packet, per command whose reply has not been read yet.
    awaited: VecDeque<u8>,
    sequence: u8,
    /// The expected sequence id of the next packet if there were no compressed frames.
    counted: u8,
    /// Ids of prepared statements, in order: MariaDB counts them for the whole server, so the
    /// transcript has their ordinals instead.
    statements: Vec<u32>,
    transcript: Transcript,
    before_send: Option<Hook>,
}

/// A function that runs before each command is sent.
struct Hook(Box<dyn FnMut() + Send>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

impl RawConn {
    /// Connects and logs in.
    pub fn connect(address: &Address, login: &Login) -> Result<Self, LoginFailure> {
        login::log_in(Transport::connect(address)?, login).1
    }

    /// Like [`Self::connect`], with the steps of the login, even if the login fails.
    pub fn connect_step_by_step(
        address: &Address,
        login: &Login,
    ) -> (Vec<String>, Result<Self, LoginFailure>) {
        match Transport::connect(address) {
            Ok(transport) => login::log_in(transport, login),
            Err(error) => (Vec::new(), Err(error.into())),
        }
    }

    /// Sends one command, as its packets; its reply is read later.
    pub fn send(&mut self, payload: &[u8]) {
        self.try_send(payload).expect("a command can be sent");
    }

    /// Runs this function before each command that is sent from now on.
    pub fn before_send(&mut self, act: impl FnMut() + Send + 'static) {
        self.before_send = Some(Hook(Box::new(act)));
    }

    /// Like [`Self::send`], if the connection may be closed.
    pub fn try_send(&mut self, payload: &[u8]) -> io::Result<()> {
        if let Some(Hook(act)) = &mut self.before_send {
            act();
        }
        self.transcript.sent(&self.with_ordinal(payload));
        self.transport.start_command();
        let next = self.write_payload(0, payload)?;
        self.awaited.push_back(next);
        Ok(())
    }

    /// Sends a command that has no reply.
    pub fn send_silent(&mut self, payload: &[u8]) {
        self.send(payload);
        self.awaited.pop_back();
    }

    /// Sends a packet that continues the exchange (a chunk of a local file; empty ends it).
    pub fn send_on(&mut self, payload: &[u8]) {
        self.sequence = self
            .write_payload(self.sequence, payload)
            .expect("a packet can be sent");
        self.awaited.clear();
        self.awaited.push_back(self.sequence);
    }

    /// Writes bytes without packet headers and without compression. TLS still encrypts them.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.transport.write_beneath(bytes)
    }

    /// Reads one packet's body, and records it in the transcript.
    pub fn packet(&mut self) -> io::Result<Vec<u8>> {
        self.begin_reply();
        self.next_packet()
    }

    /// Reads one more packet of the reply that [`Self::packet`] began.
    pub fn more(&mut self) -> io::Result<Vec<u8>> {
        self.next_packet()
    }

    /// Reads one packet, whatever sequence id it has.
    pub fn packet_of_any_order(&mut self) -> io::Result<Vec<u8>> {
        self.begin_reply();
        self.read_packet().map(|(_, body)| body)
    }

    /// Begins the reply of the oldest command that has none yet.
    fn begin_reply(&mut self) {
        if let Some(sequence) = self.awaited.pop_front() {
            self.sequence = sequence;
            self.counted = sequence;
        }
    }

    /// Reads one payload: packets up to one that is not full.
    fn payload(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = self.next_packet()?;
        let mut last = payload.len();
        while last == PACKET_MAX {
            let more = self.next_packet()?;
            last = more.len();
            payload.extend(more);
        }
        Ok(payload)
    }

    /// Reads a whole reply.
    pub fn reply(&mut self, shape: Shape) -> Reply {
        self.try_reply(shape)
            .unwrap_or_else(|error| panic!("the reply broke off: {error}\n{}", self.transcript))
    }

    /// Reads a whole reply; returns an error if the connection breaks.
    pub fn try_reply(&mut self, shape: Shape) -> io::Result<Reply> {
        self.begin_reply();
        let result = reply::read(self, shape);
        if result.is_err() {
            self.transcript.closed();
        }
        result
    }

    /// A statement over the text protocol, with its whole reply.
    pub fn query(&mut self, sql: &str) -> Reply {
        self.command(command::QUERY, sql.as_bytes())
    }

    /// Like [`Self::query`], but returns an error if the connection breaks.
    pub fn try_query(&mut self, sql: &str) -> io::Result<Reply> {
        self.send_query(sql)?;
        self.try_reply(Shape::Results)
    }

    /// A statement that must succeed.
    #[track_caller]
    pub fn run(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql);
        if let Some(error) = reply.error() {
            panic!("{sql}: {error}");
        }
        reply
    }

    /// A statement's single value, as text.
    #[track_caller]
    pub fn value(&mut self, sql: &str) -> String {
        self.run(sql).text(0, 0).unwrap_or_default()
    }

    /// Sends a statement; its reply is read later.
    pub fn send_query(&mut self, sql: &str) -> io::Result<()> {
        let mut payload = vec![command::QUERY];
        if self.can(capability::QUERY_ATTRIBUTES) {
            payload.extend([0, 1]);
        }
        payload.extend(sql.as_bytes());
        self.try_send(&payload)
    }

    /// A command with its argument, and its reply in the usual shape (OK, ERR or results).
    pub fn command(&mut self, byte: u8, argument: &[u8]) -> Reply {
        let mut payload = vec![byte];
        if byte == command::QUERY && self.can(capability::QUERY_ATTRIBUTES) {
            payload.extend([0, 1]);
        }
        payload.extend(argument);
        self.send(&payload);
        self.reply(Shape::Results)
    }

    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, sql: &str) -> Reply {
        let mut payload = vec![command::STMT_PREPARE];
        payload.extend(sql.as_bytes());
        self.send(&payload);
        self.reply(Shape::Prepared)
    }

    /// COM_CHANGE_USER, its auth switch answered.
    pub fn change_user(&mut self, login: &Login) -> Result<(), LoginFailure> {
        login::change_user(self, login)
    }

    /// True when both sides have the capability.
    pub fn can(&self, capability: u64) -> bool {
        self.capabilities & capability == capability
    }

    /// True when the connection is compressed.
    pub fn is_compressed(&self) -> bool {
        self.transport.is_compressed()
    }

    /// Calls a function, and keeps its packets out of the transcript (for replies that always differ).
    pub fn unrecorded<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let kept = std::mem::take(&mut self.transcript);
        let result = act(self);
        self.transcript = kept;
        result
    }

    /// Everything that was sent and received since the login, or since the last call of this function.
    pub fn transcript(&mut self) -> Transcript {
        std::mem::take(&mut self.transcript)
    }

    /// Goes on with this transcript, which replaces the connection's own.
    pub fn continue_transcript(&mut self, transcript: Transcript) {
        self.transcript = transcript;
    }

    /// Whether bytes of a reply arrive within this time.
    pub fn is_answered_within(&mut self, limit: Duration) -> bool {
        self.transport.wait_readable(limit)
    }

    /// Gives back the memory that a connection at rest does not need.
    pub fn free_buffers(&mut self) {
        self.transcript = Transcript::default();
        self.transport.free_buffers();
    }

    /// True when the server has closed the connection (waits for it, bounded).
    pub fn is_closed_by_server(&mut self) -> bool {
        match self.transport.read(&mut [0; 1]) {
            Ok(0) => true,
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            ),
            Ok(_) => false,
        }
    }

    /// Sets the longest wait for the server's bytes. The default is 30 s.
    pub fn patience(&mut self, limit: Duration) {
        self.transport.patience(limit);
    }

    /// Closes one or both directions of the socket, below TLS and compression.
    pub fn shut_down(&mut self, how: Shutdown) {
        self.transport.shut_down(how);
    }

    /// COM_QUIT, and waits until the server has closed.
    pub fn quit(mut self) {
        self.send_silent(&[command::QUIT]);
        assert!(self.is_closed_by_server(), "COM_QUIT closes the connection");
    }

    /// Reads the next packet of a reply. Servers give the first packet behind a flush the number of
    /// its compressed frame; apart from that, ids follow one another.
    fn next_packet(&mut self) -> io::Result<Vec<u8>> {
        let frame = match self.transport.is_compressed() {
            true => self.transport.frame_in_front()?,
            false => None,
        };
        let (sequence, body) = self.read_packet()?;
        if sequence != self.sequence && Some(sequence) != frame {
            let text = format!("sequence id {sequence}, expected {}", self.sequence);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.sequence = sequence.wrapping_add(1);
        Ok(body)
    }

    fn read_packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.transport.read_exact(&mut header)?;
        let length =
            usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let mut body = vec![0; length];
        self.transport.read_exact(&mut body)?;
        // The other side decides where frames end, so the sequence id is recorded as it would be without frames.
        let recorded = match self.transport.is_compressed() {
            true => self.counted,
            false => header[3],
        };
        self.counted = recorded.wrapping_add(1);
        self.transcript.received(recorded, &self.without_ids(&body));
        Ok((header[3], body))
    }

    /// A payload whose statement id, if it has one, is replaced by the statement's ordinal.
    fn with_ordinal(&self, payload: &[u8]) -> Vec<u8> {
        use command::{STMT_BULK_EXECUTE, STMT_EXECUTE, STMT_FETCH, STMT_RESET};
        let mut payload = payload.to_vec();
        if let [
            STMT_EXECUTE..=STMT_RESET | STMT_FETCH | STMT_BULK_EXECUTE,
            rest @ ..,
        ] = &mut payload[..]
            && let Some(id) = rest.first_chunk_mut()
            && let Some(at) = self
                .statements
                .iter()
                .rposition(|&s| s == u32::from_le_bytes(*id))
        {
            *id = u32::try_from(at).expect("few statements").to_le_bytes();
        }
        payload
    }

    /// Removes the statement id from a packet, if an error's text in the packet has it. SHOW WARNINGS gives that text
    /// as a field, and then the field's length is removed as well.
    fn without_ids(&self, body: &[u8]) -> Vec<u8> {
        // In English and German.
        const TEXTS: [&str; 4] = [
            "Unknown prepared statement handler (",
            "Unbekannter Prepared-Statement-Handler (",
            "The statement (",
            "Die Anweisung (",
        ];
        let mut body = body.to_vec();
        if self.statements.is_empty() || body.len() > 1000 {
            return body;
        }
        for start in TEXTS {
            let Some(at) = find(&body, start.as_bytes()) else {
                continue;
            };
            let digits = at + start.len();
            let end = digits
                + body[digits..]
                    .iter()
                    .take_while(|it| it.is_ascii_digit())
                    .count();
            let known = std::str::from_utf8(&body[digits..end])
                .ok()
                .and_then(|id| id.parse().ok())
                .and_then(|id: u32| self.statements.iter().rposition(|&known| known == id));
            let Some(ordinal) = known else { continue };
            body.splice(digits..end, format!("statement {ordinal}").into_bytes());
            if body[0] != 0xFF {
                body[at.saturating_sub(1)] = 0;
            }
        }
        body
    }

    /// Records the id of a prepared statement, which is in the last packet received.
    fn prepared(&mut self, id: u32) {
        let ordinal = u32::try_from(self.statements.len()).expect("few statements");
        self.statements.push(id);
        self.transcript.mask_last(1, &ordinal.to_le_bytes());
    }

    /// Writes a payload as packets. Returns the sequence id after the last packet.
    fn write_payload(&mut self, mut sequence: u8, payload: &[u8]) -> io::Result<u8> {
        let mut bytes = Vec::with_capacity(payload.len() + 8);
        let mut rest = payload;
        loop {
            let (body, more) = rest.split_at(rest.len().min(PACKET_MAX));
            let length = u32::try_from(body.len())
                .expect("at most 16 MiB")
                .to_le_bytes();
            bytes.extend([length[0], length[1], length[2], sequence]);
            bytes.extend(body);
            sequence = sequence.wrapping_add(1);
            rest = more;
            if body.len() < PACKET_MAX {
                break;
            }
        }
        self.transport.write(&bytes)?;
        Ok(sequence)
    }
}
