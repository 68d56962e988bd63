//! A hook that waits: what it wishes is done, and it is resumed with what has come of it, until it has
//! decided.

use script::{Answer, Decision, Given, Wish};
use sql::{Kind, Uses};
use wire::query::Query;
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, ErrorCode};

use super::bridge::Bridge;
use super::heard::{Heard, Towards};
use super::injected::{incoming_of, payloads_of, reply_facts};
use super::stage::Stage;
use crate::pooled::session::{After, CutOff};
use crate::watch::HookWait;

/// How a hook has ended.
pub(crate) enum Settled {
    Decided(Decision),
    /// The session has, before the hook could.
    Over(After),
    /// The client's command was killed while it waited: nothing comes of it.
    Killed,
}

/// What has come of a wish.
enum Came {
    Given(Given),
    /// The session has ended.
    Over(After),
    /// The client's command is to.
    Killed,
}

/// What a script is told where a reply is none.
const UNKNOWN: u16 = 1105;

/// Does what a hook waits for; `sequence` is the id that the client's reply begins with.
pub(crate) async fn settle(
    stage: &mut impl Stage,
    mut decision: Decision,
    sequence: u8,
) -> Result<Settled, CutOff> {
    loop {
        stage.follow_moves().await;
        if decision != Decision::Waits {
            return Ok(Settled::Decided(decision));
        }
        let wish = stage.script().take_wish();
        stage.note_wait(match &wish {
            Some(Wish::Query(_, None)) => HookWait::Reply,
            _ => HookWait::Aside,
        });
        let came = fulfil(stage, wish, sequence).await?;
        let goes_on = stage.note_wait_over();
        decision = match came {
            Came::Over(after) => return Ok(Settled::Over(after)),
            Came::Given(given) if goes_on => stage.script().resume(given),
            Came::Given(_) | Came::Killed => {
                stage.script().give_up();
                return Ok(Settled::Killed);
            }
        };
    }
}

/// The ERR of a command whose hook was killed.
pub(crate) fn interrupted() -> Vec<u8> {
    let code = ErrorCode::QUERY_INTERRUPTED;
    let mut payload = Vec::new();
    ErrPacket {
        number: code.number,
        sqlstate: Some(code.sqlstate),
        text: b"Query execution was interrupted",
    }
    .encode(&mut payload);
    payload
}

async fn fulfil(stage: &mut impl Stage, wish: Option<Wish>, sequence: u8) -> Result<Came, CutOff> {
    let refused = |why: &str| Given::Refusal(why.to_owned(), UNKNOWN);
    Ok(match wish {
        Some(Wish::Sleep(time)) => match stage.sleep(time, sequence).await? {
            Some(()) => Came::Given(Given::Time),
            None => Came::Killed,
        },
        Some(Wish::Query(text, None)) => match ask(stage, &text, sequence).await? {
            Ok(given) => Came::Given(given),
            Err(after) => Came::Over(after),
        },
        Some(Wish::Query(text, Some(place))) => {
            match stage.ask_beside(&text, place, sequence).await? {
                Some(Ok(heard)) => Came::Given(given(heard, stage.capabilities())),
                Some(Err(refusal)) => Came::Given(refused(&refusal)),
                None => Came::Killed,
            }
        }
        None => Came::Given(refused("this cannot be waited for")),
    })
}

/// Runs a statement in the session itself. `Err`: the session ends with it.
async fn ask(
    stage: &mut impl Stage,
    text: &[u8],
    sequence: u8,
) -> Result<Result<Given, After>, CutOff> {
    // Its file is the client's to send, for a statement of its own.
    let facts = sql::facts(text, sql::Flags::default());
    if facts.kind == Kind::Load || facts.uses.has(Uses::CLIENT_FILE) {
        let refusal = "LOAD DATA cannot be asked".to_owned();
        return Ok(Ok(Given::Refusal(refusal, UNKNOWN)));
    }
    if !stage.has_server() {
        let refusal = "the session has no backend".to_owned();
        return Ok(Ok(Given::Refusal(refusal, UNKNOWN)));
    }
    let towards = Towards::Script {
        sequence,
        bytes_max: stage.result_bytes_max(),
    };
    let capabilities = stage.capabilities();
    let incoming = incoming_of(Command::QUERY, &query(text, capabilities));
    stage.bound_next();
    let (heard, after) = stage.ask(incoming, towards).await?;
    Ok(match after {
        After::Next => Ok(given(heard, capabilities)),
        after => Err(after),
    })
}

/// A COM_QUERY's payload.
fn query(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::with_capacity(text.len() + 3);
    let attributes = b"".as_slice();
    Query { attributes, text }.encode(capabilities, &mut payload);
    payload
}

/// The same as packets.
pub(crate) fn query_packets(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut packets = Vec::new();
    put_packets(&mut packets, 0, &query(text, capabilities));
    packets
}

/// A reply that was kept.
fn given(mut heard: Heard, capabilities: Capabilities) -> Given {
    if heard.is_cut {
        let refusal = "the result is longer than script.result_bytes_max";
        return Given::Refusal(refusal.to_owned(), UNKNOWN);
    }
    let kept = std::mem::take(&mut heard.kept);
    let answer = Answer::new(Bridge::new(capabilities).read(Command::QUERY, payloads_of(&kept)));
    let facts = reply_facts(Command::QUERY, &heard, Some(&answer));
    Given::Reply(Box::new(facts), answer)
}
