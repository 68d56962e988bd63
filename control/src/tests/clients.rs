//! Clients that log in to a server which no configuration names.

use std::net::SocketAddr;

use config::{BackendTlsMode, Secret};
use net::tls::{ClientCertificates, ServerTls, ServerTlsSettings};
use system::Entropy;

use super::scripted_backend::{Answer, Met, Script, Scripted};
use super::{PATIENCE, at, identity};
use crate::{BackendClient, ClientError, ClientOptions, ResultBounds, StatementResult};

const ENOUGH: ResultBounds = ResultBounds {
    rows: 10,
    bytes: 1 << 16,
};

fn options(address: SocketAddr) -> ClientOptions {
    ClientOptions {
        address: at(address),
        user: "app".to_owned(),
        password: Secret::new("secret"),
        schema: None,
        tls: BackendTlsMode::Off,
        timeout: PATIENCE,
    }
}

/// The error of a client's login to a server with this script.
async fn refused(script: Script) -> ClientError {
    let scripted = Scripted::start(script).await;
    let connected = BackendClient::connect(&options(scripted.address), &Entropy::seeded(7)).await;
    connected.err().unwrap()
}

#[tokio::test]
async fn a_client_logs_in_with_its_schema_and_gets_each_outcome() {
    let rows = Answer::Row(vec![("one", Some("1")), ("none", None)]);
    let denied = Answer::Err(1142, "denied\n  by the server");
    let answers = vec![("SELECT", rows), ("DROP", denied)];
    let mut scripted = Scripted::start(Script::Answers(answers)).await;
    let options = ClientOptions {
        schema: Some("shop".to_owned()),
        ..options(scripted.address)
    };
    let mut client = BackendClient::connect(&options, &Entropy::seeded(7))
        .await
        .unwrap();
    let login = Met::Login("app in shop".to_owned());
    assert_eq!(scripted.met.recv().await, Some(login));
    assert_eq!(client.version(), "8.4.0-scripted");
    assert_eq!(client.thread_id(), 7);

    let done = client.ask("UPDATE city", ENOUGH).await;
    assert_eq!(done, Ok(StatementResult::Done { affected_rows: 0 }));
    let asked = client.ask("SELECT one, none", ENOUGH).await.unwrap();
    let StatementResult::Rows(result) = asked else {
        unreachable!("it has rows: {asked:?}");
    };
    assert_eq!(result.names, ["one", "none"]);
    assert_eq!(result.rows, [[Some(b"1".to_vec()), None]]);
    let denied = client.ask("DROP TABLE city", ENOUGH).await.unwrap_err();
    assert_eq!(
        denied.text,
        "it refused with error 1142: denied   by the server"
    );
    let error = denied.server.unwrap();
    assert_eq!(
        (error.number, &*error.message),
        (1142, "denied\n  by the server")
    );
    client.quit().await;
    scripted.meets(|met| *met == Met::Quit).await;
}

#[tokio::test]
async fn a_client_that_is_not_let_in_hears_the_error_of_the_server() {
    let denied = refused(Script::Refuse(1045, "Access denied")).await;
    assert_eq!(denied.number(), Some(1045));
    let text = "it refuses the account app: error 1045: Access denied \
                (authentication plugin mysql_native_password)";
    assert_eq!(denied.text, text);
    let full = refused(Script::Err(1040, "Too many connections")).await;
    assert_eq!(full.number(), Some(1040));
    let other = refused(Script::Bytes(b"\x03\0\0\0SSH".to_vec())).await;
    assert_eq!(other.server, None);
    let address = Scripted::free_address().await;
    let nobody = BackendClient::connect(&options(address), &Entropy::seeded(7)).await;
    let nobody = nobody.err().unwrap();
    assert_eq!((nobody.server, &*nobody.text), (None, "Connection refused"));
}

#[tokio::test]
async fn a_client_uses_tls_if_configured_and_trusts_any_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ServerTlsSettings {
        identity: Some(identity(folder.path(), "elsewhere.example")),
        client_certificates: ClientCertificates::Ignored,
    };
    let tls = ServerTls::new(settings).unwrap();
    let secure = Scripted::start(Script::WelcomeOverTls(tls.acceptor())).await;
    let plain = Scripted::start(Script::Welcome).await;
    let connect = async |address, tls| {
        let options = ClientOptions {
            tls,
            ..options(address)
        };
        BackendClient::connect(&options, &Entropy::seeded(7))
            .await
            .map(drop)
    };
    for mode in [BackendTlsMode::Preferred, BackendTlsMode::Required] {
        assert_eq!(connect(secure.address, mode).await, Ok(()), "{mode:?}");
    }
    for mode in [BackendTlsMode::Preferred, BackendTlsMode::Off] {
        assert_eq!(connect(plain.address, mode).await, Ok(()), "{mode:?}");
    }
    let required = connect(plain.address, BackendTlsMode::Required).await;
    assert_eq!(required.unwrap_err().text, "TLS: it does not offer TLS");
}
