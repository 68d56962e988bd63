//! Reads the fields of a broker's answer.

/// The reason why an answer is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The answer ends too early.
    #[error("the broker's answer ends before its {0}")]
    Truncated(&'static str),
    /// A length is invalid.
    #[error("the broker's answer has an impossible length of its {0}")]
    Length(&'static str),
    /// A text is not UTF-8.
    #[error("the broker's answer has a {0} that is no UTF-8")]
    Text(&'static str),
}

/// The rest of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], AnswerError> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(AnswerError::Truncated(what))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], AnswerError> {
        let (bytes, rest) = self
            .0
            .split_first_chunk()
            .ok_or(AnswerError::Truncated(what))?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub fn i16(&mut self, what: &'static str) -> Result<i16, AnswerError> {
        Ok(i16::from_be_bytes(self.array(what)?))
    }

    pub fn i32(&mut self, what: &'static str) -> Result<i32, AnswerError> {
        Ok(i32::from_be_bytes(self.array(what)?))
    }

    pub fn i64(&mut self, what: &'static str) -> Result<i64, AnswerError> {
        Ok(i64::from_be_bytes(self.array(what)?))
    }

    pub fn text(&mut self, what: &'static str) -> Result<&'a str, AnswerError> {
        self.optional_text(what)?.ok_or(AnswerError::Length(what))
    }

    pub fn optional_text(&mut self, what: &'static str) -> Result<Option<&'a str>, AnswerError> {
        let length = self.i16(what)?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| AnswerError::Length(what))?;
        let text = std::str::from_utf8(self.bytes(length, what)?);
        text.map(Some).map_err(|_| AnswerError::Text(what))
    }

    /// Reads each item of a list. Allocates nothing for the stated number of items, because the number may be wrong.
    pub fn each(
        &mut self,
        what: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<(), AnswerError>,
    ) -> Result<(), AnswerError> {
        let count = self.i32(what)?;
        if count < 0 {
            return Err(AnswerError::Length(what));
        }
        for _ in 0..count {
            item(self)?;
        }
        Ok(())
    }
}
