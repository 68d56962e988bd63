//! Certificates and keys in PEM files, and whether those files have changed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::error::Error;

/// A certificate and its private key, both in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate, followed by the intermediate ones.
    pub certificate: PathBuf,
    /// The unencrypted private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PathBuf,
}

impl Identity {
    pub(super) fn load(&self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
        let chain = certificates(&self.certificate)?;
        let key = private_key(&self.key)?;
        let certified = CertifiedKey::from_der(chain, key, provider);
        certified.map(Arc::new).map_err(|error| Error::Mismatch {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            reason: match error {
                rustls::Error::InconsistentKeys(_) => "they do not belong together".to_owned(),
                other => other.to_string(),
            },
        })
    }
}

/// The file's certificates, at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = read(path)?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(none) if none.is_empty() => Err(faulty(path, "no certificate in PEM format in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(faulty(path, error)),
    }
}

/// The trusted authorities: the file's certificates.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| faulty(path, error))?;
    }
    Ok(roots)
}

/// The trusted authorities: the system's.
pub(super) fn system_roots() -> Result<RootCertStore, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable > 0 {
        return Ok(roots);
    }
    let reasons: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    Err(Error::NoSystemRoots(match reasons.is_empty() {
        true => "there are none".to_owned(),
        false => reasons.join("; "),
    }))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| match error {
        PemError::NoItemsFound if contains(&pem, b"ENCRYPTED PRIVATE KEY") => {
            faulty(path, "the key is encrypted; give one without a passphrase")
        }
        PemError::NoItemsFound => faulty(path, "no private key in PEM format in it"),
        other => faulty(path, other),
    })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|cause| Error::Unreadable {
        path: path.to_owned(),
        cause,
    })
}

fn faulty(path: &Path, reason: impl ToString) -> Error {
    let reason = reason.to_string();
    Error::Faulty {
        path: path.to_owned(),
        reason,
    }
}

/// The state of some files: enough to see that a file was written, replaced or re-linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint(Vec<Result<FileState, io::ErrorKind>>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Fingerprint {
    pub(super) fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Fingerprint {
        let state = |path: &Path| {
            let metadata = fs::metadata(path).map_err(|error| error.kind())?;
            Ok(FileState {
                device: metadata.dev(),
                inode: metadata.ino(),
                length: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
            })
        };
        Fingerprint(paths.into_iter().map(state).collect())
    }
}

/// The result of a check of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reload {
    /// The files have not changed since the last check.
    Unchanged,
    /// The files have changed; new handshakes use them.
    Reloaded,
}

/// A value made from files, made again when they change.
#[derive(Debug)]
pub(super) struct Reloadable<T> {
    current: arc_swap::ArcSwap<T>,
    seen: std::sync::Mutex<Fingerprint>,
}

impl<T> Reloadable<T> {
    /// Take `seen` before you make `value`: then a change in between is noticed at the next check.
    pub(super) fn new(value: T, seen: Fingerprint) -> Reloadable<T> {
        Reloadable {
            current: arc_swap::ArcSwap::from_pointee(value),
            seen: std::sync::Mutex::new(seen),
        }
    }

    pub(super) fn current(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Calls `make` if the files have changed since the last call, so a fault is reported once.
    pub(super) fn reload_if_changed(
        &self,
        now: Fingerprint,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Reload, Error> {
        let mut seen = self
            .seen
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if *seen == now {
            return Ok(Reload::Unchanged);
        }
        *seen = now;
        self.current.store(Arc::new(make()?));
        Ok(Reload::Reloaded)
    }
}
