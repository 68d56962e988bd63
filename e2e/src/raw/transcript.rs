//! The transcript: every packet as it came, to be compared with another conversation's.

use std::fmt;

/// What was sent and received, in order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Transcript(Vec<Entry>);

#[derive(Clone, PartialEq, Eq)]
enum Entry {
    Sent(Vec<u8>),
    Received { sequence: u8, body: Vec<u8> },
    Closed,
    Note(String),
}

impl Transcript {
    pub(super) fn sent(&mut self, payload: &[u8]) {
        self.0.push(Entry::Sent(payload.to_vec()));
    }

    pub(super) fn received(&mut self, sequence: u8, body: &[u8]) {
        let body = body.to_vec();
        self.0.push(Entry::Received { sequence, body });
    }

    /// Overwrites a part of the packet received last.
    pub(super) fn mask_last(&mut self, at: usize, bytes: &[u8]) {
        if let Some(Entry::Received { body, .. }) = self.0.last_mut() {
            body[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    pub(super) fn closed(&mut self) {
        self.0.push(Entry::Closed);
    }

    /// Adds something seen by other means.
    pub fn note(&mut self, text: impl Into<String>) {
        self.0.push(Entry::Note(text.into()));
    }

    /// Appends another conversation.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Panics at the first entry that differs from `self`'s in `proxied`.
    pub fn assert_same(&self, proxied: &Self, how: &str) {
        for (at, (direct, relayed)) in self.0.iter().zip(&proxied.0).enumerate() {
            assert!(
                direct == relayed,
                "{how}, entry {at}:\n directly: {direct}\n proxied:  {relayed}\n{}",
                Context(&self.0[at.saturating_sub(3)..at]),
            );
        }
        let (direct, relayed) = (self.0.len(), proxied.0.len());
        let rest = if direct > relayed {
            &self.0[relayed..]
        } else {
            &proxied.0[direct..]
        };
        assert!(
            direct == relayed,
            "{how}: {direct} entries directly, {relayed} through the proxy; only one has\n{}",
            Context(&rest[..rest.len().min(5)]),
        );
    }
}

struct Context<'a>(&'a [Entry]);

impl fmt::Display for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| writeln!(f, "  {entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(payload) => write!(f, "sent {}", Bytes(payload)),
            Self::Received { sequence, body } => write!(f, "received #{sequence} {}", Bytes(body)),
            Self::Closed => f.write_str("closed"),
            Self::Note(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.0.len().saturating_sub(10);
        Context(&self.0[from..]).fmt(f)
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(200)];
        write!(f, "{} bytes \"{}\"", self.0.len(), shown.escape_ascii())
    }
}
