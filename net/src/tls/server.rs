//! The proxy's side of TLS with clients.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use super::error::Error;
use super::files::{self, Fingerprint, Identity, Reload, Reloadable};
use super::provider::provider;

/// Whether clients show certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientCertificates {
    /// The proxy asks clients for no certificate.
    Ignored,
    /// If a client presents a certificate, an authority in this file must have signed it.
    Optional(PathBuf),
    /// A client without a certificate signed by an authority in this file is refused.
    Required(PathBuf),
}

/// The settings of TLS with clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerTlsSettings {
    /// The proxy's certificate and key; `None` makes a self-signed one that lives in memory.
    pub identity: Option<Identity>,
    /// Whether clients show certificates.
    pub client_certificates: ClientCertificates,
}

/// TLS with clients; shared by all workers.
#[derive(Debug)]
pub struct ServerTls {
    settings: ServerTlsSettings,
    /// The certificate made at start, kept over reloads of a client CA.
    self_signed: Option<Arc<CertifiedKey>>,
    config: Reloadable<ServerConfig>,
}

impl ServerTls {
    /// Reads the files, or makes a self-signed certificate.
    ///
    /// # Errors
    /// One that names the faulty file.
    pub fn new(settings: ServerTlsSettings) -> Result<ServerTls, Error> {
        let seen = fingerprint(&settings);
        let self_signed = match settings.identity {
            Some(_) => None,
            None => Some(self_signed(&provider())?),
        };
        let config = server_config(&settings, self_signed.as_ref())?;
        Ok(ServerTls {
            settings,
            self_signed,
            config: Reloadable::new(config, seen),
        })
    }

    /// The acceptor for the next handshake, with the files as last loaded.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.current())
    }

    /// Checks the files' times and sizes, and loads the files again if these have changed since the last
    /// check. Call it every few seconds and on a reload; it blocks for the files only.
    /// TLS sessions from before the load do not resume: a client that the new CA does not know must not.
    ///
    /// # Errors
    /// An error that names the faulty file, once for each change. The files that were loaded before stay in use.
    pub fn reload_if_changed(&self) -> Result<Reload, Error> {
        self.config
            .reload_if_changed(fingerprint(&self.settings), || {
                server_config(&self.settings, self.self_signed.as_ref())
            })
    }
}

fn fingerprint(settings: &ServerTlsSettings) -> Fingerprint {
    let identity = settings.identity.iter();
    let mut paths: Vec<&Path> = identity
        .flat_map(|identity| [&*identity.certificate, &*identity.key])
        .collect();
    match &settings.client_certificates {
        ClientCertificates::Ignored => {}
        ClientCertificates::Optional(ca) | ClientCertificates::Required(ca) => paths.push(ca),
    }
    Fingerprint::of(paths)
}

fn server_config(
    settings: &ServerTlsSettings,
    self_signed: Option<&Arc<CertifiedKey>>,
) -> Result<ServerConfig, Error> {
    let provider = provider();
    let certified = match (&settings.identity, self_signed) {
        (Some(identity), _) => identity.load(&provider)?,
        (None, Some(certified)) => Arc::clone(certified),
        (None, None) => super::server::self_signed(&provider)?,
    };
    let verifier = client_verifier(&settings.client_certificates, &provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for TLS 1.2 and 1.3")
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    // With tickets, the clients keep the resumable sessions instead of the proxy's memory.
    config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()
        .map_err(|error| Error::NoKeys(error.to_string()))?;
    Ok(config)
}

fn client_verifier(
    certificates: &ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let (ca, builder) = match certificates {
        ClientCertificates::Ignored => return Ok(WebPkiClientVerifier::no_client_auth()),
        ClientCertificates::Optional(ca) => {
            (ca, verifier_builder(ca, provider)?.allow_unauthenticated())
        }
        ClientCertificates::Required(ca) => (ca, verifier_builder(ca, provider)?),
    };
    builder.build().map_err(|error| Error::Faulty {
        path: ca.clone(),
        reason: error.to_string(),
    })
}

fn verifier_builder(
    ca: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::server::ClientCertVerifierBuilder, Error> {
    let roots = Arc::new(files::roots(ca)?);
    Ok(WebPkiClientVerifier::builder_with_provider(
        roots,
        Arc::clone(provider),
    ))
}

/// A certificate for no particular name: it encrypts, and only clients that do not verify accept it.
fn self_signed(provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
    let made = (|| {
        let key = KeyPair::generate()?;
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "pilotfish");
        let mut params = CertificateParams::new(vec!["pilotfish".to_owned()])?;
        params.distinguished_name = name;
        let certificate = params.self_signed(&key)?;
        Ok((CertificateDer::from(certificate), key))
    })();
    let (certificate, key) =
        made.map_err(|error: rcgen::Error| Error::NoKeys(error.to_string()))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    CertifiedKey::from_der(vec![certificate], key, provider)
        .map(Arc::new)
        .map_err(|error| Error::NoKeys(error.to_string()))
}
