//! A session with its script, as what the script decides needs it.

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

    /// The flags that the client saw last.
    fn status(&self) -> StatusFlags;

    /// What client and backend have agreed on.
    fn capabilities(&self) -> Capabilities;

    /// How much of a reply may be kept for the script.
    fn result_bytes_max(&self) -> usize;

    /// How much a script may send for one command of the client's.
    fn statements_max(&self) -> u64;

    /// The number of the version of the server that COM_CHANGE_USER would go to, as scripts know it.
    fn server_version(&self) -> Option<u32>;

    /// Whether there is somebody to ask.
    fn has_server(&self) -> bool;

    /// Does with connections what the script has decided.
    async fn follow_moves(&mut self);

    /// What rewrites the rows that go to the client for the command under way.
    fn rewrite_rows(&mut self, rows: Option<Rows>);

    /// The next command that is sent goes there, by a hint.
    fn route_next(&mut self, route: Box<[u8]>);

    /// And is killed if it runs for longer than a script's own may.
    fn bound_next(&mut self);

    /// A hook waits from here on.
    fn note_wait(&self, wait: HookWait);

    /// It has what it waited for; false: the command is to end.
    fn note_wait_over(&self) -> bool;

    /// Nothing happens for a while. `None`: the command is to end.
    async fn sleep(&mut self, time: Duration, sequence: u8) -> Result<Option<()>, SessionError>;

    /// Runs a statement in a session beside this one, where its place says. `None`: the command is to end.
    async fn ask_apart(
        &mut self,
        script_query: ScriptQuery,
        sequence: u8,
    ) -> Result<Option<Replied>, SessionError>;

    /// The client sends a file that the script has asked for, and that nobody takes: it is read to its end.
    /// The id of the packet behind it.
    async fn swallow_file(&mut self, sequence: u8) -> Result<u8, SessionError>;

    /// The client's command as it came, and its reply as it comes.
    async fn forward(&mut self, incoming: Incoming) -> Result<After, SessionError>;

    /// Another command, and what came of it.
    async fn ask(
        &mut self,
        incoming: Incoming,
        towards: Towards,
    ) -> Result<(ObservedReply, After), SessionError>;
}

/// Whether clients wait for what comes of a command.
pub fn has_reply(command: Command) -> bool {
    !matches!(
        command,
        Command::STMT_CLOSE | Command::STMT_SEND_LONG_DATA | Command::QUIT
    )
}

/// The text of a statement that is to be prepared.
pub fn prepared_text(incoming: &Incoming) -> Option<Vec<u8>> {
    let is_meant = incoming.command == Command::STMT_PREPARE;
    is_meant.then(|| incoming.argument().into_owned())
}

/// A command has been answered: what it has prepared, scripts can ask about.
pub fn note_prepared(script: &mut script::Session, text: Option<Vec<u8>>, heard: &ObservedReply) {
    if let (Some(text), Some((id, parameters))) = (text, heard.prepared) {
        script.note_prepared(id, &text, parameters);
    }
}

/// Whether a script's answer has the client send its file.
pub fn asks_for_file(command: Command, answer: &Payloads) -> bool {
    let first = answer.at(0).and_then(<[u8]>::first);
    command == Command::QUERY && first == Some(&LOCAL_INFILE)
}

/// The client's file is nobody's. `sequence`: of the packet that has asked for it.
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

/// Nobody is there to ask, and the script has not answered.
pub fn lacks_server(sequence: u8) -> SessionError {
    let error = errors::script_without_backend();
    tracing::error!("{error}");
    let failure = Failure::saying(FailureKind::ScriptRefused, error);
    SessionError::new(failure, Some(sequence))
}
