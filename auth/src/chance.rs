//! The system's randomness, for challenges and for what strangers must not foresee.

use aws_lc_rs::rand;

/// The system has no randomness to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no randomness")]
pub struct NoRandomness;

/// 32 random bytes: a directory's secret, an exam's next challenge.
///
/// # Errors
/// When the system has none; so early after its start, or never.
pub fn random_bytes() -> Result<[u8; 32], NoRandomness> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_come_twice() {
        assert_ne!(random_bytes(), random_bytes());
    }
}
