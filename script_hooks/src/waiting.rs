//! A hook that waits: the proxy fulfils its wish and resumes it with the outcome, until it has
//! decided.

use script::{Answer, Decision, Parameters, ScriptQuery, Wish, WishOutcome};
use sql::{StatementKind, Uses};
use wire::query::Query;
use wire::{Capabilities, Command, errors};

use crate::packets::{incoming_of, payloads_of, reply_facts};
use crate::stage::Stage;
use link::reply_observer::{ObservedReply, Reports, Towards};
use registry::session_control::HookWait;
use relay::outcome::{After, SessionError};
use script_host::bridge::Bridge;

/// How a hook has ended.
pub enum Settled {
    /// The hook has decided.
    Decided(Decision),
    /// The session has ended before the hook could decide.
    Over(After),
    /// The client's command was killed while the hook waited: it has no result.
    Killed,
}

/// The event that has ended the wait of a hook.
enum WaitEnd {
    Given(WishOutcome),
    /// The session has ended.
    Over(After),
    /// The client's command has to end.
    Killed,
}

/// The error number that a script gets if there is no reply.
const UNKNOWN: u16 = 1105;

/// Does what a hook waits for; `sequence` is the id that the client's reply begins with.
pub async fn settle(
    stage: &mut impl Stage,
    mut decision: Decision,
    sequence: u8,
) -> Result<Settled, SessionError> {
    loop {
        stage.follow_moves().await;
        if decision != Decision::Waits {
            return Ok(Settled::Decided(decision));
        }
        let wish = stage.script().take_wish();
        stage.note_wait(match &wish {
            Some(Wish::Query(ScriptQuery { hint: None, .. })) => HookWait::Reply,
            _ => HookWait::Aside,
        });
        let came = fulfil(stage, wish, sequence).await?;
        let goes_on = stage.note_wait_over();
        decision = match came {
            WaitEnd::Over(after) => return Ok(Settled::Over(after)),
            WaitEnd::Given(given) if goes_on => stage.script().resume(given),
            WaitEnd::Given(_) | WaitEnd::Killed => {
                stage.script().give_up();
                return Ok(Settled::Killed);
            }
        };
    }
}

/// The ERR of a command whose hook was killed.
pub fn interrupted() -> Vec<u8> {
    errors::interrupted().payload()
}

async fn fulfil(
    stage: &mut impl Stage,
    wish: Option<Wish>,
    sequence: u8,
) -> Result<WaitEnd, SessionError> {
    Ok(match wish {
        Some(Wish::Sleep(time)) => match stage.sleep(time, sequence).await? {
            Some(()) => WaitEnd::Given(WishOutcome::Time),
            None => WaitEnd::Killed,
        },
        Some(Wish::Query(script_query)) if script_query.hint.is_none() => {
            match ask(stage, &script_query, sequence).await? {
                Ok(given) => WaitEnd::Given(given),
                Err(after) => WaitEnd::Over(after),
            }
        }
        Some(Wish::Query(script_query)) => match stage.ask_apart(script_query, sequence).await? {
            Some(Ok(heard)) => WaitEnd::Given(given(heard, stage.capabilities())),
            Some(Err(refusal)) => WaitEnd::Given(refused(&refusal)),
            None => WaitEnd::Killed,
        },
        None => WaitEnd::Given(refused("a hook cannot wait for this")),
    })
}

