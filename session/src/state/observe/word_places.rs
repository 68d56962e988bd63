//! Where a word stands in a text.

/// Returns where a word in capitals stands, in any case. The search looks for the word's letter at `rare`.
pub(super) fn places_of<'a>(
    text: &'a [u8],
    word: &'a [u8],
    rare: usize,
) -> impl Iterator<Item = usize> + 'a {
    let letter = word[rare];
    let found = memchr::memchr2_iter(letter, letter.to_ascii_lowercase(), text);
    let begins = found.filter_map(move |at| at.checked_sub(rare));
    begins.filter(move |at| {
        let here = text.get(*at..at + word.len());
        here.is_some_and(|here| here.eq_ignore_ascii_case(word))
    })
}
