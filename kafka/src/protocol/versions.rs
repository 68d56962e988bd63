//! ApiVersions: the requests that a broker supports. It is the first request of a connection.

use super::{AnswerError, Api, Input};

/// In this version the request has no body.
pub const API: Api = Api {
    name: "ApiVersions",
    key: 18,
    min: 0,
    max: 0,
};

/// How many entries of an answer are read. A broker has fewer; further ones are ignored.
const ENTRIES_MAX: usize = 1024;

/// The requests that a broker supports.
#[derive(Debug, Default)]
pub struct Versions(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    key: i16,
    min: i16,
    max: i16,
}

impl Versions {
    /// Returns the newest version of a request that both sides support; none if there is no common version.
    pub fn newest(&self, api: Api) -> Option<i16> {
        let entry = self.0.iter().find(|it| it.key == api.key)?;
        let newest = entry.max.min(api.max);
        (newest >= entry.min.max(api.min)).then_some(newest)
    }
}

/// Decodes an answer: the error code, and the requests that the broker supports.
///
/// # Errors
/// The bytes are not a valid answer.
pub fn answer(bytes: &[u8]) -> Result<(i16, Versions), AnswerError> {
    let mut input = Input(bytes);
    let code = input.i16("error code")?;
    let mut entries = Vec::new();
    input.each("versions", |input| {
        let entry = Entry {
            key: input.i16("request")?,
            min: input.i16("oldest version")?,
            max: input.i16("newest version")?,
        };
        if entries.len() < ENTRIES_MAX {
            entries.push(entry);
        }
        Ok(())
    })?;
    Ok((code, Versions(entries)))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn answer() -> Vec<u8> {
        let numbers = [0_i16, 0, 2, 18, 0, 4, 0, 5, 7];
        numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
    }

    #[test]
    fn the_newest_version_that_both_sides_know_is_used() {
        let (code, versions) = super::answer(&answer()).unwrap();
        assert_eq!(code, 0);
        let api = |key, min, max| Api {
            name: "",
            key,
            min,
            max,
        };
        assert_eq!(versions.newest(api(18, 0, 0)), Some(0));
        assert_eq!(versions.newest(api(0, 3, 8)), Some(7));
        assert_eq!(versions.newest(api(0, 3, 6)), Some(6));
        assert_eq!(versions.newest(api(0, 3, 4)), None);
        assert_eq!(versions.newest(api(0, 8, 9)), None);
        assert_eq!(versions.newest(api(3, 0, 9)), None);
    }
}
