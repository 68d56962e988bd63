//! For tests: a payload cut at every byte.

use crate::Malformed;

/// `payload` begins with `items`, each a name and its length in bytes. If the payload is cut within an item,
/// `decode` must name that item. Returns the offset where the last item ends.
pub(crate) fn assert_named<'a, T>(
    payload: &'a [u8],
    items: &[(&'static str, usize)],
    decode: impl Fn(&'a [u8]) -> Result<T, Malformed>,
) -> usize {
    let mut start = 0;
    for (item, length) in items {
        for cut in start..start + length {
            assert_eq!(
                decode(&payload[..cut]).err(),
                Some(Malformed::Truncated(item)),
                "cut at {cut}"
            );
        }
        start += length;
    }
    start
}
