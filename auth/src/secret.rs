//! Secrets that prove an account: kept out of `Debug`, compared in constant time, wiped when dropped.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use zeroize::Zeroizing;

/// A password, as bytes in the character set of the client.
#[derive(Clone)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Makes a password. A copy that the caller keeps is not wiped.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The password itself, for code that must compute with it or send it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether the password is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }
}

impl Eq for Password {}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// `SHA1(password)`: all that mysql_native_password needs of a password, and as secret as the password.
///
/// A client's answer together with the stored hash reveals it. So a client that was examined by
/// mysql_native_password can be logged in to a backend without the password.
#[derive(Clone)]
pub struct NativeStage1(Zeroizing<[u8; 20]>);

impl NativeStage1 {
    pub(crate) fn new(bytes: [u8; 20]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The hash itself.
    pub fn expose(&self) -> &[u8; 20] {
        &self.0
    }
}

impl PartialEq for NativeStage1 {
    fn eq(&self, other: &Self) -> bool {
        is_same(&*self.0, &*other.0)
    }
}

impl Eq for NativeStage1 {}

impl fmt::Debug for NativeStage1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The credential that logs an account in to a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Sufficient for every plugin.
    Password(Password),
    /// Sufficient for mysql_native_password only.
    NativeStage1(NativeStage1),
}

/// Whether two secrets are the same, in a time that reveals only their lengths.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_credential_hides_its_secret() {
        let credentials = [
            Credential::Password(Password::new("secret")),
            Credential::NativeStage1(NativeStage1::new([7; 20])),
        ];
        let shown = format!("{credentials:?}");
        assert_eq!(shown, "[Password(…), NativeStage1(…)]");
    }
}
