//! Whether a backend's certificate is trusted.
//!
//! rustls' own verifier (webpki) decides about chains. Three habits of MySQL servers need more:
//! a name in the subject's CN without any alternative name (what MySQL's and MariaDB's own
//! clients accept), a server's self-signed certificate given as the CA file, and, where nothing
//! is verified, certificates no verifier would parse (X.509 version 1, short RSA keys).

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::{CertificateError, DigitallySignedStruct, Error as Fault, OtherError, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;
use x509_parser::x509::X509Version;

use super::error::Error;
use super::files;
use super::provider::provider;

/// Accepts every certificate. It does not check the key that signs the handshake against the certificate
/// either: no authority vouches for the certificate, so the check would prove nothing.
#[derive(Debug)]
pub(super) struct Anyone {
    schemes: Vec<SignatureScheme>,
}

impl Anyone {
    pub(super) fn new(provider: &CryptoProvider) -> Anyone {
        let schemes = provider
            .signature_verification_algorithms
            .supported_schemes();
        Anyone { schemes }
    }
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Fault> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Whether the certificate must be for the backend's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameCheck {
    /// Every name is accepted.
    Skipped,
    /// An alternative name must match. If the certificate has none, the subject's CN must match.
    Required,
}

/// Accepts certificates that its authorities have signed.
#[derive(Debug)]
pub(super) struct Authority {
    webpki: Arc<WebPkiServerVerifier>,
    /// Certificates of the CA file. A server that presents exactly one of them is trusted.
    pinned: Vec<CertificateDer<'static>>,
    names: NameCheck,
}

impl Authority {
    pub(super) fn from_file(ca: &Path, names: NameCheck) -> Result<Authority, Error> {
        let faulty = |reason| Error::Faulty {
            path: ca.to_owned(),
            reason,
        };
        let pinned = files::certificates(ca)?;
        let webpki = webpki(files::roots(ca)?).map_err(faulty)?;
        Ok(Authority {
            webpki,
            pinned,
            names,
        })
    }

    pub(super) fn from_system(names: NameCheck) -> Result<Authority, Error> {
        let webpki = webpki(files::system_roots()?).map_err(Error::NoSystemRoots)?;
        let pinned = Vec::new();
        Ok(Authority {
            webpki,
            pinned,
            names,
        })
    }

    /// Checks the certificate's chain and name. webpki checks names last: a name fault means that the chain is good.
    fn chain_and_name(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Fault> {
        let verdict = self
            .webpki
            .verify_server_cert(leaf, intermediates, name, &[], now);
        match verdict {
            Ok(_) => Ok(()),
            Err(fault) if is_name_fault(&fault) => self.name(leaf, name, fault),
            Err(_) if self.is_pinned(leaf) => self.pinned(leaf, name, now),
            // Servers that make their own certificates give all their authorities the same name, so a wrong
            // authority shows as a bad signature.
            Err(Fault::InvalidCertificate(CertificateError::BadSignature)) => {
                Err(CertificateError::UnknownIssuer.into())
            }
            Err(fault) => Err(fault),
        }
    }

    fn is_pinned(&self, leaf: &CertificateDer<'_>) -> bool {
        self.pinned.iter().any(|pinned| pinned == leaf)
    }

    /// Checks a certificate that is itself in the CA file: it needs no signature, but must not be expired.
    fn pinned(
        &self,
        leaf: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Fault> {
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(|_| bad_encoding())?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now > certificate.validity().not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if now < certificate.validity().not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        let entity = rustls::server::ParsedCertificate::try_from(leaf)?;
        match rustls::client::verify_server_name(&entity, name) {
            Ok(()) => Ok(()),
            Err(fault) => self.name(leaf, name, fault),
        }
    }

    /// The second check of a certificate whose alternative names do not match: by its CN.
    fn name(
        &self,
        leaf: &CertificateDer<'_>,
        name: &ServerName<'_>,
        fault: Fault,
    ) -> Result<(), Fault> {
        if self.names == NameCheck::Skipped {
            return Ok(());
        }
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(|_| fault)?;
        match common_name_matches(&certificate, name) {
            true => Ok(()),
            false => Err(certificate_fault(NotForName {
                expected: name.to_str().into_owned(),
                presented: presented_names(&certificate),
            })),
        }
    }
}

impl ServerCertVerifier for Authority {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Fault> {
        let verdict = self.chain_and_name(leaf, intermediates, name, now);
        match verdict {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(_) if is_version_1(leaf) => Err(certificate_fault(Version1)),
            Err(fault) => Err(fault),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        self.webpki.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        self.webpki.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

fn webpki(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| error.to_string())
}

fn is_name_fault(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        )
    )
}

fn bad_encoding() -> Fault {
    Fault::InvalidCertificate(CertificateError::BadEncoding)
}

fn certificate_fault(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
}

/// The version of certificates that `openssl x509 -req` makes if no extensions are given.
#[derive(Debug)]
struct Version1;

impl fmt::Display for Version1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "its certificate is X.509 version 1, which cannot be verified; issue it with \
             extensions (version 3), or encrypt without verification",
        )
    }
}

