//! The transcript: every packet unchanged, for the comparison with another conversation.

use std::fmt;

/// The packets that were sent and received, in order.
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
    /// The transcript of a closed connection.
    pub fn of_closed() -> Self {
        Self(vec![Entry::Closed])
    }

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

    /// Whether the connection broke off during the conversation.
    pub fn is_closed(&self) -> bool {
        self.0.contains(&Entry::Closed)
    }

    /// Adds an observation that is not a packet.
    pub fn note(&mut self, text: impl Into<String>) {
        self.0.push(Entry::Note(text.into()));
    }

    /// Appends another conversation.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Describes the first entry that differs in `other`; none if all entries are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let length = self.0.len().max(other.0.len());
        let entry = |of: &Self, at| {
            let entry: Option<&Entry> = of.0.get(at);
            entry.map_or_else(|| "nothing".to_owned(), Entry::to_string)
        };
        (0..length)
            .find(|&at| self.0.get(at) != other.0.get(at))
            .map(|at| {
                format!(
                    "\n directly: {}\n proxied:  {}",
                    entry(self, at),
                    entry(other, at)
                )
            })
    }

    /// Without a difference that every pool makes. MariaDB declares a user variable that was never set as 16777216
    /// bytes wide, and one that another session on the connection has set as 16777215. MySQL declares the first as
    /// VARBINARY of 65532 bytes, and the second as MEDIUMBLOB.
    #[must_use]
    pub fn of_pool(&self) -> Self {
        self.map_bodies(|body| with_set_variable(body).unwrap_or_else(|| body.to_vec()))
    }

    /// Without the parts that do not affect values: the widths of columns, which of several similar types a column has,
    /// and the session state changes that an OK packet reports.
    #[must_use]
    pub fn of_values(&self) -> Self {
        self.map_bodies(|body| {
            without_shape(body)
                .or_else(|| without_changes(body))
                .unwrap_or_else(|| body.to_vec())
        })
    }

    fn map_bodies(&self, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let entry = |entry: &Entry| match entry {
            Entry::Received { sequence, body } => Entry::Received {
                sequence: *sequence,
                body: change(body),
            },
            other => other.clone(),
        };
        Self(self.0.iter().map(entry).collect())
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

/// A column's definition without its fixed part; none for other packets.
fn without_shape(body: &[u8]) -> Option<Vec<u8>> {
    Some(body.get(..names_end(body)?)?.to_vec())
}

/// Changes the column definition of a never set user variable into that of a variable that is NULL; none for other
/// packets.
fn with_set_variable(body: &[u8]) -> Option<Vec<u8>> {
    const NEVER_SET_MARIADB: u32 = 1 << 24;
    const NEVER_SET_MYSQL: u32 = (1 << 16) - 4;
    const SET: u32 = (1 << 24) - 1;
    const VAR_STRING: u8 = 0xfd;
    const MEDIUM_BLOB: u8 = 0xfa;
    // Behind the names: the length of the fixed part and the character set.
    let at = names_end(body)? + 3;
    let width = u32::from_le_bytes(*body.get(at..)?.first_chunk()?);
    let kind = *body.get(at + 4)?;
    let set_kind = match width {
        NEVER_SET_MARIADB => kind,
        NEVER_SET_MYSQL if kind == VAR_STRING => MEDIUM_BLOB,
        _ => return None,
    };
    let mut body = body.to_vec();
    body[at..at + 4].copy_from_slice(&SET.to_le_bytes());
    body[at + 4] = set_kind;
    Some(body)
}

/// The offset behind the names in a column definition; none for other packets.
fn names_end(body: &[u8]) -> Option<usize> {
    let rest = body.strip_prefix(b"\x03def")?;
    let at = body.len() - rest.len();
    (0..5).try_fold(at, |at, _| lenenc_string_end(body, at))
}

/// An OK packet without the session state changes and without their flag; none for other packets.
fn without_changes(body: &[u8]) -> Option<Vec<u8>> {
    const STATE_CHANGED: u8 = 0x40;
    if !matches!(body.first(), Some(0x00 | 0xFE)) {
        return None;
    }
    if let [0xFE, _, _, _, _] = body {
        let mut eof = body.to_vec();
        eof[4] &= !STATE_CHANGED;
        return Some(eof);
    }
    let status = lenenc_end(body, lenenc_end(body, 1)?)?;
    let mut known = body.get(..status + 4)?.to_vec();
    if known[status + 1] & STATE_CHANGED == 0 {
        return None;
    }
    known[status + 1] &= !STATE_CHANGED;
    let info_end = lenenc_string_end(body, status + 4)?;
    if info_end > status + 5 {
        known.extend_from_slice(body.get(status + 4..info_end)?);
    }
    Some(known)
}

/// The offset behind the length-encoded number that begins at `at`.
fn lenenc_end(body: &[u8], at: usize) -> Option<usize> {
    Some(match *body.get(at)? {
        0xFC => at + 3,
        0xFD => at + 4,
        0xFE => at + 9,
        _ => at + 1,
    })
}

/// The offset behind the length-encoded string that begins at `at`; none for long strings.
fn lenenc_string_end(body: &[u8], at: usize) -> Option<usize> {
    match *body.get(at)? {
        length @ 0..=0xFA => Some(at + 1 + usize::from(length)),
        0xFC => {
            let [low, high] = *body.get(at + 1..)?.first_chunk::<2>()?;
            Some(at + 3 + usize::from(u16::from_le_bytes([low, high])))
        }
        _ => None,
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
