//! The whole life of a connection: greeting, login, commands, end.

use std::rc::Rc;
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Duration;
use wire::change_user::ChangeUser;
use wire::{Capabilities, Command, ErrPacket, HandshakeResponse};

use super::ast::KillScope;
use super::commands::After;
use super::control::{Control, End};
use super::error::{SqlError, SqlResult};
use super::family::Family;
use super::login::{Candidate, Proof};
use super::model::Server;
use super::options::Event;
use super::output::{Done, Follows, Output};
use super::packets::{NoPayload, Packets};
use super::session::{LoggedIn, Session};
use crate::patience::Patience;

/// The longest payload that the server takes.
const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// How long a client has for its login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The answer that caching_sha2_password's fast way is done.
const FAST_AUTHENTICATION_DONE: [u8; 2] = [1, 3];

/// Why a connection ends while it waits for a command.
enum Idle {
    /// A command has come.
    Command(Result<u8, NoPayload>),
    /// It was killed.
    Killed,
    /// The server shuts down.
    ShutDown,
    /// `wait_timeout` is over.
    TooLong,
}

/// A connection in the server's list, until this is dropped.
struct Listed(Rc<Server>, Rc<Control>);

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.connections.close(self.1.id);
    }
}

impl Server {
    /// The whole life of one connection; returns when it has ended. To a server that is down it ends at once.
    pub async fn serve<S>(self: Rc<Self>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        if !self.is_up() {
            return;
        }
        let listed = Listed(Rc::clone(&self), self.connections.open());
        let control = Rc::clone(&listed.1);
        let life = live(Rc::clone(&self), Rc::clone(&control), stream);
        control.run(&self.state.is_frozen, life).await;
    }
}

async fn live<S>(server: Rc<Server>, control: Rc<Control>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let mut packets = Packets::new(stream, PAYLOAD_BYTES_MAX);
    let mut out = Output::default();
    let logged_in = tokio::time::timeout(
        LOGIN_TIMEOUT,
        log_in(&server, &control, &mut packets, &mut out),
    );
    if let Ok(Some((mut session, scramble))) = logged_in.await {
        converse(&mut session, &scramble, &mut packets, &mut out).await;
    }
    packets.close().await;
}

/// Greets and lets a client in; none if it is refused or gone.
async fn log_in<S: AsyncRead + AsyncWrite + Unpin>(
    server: &Rc<Server>,
    control: &Rc<Control>,
    packets: &mut Packets<S>,
    out: &mut Output,
) -> Option<(Session, Vec<u8>)> {
    out.begin(0);
    // One place more than there are is kept for an administrator.
    if server.connections() > server.seats() + 1 {
        let error = server.family().too_many_connections();
        out.packet(|out| {
            ErrPacket {
                number: error.number,
                sqlstate: None,
                text: error.text.as_bytes(),
            }
            .encode(out);
        });
        packets.write(&out.bytes).await.ok()?;
        return None;
    }
    let scramble = server.scramble();
    let greeting = server.greeting(control.id, &scramble);
    out.packet(|out| greeting.encode(out));
    packets.write(&out.bytes).await.ok()?;
    let mut payload = Vec::new();
    let sequence = packets.read(1, &mut payload).await.ok()?;
    let response = HandshakeResponse::decode(&payload).ok();
    out.begin(sequence);
    let Some(response) = response else {
        out.error(&SqlError::new(server.family(), 1043, "Bad handshake"));
        packets.write(&out.bytes).await.ok()?;
        return None;
    };
    let candidate = Candidate::of_response(&response);
    let entered = authenticate(server, packets, out, &candidate, scramble.as_bytes()).await?;
    let scramble = entered.1;
    let admitted = entered.0.and_then(|()| enter(server, control, &candidate));
    let mut session = match admitted {
        Ok(session) => session,
        Err(error) => {
            out.error(&error);
            packets.write(&out.bytes).await.ok()?;
            return None;
        }
    };
    session.write_done(out, &Done::default(), Follows::Nothing);
    packets.write(&out.bytes).await.ok()?;
    server.tell(&Event::Connected {
        connection: control.id,
        user: &candidate.user,
    });
    Some((session, scramble))
}

