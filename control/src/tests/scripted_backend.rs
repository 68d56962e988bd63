//! A scripted backend on loopback, for tests. A test can change its script at any time, and can wait
//! for the events that the backend observes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use net::tls::TlsAcceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use wire::handshake::{HandshakeResponse, SSL_REQUEST_BYTES};
use wire::write::{put_lenenc_bytes, put_packets};
use wire::{Capabilities, ErrPacket, Greeting, HEADER_BYTES, Header, StatusFlags};

/// The backend's behaviour on a connection.
#[derive(Clone)]
pub(crate) enum Script {
    /// Accepts the connection and sends nothing, as a stopped server does.
    Silence,
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends this error instead of a greeting.
    Err(u16, &'static str),
    /// Sends a greeting, and answers every login with this error.
    Refuse(u16, &'static str),
    /// Sends a greeting, accepts every login and answers OK to every statement.
    Welcome,
    /// As [`Script::Welcome`], after a PROXY header of 16 bytes.
    WelcomeBehindProxy,
    /// As [`Script::Welcome`], over TLS only.
    WelcomeOverTls(TlsAcceptor),
    /// Accepts every login, and answers every statement with this error.
    Sick(u16, &'static str),
    /// Accepts every login, and answers statements that begin with these texts with these answers, others with OK.
    Answers(Vec<(&'static str, Answer)>),
}

/// The answer to a statement.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Rows with this many columns, and any payload after the last row.
    Rows(usize, Vec<Vec<u8>>, Vec<u8>),
    /// A row of one value for each of these columns.
    Row(Vec<(&'static str, Option<&'static str>)>),
    /// An error.
    Err(u16, &'static str),
    /// No answer.
    Silence,
    /// These bytes unchanged, and nothing after them.
    Bytes(Vec<u8>),
}

impl Answer {
    /// A text result set.
    pub(crate) fn rows(rows: &[&[Option<&str>]]) -> Answer {
        let columns = rows.first().map_or(4, |row| row.len());
        let encoded = rows.iter().map(|row| row_payload(row.iter().copied()));
        Answer::Rows(columns, encoded.collect(), EOF.to_vec())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Answer::Rows(columns, rows, end) => {
                put_table(&mut bytes, &vec![""; *columns], rows, end);
            }
            Answer::Row(values) => {
                let (names, values): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
                put_table(&mut bytes, &names, &[row_payload(values)], EOF);
            }
            Answer::Silence => (),
            Answer::Err(number, text) => {
                put_packets(&mut bytes, 1, &err(*number, text));
            }
            Answer::Bytes(given) => bytes.clone_from(given),
        }
        bytes
    }
}

fn row_payload<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Vec<u8> {
    let mut payload = Vec::new();
    for value in values {
        match value {
            Some(text) => put_lenenc_bytes(&mut payload, text.as_bytes()),
            None => payload.push(0xfb),
        }
    }
    payload
}

fn put_table(bytes: &mut Vec<u8>, names: &[&str], rows: &[Vec<u8>], end: &[u8]) {
    let column = |name: &&str| {
        let mut payload = b"\x03def\0\0\0".to_vec();
        put_lenenc_bytes(&mut payload, name.as_bytes());
        payload.extend_from_slice(b"\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0");
        payload
    };
    let columns = names.iter().map(column).chain([EOF.to_vec()]);
    let mut sequence = put_packets(bytes, 1, &[names.len() as u8]);
    for payload in columns.chain(rows.iter().cloned()).chain([end.to_vec()]) {
        sequence = put_packets(bytes, sequence, &payload);
    }
}

/// The packet that ends columns, and that ends rows.
pub(crate) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

/// A healthy server that refuses the login of an unknown account.
pub(crate) const STRICT: Script = Script::Refuse(1045, "Access denied");

/// An event that the backend observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Met {
    Header(Vec<u8>),
    /// The user, and the default schema if there is one: `user in schema`.
    Login(String),
    Statement(String),
    Quit,
    /// The client closed the connection while no answer was pending.
    Closed,
    /// The client closed the connection during a login.
    Broken,
}

pub(crate) struct Scripted {
    pub address: SocketAddr,
    pub met: mpsc::UnboundedReceiver<Met>,
    script: Arc<Mutex<Script>>,
    accepting: AbortHandle,
}

impl Scripted {
    pub(crate) async fn start(script: Script) -> Scripted {
        Scripted::start_at("127.0.0.1:0".parse().unwrap(), script).await
    }

    /// An address without a listener. Another process may take it later.
    pub(crate) async fn free_address() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    pub(crate) async fn start_at(address: SocketAddr, script: Script) -> Scripted {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(script));
        let (meets, met) = mpsc::unbounded_channel();
        let current = Arc::clone(&script);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let script = current.lock().unwrap().clone();
                let meets = meets.clone();
                tokio::spawn(async move {
                    let end = play(stream, script, &meets).await;
                    let _ = meets.send(end.unwrap_or(Met::Broken));
                });
            }
        });
        Scripted {
            address,
            met,
            script,
            accepting: accepting.abort_handle(),
        }
    }

    /// Sets the script of connections from now on.
    pub(crate) fn play(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// Waits for the next event for which `wanted` returns true.
    pub(crate) async fn meets(&mut self, wanted: impl Fn(&Met) -> bool) -> Met {
        loop {
            let met = self.met.recv().await.unwrap();
            if wanted(&met) {
                return met;
            }
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn play(
    mut stream: TcpStream,
    script: Script,
    meets: &mpsc::UnboundedSender<Met>,
) -> Option<Met> {
    match script {
        Script::Silence => {
            stream.read_u8().await.ok()?;
            None
        }
        Script::Bytes(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            // Waits until the other side sends a byte or closes the connection.
            let _ = stream.read_u8().await;
            Some(Met::Closed)
        }
        Script::Err(number, text) => {
            send(&mut stream, 0, &err(number, text)).await?;
            closed(&mut stream).await
        }
        Script::Refuse(number, text) => {
            greet(&mut stream, Capabilities::default()).await?;
            log_in(&mut stream, meets).await?;
            send(&mut stream, 2, &err(number, text)).await?;
            closed(&mut stream).await
        }
        Script::WelcomeBehindProxy => {
            let mut header = vec![0; 16];
            stream.read_exact(&mut header).await.ok()?;
            let _ = meets.send(Met::Header(header));
            greet(&mut stream, Capabilities::default()).await?;
            welcome(stream, 2, meets, OK).await
        }
        Script::Welcome => {
            greet(&mut stream, Capabilities::default()).await?;
            welcome(stream, 2, meets, OK).await
        }
        Script::WelcomeOverTls(acceptor) => {
            greet(&mut stream, Capabilities::SSL).await?;
            let request = read(&mut stream).await?;
            assert_eq!(request.len(), SSL_REQUEST_BYTES, "nothing is said in clear");
            let stream = acceptor.accept(stream).await.ok()?;
            welcome(stream, 3, meets, OK).await
        }
        Script::Sick(number, text) => {
            greet(&mut stream, Capabilities::default()).await?;
            welcome(stream, 2, meets, &err(number, text)).await
        }
        Script::Answers(answers) => {
            greet(&mut stream, Capabilities::default()).await?;
            answer(stream, &answers, meets).await
        }
    }
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

async fn welcome(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sequence: u8,
    meets: &mpsc::UnboundedSender<Met>,
    reply: &[u8],
) -> Option<Met> {
    log_in(&mut stream, meets).await?;
    send(&mut stream, sequence, OK).await?;
    loop {
        let command = read(&mut stream).await?;
        let (command, argument) = command.split_first()?;
        if *command == wire::Command::QUIT.0 {
            return Some(Met::Quit);
        }
        let _ = meets.send(Met::Statement(String::from_utf8_lossy(argument).into()));
        send(&mut stream, 1, reply).await?;
    }
}

async fn answer(
    mut stream: TcpStream,
    answers: &[(&'static str, Answer)],
    meets: &mpsc::UnboundedSender<Met>,
) -> Option<Met> {
    log_in(&mut stream, meets).await?;
    send(&mut stream, 2, OK).await?;
    loop {
        let command = read(&mut stream).await?;
        let (command, argument) = command.split_first()?;
        if *command == wire::Command::QUIT.0 {
            return Some(Met::Quit);
        }
        let statement = String::from_utf8_lossy(argument).into_owned();
        let known = answers
            .iter()
            .find(|(begin, _)| statement.starts_with(begin));
        let _ = meets.send(Met::Statement(statement));
        match known {
            Some((_, answer)) => stream.write_all(&answer.bytes()).await.ok()?,
            None => send(&mut stream, 1, OK).await?,
        }
    }
}

async fn greet(stream: &mut TcpStream, more: Capabilities) -> Option<()> {
    let mut greeting = greeting();
    greeting.capabilities |= more;
    let mut payload = Vec::new();
    greeting.encode(&mut payload);
    send(stream, 0, &payload).await
}

async fn log_in(
    stream: &mut (impl AsyncRead + Unpin),
    meets: &mpsc::UnboundedSender<Met>,
) -> Option<()> {
    let response = read(stream).await?;
    let response = HandshakeResponse::decode(&response).ok()?;
    let user = String::from_utf8_lossy(response.user);
    let login = match response.schema {
        Some(schema) => format!("{user} in {}", String::from_utf8_lossy(schema)),
        None => user.into_owned(),
    };
    let _ = meets.send(Met::Login(login));
    Some(())
}

fn greeting() -> Greeting {
    Greeting {
        version: b"8.4.0-scripted".to_vec(),
        thread_id: 7,
        scramble: b"abcdefghijklmnopqrst".to_vec(),
        capabilities: Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_ATTRS,
        collation: 45,
        status: StatusFlags(2),
        plugin: b"mysql_native_password".to_vec(),
    }
}

fn err(number: u16, text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    let sqlstate = None;
    let text = text.as_bytes();
    let err = ErrPacket {
        number,
        sqlstate,
        text,
    };
    err.encode(&mut payload);
    payload
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), sequence: u8, payload: &[u8]) -> Option<()> {
    let mut bytes = Vec::new();
    put_packets(&mut bytes, sequence, payload);
    stream.write_all(&bytes).await.ok()
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).await.ok()?;
    let mut payload = vec![0; Header::decode(header).length];
    stream.read_exact(&mut payload).await.ok()?;
    Some(payload)
}

async fn closed(stream: &mut TcpStream) -> Option<Met> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok()?;
    rest.is_empty().then_some(Met::Closed)
}
