//! The kernel's limits for this process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many files (sockets included) the process may have open. `u64::MAX` stands for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenFiles {
    /// The limit in force.
    pub soft: u64,
    /// The highest limit that an unprivileged process may set.
    pub hard: u64,
}

/// Raises the limit on open files to `want`, or to the hard limit if that is lower and may not
/// be raised; never lowers it. Returns the limits in force afterwards: the caller compares them and warns.
///
/// # Errors
/// The kernel's, if it refuses even a limit that it should allow.
pub fn raise_open_files(want: u64) -> io::Result<OpenFiles> {
    let old = open_files();
    if old.soft >= want {
        return Ok(old);
    }
    if old.hard < want && set_open_files(want, want).is_ok() {
        return Ok(open_files());
    }
    set_open_files(want.min(old.hard), old.hard)?;
    Ok(open_files())
}

/// The current limit on open files.
pub fn open_files() -> OpenFiles {
    let limit = getrlimit(Resource::Nofile);
    OpenFiles {
        soft: limit.current.unwrap_or(u64::MAX),
        hard: limit.maximum.unwrap_or(u64::MAX),
    }
}

fn set_open_files(soft: u64, hard: u64) -> io::Result<()> {
    let finite = |files| (files != u64::MAX).then_some(files);
    let limit = Rlimit {
        current: finite(soft),
        maximum: finite(hard),
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_allowed_and_never_lowered() {
        let before = open_files();
        assert_eq!(raise_open_files(1).unwrap(), before);
        let after = raise_open_files(before.hard).unwrap();
        assert_eq!(after.soft, before.hard);
    }
}
