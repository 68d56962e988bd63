//! A hook that waits: what it wishes is done, and it is resumed with what has come of it, until it has
//! decided.

use script::{Answer, Decision, Given, Wish};
use sql::Kind;
use wire::query::Query;
use wire::write::put_packets;
use wire::{Capabilities, Command};

use super::bridge::Bridge;
use super::heard::{Heard, Towards};
use super::injected::{incoming_of, payloads_of, reply_facts};
use super::stage::Stage;
use crate::pooled::session::{After, CutOff};

/// How a hook has ended.
pub(crate) enum Settled {
    Decided(Decision),
    /// The session has, before the hook could.
    Over(After),
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
        let given = match stage.script().take_wish() {
            Some(Wish::Sleep(time)) => {
                stage.sleep(time, sequence).await?;
                Given::Time
            }
            Some(Wish::Query(text, None)) => match ask(stage, &text, sequence).await? {
                Ok(given) => given,
                Err(after) => return Ok(Settled::Over(after)),
            },
            Some(Wish::Query(text, Some(place))) => {
                let heard = stage.ask_beside(&text, place, sequence).await?;
                match heard {
                    Ok(heard) => given(heard, stage.capabilities()),
                    Err(refusal) => Given::Refusal(refusal, UNKNOWN),
                }
            }
            None => Given::Refusal("this cannot be waited for".to_owned(), UNKNOWN),
        };
        decision = stage.script().resume(given);
    }
}

/// Runs a statement in the session itself. `Err`: the session ends with it.
async fn ask(
    stage: &mut impl Stage,
    text: &[u8],
    sequence: u8,
) -> Result<Result<Given, After>, CutOff> {
    // Its file is the client's to send, for a statement of its own.
    if let Kind::Load = sql::facts(text, sql::Flags::default()).kind {
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
