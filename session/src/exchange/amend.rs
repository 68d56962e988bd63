//! Rewrites the end of a reply.

use wire::StatusFlags;
use wire::reply::{EOF, eof_status};

use super::{MIN_OK_BYTES, Reply};
use crate::reply::{Outcome, ReplyState, ReplyStep};

impl Reply {
    /// Rewrites the flags and the count of warnings at the end of the reply.
    pub(super) fn amend(&self, verdict: &ReplyStep, payload: &mut [u8]) {
        let status = match verdict {
            ReplyStep::ResultEnd(status) | ReplyStep::End(Outcome::Ok, Some(status)) => *status,
            // The EOF behind the definitions has the flags, too.
            ReplyStep::Continue(ReplyState::Rows)
                if matches!(self.state, ReplyState::DefinitionsEnd { .. }) =>
            {
                eof_status(payload).unwrap_or_default()
            }
            _ => return,
        };
        let is_short = payload.first() == Some(&EOF) && payload.len() < MIN_OK_BYTES;
        let hides = is_short && self.amendment.hides_changes;
        let status = match hides {
            true => StatusFlags(status.0 & !StatusFlags::SESSION_STATE_CHANGED.0),
            false => status,
        };
        // The flags of the packet itself: behind OUT parameters more follows, and MySQL does not say so.
        if hides && let (Ok(own), Some(flags)) = (eof_status(payload), payload.get_mut(3..5)) {
            let own = own.0 & !StatusFlags::SESSION_STATE_CHANGED.0;
            flags.copy_from_slice(&own.to_le_bytes());
        }
        if status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
            return;
        }
        let (flags_at, warnings_at) = match is_short {
            true => (3, 1),
            false => match wire::reply::ok_flags_at(payload) {
                Some(at) => (at, at + 2),
                None => return,
            },
        };
        if self.amendment.has_more
            && let Some(flags) = payload.get_mut(flags_at..flags_at + 2)
        {
            let more = StatusFlags(status.0 | StatusFlags::MORE_RESULTS_EXISTS.0);
            flags.copy_from_slice(&more.0.to_le_bytes());
        }
        if let (Some(count), Some(warnings)) = (
            self.amendment.warnings,
            payload.get_mut(warnings_at..warnings_at + 2),
        ) {
            warnings.copy_from_slice(&count.to_le_bytes());
        }
    }
}
