//! TLS, towards clients and towards backends.

use std::path::PathBuf;

use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// TLS towards clients. Certificate files are read again when they change.
    pub struct ClientTlsConfig in [client_tls], "TLS towards clients" {
        /// Whether clients can, or must, use TLS.
        mode: ClientTlsMode = ClientTlsMode::Optional, Traits::RELOAD;

        /// PEM file with the certificate and those that lead to its authority. Without one a
        /// self-signed certificate is made at start.
        certificate: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with the certificate's private key.
        key: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with the authorities that sign client certificates.
        ca: Option<PathBuf> = None, Traits::RELOAD;

        /// Whether clients can, or must, show a certificate signed by one of `ca`.
        client_certificate: ClientCertificate = ClientCertificate::NotAsked, Traits::RELOAD;
    }
}

choices! {
    /// Whether clients can, or must, use TLS.
    pub enum ClientTlsMode {
        /// Not offered.
        Off = "off" also "disabled",
        /// Offered.
        Optional = "optional" also "preferred",
        /// Offered. A client whose connection does not meet what the servers demand of its account (`REQUIRE
        /// SSL` and similar clauses), or of all clients (`require_secure_transport`), is refused as far as
        /// the accounts are known.
        AsAccount = "as_account",
        /// A client without it is refused.
        Required = "required",
    }
}

choices! {
    /// Whether clients can, or must, show a certificate.
    pub enum ClientCertificate {
        /// None is asked for.
        NotAsked = "not_asked",
        /// One is checked when the client has it.
        Optional = "optional",
        /// A client without one is refused.
        Required = "required",
    }
}

settings! {
    /// TLS towards backends. Certificate files are read again when they change.
    pub struct BackendTlsConfig in [backend_tls], "TLS towards backends" {
        /// Whether backends are spoken to over TLS, and how far they are trusted. MySQL's names
        /// (`VERIFY_CA`) are read as well.
        mode: BackendTlsMode = BackendTlsMode::Off, Traits::RELOAD;

        /// PEM file with the authorities that sign the backends' certificates.
        ca: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with a certificate to show to backends that ask for one.
        certificate: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with that certificate's private key.
        key: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with the backends' RSA public key. On a connection without TLS a password that has to pass in full
        /// (`caching_sha2_password` with a cold cache, `sha256_password`) is encrypted for this key.
        server_public_key: Option<PathBuf> = None, Traits::RELOAD;

        /// Whether a backend is asked for its RSA public key for this password. A server that answers at the
        /// backend's address in its place can present a key of its own, and then knows the password. Without
        /// this setting and `server_public_key` the proxy opens the connection again with TLS, if the backend
        /// offers TLS; `ca` is checked then if it is set. A backend at a Unix socket is always asked.
        get_server_public_key: bool = false, Traits::RELOAD;
    }
}

choices! {
    /// Whether backends are spoken to over TLS, and how far they are trusted.
    pub enum BackendTlsMode {
        /// Never.
        Off = "off" also "disabled",
        /// Where the backend offers it, whatever its certificate.
        Preferred = "preferred",
        /// Always, whatever the certificate.
        Required = "required",
        /// Always, with a certificate signed by one of `ca`.
        VerifyCa = "verify_ca",
        /// Always, with a certificate signed by one of `ca` for the name in the backend's address.
        VerifyIdentity = "verify_identity",
    }
}
