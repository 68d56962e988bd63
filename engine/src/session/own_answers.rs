//! Replies that the proxy itself sends to a client.

use wire::HEADER_BYTES;
use wire::errors::ProxyError;
use wire::reply::{ERR, OK};
use wire::write::put_packets;

use super::PooledSession;
use command::text_table::TextTable;
use link::failure::Failure;

impl PooledSession {
    /// Queues a payload of the proxy for the client.
    pub(crate) fn reply(&mut self, sequence: u8, payload: &[u8]) {
        if payload.first() == Some(&ERR) {
            self.note_failed(payload, None);
        }
        let sequence = self.client.next_sequence(sequence);
        let mut packets = Vec::with_capacity(payload.len() + HEADER_BYTES);
        put_packets(&mut packets, sequence, payload);
        self.reply_packets(&packets);
    }

    /// Whether the session's client may ask about the proxy.
    pub(crate) fn may_ask(&self) -> bool {
        let account = self.identity.account().explains;
        account.unwrap_or(self.settings.config.accounts.explain)
    }

    /// Sends a table of the proxy to the client.
    pub(crate) fn reply_table(&mut self, sequence: u8, answer: &TextTable) {
        let sequence = self.client.next_sequence(sequence);
        let packets = answer.packets(sequence, self.client.capabilities(), self.client.status());
        if let Some(subject) = &mut self.command.subject {
            subject.answer.rows += answer.row_count();
        }
        self.reply_packets(&packets);
    }

    /// Queues packets with their headers for the client.
    pub(crate) fn reply_packets(&mut self, packets: &[u8]) {
        if let Some(subject) = &mut self.command.subject {
            subject.answer.bytes += packets.len() as u64;
        }
        self.client.leg_mut().append(packets);
    }

    pub(crate) fn reply_ok(&mut self, sequence: u8) {
        let [low, high] = self.client.status().0.to_le_bytes();
        let [few, many] = self.standing_warnings().unwrap_or_default().to_le_bytes();
        self.reply(sequence, &[OK, 0, 0, low, high, few, many]);
    }

    pub(crate) fn reply_error(&mut self, sequence: u8, error: &ProxyError) {
        self.reply(sequence, &error.payload());
    }

    /// Reports a failure that ends a command, but not the session.
    pub(crate) fn reply_failure(&mut self, sequence: u8, failure: &Failure) {
        if let Some(payload) = failure.err_payload(true) {
            tracing::info!(
                cause = failure.cause,
                kind = failure.kind.verdict().label,
                user = %self.identity.account().id(),
                "a command failed"
            );
            self.reply(sequence, &payload);
        }
    }

    /// Sends packets that were read elsewhere, with ids that follow `sequence`. Returns the id that follows.
    pub(crate) fn reply_renumbered(&mut self, sequence: u8, mut packets: Vec<u8>) -> u8 {
        let mut next = self.client.next_sequence(sequence);
        let mut at = 0;
        while let Some(header) = packets.get(at..at + HEADER_BYTES) {
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            packets[at + HEADER_BYTES - 1] = next;
            next = next.wrapping_add(1);
            at += HEADER_BYTES + length;
        }
        self.reply_packets(&packets);
        next
    }
}
