//! The proxy's side of TLS with backends.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::error::Error;
use super::files::{Fingerprint, Identity, Reload, Reloadable};
use super::provider::provider;
use super::verify::{Anyone, Authority, NameCheck};

/// What a backend's certificate must prove.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verification {
    /// Nothing: the connection is encrypted, but the server may be any server (MySQL's `PREFERRED` and
    /// `REQUIRED`).
    None,
    /// That a trusted authority signed it, for any name (`VERIFY_CA`).
    Ca,
    /// That a trusted authority signed it for the backend's host name (`VERIFY_IDENTITY`).
    Identity,
}

/// The settings of TLS with a backend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientTlsSettings {
    /// What the backend's certificate must prove.
    pub verification: Verification,
    /// The file of trusted authorities; `None` trusts the system's. Without verification it is not read.
    pub ca: Option<PathBuf>,
    /// The certificate and key that the proxy presents to backends that ask for a certificate.
    pub identity: Option<Identity>,
}

/// TLS with a backend; shared by all workers. TLS sessions are stored by host name alone, so make
/// one `ClientTls` for each backend: two backends on one host would overwrite each other's sessions.
#[derive(Debug)]
pub struct ClientTls {
    settings: ClientTlsSettings,
    config: Reloadable<ClientConfig>,
}

impl ClientTls {
    /// Reads the files.
    ///
    /// # Errors
    /// One that names the faulty file.
    pub fn new(settings: ClientTlsSettings) -> Result<ClientTls, Error> {
        let seen = fingerprint(&settings);
        let config = client_config(&settings)?;
        Ok(ClientTls {
            settings,
            config: Reloadable::new(config, seen),
        })
    }

    /// The connector for the next handshake, with the files as last loaded.
    pub fn connector(&self) -> TlsConnector {
        TlsConnector::from(self.config.current())
    }

    /// The name to verify and to send in the handshake (SNI). `host` is what the configuration
    /// calls the backend: a DNS name or an address.
    ///
    /// # Errors
    /// [`InvalidName`] if `host` is neither and the name must be verified.
    pub fn server_name(&self, host: &str) -> Result<ServerName<'static>, InvalidName> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(ServerName::from(address));
        }
        match ServerName::try_from(host.to_owned()) {
            Ok(name) => Ok(name),
            // An address without a meaning: it is not sent as SNI, and it is not verified.
            Err(_) if self.settings.verification != Verification::Identity => {
                Ok(ServerName::from(IpAddr::from([0, 0, 0, 0])))
            }
            Err(_) => Err(InvalidName(host.to_owned())),
        }
    }

    /// As [`super::ServerTls::reload_if_changed`].
    ///
    /// # Errors
    /// An error that names the faulty file, once for each change. The files that were loaded before stay in use.
    pub fn reload_if_changed(&self) -> Result<Reload, Error> {
        let now = fingerprint(&self.settings);
        self.config
            .reload_if_changed(now, || client_config(&self.settings))
    }
}

/// The backend's configured host is a text that no certificate can be for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is neither a DNS name nor an address, so no certificate can be for it")]
pub struct InvalidName(String);

fn fingerprint(settings: &ClientTlsSettings) -> Fingerprint {
    let identity = settings.identity.iter();
    let ca = settings.ca.as_deref();
    let paths = identity.flat_map(|identity| [&*identity.certificate, &*identity.key]);
    Fingerprint::of(paths.chain(ca).map(|path: &Path| path))
}

fn client_config(settings: &ClientTlsSettings) -> Result<ClientConfig, Error> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier(settings)?);
    Ok(match &settings.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certified = identity.load(&provider)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
    })
}

fn verifier(settings: &ClientTlsSettings) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let names = match settings.verification {
        Verification::None => return Ok(Arc::new(Anyone::new(&provider()))),
        Verification::Ca => NameCheck::Skipped,
        Verification::Identity => NameCheck::Required,
    };
    let authority = match &settings.ca {
        Some(ca) => Authority::from_file(ca, names)?,
        None => Authority::from_system(names)?,
    };
    Ok(Arc::new(authority))
}