impl std::error::Error for Version1 {}

fn is_version_1(leaf: &CertificateDer<'_>) -> bool {
    X509Certificate::from_der(leaf)
        .is_ok_and(|(_, certificate)| certificate.version() == X509Version::V1)
}

/// The certificate is for another name.
#[derive(Debug)]
struct NotForName {
    expected: String,
    presented: Vec<String>,
}

impl fmt::Display for NotForName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let presented = match self.presented.is_empty() {
            true => "no name",
            false => &self.presented.join(", "),
        };
        write!(
            f,
            "its certificate is not for {}, but for {presented}",
            self.expected
        )
    }
}

impl std::error::Error for NotForName {}

fn alternative_names<'a>(certificate: &'a X509Certificate<'_>) -> &'a [GeneralName<'a>] {
    match certificate.subject_alternative_name() {
        Ok(Some(names)) => &names.value.general_names,
        _ => &[],
    }
}

/// As `X509_check_host`: the subject's CN counts when there is no alternative DNS name.
fn common_names<'a>(certificate: &'a X509Certificate<'_>) -> impl Iterator<Item = &'a str> {
    let alternatives = alternative_names(certificate);
    let modern = alternatives
        .iter()
        .any(|name| matches!(name, GeneralName::DNSName(_)));
    let names = certificate.subject().iter_common_name();
    names
        .filter(move |_| !modern)
        .filter_map(|name| name.as_str().ok())
}

fn common_name_matches(certificate: &X509Certificate<'_>, name: &ServerName<'_>) -> bool {
    let ServerName::DnsName(name) = name else {
        return false;
    };
    common_names(certificate).any(|pattern| dns_matches(pattern, name.as_ref()))
}

/// The names that a certificate is for, as an administrator would write them.
fn presented_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternatives = alternative_names(certificate).iter();
    let alternatives = alternatives.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => address(octets).map(|address| address.to_string()),
        _ => None,
    });
    alternatives
        .chain(common_names(certificate).map(str::to_owned))
        .collect()
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}

/// Whether the names are equal in any case, or a `*` in the pattern stands for the whole first label.
fn dns_matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix("*."), name.split_once('.')) {
        (Some(domain), Some((_, rest))) => {
            domain.contains('.') && domain.eq_ignore_ascii_case(rest)
        }
        (Some(_), None) => false,
        (None, _) => !pattern.is_empty() && pattern.eq_ignore_ascii_case(name),
    }
}

/// A certificate's subject in OpenSSL's one-line form, which `REQUIRE SUBJECT` uses.
pub(super) fn subject(leaf: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
    Some(one_line(certificate.subject()))
}

/// The name of a certificate's issuer in the same form, which `REQUIRE ISSUER` uses.
pub(super) fn issuer(leaf: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
    Some(one_line(certificate.issuer()))
}

fn one_line(name: &X509Name<'_>) -> String {
    let registry = x509_parser::objects::oid_registry();
    let mut line = String::new();
    for attribute in name.iter_attributes() {
        let oid = attribute.attr_type();
        let key = match x509_parser::objects::oid2abbrev(oid, registry) {
            Ok(short) => short.to_owned(),
            Err(_) => oid.to_id_string(),
        };
        let value = attribute.as_str().unwrap_or("?");
        line.extend(["/", &key, "=", &value.replace(char::is_control, "?")]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::dns_matches;

    #[test]
    fn a_common_name_matches_like_openssl_does() {
        assert!(dns_matches("db1.example.org", "DB1.example.org"));
        assert!(dns_matches("*.example.org", "db1.example.org"));
        assert!(!dns_matches("*.example.org", "example.org"));
        assert!(!dns_matches("*.example.org", "a.b.example.org"));
        assert!(!dns_matches("*.org", "example.org"));
        assert!(!dns_matches("*", "example"));
        assert!(!dns_matches("", ""));
    }
}
