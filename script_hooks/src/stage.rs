//! What a script decides about a client's command, in sessions of either kind.

use std::borrow::Cow;
use std::time::Duration;

use script::{Decision, Hook, Payloads, Rows, ScriptQuery};
use wire::reply::{LOCAL_INFILE, OK};
use wire::write::put_packets;
use wire::{Capabilities, Command, StatusFlags, errors};

use crate::injected::Queue;
use crate::waiting::{Settled, interrupted, settle};
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::reply_observer::{ObservedReply, Towards};
use link::session_end::SessionEnd;
use registry::session_control::HookWait;
use relay::outcome::{After, CutOff};
use script_host::bridge::Bridge;
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
    async fn sleep(&mut self, time: Duration, sequence: u8) -> Result<Option<()>, CutOff>;

    /// Runs a statement in a session beside this one, where its place says. `None`: the command is to end.
    async fn ask_beside(
        &mut self,
        inquiry: ScriptQuery,
        sequence: u8,
    ) -> Result<Option<Replied>, CutOff>;

    /// The client sends a file that the script has asked for, and that nobody takes: it is read to its end.
    /// The id of the packet behind it.
    async fn swallow_file(&mut self, sequence: u8) -> Result<u8, CutOff>;

    /// The client's command as it came, and its reply as it comes.
    async fn forward(&mut self, incoming: Incoming) -> Result<After, CutOff>;

    /// Another command, and what came of it.
    async fn ask(
        &mut self,
        incoming: Incoming,
        towards: Towards,
    ) -> Result<(ObservedReply, After), CutOff>;
}

/// Asks the script what is to be done with a command, and does it.
pub async fn act(stage: &mut impl Stage, incoming: Incoming) -> Result<After, CutOff> {
    if incoming.command == Command::CHANGE_USER && is_broken(stage.server_version()) {
        let payload = errors::change_user_broken().payload();
        say(stage, incoming.sequence, &payload);
        return Ok(After::Next);
    }
    if !stage.script().has(Hook::ReadQuery) {
        return stage.forward(incoming).await;
    }
    stage.rewrite_rows(None);
    let bridge = Bridge::new(stage.capabilities());
    let payload = bridge.shown(incoming.payload(), |id| stage.script().parameters_of(id));
    stage.script().follow_prepared(&payload);
    let said = stage.script().read_query(&payload);
    let decision = match settle(stage, said, incoming.sequence).await? {
        Settled::Decided(decision) => decision,
        Settled::Over(after) => return Ok(after),
        Settled::Killed if has_reply(incoming.command) => {
            say(stage, incoming.sequence, &interrupted());
            return Ok(After::Next);
        }
        // What comes behind it may rely on it.
        Settled::Killed if incoming.command == Command::STMT_SEND_LONG_DATA => {
            return Err(unseen(&incoming));
        }
        Settled::Killed => return stage.forward(incoming).await,
    };
    follow_statements(stage, incoming.command, &payload);
    let own = match payload {
        Cow::Owned(shown) if stage.script().queue_len() > 0 => Some(shown),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    };
    let rows = stage.script().take_rows();
    if rows.is_some() && is_of_cursor(&incoming) {
        say(stage, incoming.sequence, &errors::cursor_rows().payload());
        return Ok(After::Next);
    }
    stage.rewrite_rows(rows);
    decided(stage, decision, incoming, own).await
}

/// Does what the script has decided about a command. `shown`: the command as the script has seen it, if that is not as
/// it came, and more is queued.
async fn decided(
    stage: &mut impl Stage,
    decision: Decision,
    incoming: Incoming,
    shown: Option<Vec<u8>>,
) -> Result<After, CutOff> {
    let queued = stage.script().queue_len();
    match decision {
        Decision::SendResult => return send_result(stage, incoming, queued).await,
        Decision::SendQuery if queued > 0 => {
            return Queue::of(stage, incoming, shown).send().await;
        }
        Decision::SendQuery => {
            tracing::error!(
                "(read_query) PROXY_SEND_QUERY, but no query is queued: the proxy sends the client's"
            )
        }
        Decision::Nothing if queued > 0 => {
            tracing::error!(
                "(read_query) {queued} queries queued without PROXY_SEND_QUERY: the proxy drops them"
            );
        }
        Decision::Nothing | Decision::Waits => {}
        Decision::IgnoreResult => {
            tracing::error!("(read_query) PROXY_IGNORE_RESULT has no effect here")
        }
        Decision::Unknown(number) => tracing::error!("(read_query) {number} is not a decision"),
    }
    stage.script().clear_queue();
    stage.forward(incoming).await
}

