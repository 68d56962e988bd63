//! A session with its script, as the code that carries out the script's decisions needs it.

use std::time::Duration;

use script::{Payloads, Rows, ScriptQuery};
use wire::reply::{LOCAL_INFILE, OK};
use wire::write::put_packets;
use wire::{Capabilities, Command, StatusFlags, errors};

use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::reply_observer::{ObservedReply, Towards};
use registry::session_control::HookWait;
use relay::outcome::{After, SessionError};
use script_host::shadow_queue::Replied;

/// A session with its script.
#[expect(async_fn_in_trait, reason = "a session stays on its thread")]
pub trait Stage {
    /// The script.
    fn script(&mut self) -> &mut script::Session;

    /// The leg of the client.
    fn client(&mut self) -> &mut Leg;

    /// The status flags that the client saw last.
    fn status(&self) -> StatusFlags;

    /// Returns the capabilities that client and backend have agreed on.
    fn capabilities(&self) -> Capabilities;

    /// Returns the maximum number of bytes of a reply that are kept for the script.
    fn result_bytes_max(&self) -> usize;

    /// Returns the maximum number of statements that a script may send for one command of the client.
    fn statements_max(&self) -> u64;

    /// The number of the version of the server that COM_CHANGE_USER would go to, as scripts know it.
    fn server_version(&self) -> Option<u32>;

    /// Whether the session has a backend.
    fn has_server(&self) -> bool;

    /// Moves connections as the script has decided.
    async fn follow_moves(&mut self);

    /// Sets what rewrites the rows that go to the client for the current command.
    fn rewrite_rows(&mut self, rows: Option<Rows>);

    /// Routes the next command by this hint.
    fn route_next(&mut self, route: Box<[u8]>);

    /// Bounds the next command: it is killed if it runs for longer than a script's own may.
    fn bound_next(&mut self);

    /// Notes that a hook waits from now on.
    fn note_wait(&self, wait: HookWait);

    /// Notes that the hook has what it waited for. False: the command has to end.
    fn note_wait_over(&self) -> bool;

    /// Waits for this time. `None`: the command has to end.
    async fn sleep(&mut self, time: Duration, sequence: u8) -> Result<Option<()>, SessionError>;

    /// Runs a statement in a session beside this one, where its hint says. `None`: the command has to end.
    async fn ask_apart(
        &mut self,
        script_query: ScriptQuery,
        sequence: u8,
    ) -> Result<Option<Replied>, SessionError>;

    /// Reads a file that the client sends because the script has asked for it, and discards the file.
    /// Returns the id of the packet behind it.
    async fn swallow_file(&mut self, sequence: u8) -> Result<u8, SessionError>;

    /// Sends the client's command as it came, and its reply as it comes.
    async fn forward(&mut self, incoming: Incoming) -> Result<After, SessionError>;

    /// Sends another command, and returns its outcome.
    async fn ask(
        &mut self,
        incoming: Incoming,
        towards: Towards,
    ) -> Result<(ObservedReply, After), SessionError>;
}

/// Whether clients wait for a reply to a command.
pub fn has_reply(command: Command) -> bool {
    !matches!(
        command,
        Command::STMT_CLOSE | Command::STMT_SEND_LONG_DATA | Command::QUIT
    )
}

/// Returns the text of a statement that is to be prepared.
pub fn prepared_text(incoming: &Incoming) -> Option<Vec<u8>> {
    let is_meant = incoming.command == Command::STMT_PREPARE;
    is_meant.then(|| incoming.argument().into_owned())
}

/// Records what an answered command has prepared, so that scripts can ask about it.
pub fn note_prepared(script: &mut script::Session, text: Option<Vec<u8>>, heard: &ObservedReply) {
    if let (Some(text), Some((id, parameters))) = (text, heard.prepared) {
        script.note_prepared(id, &text, parameters);
    }
}

/// Whether a script's answer asks the client for a file.
pub fn asks_for_file(command: Command, answer: &Payloads) -> bool {
    let first = answer.at(0).and_then(<[u8]>::first);
    command == Command::QUERY && first == Some(&LOCAL_INFILE)
}

/// Discards the client's file, and sends OK. `sequence`: that of the packet that has asked for the file.
pub async fn swallow_file(stage: &mut impl Stage, sequence: u8) -> Result<(), SessionError> {
    let next = stage.swallow_file(sequence).await?;
    let [low, high] = stage.status().0.to_le_bytes();
    send_packet(stage, next, &[OK, 0, 0, low, high, 0, 0]);
    Ok(())
}

/// Sends the client a packet with this id.
pub fn send_packet(stage: &mut impl Stage, sequence: u8, payload: &[u8]) {
    let mut payloads = Payloads::default();
    payloads.put(|out| out.extend_from_slice(payload));
    send_all(stage, sequence, &payloads);
}

/// Sends the client several packets, with ids from this one on.
pub fn send_all(stage: &mut impl Stage, sequence: u8, payloads: &Payloads) {
    let client = stage.client();
    let mut packets = Vec::with_capacity(payloads.bytes() + 4 * payloads.len());
    let mut next = client.transport.frame_sequence().unwrap_or(sequence);
    for payload in payloads.iter() {
        next = put_packets(&mut packets, next, payload);
    }
    client.append(&packets);
}

/// The error if the session has no backend, and the script has not answered.
pub fn lacks_server(sequence: u8) -> SessionError {
    let error = errors::script_without_backend();
    tracing::error!("{error}");
    let failure = Failure::saying(FailureKind::ScriptRefused, error);
    SessionError::new(failure, Some(sequence))
}
