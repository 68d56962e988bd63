//! A row of a grant table, as a server answers it.

/// A row's values in the order of [`super::query`]'s columns; `None` is NULL.
pub type Row<'a> = &'a [Option<&'a [u8]>];

/// A row with an unexpected value in the named column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unexpected value in the grant table: {0}")]
pub struct MalformedRow(pub &'static str);

/// A row's values by column number.
pub(super) struct Values<'a>(pub(super) Row<'a>);

impl<'a> Values<'a> {
    pub(super) fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.0.get(column).copied().flatten()
    }

    /// The text of a column; NULL is the empty text.
    pub(super) fn text(&self, column: usize, name: &'static str) -> Result<&'a str, MalformedRow> {
        let bytes = self.bytes(column).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| MalformedRow(name))
    }

    /// A whole number, or NULL; a fraction is cut off (`UNIX_TIMESTAMP`).
    pub(super) fn number(
        &self,
        column: usize,
        name: &'static str,
    ) -> Result<Option<u64>, MalformedRow> {
        let Some(text) = self.bytes(column) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(text).map_err(|_| MalformedRow(name))?;
        let whole = text.split('.').next().unwrap_or_default();
        whole.parse().map(Some).map_err(|_| MalformedRow(name))
    }

    pub(super) fn is_yes(&self, column: usize) -> bool {
        self.bytes(column) == Some(b"Y")
    }
}

pub(super) fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
