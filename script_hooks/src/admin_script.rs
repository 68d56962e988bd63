//! The script of the admin port, as MySQL Proxy had one. The script may answer an administrator; if it
//! does not, the port's own tables answer.

use std::path::PathBuf;
use std::sync::Arc;

use route::Topology;
use script::{Decision, Payloads, Scripts, SocketFacts, err_payload};
use wire::write::put_packets;
use wire::{Capabilities, Command, errors};

use crate::stage::has_reply;
use login::reception::AdminClient;
use script_host::bridge::Bridge;
use script_host::facts::{address_facts, facts_of};
use script_host::interpreters::OfAdmin;

/// What MySQL Proxy said if nothing was decided, and of a decision that it could not use.
const NO_RESULT: &str = "need a resultset + proxy.PROXY_SEND_RESULT";
const SOMETHING_ELSE: &str = "need a resultset + proxy.PROXY_SEND_RESULT ... got something else";

/// The script of one administrator's session.
pub struct AdminScript {
    scripts: Scripts,
    /// Whether the script is told the backends' sessions, because no session's script counts them.
    counts: bool,
    script: script::Session,
}

impl AdminScript {
    /// Returns what the script is told of an administrator.
    pub fn facts(admin_client: &AdminClient) -> SocketFacts {
        SocketFacts {
            source: address_facts(&admin_client.remote),
            user: Some(admin_client.user.clone().into_bytes()),
            schema: admin_client.schema.clone().unwrap_or_default().into_bytes(),
            ..SocketFacts::default()
        }
    }

    /// Runs the script's body.
    ///
    /// # Errors
    /// The script cannot be read, or raises an error.
    pub fn new(
        all: OfAdmin,
        file: PathBuf,
        facts: &SocketFacts,
        id: u32,
    ) -> Result<Self, script::SessionFault> {
        let scripts = all.scripts;
        let script = scripts.begin(&[file], u64::from(id), facts, false)?;
        Ok(Self {
            scripts,
            counts: all.is_alone,
            script,
        })
    }

    /// Returns the script's answer as packets; `None` if it does not answer.
    pub fn answer(
        &mut self,
        topology: &Arc<Topology>,
        connections_max: u32,
        payload: &[u8],
        capabilities: Capabilities,
    ) -> Option<Vec<u8>> {
        let command = Command(*payload.first()?);
        if !has_reply(command) {
            return None;
        }
        let (_, mut backends) = facts_of(topology, connections_max);
        if !self.counts {
            backends.iter_mut().for_each(|it| it.sessions = None);
        }
        self.scripts.take_up(&backends);
        let decision = self.script.read_query(payload);
        // There is no connection to move.
        self.script.take_moves();
        let answer = match decision {
            Decision::Nothing if self.script.queue_len() == 0 && !self.script.has_refused() => {
                return None;
            }
            Decision::SendResult => self.script.response(),
            _ => None,
        };
        if decision == Decision::Waits {
            self.script.give_up();
        }
        self.script.clear_queue();
        let failed = errors::response_unusable().text;
        let told = match answer {
            Some(answer) => Bridge::new(capabilities).for_client(command, answer),
            None => refusal(match decision {
                Decision::SendResult => &failed,
                Decision::Nothing | Decision::Waits => NO_RESULT,
                Decision::SendQuery | Decision::IgnoreResult | Decision::Unknown(_) => {
                    SOMETHING_ELSE
                }
            }),
        };
        let mut packets = Vec::with_capacity(told.bytes() + 4 * told.len());
        let mut next = 1;
        for payload in told.iter() {
            next = put_packets(&mut packets, next, payload);
        }
        Some(packets)
    }
}

fn refusal(text: &str) -> Payloads {
    let mut payloads = Payloads::default();
    payloads.put(|out| out.extend(err_payload(text)));
    payloads
}
