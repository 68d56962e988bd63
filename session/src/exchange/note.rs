//! Notes the counts and flags of a reply at the end of each of its payloads.

use wire::reply::{EOF, OK, OkPacket, eof_status};
use wire::{Malformed, StatusFlags};

use super::{MIN_OK_BYTES, Reply};
use crate::reply::{Outcome, ReplyStep};

impl Reply {
    /// Notes what an OK, EOF, ERR or row says; true for an OK that carries session state changes.
    pub(super) fn note(&mut self, verdict: &ReplyStep, payload: &[u8]) -> Result<bool, Malformed> {
        if let ReplyStep::End(Outcome::Err(number), _) = verdict {
            let state = payload.get(3..).and_then(|rest| rest.strip_prefix(b"#"));
            let state = state.and_then(|state| state.first_chunk().copied());
            self.tally.error = state.map(|state| (*number, state));
            let text = payload.get(3..).unwrap_or_default();
            let text = text
                .strip_prefix(b"#")
                .and_then(|it| it.get(5..))
                .unwrap_or(text);
            self.message = Some(text.into());
        }
        let has_flags = matches!(
            verdict,
            ReplyStep::ResultEnd(_) | ReplyStep::End(Outcome::Ok, Some(_))
        );
        if !has_flags {
            return Ok(false);
        }
        let is_rows_end = payload.first() == Some(&EOF);
        self.tally.had_rows = is_rows_end;
        if payload == [EOF] {
            // An EOF from before protocol 4.1 has no count and no flags.
            self.tally.warnings = 0;
            return Ok(false);
        }
        if payload.first() != Some(&OK) && (!is_rows_end || payload.len() < MIN_OK_BYTES) {
            let warnings = payload
                .get(1..3)
                .map_or(0, |it| u16::from(it[0]) | u16::from(it[1]) << 8);
            let status = eof_status(payload)?;
            self.tally.warnings = warnings;
            self.tally.has_warned |= warnings > 0;
            self.tally.status = Some(status);
            self.tally.has_unsent_changes |= status.contains(StatusFlags::SESSION_STATE_CHANGED);
            return Ok(false);
        }
        // The reply's verdict has refused it already if it is too short for what was agreed on.
        let ok = OkPacket::decode(payload).or_else(|_| OkPacket::decode_40(payload))?;
        if !is_rows_end {
            self.tally.affected_rows = self.tally.affected_rows.saturating_add(ok.affected_rows);
        }
        self.tally.ok = ok;
        self.tally.warnings = ok.warnings;
        self.tally.has_warned |= ok.warnings > 0;
        self.tally.status = Some(ok.status);
        Ok(ok.status.contains(StatusFlags::SESSION_STATE_CHANGED))
    }
}
