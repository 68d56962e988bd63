//! Values as SQL that every connection reads in the same way: pure ASCII, whatever its character set,
//! `sql_mode` and collation are.

use std::rc::Rc;

/// Appends `name=value` for a system variable, with the value as the trackers report it.
///
/// Numbers are bare, because a numeric variable takes no string. Any other value is a hex literal, which variables take
/// as a string. Some variables are reported as empty if they are NULL, and take no empty string.
pub(super) fn assign(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    text.extend_from_slice(name);
    text.push(b'=');
    match value {
        b"" if is_nullable(name) => text.extend_from_slice(b"NULL"),
        b"" => text.extend_from_slice(b"''"),
        // MariaDB accepts the word that it reports only as a keyword.
        b"DEFAULT" if name == b"system_versioning_asof" => text.extend_from_slice(value),
        number if is_number(number) => text.extend_from_slice(number),
        other => hex(text, other),
    }
}

fn is_nullable(name: &[u8]) -> bool {
    const NULLABLE: [&str; 7] = [
        "character_set_results",
        "default_tmp_storage_engine",
        "enforce_storage_engine",
        "external_table_secondary_storage_engine",
        "external_table_storage_engine",
        "innodb_ft_user_stopword_table",
        "innodb_tmpdir",
    ];
    NULLABLE.iter().any(|of| of.as_bytes() == name)
}

/// Whether it is a decimal number: `-12`, `1.5`.
pub(super) fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut points = 0;
    let is_plain = digits.iter().all(|byte| {
        points += u32::from(*byte == b'.');
        byte.is_ascii_digit() || *byte == b'.'
    });
    let is_framed = digits.first().is_some_and(u8::is_ascii_digit)
        && digits.last().is_some_and(u8::is_ascii_digit);
    is_plain && is_framed && points <= 1
}

/// Appends bytes as `0x…`.
pub(super) fn hex(text: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.extend_from_slice(b"0x");
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// The bytes that hexadecimal digits stand for.
pub(super) fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

/// Returns a string in a character set with a collation. Returns none if no literal can express it: in a
/// statement's own character set the servers keep invalid bytes, with a warning, but they refuse them behind
/// a character set's name.
pub(super) fn string(bytes: &[u8], collation: &[u8]) -> Option<Rc<[u8]>> {
    let charset = charset_of(collation).filter(|charset| fits_declared_utf8(bytes, charset))?;
    let mut text = Vec::with_capacity(bytes.len() * 2 + collation.len() + 24);
    text.push(b'_');
    text.extend_from_slice(charset);
    match bytes {
        b"" => text.extend_from_slice(b"''"),
        _ => {
            text.push(b' ');
            hex(&mut text, bytes);
        }
    }
    if collation != b"binary" {
        text.extend_from_slice(b" COLLATE ");
        text.extend_from_slice(collation);
    }
    Some(Rc::from(text))
}

/// Whether UTF-8 can hold these bytes, if that is the character set. The old one has up to three bytes a
/// character.
fn fits_declared_utf8(bytes: &[u8], charset: &[u8]) -> bool {
    match charset {
        b"utf8mb4" => std::str::from_utf8(bytes).is_ok(),
        b"utf8" | b"utf8mb3" => {
            std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|it| it.len_utf8() < 4))
        }
        _ => true,
    }
}

/// The character set of a collation: in both families a collation's name begins with that of its character set.
pub(super) fn charset_of(collation: &[u8]) -> Option<&[u8]> {
    let is_name = |name: &[u8]| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        !name.is_empty() && name.iter().all(is_plain)
    };
    let charset = collation.split(|byte| *byte == b'_').next()?;
    // No literal is written in the character set of file names.
    let is_usable = is_name(charset) && is_name(collation) && charset != b"filename";
    is_usable.then_some(charset)
}
