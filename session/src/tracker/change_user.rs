//! COM_CHANGE_USER, which passes only by a call of its own.

use wire::{Command, HEADER_BYTES, Header, StatusFlags};

use super::phase::{ChangeUserHold, ClientMode};
use super::{Event, Tracker, Violation};

impl Tracker {
    /// COM_CHANGE_USER passes by [`Tracker::pass_change_user`] only. The client's packets of its dialogue
    /// pass only after the server's first packet. So no command passes for something else.
    #[must_use]
    pub fn holding_change_user(self) -> Self {
        Self {
            holds_change_user: true,
            ..self
        }
    }

    /// Returns the step that is needed before these next bytes of the client pass.
    #[inline]
    pub fn held(&self, bytes: &[u8]) -> ChangeUserHold {
        if !self.holds_change_user || bytes.is_empty() || !self.is_at_command() {
            return ChangeUserHold::Nothing;
        }
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return ChangeUserHold::Partly;
        };
        let length = Header::decode(*header).length;
        match payload.first() {
            _ if length == 0 => ChangeUserHold::Nothing,
            None => ChangeUserHold::Partly,
            Some(first) if Command(*first) == Command::CHANGE_USER => {
                ChangeUserHold::ChangeUser(length)
            }
            Some(_) => ChangeUserHold::Nothing,
        }
    }

    /// Lets a held COM_CHANGE_USER pass; `bytes` are all of it.
    ///
    /// # Errors
    /// As [`Tracker::client_bytes`].
    pub fn pass_change_user(
        &mut self,
        bytes: &mut [u8],
        emit: impl FnMut(Event),
    ) -> Result<(), Violation> {
        self.holds_change_user = false;
        let passed = self.client_bytes(bytes, emit);
        self.holds_change_user = true;
        passed.map(drop)
    }

    /// Notes that a dialogue has ended that was relayed elsewhere ([`Command::CHANGE_USER`]).
    pub fn dialogue_ended(&mut self, status: Option<StatusFlags>) {
        self.status = status.unwrap_or(self.status);
        self.pending.pop_front();
        self.reply = None;
        self.backend_sequence = None;
        self.client.mode = ClientMode::Commands;
    }
}