/// Authenticates the client. Later logins on this connection use the scramble that the client has answered.
async fn authenticate<S: AsyncRead + AsyncWrite + Unpin>(
    server: &Rc<Server>,
    packets: &mut Packets<S>,
    out: &mut Output,
    candidate: &Candidate,
    scramble: &[u8],
) -> Option<(SqlResult<()>, Vec<u8>)> {
    let mut candidate = candidate.clone();
    let mut scramble = scramble.to_vec();
    let mut proof = server.examine(&candidate, &scramble);
    if proof == Proof::OtherPlugin {
        let fresh = server.scramble();
        let switch = server.switch(&fresh);
        out.packet(|out| out.extend_from_slice(&switch));
        packets.write(&out.bytes).await.ok()?;
        let mut answer = Vec::new();
        let sequence = packets.read(out.next_sequence(), &mut answer).await.ok()?;
        out.begin(sequence);
        candidate.answer = answer;
        candidate.plugin = None;
        scramble = fresh.as_bytes().to_vec();
        proof = server.examine(&candidate, &scramble);
    }
    let has_password = !candidate.answer.is_empty() && candidate.answer != b"\0";
    let is_fast = server.family() == Family::MySql && has_password;
    Some(match proof {
        Proof::Right => {
            if is_fast {
                out.packet(|out| out.extend_from_slice(&FAST_AUTHENTICATION_DONE));
            }
            (Ok(()), scramble)
        }
        Proof::Wrong | Proof::OtherPlugin => (Err(server.denied(&candidate)), scramble),
    })
}

/// Opens the session of a client that has proven its account.
fn enter(server: &Rc<Server>, control: &Rc<Control>, candidate: &Candidate) -> SqlResult<Session> {
    let login = server.admit(candidate)?;
    let mut session = Session::new(server, control, login);
    if let Some(schema) = &candidate.schema {
        session.use_schema(schema)?;
    }
    Ok(session)
}

/// Executes commands until the connection ends.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    session: &mut Session,
    scramble: &[u8],
    packets: &mut Packets<S>,
    out: &mut Output,
) {
    let mut payload = Vec::new();
    let mut patience = Patience::new(session.settings.idle);
    let mut scramble = scramble.to_vec();
    loop {
        match wait(session, packets, &mut payload, &mut patience).await {
            Idle::Command(Ok(_)) => {}
            Idle::Command(Err(NoPayload::Closed)) => return,
            Idle::Command(Err(no_payload)) => {
                out.begin(1);
                out.error(&broken(session.family(), &no_payload));
                let _ = packets.write(&out.bytes).await;
                return;
            }
            farewell => return say_farewell(session, &farewell, packets, out).await,
        }
        let after = match payload.first() {
            Some(byte) if Command(*byte) == Command::CHANGE_USER => {
                match change_user(session, &payload, &mut scramble, packets, out).await {
                    Some(after) => after,
                    None => return,
                }
            }
            _ => session.command(&payload, out).await,
        };
        match after {
            After::Goodbye => return,
            After::Silence => continue,
            After::File => {
                if packets.write(&out.bytes).await.is_err() {
                    return;
                }
                let Some(file) = read_file(packets, out).await else {
                    return;
                };
                session.load_file(&file, out).await;
            }
            After::Reply => {}
        }
        // A session that another connection kills gets no error packet.
        let is_killed = session.control.killed() == Some(KillScope::Connection);
        let is_shut_down = session.control.ends().is_some();
        if is_killed && !session.is_over || is_shut_down && session.family().is_mariadb() {
            return;
        }
        if packets.write(&out.bytes).await.is_err() || session.is_over {
            return;
        }
    }
}

