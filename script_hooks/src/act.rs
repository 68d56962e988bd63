//! Carries out what a script decides about a client's command, in sessions of either kind.

use std::borrow::Cow;

use script::{Decision, Hook};
use wire::{Command, errors};

use crate::injected::Queue;
use crate::stage::{Stage, asks_for_file, has_reply, send_all, send_packet, swallow_file};
use crate::waiting::{Settled, interrupted, settle};
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::session_end::SessionEnd;
use relay::outcome::{After, SessionError};
use script_host::bridge::Bridge;

/// Asks the script what is to be done with a command, and does it.
pub async fn act(stage: &mut impl Stage, incoming: Incoming) -> Result<After, SessionError> {
    if incoming.command == Command::CHANGE_USER && is_broken(stage.server_version()) {
        let payload = errors::change_user_broken().payload();
        send_packet(stage, incoming.sequence, &payload);
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
            send_packet(stage, incoming.sequence, &interrupted());
            return Ok(After::Next);
        }
        // Later commands may rely on this command.
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
        send_packet(stage, incoming.sequence, &errors::cursor_rows().payload());
        return Ok(After::Next);
    }
    stage.rewrite_rows(rows);
    decided(stage, decision, incoming, own).await
}

/// Does what the script has decided about a command. `shown`: the command as the script has seen it, if that differs
/// and commands are queued.
async fn decided(
    stage: &mut impl Stage,
    decision: Decision,
    incoming: Incoming,
    shown: Option<Vec<u8>>,
) -> Result<After, SessionError> {
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

/// The script has answered, and the command is not sent.
async fn send_result(
    stage: &mut impl Stage,
    incoming: Incoming,
    queued: usize,
) -> Result<After, SessionError> {
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
        // The client does not wait for an answer; the connection may stay in a pool.
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

/// The error for a command that is not executed, and whose client does not wait for a reply: later
/// commands may rely on that command.
fn unseen(incoming: &Incoming) -> SessionError {
    let failure = Failure::saying(FailureKind::ScriptFailed, errors::hook_ended());
    SessionError::new(failure, Some(incoming.sequence))
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

/// After the hook: follows what the command does to prepared statements.
fn follow_statements(stage: &mut impl Stage, command: Command, payload: &[u8]) {
    match command {
        Command::STMT_EXECUTE => stage.script().has_followed(payload),
        Command::RESET_CONNECTION | Command::CHANGE_USER => stage.script().forget_prepared(),
        _ => {}
    }
}

/// Sends what the script has put into `proxy.response`. Returns whether that asks the client for a file.
fn answer(stage: &mut impl Stage, incoming: &Incoming) -> bool {
    let sequence = incoming.sequence;
    let Some(payloads) = stage.script().response() else {
        send_packet(stage, sequence, &errors::response_unusable().payload());
        return false;
    };
    let asks_for_file = asks_for_file(incoming.command, &payloads);
    let bridge = Bridge::new(stage.capabilities());
    send_all(
        stage,
        sequence,
        &bridge.for_client(incoming.command, payloads),
    );
    asks_for_file
}
