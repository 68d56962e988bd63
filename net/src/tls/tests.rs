//! Handshakes over socket pairs, with certificates made for each test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, SanType,
};
use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::provider::provider;
use super::verify::{Authority, NameCheck};
use super::*;

/// A certificate authority, and a folder for its files. `ca.pem` is the authority's certificate.
struct Ca {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

fn params(common_name: &str, names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Pilotfish's tests");
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    let dns = |name: &&str| SanType::DnsName((*name).try_into().unwrap());
    params.subject_alt_names = names.iter().map(dns).collect();
    params
}

impl Ca {
    fn new() -> Ca {
        Ca::named("authority")
    }

    fn named(name: &str) -> Ca {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Ca { folder, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn issue(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        self.write(&certificate.pem(), &key.serialize_pem())
    }

    fn write(&self, certificate: &str, key: &str) -> Identity {
        let identity = Identity {
            certificate: self.path("cert.pem"),
            key: self.path("key.pem"),
        };
        fs::write(&identity.certificate, certificate).unwrap();
        fs::write(&identity.key, key).unwrap();
        identity
    }

    fn server(&self, params: CertificateParams) -> ServerTls {
        server(Some(self.issue(params)), ClientCertificates::Ignored)
    }

    fn client(&self, verification: Verification) -> ClientTls {
        client(verification, Some(self.path("ca.pem")), None)
    }
}

fn server(identity: Option<Identity>, client_certificates: ClientCertificates) -> ServerTls {
    let settings = ServerTlsSettings {
        identity,
        client_certificates,
    };
    ServerTls::new(settings).unwrap()
}

fn client(
    verification: Verification,
    ca: Option<PathBuf>,
    identity: Option<Identity>,
) -> ClientTls {
    let settings = ClientTlsSettings {
        verification,
        ca,
        identity,
    };
    ClientTls::new(settings).unwrap()
}

type Outcome = Result<Facts, String>;

/// Both sides' view of one handshake and a byte in each direction after it.
async fn handshake(server: &ServerTls, client: &ClientTls, host: &str) -> (Outcome, Outcome) {
    let (near, far) = UnixStream::pair().unwrap();
    let acceptor = server.acceptor();
    let connector = client.connector();
    let name = client.server_name(host).unwrap();
    let serving = exchange(accept(&acceptor, Socket::Unix(near), b""));
    let asking = exchange(connect(&connector, name, Socket::Unix(far)));
    tokio::join!(serving, asking)
}

async fn exchange(opening: impl Future<Output = io::Result<TlsStream<Socket>>>) -> Outcome {
    let ping = async {
        let mut stream = opening.await?;
        stream.write_u8(42).await?;
        stream.flush().await?;
        stream.read_u8().await?;
        Ok(Facts::of(stream.get_ref().1).unwrap())
    };
    ping.await.map_err(|error| explain(&error))
}

/// Whether the client accepts this server, or else its error.
async fn verdict(server: &ServerTls, client: &ClientTls, host: &str) -> Result<(), String> {
    handshake(server, client, host).await.1.map(drop)
}

#[tokio::test]
async fn a_certificate_made_at_start_encrypts_and_sessions_resume() {
    let server = server(None, ClientCertificates::Ignored);
    let client = client(Verification::None, None, None);
    let (serving, asking) = handshake(&server, &client, "db1").await;
    let facts = asking.unwrap();
    assert_eq!(facts.version, "TLSv1.3");
    assert_eq!(facts.cipher, "TLS_AES_256_GCM_SHA384");
    assert_eq!(facts.to_string(), "TLSv1.3 TLS_AES_256_GCM_SHA384");
    assert_eq!(facts.subject.as_deref(), Some("/CN=pilotfish"));
    assert!(!facts.resumed);
    assert_eq!(serving.unwrap().subject, None);

    let (serving, asking) = handshake(&server, &client, "db1").await;
    assert!(serving.unwrap().resumed && asking.unwrap().resumed);
}

#[tokio::test]
async fn tls_1_2_handshakes_and_resumptions_succeed() {
    let server = server(None, ClientCertificates::Ignored);
    let config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verify::Anyone::new(&provider())))
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let acceptor = server.acceptor();
    for resumed in [false, true] {
        let (near, far) = UnixStream::pair().unwrap();
        let name = ServerName::try_from("db1").unwrap();
        let (serving, asking) = tokio::join!(
            exchange(accept(&acceptor, Socket::Unix(near), b"")),
            exchange(connect(&connector, name, Socket::Unix(far))),
        );
        let facts = serving.unwrap();
        assert_eq!(facts.version, "TLSv1.2");
        assert_eq!(facts.cipher, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
        assert_eq!((facts.resumed, asking.unwrap().resumed), (resumed, resumed));
    }
}

#[tokio::test]
async fn verification_asks_for_the_chain_and_then_for_the_name() {
    let ca = Ca::new();
    let server = ca.server(params("db1", &["db1.example.org"]));
    let stranger = Ca::new();

    let verify = |ca: &Ca, verification| ca.client(verification);
    assert_eq!(
        verdict(&server, &verify(&ca, Verification::Ca), "10.0.0.1").await,
        Ok(())
    );
    assert_eq!(
        verdict(&server, &verify(&ca, Verification::Ca), "my_db!").await,
        Ok(())
    );
    assert_eq!(
        verdict(
            &server,
            &verify(&ca, Verification::Identity),
            "db1.example.org"
        )
        .await,
        Ok(())
    );
    assert_eq!(
        verdict(
            &server,
            &verify(&ca, Verification::Identity),
            "db2.example.org"
        )
        .await,
        Err("its certificate is not for db2.example.org, but for db1.example.org".to_owned())
    );
    let named_otherwise = Ca::named("another");
    for (verification, stranger) in [
        (Verification::Ca, &stranger),
        (Verification::Ca, &named_otherwise),
        (Verification::Identity, &stranger),
    ] {
        assert_eq!(
            verdict(&server, &verify(stranger, verification), "db1.example.org").await,
            Err("its certificate is not signed by a trusted authority".to_owned())
        );
    }
    assert_eq!(
        verdict(&server, &verify(&stranger, Verification::None), "x").await,
        Ok(())
    );
}

#[tokio::test]
async fn the_server_reports_why_a_client_rejected_its_certificate() {
    let ca = Ca::new();
    let server = ca.server(params("db1", &[]));
    let client = Ca::new().client(Verification::Ca);
    let (serving, _) = handshake(&server, &client, "db1").await;
    let text = "the other side does not trust the certificate's issuer";
    assert_eq!(serving.unwrap_err(), text);
}

#[tokio::test]
async fn a_common_name_counts_where_there_is_no_alternative_name() {
    let ca = Ca::new();
    let client = ca.client(Verification::Identity);
    let old_style = ca.server(params("db1.example.org", &[]));
    assert_eq!(
        verdict(&old_style, &client, "db1.example.org").await,
        Ok(())
    );
    assert!(
        verdict(&old_style, &client, "db2.example.org")
            .await
            .is_err()
    );
    let new_style = ca.server(params("db2.example.org", &["db1.example.org"]));
    assert!(
        verdict(&new_style, &client, "db2.example.org")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_self_signed_certificate_may_be_the_ca_file_itself() {
    let ca = Ca::new();
    let key = KeyPair::generate().unwrap();
    let mut authority = params("db1", &["db1"]);
    // `openssl req -x509` makes certificates like this one.
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for params in [authority, params("db1", &["db1"])] {
        let certificate = params.self_signed(&key).unwrap().pem();
        let identity = ca.write(&certificate, &key.serialize_pem());
        let pinned = Some(identity.certificate.clone());
        let server = server(Some(identity), ClientCertificates::Ignored);
        for verification in [Verification::Ca, Verification::Identity] {
            let client = client(verification, pinned.clone(), None);
            assert_eq!(verdict(&server, &client, "db1").await, Ok(()));
        }
        let client = client(Verification::Identity, pinned, None);
        assert!(verdict(&server, &client, "db2").await.is_err());
    }
}

#[tokio::test]
async fn the_error_of_an_expired_certificate_says_that_it_has_expired() {
    let ca = Ca::new();
    let mut expired = params("db1", &["db1"]);
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let expected = Err("its certificate has expired".to_owned());
    let server_of_ca = ca.server(expired.clone());
    let client_of_ca = ca.client(Verification::Ca);
    assert_eq!(verdict(&server_of_ca, &client_of_ca, "db1").await, expected);

    expired.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = expired.self_signed(&key).unwrap().pem();
    let identity = ca.write(&certificate, &key.serialize_pem());
    let client = client(Verification::Ca, Some(identity.certificate.clone()), None);
    let server = server(Some(identity), ClientCertificates::Ignored);
    assert_eq!(verdict(&server, &client, "db1").await, expected);
}

/// Made with `openssl x509 -req` without extensions; the second certificate is the authority's.
const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBHjCBxQIBATAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBF2MSB0ZXN0IGF1dGhv
cml0eTAgFw0yNjExMjAxNDQzNDNaGA8yMTI2MTAyNzE0NDM0M1owGTEXMBUGA1UE
AwwOZGIuZXhhbXBsZS5vcmcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARmzBKf
xQkWDoDkybivsvMeEobIVdifNzPuQPnhRuwEtFHUzVSxCCeaAJDtxy6MqgvioTSs
clB2t7leRlwyAS80MAoGCCqGSM49BAMCA0gAMEUCIAK5wAoxCpCOIz7LePlr0R/2
IHSV6F3jyLbUrPTfSHr1AiEAi2U2gA3/yr6DbCw14rdgedxHXP5qtMO2Yt7rLMbV
HIg=
-----END CERTIFICATE-----
";
const VERSION_1_AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBkDCCATWgAwIBAgIURYqQbgsJ7/3sOoQGj8mkJk+uh7cwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRdjEgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTIwMTQ0MzQzWhgP
MjEyNjEwMjcxNDQzNDNaMBwxGjAYBgNVBAMMEXYxIHRlc3QgYXV0aG9yaXR5MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElOJ3CC7OAj0RQ91evJA28JbVQZ1k4/GH
GMZuMszUSQTkqFU/HlcqD+hMk9/SPTq+oyWsNs8DOMREs2Dx5bi7J6NTMFEwHQYD
VR0OBBYEFChgmoG0XHDNarRhLsuUTp7QC0cgMB8GA1UdIwQYMBaAFChgmoG0XHDN
arRhLsuUTp7QC0cgMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIh
AMfv3Du0Iv3kCzA2dovtxXqdFb85YntjnbbVwb6FM3/BAiEA2dyYErihtXevbloU
DfP8+Mbn3o/WNVshBN1ve578JNQ=
-----END CERTIFICATE-----
";

#[test]
fn a_version_1_certificate_is_refused_by_its_name_and_accepted_unverified() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, VERSION_1_AUTHORITY).unwrap();
    let leaf = CertificateDer::from_pem_slice(VERSION_1.as_bytes()).unwrap();
    let name = ServerName::try_from("db.example.org").unwrap();
    let verify = |verifier: &dyn ServerCertVerifier| {
        verifier.verify_server_cert(&leaf, &[], &name, &[], UnixTime::now())
    };
    let authority = Authority::from_file(&ca, NameCheck::Skipped).unwrap();
    let fault = verify(&authority).unwrap_err();
    let text = explain_fault(&fault);
    assert!(text.contains("X.509 version 1"), "{text}");
    assert!(verify(&verify::Anyone::new(&provider())).is_ok());
}

#[tokio::test]
async fn a_required_client_certificate_is_named_and_its_absence_refused() {
    let ca = Ca::new();
    let required = ClientCertificates::Required(ca.path("ca.pem"));
    let server = server(None, required);
    let shown = ca.issue(params("app", &[]));
    let with = client(Verification::None, None, Some(shown));
    let (serving, _) = handshake(&server, &with, "db1").await;
    let subject = serving.unwrap().subject;
    assert_eq!(subject.as_deref(), Some("/O=Pilotfish's tests/CN=app"));
    // The certificate's name is known in a resumed session as well.
    let (serving, _) = handshake(&server, &with, "db1").await;
    let facts = serving.unwrap();
    assert!(facts.resumed);
    assert_eq!(facts.subject, subject);

    let without = client(Verification::None, None, None);
    let (serving, asking) = handshake(&server, &without, "db1").await;
    let absent = "it presented no certificate, but one is required";
    assert_eq!(serving.unwrap_err(), absent);
    assert_eq!(
        asking.unwrap_err(),
        "the other side requires a certificate from us"
    );

    for (authority, text) in [
        (
            Ca::named("another"),
            "its certificate is not signed by a trusted authority",
        ),
        (
            Ca::new(),
            "its certificate is signed by another key than the trusted authority's",
        ),
    ] {
        let shown = authority.issue(params("app", &[]));
        let foreign = client(Verification::None, None, Some(shown));
        let (serving, _) = handshake(&server, &foreign, "db1").await;
        assert_eq!(serving.unwrap_err(), text);
    }
}

#[tokio::test]
async fn an_optional_client_certificate_may_be_absent_but_not_untrusted() {
    let ca = Ca::new();
    let server = server(None, ClientCertificates::Optional(ca.path("ca.pem")));
    let without = client(Verification::None, None, None);
    let (serving, _) = handshake(&server, &without, "db1").await;
    assert_eq!(serving.unwrap().subject, None);
    let foreign = client(
        Verification::None,
        None,
        Some(Ca::new().issue(params("app", &[]))),
    );
    assert!(handshake(&server, &foreign, "db1").await.0.is_err());
}

async fn shown_by(server: &ServerTls) -> Option<String> {
    let client = client(Verification::None, None, None);
    handshake(server, &client, "db1").await.1.unwrap().subject
}

/// Replaces a file by a rename, so that its inode changes even within one clock tick.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

#[tokio::test]
async fn changed_files_serve_new_handshakes_and_broken_ones_change_nothing() {
    let ca = Ca::new();
    let identity = ca.issue(params("first", &[]));
    let server = server(Some(identity.clone()), ClientCertificates::Ignored);
    assert_eq!(server.reload_if_changed().unwrap(), Reload::Unchanged);

    let key = KeyPair::generate().unwrap();
    let second = params("second", &[]).signed_by(&key, &ca.issuer).unwrap();
    replace(&identity.certificate, &second.pem());
    let half = server.reload_if_changed().unwrap_err().to_string();
    assert!(half.ends_with("they do not belong together"), "{half}");
    assert_eq!(
        server.reload_if_changed().unwrap(),
        Reload::Unchanged,
        "told once"
    );
    assert_eq!(
        shown_by(&server).await.unwrap(),
        "/O=Pilotfish's tests/CN=first"
    );

    replace(&identity.key, &key.serialize_pem());
    assert_eq!(server.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(
        shown_by(&server).await.unwrap(),
        "/O=Pilotfish's tests/CN=second"
    );

    fs::remove_file(&identity.key).unwrap();
    let gone = server.reload_if_changed().unwrap_err().to_string();
    assert!(
        gone.starts_with("cannot read ") && gone.contains("key.pem"),
        "{gone}"
    );
    assert_eq!(
        shown_by(&server).await.unwrap(),
        "/O=Pilotfish's tests/CN=second"
    );
}

#[tokio::test]
async fn a_client_that_a_new_ca_does_not_know_cannot_resume() {
    let ca = Ca::new();
    let file = ca.path("ca.pem");
    let server = server(None, ClientCertificates::Required(file.clone()));
    let client = client(Verification::None, None, Some(ca.issue(params("app", &[]))));
    handshake(&server, &client, "db1").await.0.unwrap();
    let other = fs::read_to_string(Ca::new().path("ca.pem")).unwrap();
    replace(&file, &other);
    assert_eq!(server.reload_if_changed().unwrap(), Reload::Reloaded);
    assert!(handshake(&server, &client, "db1").await.0.is_err());
}

#[test]
fn faulty_files_are_named_with_the_reason() {
    let ca = Ca::new();
    let good = ca.issue(params("x", &[]));
    let fault = |identity: &Identity| {
        let settings = ServerTlsSettings {
            identity: Some(identity.clone()),
            client_certificates: ClientCertificates::Ignored,
        };
        ServerTls::new(settings).unwrap_err().to_string()
    };
    let file = |name: &str, text: &str| {
        fs::write(ca.path(name), text).unwrap();
        ca.path(name)
    };
    let with_key = |key| Identity {
        key,
        ..good.clone()
    };
    let empty = file("empty.pem", "");
    assert!(fault(&with_key(empty.clone())).contains("no private key in PEM format"));
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert!(fault(&with_key(file("locked.pem", locked))).contains("the key is encrypted"));
    assert!(fault(&with_key(ca.path("absent.pem"))).contains("cannot read"));
    let without_certificate = Identity {
        certificate: empty,
        ..good.clone()
    };
    assert!(fault(&without_certificate).contains("no certificate in PEM format"));
}

/// The first bytes of a TLS client.
async fn client_hello(client: &ClientTls) -> (Vec<u8>, Socket, impl Future<Output = Outcome>) {
    let (mut near, far) = UnixStream::pair().unwrap();
    let connector = client.connector();
    let name = client.server_name("db1").unwrap();
    let mut asking =
        Box::pin(async move { exchange(connect(&connector, name, Socket::Unix(far))).await });
    let mut hello = vec![0; 4_096];
    let length = tokio::select! {
        _ = &mut asking => panic!("done before an answer"),
        length = near.read(&mut hello) => length.unwrap(),
    };
    hello.truncate(length);
    (hello, Socket::Unix(near), asking)
}

#[tokio::test]
async fn bytes_read_ahead_are_part_of_the_handshake() {
    let server = server(None, ClientCertificates::Ignored);
    let client = client(Verification::None, None, None);
    let whole = client_hello(&client).await.0.len();
    for cut in [1, 4, 5, 100, whole - 1, whole] {
        let (hello, socket, asking) = client_hello(&client).await;
        let (ahead, rest) = hello.split_at(cut.min(hello.len()));
        let (mut relay, near) = UnixStream::pair().unwrap();
        let mut socket = socket;
        let rest = rest.to_vec();
        let acceptor = server.acceptor();
        let serving = exchange(accept(&acceptor, Socket::Unix(near), ahead));
        let relaying = async move {
            relay.write_all(&rest).await.unwrap();
            // The copy ends with an error or at the end of the stream when both sides are done.
            let _ = tokio::io::copy_bidirectional(&mut relay, &mut socket).await;
        };
        let (serving, asking, ()) = tokio::join!(serving, asking, relaying);
        serving.unwrap();
        asking.unwrap();
    }
}

#[tokio::test]
async fn bytes_other_than_tls_get_an_alert_and_are_reported() {
    let server = server(None, ClientCertificates::Ignored);
    for read_ahead in [true, false] {
        let (near, mut far) = UnixStream::pair().unwrap();
        let garbage = b"SELECT 1; -- in the clear";
        let (ahead, sent) = match read_ahead {
            true => (&garbage[..], &b""[..]),
            false => (&b""[..], &garbage[..]),
        };
        far.write_all(sent).await.unwrap();
        let fault = accept(&server.acceptor(), Socket::Unix(near), ahead)
            .await
            .unwrap_err();
        let text = explain(&fault);
        assert!(text.starts_with("what it sent is not TLS"), "{text}");
        let mut alert = Vec::new();
        far.read_to_end(&mut alert).await.unwrap();
        assert_eq!(alert.first(), Some(&21), "an alert record");
    }
}

#[tokio::test]
async fn a_connection_closed_during_the_tls_handshake_is_reported() {
    let server = server(None, ClientCertificates::Ignored);
    let (near, far) = UnixStream::pair().unwrap();
    drop(far);
    let fault = accept(&server.acceptor(), Socket::Unix(near), b"")
        .await
        .unwrap_err();
    assert_eq!(
        explain(&fault),
        "the connection was closed during the TLS handshake"
    );
}

#[test]
fn an_invalid_server_name_is_an_error_only_if_the_identity_is_verified() {
    let ca = Ca::new();
    assert!(
        ca.client(Verification::Ca)
            .server_name("not a name")
            .is_ok()
    );
    let fault = ca
        .client(Verification::Identity)
        .server_name("not a name")
        .unwrap_err();
    assert!(fault.to_string().contains("`not a name`"));
    let address = ca
        .client(Verification::Identity)
        .server_name("::1")
        .unwrap();
    assert!(matches!(address, ServerName::IpAddress(_)));
}
