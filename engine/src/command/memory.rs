//! Commands for which there is no memory, because the process already keeps as many bytes as it may. The rest of the
//! command is read and discarded, so that the session can go on.

use link::client_command::{EndOf, Passage};
use link::memory::Purpose;
use wire::{Command, errors};

use crate::session::PooledSession;
use link::failure::{Failure, FailureKind};
use registry::memory_bound::{log_refused, memory_full};
use relay::outcome::SessionError;

/// The bytes of the statement's id: after the header of the packet, and the command.
const LONG_DATA_ID: std::ops::Range<usize> = 5..9;

impl PooledSession {
    /// Counts the bytes of a command that is not whole yet. False: the command is refused.
    pub(crate) fn has_memory_for_command(&self) -> bool {
        self.has_memory_for_bytes(0)
    }

    /// Counts these bytes, and this many further bytes of a command that is whole. False: the command is refused.
    pub(crate) fn has_memory_for_bytes(&self, bytes: usize) -> bool {
        let bytes = self.client.held_bytes() + bytes;
        self.control.memory.keep(Purpose::Command, bytes)
            || self.env.relay.sessions.makes_room(&self.control)
    }

    /// Notes that no bytes of a command are kept any more.
    pub(crate) fn keeps_no_command(&self) {
        let memory = &self.control.memory;
        memory.keep(Purpose::Command, self.client.inbox().held_bytes());
        memory.keep(Purpose::Reply, 0);
        memory.keep(
            Purpose::LongData,
            self.sql_state.statements().long_data_bytes(),
        );
    }

    /// Reads the rest of the next command, keeps none of it, and tells the client.
    pub(crate) async fn refuse_next_command(&mut self) -> Result<(), SessionError> {
        let command = self.client.inbox().peek();
        let statement = self.client.inbox().bytes_at(LONG_DATA_ID);
        // The first step of what follows frees the inbox, so its bytes are not counted.
        let packed = self.client.leg().transport.held_bytes();
        self.control.memory.keep(Purpose::Command, packed);
        let passage = self.swallow(Passage::of(EndOf::Payload, 0)).await;
        self.keeps_no_command();
        let passage = passage.map_err(|cut| {
            let failure = crate::failure::retry::waiting(&cut);
            SessionError::new(failure, None)
        })?;
        if !passage.is_over {
            let error = errors::payload_too_large(self.settings.config.limits.packet_bytes_max);
            let failure = Failure::saying(FailureKind::PayloadTooLarge, error);
            return Err(SessionError::new(failure, None));
        }
        match command {
            // This command has no reply, so its EXECUTE fails instead.
            Some(Command::STMT_SEND_LONG_DATA) => {
                let number = statement.and_then(|id| id.try_into().ok());
                self.refuse_long_data(number.map(u32::from_le_bytes));
                return Ok(());
            }
            // As at a server, a failed change of user ends the session.
            Some(Command::CHANGE_USER) => {
                return Err(SessionError::new(
                    memory_full("the command"),
                    Some(passage.sequence),
                ));
            }
            Some(Command::STMT_PREPARE) => self.sql_state.statements_mut().begin_prepare(),
            _ => {}
        }
        log_refused(&self.control);
        self.reply_error(passage.sequence, &errors::memory_full("the statement"));
        Ok(())
    }

    /// Counts the bytes of long data. If there is no memory for them, the EXECUTE fails.
    pub(crate) fn count_long_data(&mut self, number: u32) {
        let bytes = self.sql_state.statements().long_data_bytes();
        if !self.control.memory.keep(Purpose::LongData, bytes)
            && !self.env.relay.sessions.makes_room(&self.control)
        {
            self.refuse_long_data(Some(number));
        }
    }

    fn refuse_long_data(&mut self, number: Option<u32>) {
        let statements = self.sql_state.statements_mut();
        if let Some(id) = number.and_then(|number| statements.resolve(number)) {
            statements.refuse_long_data(id);
            let bytes = statements.long_data_bytes();
            self.control.memory.keep(Purpose::LongData, bytes);
        }
    }

    /// Whether there is room for the text of a statement that is to be prepared.
    pub(crate) fn has_memory_for_text(&self) -> bool {
        self.env.pool_env.store.has_memory_for_texts()
            || self.env.relay.sessions.makes_room(&self.control)
    }
}
