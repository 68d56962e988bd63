//! The partial changes that an update makes in a JSON document (`json_diff.h` of MySQL).

use wire::{Malformed, Reader};

use super::binary;

/// One partial change of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonDiff {
    /// `replace`, `insert` or `remove`.
    pub operation: &'static str,
    /// The place of the change, such as `$.a[3]`.
    pub path: String,
    /// The new value, as JSON text; none for `remove`.
    pub value: Option<String>,
}

/// Decodes the changes of one document.
pub(crate) fn read_changes(bytes: &[u8]) -> Result<Vec<JsonDiff>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut changes = Vec::new();
    while !reader.is_empty() {
        let operation = match reader.u8("operation of a JSON change")? {
            0 => "replace",
            1 => "insert",
            2 => "remove",
            _ => return Err(Malformed::Invalid("operation of a JSON change")),
        };
        let path = reader.lenenc_bytes("path of a JSON change")?;
        let value = if operation == "remove" {
            None
        } else {
            let value = reader.lenenc_bytes("value of a JSON change")?;
            Some(binary::text(value)?)
        };
        changes.push(JsonDiff {
            operation,
            path: String::from_utf8_lossy(path).into_owned(),
            value,
        });
    }
    Ok(changes)
}
