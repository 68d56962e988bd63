//! Converts the bytes of a column to text and back, by the column's collation.

use std::borrow::Cow;

use sql::Charset;

/// The characters of windows-1252 from 0x80 to 0x9f. The servers' latin1 fills its five gaps with control characters.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The collation `binary`, for bytes that are not text.
pub(crate) const BINARY: u16 = 63;

/// Decodes bytes in a collation's character set. None if the collation is `binary`, if the bytes are invalid, or if
/// this code does not know the character set and the bytes are not all ASCII.
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

/// Encodes a UTF-8 text in a collation's character set. Without a collation, and for `binary`, the bytes stay
/// unchanged.
///
/// # Errors
/// The character set lacks a character, or this code does not know the character set.
pub(crate) fn bytes(text: &[u8], collation: Option<u16>) -> Result<Cow<'_, [u8]>, &'static str> {
    let name = collation.map_or("binary", Charset::name_of_collation);
    if name == "binary" {
        return Ok(Cow::Borrowed(text));
    }
    let known = str::from_utf8(text).map_err(|_| "the value is not a text in UTF-8")?;
    let encoded = match name {
        "utf8mb4" => Some(Cow::Borrowed(text)),
        "utf8mb3" | "utf8" => (known.chars().all(|it| it.len_utf8() < 4)).then_some(text.into()),
        "latin1" => known.chars().map(to_latin1).collect(),
        "ucs2" => {
            utf16_bytes(known, u16::to_be_bytes).filter(|it| it.len() == 2 * known.chars().count())
        }
        "utf16" => utf16_bytes(known, u16::to_be_bytes),
        "utf16le" => utf16_bytes(known, u16::to_le_bytes),
        "utf32" => Some(
            known
                .chars()
                .flat_map(|it| u32::from(it).to_be_bytes())
                .collect(),
        ),
        _ if known.is_ascii() => Some(Cow::Borrowed(text)),
        _ => return Err("of the column's character set the proxy knows ASCII characters only"),
    };
    encoded.ok_or("the column's character set does not have a character of the value")
}

fn to_latin1(letter: char) -> Option<u8> {
    match u32::from(letter) {
        code @ (0..0x80 | 0xa0..0x100) => Some(code as u8),
        _ => {
            let index = LATIN1_HIGH.iter().position(|it| *it == letter);
            index.map(|it| 0x80 + it as u8)
        }
    }
}

fn utf16_bytes(text: &str, bytes: fn(u16) -> [u8; 2]) -> Option<Cow<'static, [u8]>> {
    Some(text.encode_utf16().flat_map(bytes).collect())
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
