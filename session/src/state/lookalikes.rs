//! Names of user variables that differ, but that a server may take for equal.
//!
//! Both families compare names by utf8mb3_general_ci, which gives each character one weight. MariaDB also
//! finds them by a hash, and so not always. `WEIGHT_STRING()` shows the weights.

/// Whether a server may take two different names in UTF-8 for one.
pub(super) fn are_lookalikes(one: &[u8], other: &[u8]) -> bool {
    if one == other || one.is_ascii() && other.is_ascii() {
        return false;
    }
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    one.chars().count() == other.chars().count()
        && one
            .chars()
            .zip(other.chars())
            .all(|(a, b)| may_be_equal(a, b))
}

fn may_be_equal(one: char, other: char) -> bool {
    match (weight(one), weight(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other || !is_itself(one) && !is_itself(other),
    }
}

/// The weights from U+00C0 on.
const LATIN: &str = "AAAAAAÆCEEEEIIIIÐNOOOOO×ØUUUUYÞSAAAAAAÆCEEEEIIIIÐNOOOOO÷ØUUUUYÞY";

/// A character's weight, as far as it is known here.
fn weight(letter: char) -> Option<char> {
    let number = u32::from(letter);
    match letter {
        '\0'..='\u{7f}' => Some(letter.to_ascii_uppercase()),
        'µ' => None,
        '\u{80}'..='\u{bf}' => Some(letter),
        '\u{c0}'..='\u{ff}' => LATIN.chars().nth(number as usize - 0xc0),
        // The Russian alphabet, capitals first.
        '\u{410}'..='\u{42f}' => Some(letter),
        '\u{430}'..='\u{44f}' => char::from_u32(number - 32),
        _ => None,
    }
}

/// Whether a character's weight is the character itself, as it is outside of a few pages of the table.
fn is_itself(letter: char) -> bool {
    let page = u32::from(letter) >> 8;
    !matches!(page, 0..=5 | 0x1e | 0x1f | 0x21 | 0x24 | 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_server_may_confuse_are_lookalikes() {
        let are = |one: &str, other: &str| are_lookalikes(one.as_bytes(), other.as_bytes());
        for (one, other) in [
            ("ü", "u"),
            ("\u{dc}ber", "uber"),
            ("stra\u{df}e", "strase"),
            ("имя", "ИМЯ"),
            ("ā", "a"),
            ("ά", "α"),
        ] {
            assert!(are(one, other) && are(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("ü", "ü"),
            ("ü", "o"),
            ("ü", "uu"),
            ("ø", "o"),
            ("имя", "год"),
            ("変数", "定数"),
            ("變", "a"),
            ("a", "A"),
        ] {
            assert!(!are(one, other) && !are(other, one), "{one} {other}");
        }
    }
}