/// Reads a file to the empty packet behind it; the reply begins then. None if the client is gone.
async fn read_file<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    out: &mut Output,
) -> Option<Vec<u8>> {
    let (mut file, mut part) = (Vec::new(), Vec::new());
    let mut sequence = out.next_sequence();
    loop {
        sequence = packets.read(sequence, &mut part).await.ok()?;
        if part.is_empty() {
            out.begin(sequence);
            return Some(file);
        }
        file.extend_from_slice(&part);
    }
}

/// Waits for the next command.
async fn wait<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    packets: &mut Packets<S>,
    payload: &mut Vec<u8>,
    patience: &mut Patience,
) -> Idle {
    let control = &session.control;
    patience.begin(session.settings.idle);
    let mut command = std::pin::pin!(packets.read(0, payload));
    std::future::poll_fn(|context| {
        // The server executes a command that has come, unless the connection is to end.
        if control.ends() == Some(End::ShutDown) {
            return Poll::Ready(Idle::ShutDown);
        }
        if control.killed() == Some(KillScope::Connection) {
            return Poll::Ready(Idle::Killed);
        }
        if let Poll::Ready(read) = command.as_mut().poll(context) {
            return Poll::Ready(Idle::Command(read));
        }
        match patience.is_over(context) {
            true => Poll::Ready(Idle::TooLong),
            false => Poll::Pending,
        }
    })
    .await
}

fn broken(family: Family, no_payload: &NoPayload) -> SqlError {
    match no_payload {
        NoPayload::TooLarge => {
            let text = "Got a packet bigger than 'max_allowed_packet' bytes";
            SqlError::new(family, 1153, text)
        }
        NoPayload::Closed | NoPayload::OutOfOrder => {
            SqlError::new(family, 1156, "Got packets out of order")
        }
    }
}

/// Tells a client that waits for no reply why its connection ends, as the family does.
async fn say_farewell<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    why: &Idle,
    packets: &mut Packets<S>,
    out: &mut Output,
) {
    let family = session.family();
    let error = match (family, why) {
        (Family::MySql, Idle::TooLong) => SqlError::new(
            family,
            4031,
            "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout \
             for configuring this behavior.",
        ),
        _ => return,
    };
    out.begin(0);
    out.error(&error);
    let _ = packets.write(&out.bytes).await;
}

/// COM_CHANGE_USER: none if the connection is to end.
async fn change_user<S: AsyncRead + AsyncWrite + Unpin>(
    session: &mut Session,
    payload: &[u8],
    scramble: &mut Vec<u8>,
    packets: &mut Packets<S>,
    out: &mut Output,
) -> Option<After> {
    let server = Rc::clone(&session.server);
    let before: LoggedIn = session.login.clone();
    out.begin(1);
    let arguments = payload.get(1..).unwrap_or_default();
    let Ok(change) = ChangeUser::decode(arguments, before.capabilities) else {
        out.error(&server.family().unknown_command());
        let _ = packets.write(&out.bytes).await;
        return None;
    };
    let candidate = Candidate::of_change(&change, &before);
    let (entered, answered) = authenticate(&server, packets, out, &candidate, scramble).await?;
    *scramble = answered;
    let schema_before = session.schema();
    session.clean_up();
    let admitted = entered
        .and_then(|()| server.admit(&candidate))
        .and_then(|login| {
            let multiple = before.capabilities & Capabilities::MULTI_STATEMENTS;
            let capabilities = login.capabilities | multiple;
            session.renew(LoggedIn {
                capabilities,
                ..login
            });
            match &candidate.schema {
                Some(schema) => session.use_schema(schema),
                None => Ok(()),
            }
        });
    match admitted {
        Ok(()) => {
            session.write_done(out, &Done::default(), Follows::Nothing);
            Some(After::Reply)
        }
        // The session goes on as it was after its own login.
        Err(error) if server.family().is_mariadb() => {
            session.renew(before);
            *session.control.schema.borrow_mut() = schema_before;
            out.error(&error);
            Some(After::Reply)
        }
        Err(error) => {
            out.error(&error);
            let _ = packets.write(&out.bytes).await;
            None
        }
    }
}
