//! Payloads in a row, without headers: what a script answers, what a backend has answered.

/// One buffer for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payloads {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Payloads {
    /// Appends what `write` puts behind the others.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them, counted from 0.
    pub fn at(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let begin = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(begin..end)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