/// Runs a statement in the session itself. `Err`: the session ends.
async fn ask(
    stage: &mut impl Stage,
    script_query: &ScriptQuery,
    sequence: u8,
) -> Result<Result<WishOutcome, After>, SessionError> {
    // The client sends a file only for a statement of its own.
    let facts = sql::facts(&script_query.text, sql::Flags::default());
    if facts.kind == StatementKind::Load || facts.uses.has(Uses::CLIENT_FILE) {
        return Ok(Ok(refused("a script cannot run LOAD DATA")));
    }
    if !stage.has_server() {
        return Ok(Ok(refused("the session has no backend")));
    }
    let towards = Towards::Script {
        sequence,
        bytes_max: stage.result_bytes_max(),
        reports: Reports::Stay,
    };
    let capabilities = stage.capabilities();
    if let Some(parameters) = &script_query.parameters {
        return ask_bound(stage, &script_query.text, parameters, towards).await;
    }
    let incoming = incoming_of(Command::QUERY, &query(&script_query.text, capabilities));
    stage.bound_next();
    let (heard, after) = stage.ask(incoming, towards).await?;
    Ok(match after {
        After::Next => Ok(given((Command::QUERY, heard), capabilities)),
        after => Err(after),
    })
}

/// Does the same with values that the server gets apart from the text, so that none can be taken for a part of it.
async fn ask_bound(
    stage: &mut impl Stage,
    text: &[u8],
    parameters: &Parameters,
    towards: Towards,
) -> Result<Result<WishOutcome, After>, SessionError> {
    let capabilities = stage.capabilities();
    let payload = command(Command::STMT_PREPARE, text);
    stage.bound_next();
    let asked = stage.ask(incoming_of(Command::STMT_PREPARE, &payload), towards);
    let (heard, after) = asked.await?;
    if !matches!(after, After::Next) {
        return Ok(Err(after));
    }
    let Some((id, count)) = heard.prepared else {
        return Ok(Ok(given((Command::STMT_PREPARE, heard), capabilities)));
    };
    let came = match miscounted(parameters, count) {
        Some(refusal) => refused(&refusal),
        None => {
            let payload = execution(parameters, id, capabilities);
            stage.bound_next();
            let asked = stage.ask(incoming_of(Command::STMT_EXECUTE, &payload), towards);
            match asked.await? {
                (heard, After::Next) => given((Command::STMT_EXECUTE, heard), capabilities),
                (_, after) => return Ok(Err(after)),
            }
        }
    };
    let payload = command(Command::STMT_CLOSE, &id.to_le_bytes());
    let closing = incoming_of(Command::STMT_CLOSE, &payload);
    match stage.ask(closing, Towards::Nobody).await?.1 {
        After::Next => Ok(Ok(came)),
        after => Ok(Err(after)),
    }
}

/// Returns why a statement with so many placeholders cannot be executed with these parameters.
pub fn miscounted(parameters: &Parameters, placeholders: u16) -> Option<String> {
    let count = parameters.count();
    let text = format!("the statement has {placeholders} placeholders, not {count}");
    (count != placeholders).then_some(text)
}

/// Returns the payload of a COM_STMT_EXECUTE.
pub fn execution(parameters: &Parameters, id: u32, capabilities: Capabilities) -> Vec<u8> {
    let payload = parameters.execute(id);
    Bridge::new(capabilities).sent(payload, |_| Some(parameters.count()))
}

/// A command's payload.
pub fn command(command: Command, argument: &[u8]) -> Vec<u8> {
    [&[command.0], argument].concat()
}

/// A COM_QUERY's payload.
pub fn query(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::with_capacity(text.len() + 3);
    let attributes = b"".as_slice();
    Query { attributes, text }.encode(capabilities, &mut payload);
    payload
}

/// Turns a reply that was kept, and its command, into the outcome of a wish.
fn given(
    (command, mut heard): (Command, ObservedReply),
    capabilities: Capabilities,
) -> WishOutcome {
    if heard.is_cut {
        return refused("the result is longer than script.result_bytes_max");
    }
    let kept = std::mem::take(&mut heard.kept);
    let payloads = Bridge::new(capabilities).read(command, payloads_of(&kept));
    let answer = match command {
        Command::STMT_EXECUTE => Answer::of_execution(payloads),
        _ => Answer::new(payloads),
    };
    let facts = reply_facts(command, &heard, Some(&answer));
    WishOutcome::Reply(Box::new(facts), answer)
}

fn refused(why: &str) -> WishOutcome {
    WishOutcome::Refusal(why.to_owned(), UNKNOWN)
}
