//! The writes that a session's reads must see.

use route::Written;

/// The writes that must be seen, in words.
pub(crate) fn shown(written: &Written) -> String {
    match written {
        Written::Nothing => "nothing in particular".to_owned(),
        Written::UpTo(position) => position.to_string(),
        Written::Unknown => "a write whose position nobody knows".to_owned(),
    }
}
