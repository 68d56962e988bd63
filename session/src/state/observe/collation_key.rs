//! The key under which the collation of a character set is remembered.

use crate::state::values::Values;

/// Returns everything that decides which collation comes with a character set.
pub(super) fn collation_key(values: &Values, charset: &[u8]) -> Box<[u8]> {
    let set = |name: &[u8]| values.variable(name).unwrap_or_default().to_vec();
    let parts = [
        charset.to_vec(),
        set(b"character_set_collations"),
        set(b"default_collation_for_utf8mb4"),
    ];
    parts.join(&0).into_boxed_slice()
}
