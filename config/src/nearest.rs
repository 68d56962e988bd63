//! "Did you mean": the known name that is nearest to a mistyped name.

/// The candidate nearest to `word`, if it is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near_enough = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= near_enough)
        .map(|(_, candidate)| candidate)
}

/// The number of edits between two names. A different order of the words (`max_sessions`, `sessions_max`) is one edit.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (plain(one), plain(other));
    edits(&one, &other).min(1 + edits(&words_sorted(&one), &words_sorted(&other)))
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

fn words_sorted(name: &str) -> String {
    let mut words: Vec<_> = name.split('_').collect();
    words.sort_unstable();
    words.join("_")
}

/// Levenshtein's distance.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, &candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(character != candidate);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// The hint that a name is mistyped.
pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean \"{name}\"?")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 4] = ["sessions_max", "timeout_login", "timeout_idle", "workers"];

    #[test]
    fn a_typing_error_gets_the_nearest_name_as_suggestion() {
        assert_eq!(nearest("sesions_max", NAMES), Some("sessions_max"));
        assert_eq!(nearest("timeout-login", NAMES), Some("timeout_login"));
        assert_eq!(nearest("worker", NAMES), Some("workers"));
    }

    #[test]
    fn words_in_another_order_are_understood() {
        assert_eq!(nearest("max_sessions", NAMES), Some("sessions_max"));
        assert_eq!(nearest("login_timeout", NAMES), Some("timeout_login"));
    }

    #[test]
    fn nothing_is_suggested_for_a_word_like_none() {
        assert_eq!(nearest("colour", NAMES), None);
        assert_eq!(nearest("x", []), None);
    }
}
