//! An entry of `rule.digest`, or of `profiling.digest`.

use sql::{Analysis, Digest, Flags};

/// An entry of `rule.digest`.
pub(crate) enum DigestEntry {
    Hash(u64),
    Text(Digest),
}

/// Reads a hash, or any statement that has the wanted digest.
pub(crate) fn read_digest(entry: &str) -> Result<DigestEntry, String> {
    let entry = entry.trim();
    if let Some(digits) = entry
        .strip_prefix("0x")
        .or_else(|| entry.strip_prefix("0X"))
    {
        let is_hash =
            matches!(digits.len(), 1..=16) && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let hash = is_hash
            .then(|| u64::from_str_radix(digits, 16).ok())
            .flatten();
        let told = || format!("\"{entry}\" is no hash: \"0x\" and 16 hexadecimal digits");
        return hash.map(DigestEntry::Hash).ok_or_else(told);
    }
    let mut analysis = Analysis::default();
    analysis.read(entry.as_bytes(), Flags::default());
    match analysis.digest.text().is_empty() {
        true => Err("has an entry that is no statement".to_owned()),
        false => Ok(DigestEntry::Text(analysis.digest)),
    }
}
