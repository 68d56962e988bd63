//! A list of payloads, without headers: a script's answer, or a backend's reply.

/// Payloads in one buffer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payloads {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Payloads {
    /// Appends the payload that `write` makes.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The number of payloads.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no payload.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The payload at an index, counted from 0.
    pub fn at(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let begin = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(begin..end)
    }

    /// All payloads, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// The bytes of all payloads together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