/// The script has answered, and nothing is sent.
async fn send_result(
    stage: &mut impl Stage,
    incoming: Incoming,
    queued: usize,
) -> Result<After, CutOff> {
    if stage.script().has_refused() && !has_reply(incoming.command) {
        return Err(unseen(&incoming));
    }
    if queued > 0 {
        tracing::error!(
            "(read_query) PROXY_SEND_RESULT with {queued} queries queued: the proxy drops them"
        );
        stage.script().clear_queue();
    }
    if incoming.command == Command::QUIT {
        // Nobody waits for an answer; the connection may stay in a pool.
        return Ok(After::Ended(SessionEnd::Quit));
    }
    if !has_reply(incoming.command) {
        tracing::error!(
            command = %incoming.command,
            "(read_query) PROXY_SEND_RESULT for a command without a reply: the proxy sends nothing"
        );
        return Ok(After::Next);
    }
    if answer(stage, &incoming) {
        swallow_file(stage, incoming.sequence).await?;
    }
    Ok(After::Next)
}

/// Whether clients wait for what comes of a command.
pub fn has_reply(command: Command) -> bool {
    !matches!(
        command,
        Command::STMT_CLOSE | Command::STMT_SEND_LONG_DATA | Command::QUIT
    )
}

/// A command that is not executed, and whose client does not wait to be told so: what comes behind it may
/// rely on it.
fn unseen(incoming: &Incoming) -> CutOff {
    let failure = Failure::saying(FailureKind::ScriptFailed, errors::hook_ended());
    CutOff::new(failure, Some(incoming.sequence))
}

/// These servers answer COM_CHANGE_USER twice (MySQL bug 25371).
fn is_broken(version: Option<u32>) -> bool {
    version.is_some_and(|version| (50_114..=50_117).contains(&version))
}

/// Whether a command opens a cursor, or reads from one.
fn is_of_cursor(incoming: &Incoming) -> bool {
    /// READ_ONLY, FOR_UPDATE, SCROLLABLE.
    const CURSORS: u8 = 7;
    match incoming.command {
        Command::STMT_FETCH => true,
        Command::STMT_EXECUTE => {
            // The statement's id, then flags.
            let flags = incoming.argument().get(4).copied();
            flags.is_some_and(|flags| flags & CURSORS != 0)
        }
        _ => false,
    }
}

/// Behind the hook: what the command does to statements that are prepared.
fn follow_statements(stage: &mut impl Stage, command: Command, payload: &[u8]) {
    match command {
        Command::STMT_EXECUTE => stage.script().has_followed(payload),
        Command::RESET_CONNECTION | Command::CHANGE_USER => stage.script().forget_prepared(),
        _ => {}
    }
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

/// What the script has put into `proxy.response`; whether that asks the client for a file.
fn answer(stage: &mut impl Stage, incoming: &Incoming) -> bool {
    let sequence = incoming.sequence;
    let Some(payloads) = stage.script().response() else {
        say(stage, sequence, &errors::response_unusable().payload());
        return false;
    };
    let asks_for_file = asks_for_file(incoming.command, &payloads);
    let bridge = Bridge::new(stage.capabilities());
    say_all(stage, sequence, &bridge.told(incoming.command, payloads));
    asks_for_file
}

/// Whether a script's answer has the client send its file.
pub fn asks_for_file(command: Command, answer: &Payloads) -> bool {
    let first = answer.at(0).and_then(<[u8]>::first);
    command == Command::QUERY && first == Some(&LOCAL_INFILE)
}

/// The client's file is nobody's. `sequence`: of the packet that has asked for it.
pub async fn swallow_file(stage: &mut impl Stage, sequence: u8) -> Result<(), CutOff> {
    let next = stage.swallow_file(sequence).await?;
    let [low, high] = stage.status().0.to_le_bytes();
    say(stage, next, &[OK, 0, 0, low, high, 0, 0]);
    Ok(())
}

/// Sends the client a packet with this id.
pub fn say(stage: &mut impl Stage, sequence: u8, payload: &[u8]) {
    let mut payloads = Payloads::default();
    payloads.put(|out| out.extend_from_slice(payload));
    say_all(stage, sequence, &payloads);
}

/// Sends the client several packets, with ids from this one on.
pub fn say_all(stage: &mut impl Stage, sequence: u8, payloads: &Payloads) {
    let client = stage.client();
    let mut packets = Vec::with_capacity(payloads.bytes() + 4 * payloads.len());
    let mut next = client.transport.frame_sequence().unwrap_or(sequence);
    for payload in payloads.iter() {
        next = put_packets(&mut packets, next, payload);
    }
    client.append(&packets);
}

/// Nobody is there to ask, and the script has not answered.
pub fn lacks_server(sequence: u8) -> CutOff {
    let error = errors::script_without_backend();
    tracing::error!("{error}");
    let failure = Failure::saying(FailureKind::ScriptRefused, error);
    CutOff::new(failure, Some(sequence))
}
