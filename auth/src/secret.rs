//! What proves an account: kept out of `Debug`, compared in equal time, wiped when dropped.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use zeroize::Zeroizing;

/// A password, as bytes of whatever character set it was typed in.
#[derive(Clone)]
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// Takes the password; the caller's copy is the caller's affair.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The password itself, for those who must compute with it or send it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is none: the empty password.
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

/// `SHA1(password)`: all that mysql_native_password needs of a password, and as good as one there.
///
/// A client's answer together with the stored hash reveals it, so who was examined by
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

/// What logs an account in to a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Good for every plugin.
    Password(Password),
    /// Good for mysql_native_password and nothing else.
    NativeStage1(NativeStage1),
}

/// Whether two secrets are the same, in a time that tells nothing but their lengths.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let credentials = [
            Credential::Password(Password::new("secret")),
            Credential::NativeStage1(NativeStage1::new([7; 20])),
        ];
        let shown = format!("{credentials:?}");
        assert_eq!(shown, "[Password(…), NativeStage1(…)]");
    }
}
