//! Bytes of a column as text, by the column's collation.

use std::borrow::Cow;

use sql::Charset;

/// The characters of windows-1252 from 0x80 to 0x9f. The servers' latin1 fills its five gaps with control characters.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The collation of bytes that are no text.
pub(crate) const BINARY: u16 = 63;

/// The text that bytes are in a collation's character set; none if it is `binary`, if the bytes are no text of the
/// character set, or if the character set is not known here and the bytes are not all ASCII.
pub(crate) fn text(bytes: &[u8], collation: Option<u16>) -> Option<Cow<'_, str>> {
    let utf8 = || str::from_utf8(bytes).ok().map(Cow::Borrowed);
    let Some(collation) = collation else {
        return utf8();
    };
    match Charset::name_of_collation(collation) {
        "binary" => None,
        "utf8mb4" | "utf8mb3" | "utf8" => utf8(),
        "latin1" => Some(latin1(bytes)),
        "ucs2" | "utf16" => utf16(bytes, u16::from_be_bytes),
        "utf16le" => utf16(bytes, u16::from_le_bytes),
        "utf32" => utf32(bytes),
        _ => utf8().filter(|text| text.is_ascii()),
    }
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|byte| of_latin1(*byte)).collect()),
    }
}

fn of_latin1(byte: u8) -> char {
    let index = usize::from(byte).checked_sub(0x80);
    let high = index.and_then(|index| LATIN1_HIGH.get(index));
    high.copied().unwrap_or_else(|| char::from(byte))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Cow<'_, str>> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty()).map(Cow::Owned)
}

fn utf32(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let (units, rest) = bytes.as_chunks::<4>();
    let letters = units
        .iter()
        .map(|it| char::from_u32(u32::from_be_bytes(*it)));
    let text: Option<String> = letters.collect();
    text.filter(|_| rest.is_empty()).map(Cow::Owned)
}
