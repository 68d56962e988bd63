//! How numbers and texts stand in a table.

/// A whole number with separators; one decimal for small ones.
pub fn count(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first line, without what would end a cell.
pub fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace('|', "/")
}

/// With a capital at its beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
