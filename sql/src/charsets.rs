//! Names of character sets: after an underscore they introduce a string.

/// Both families' character sets.
#[rustfmt::skip] // one name a line would hide the page
const NAMES: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "filename", "gb18030", "gb2312", "gbk",
    "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5",
    "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le",
    "utf32", "utf8", "utf8mb3", "utf8mb4",
];

/// Whether a server knows a character set of this name.
pub(crate) fn is_charset(name: &[u8]) -> bool {
    NAMES
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}
