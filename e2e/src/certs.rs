//! One certificate authority per test process, and what it signs: the servers' certificate, the
//! proxy's, a client's. A second authority exists to be distrusted.

use std::path::PathBuf;
use std::sync::OnceLock;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::process::Folder;

/// PEM files of one certificate and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key (PKCS #8).
    pub key: PathBuf,
}

/// All certificates.
#[derive(Debug)]
pub struct Certs {
    _folder: Folder,
    /// The authority that signed the certificates below.
    pub ca: PathBuf,
    /// An authority that has signed no certificate.
    pub foreign_ca: PathBuf,
    /// For `localhost`, 127.0.0.1 and ::1.
    pub server: Identity,
    /// For a host name that no server of the tests has.
    pub elsewhere: Identity,
    /// A client's, common name `app`.
    pub client: Identity,
    /// A client's, self-signed.
    pub stranger: Identity,
}

impl Certs {
    /// The certificates of this test process.
    pub fn shared() -> &'static Self {
        static CERTS: OnceLock<Certs> = OnceLock::new();
        CERTS.get_or_init(Self::make)
    }

    fn make() -> Self {
        let folder = Folder::new("certs");
        let (ca_pem, authority) = make_authority("Pilotfish test authority");
        let (foreign_pem, _) = make_authority("Another authority");
        let identity = |name: &str, common: &str, hosts: &[&str], signer: Option<&Authority>| {
            let key = KeyPair::generate().expect("a key can be made");
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let mut params = CertificateParams::new(hosts).expect("the names are valid");
            params.distinguished_name.push(DnType::CommonName, common);
            let certificate = match signer {
                Some(signer) => params.signed_by(&key, signer),
                None => params.self_signed(&key),
            };
            let pem = certificate.expect("a certificate can be signed").pem();
            Identity {
                certificate: folder.write(&format!("{name}.pem"), pem),
                key: folder.write(&format!("{name}.key"), key.serialize_pem()),
            }
        };
        let here = ["localhost", "127.0.0.1", "::1"];
        Self {
            ca: folder.write("ca.pem", ca_pem),
            foreign_ca: folder.write("foreign-ca.pem", foreign_pem),
            server: identity("server", "server", &here, Some(&authority)),
            elsewhere: identity("elsewhere", "elsewhere", &["db.example"], Some(&authority)),
            client: identity("client", "app", &[], Some(&authority)),
            stranger: identity("stranger", "app", &[], None),
            _folder: folder,
        }
    }
}

type Authority = Issuer<'static, KeyPair>;

fn make_authority(name: &str) -> (String, Authority) {
    let key = KeyPair::generate().expect("a key can be made");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params
        .self_signed(&key)
        .expect("a certificate can be signed")
        .pem();
    (pem, Issuer::new(params, key))
}
