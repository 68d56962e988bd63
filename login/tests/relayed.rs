//! Relayed logins: each side is a script that may disconnect at any byte or send any bytes.

use config::{ClientTlsMode, Config};
use dialogues::environment::{Environment, client_address};
use dialogues::peer::{CAPABILITIES, OK, PeerEnd, SCRAMBLE, err, greeting, packet};
use dialogues::play;
use link::failure::{ClientMessage, Failure, FailureKind};
use link::packets::PacketStream;
use net::proxy_protocol::Header;
use pilotfish_login::connect::connect;
use pilotfish_login::destination::Destination;
use pilotfish_login::examine::origin_of;
use pilotfish_login::relayed_login::{Agreement, ClientLogin, Login};
use pilotfish_login::tls_guard::Guard;
use proptest::prelude::*;
use route::{ClusterId, Roles};
use wire::auth::{MYSQL_NATIVE_PASSWORD, put_auth_switch};
use wire::compression::Algorithm;
use wire::errors;
use wire::{Capabilities, ErrPacket, Greeting, HandshakeResponse};

use crate::support::{encoded, handshake, told};

/// The outcome of a login.
struct Ended {
    outcome: Result<Agreement, Failure>,
    who: ClientLogin,
    /// Whether the backend has greeted and received nothing.
    awaits_first_answer: bool,
}

impl Ended {
    fn failure(self) -> Failure {
        self.outcome.err().unwrap()
    }
}

type Admits<'a> = &'a dyn Fn(&[u8]) -> Result<(), Failure>;

/// Finds a backend and runs a login to its end; then closes the connection to the backend.
async fn log_in_if(
    environment: &Environment,
    client: &mut PacketStream,
    admits: Admits<'_>,
) -> Ended {
    let settings = environment.current();
    let destination = Destination {
        cluster: ClusterId(0),
        roles: Roles::Any,
    };
    let env = &environment.login;
    let found = connect(env, &settings.config, &Header::Own, &destination).await;
    let mut backend = found.unwrap();
    let mut who = ClientLogin::default();
    let origin = origin_of(&client_address());
    let guard = Guard {
        env,
        settings: &settings,
        origin: &origin,
    };
    let login = Login {
        settings: &settings,
        own_key: &env.shared.own_key,
        entropy: &env.pool.system.entropy,
        now: env.pool.now(),
        header: &Header::Own,
        client,
        backend: &mut backend,
        client_login: &mut who,
        observer: None,
    };
    let outcome = login.run(&guard, admits).await;
    Ended {
        outcome,
        who,
        awaits_first_answer: backend.stream.awaits_first_answer(),
    }
}

async fn log_in(environment: &Environment, client: &mut PacketStream) -> Ended {
    log_in_if(environment, client, &|_| Ok(())).await
}

/// Runs the login of a client that has already answered the proxy's own greeting.
async fn authenticate_through(
    environment: &Environment,
    client: &mut PacketStream,
    response: HandshakeResponse<'_>,
) -> Result<Agreement, Failure> {
    let settings = environment.current();
    let destination = Destination {
        cluster: ClusterId(0),
        roles: Roles::Any,
    };
    let env = &environment.login;
    let found = connect(env, &settings.config, &Header::Own, &destination).await;
    let mut backend = found.unwrap();
    let login = Login {
        settings: &settings,
        own_key: &env.shared.own_key,
        entropy: &env.pool.system.entropy,
        now: env.pool.now(),
        header: &Header::Own,
        client,
        backend: &mut backend,
        client_login: &mut ClientLogin::default(),
        observer: None,
    };
    login.authenticate_through(response).await
}

fn switch_to(plugin: &[u8], scramble: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    put_auth_switch(&mut payload, plugin, scramble);
    payload.push(0);
    payload
}

#[test]
fn client_and_backend_agree_on_what_both_can_do() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let mut response = handshake(b"app", b"proof");
        let own = CAPABILITIES.with(Capabilities::SESSION_TRACK, false);
        response.head.capabilities = own | Capabilities::LOCAL_FILES;
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            let offered = app.receive_greeting().await;
            assert_eq!((offered.thread_id, &*offered.scramble), (17, SCRAMBLE));
            app.send_payload(&encoded(&response)).await;
            let forwarded = db.receive().await;
            assert_eq!(HandshakeResponse::decode(&forwarded), Ok(response));
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
        };
        let (ended, ()) = tokio::join!(log_in(&environment, &mut client), script);
        let agreement = ended.outcome.unwrap();
        assert_eq!(agreement.capabilities, own);
        assert_eq!(agreement.scramble, SCRAMBLE);
        assert_eq!((&*ended.who.user, &*ended.who.schema), ("app", "shop"));
    });
}

#[test]
fn tls_and_compression_are_offered_by_the_proxy_and_not_by_the_backend() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let mut there = greeting(17);
        there.capabilities |= Capabilities::SSL;
        let mut response = handshake(b"app", b"proof");
        response.head.capabilities |= Capabilities::COMPRESS;
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&there).await;
            let offered = app.receive_greeting().await.capabilities;
            assert!(!offered.contains(Capabilities::SSL), "the proxy has no TLS");
            assert!(offered.contains(Capabilities::COMPRESS), "the proxy has it");
            app.send_payload(&encoded(&response)).await;
            let forwarded = db.receive().await;
            let asked = HandshakeResponse::decode(&forwarded).unwrap();
            let asked = asked.head.capabilities;
            assert!(
                !asked.contains(Capabilities::COMPRESS),
                "the backend cannot"
            );
            db.send_payload(OK).await;
        };
        let (ended, ()) = tokio::join!(log_in(&environment, &mut client), script);
        let agreement = ended.outcome.unwrap();
        assert!(matches!(
            agreement.client_compression,
            Some((Algorithm::Zlib, _))
        ));
        assert!(agreement.backend_compression.is_none());
        assert!(!agreement.capabilities.contains(Capabilities::COMPRESS));
    });
}

#[test]
fn a_switch_of_the_plugin_passes_in_both_directions() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let request = switch_to(b"odd_plugin", b"another scramble 20b");
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            app.receive_greeting().await;
            app.send_payload(&encoded(&handshake(b"app", b"proof")))
                .await;
            db.receive().await;
            db.send_payload(&request).await;
            assert_eq!(app.receive().await, request);
            app.send_payload(b"odd answer").await;
            assert_eq!(db.receive().await, b"odd answer");
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
        };
        let (ended, ()) = tokio::join!(log_in(&environment, &mut client), script);
        // COM_CHANGE_USER starts from this scramble.
        assert_eq!(ended.outcome.unwrap().scramble, b"another scramble 20b");
    });
}

#[test]
fn a_refusal_reaches_the_client_in_the_backends_own_words() {
    for (number, is_full) in [(1045, false), (1040, true)] {
        play(async {
            let environment = Environment::plain();
            let mut server = environment.serve(1);
            let (mut client, mut app) = environment.client();
            let refusal = err(number, "no entry");
            let script = async {
                let mut db = server.accept().await;
                db.send_greeting(&greeting(17)).await;
                app.receive_greeting().await;
                app.send_payload(&encoded(&handshake(b"app", b"proof")))
                    .await;
                db.receive().await;
                db.send_payload(&refusal).await;
                assert_eq!(app.receive().await, refusal);
            };
            let (ended, ()) = tokio::join!(log_in(&environment, &mut client), script);
            let failure = ended.failure();
            assert_eq!(failure.kind, FailureKind::LoginRefused);
            assert_eq!(failure.cause, format!("error {number}: no entry"));
            // The client has got the error already.
            assert_eq!(failure.err_payload(true), None);
            let topology = environment.pool.topology.borrow();
            let load = &topology.backends[0].load;
            assert_eq!(load.is_server_full(environment.pool.now()), is_full);
        });
    }
}

#[test]
fn a_client_that_leaves_within_its_answer_leaves_nothing_at_the_backend() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let whole = packet(1, &encoded(&handshake(b"app", b"proof")));
        for cut in 0..whole.len() {
            let (mut client, mut app) = environment.client();
            let script = async {
                let mut db = server.accept().await;
                db.send_greeting(&greeting(17)).await;
                app.receive_greeting().await;
                app.send(&whole[..cut]).await;
                drop(app);
                db
            };
            let (ended, mut db) = tokio::join!(log_in(&environment, &mut client), script);
            assert!(ended.awaits_first_answer, "cut at {cut}");
            assert_eq!(ended.failure().kind, FailureKind::LoginAbandoned, "{cut}");
            assert_eq!(db.receive_end().await, PeerEnd::Closed);
        }
    });
}

/// The failure of a client that answers the greeting with these bytes.
fn refused(config: Config, answer: &[u8]) -> Failure {
    let mut refused = None;
    play(async {
        let environment = Environment::new(
            config,
            vec![dialogues::backends::backend(1)],
            auth::Accounts::default(),
        );
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            app.receive_greeting().await;
            app.send(answer).await;
            db
        };
        let (ended, mut db) = tokio::join!(log_in(&environment, &mut client), script);
        assert!(ended.awaits_first_answer);
        assert_eq!(db.receive_end().await, PeerEnd::Closed);
        refused = Some(ended.failure());
    });
    refused.unwrap()
}

#[test]
fn a_login_packet_of_absurd_length_is_refused_by_its_header() {
    let failure = refused(Config::default(), &[0x01, 0x00, 0x10, 1]);
    assert_eq!(failure.kind, FailureKind::LoginMalformed);
    let (number, text) = told(&failure);
    assert_eq!(number, 1043);
    assert!(text.contains("longer than"), "{text}");
}

#[test]
fn a_login_packet_out_of_order_is_refused() {
    let answer = packet(2, &encoded(&handshake(b"app", b"proof")));
    let failure = refused(Config::default(), &answer);
    assert_eq!(failure.kind, FailureKind::LoginMalformed);
    let (number, text) = told(&failure);
    assert_eq!(number, 1043);
    assert!(text.contains("sequence id 2 where 1 belongs"), "{text}");
}

#[test]
fn an_untrusted_proxy_header_gives_an_error_that_names_the_setting() {
    let failure = refused(Config::default(), b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n");
    let (_, text) = told(&failure);
    assert!(text.contains("proxy_protocol.trusted_networks"), "{text}");
}

#[test]
fn a_client_before_protocol_4_1_gets_an_error_without_sqlstate() {
    let failure = refused(Config::default(), &packet(1, b"\x05\x00\x00\x00\x01app\0"));
    assert_eq!(failure.kind, FailureKind::LoginMalformed);
    let ClientMessage::Relayed(payload) = failure.client_error else {
        panic!("the number of its library's errors is not that of the kind");
    };
    let err = ErrPacket::decode(&payload).unwrap();
    assert_eq!((err.number, err.sqlstate), (2007, None));
}

#[test]
fn a_client_that_asks_for_tls_where_none_is_offered_is_refused() {
    let mut response = handshake(b"app", b"proof");
    response.head.capabilities |= Capabilities::SSL;
    let failure = refused(Config::default(), &packet(1, &encoded(&response)));
    assert_eq!(failure.kind, FailureKind::LoginMalformed);
    assert_eq!(told(&failure), (1043, errors::tls_not_offered().into()));
}

#[test]
fn a_client_without_tls_is_refused_where_tls_is_required() {
    let mut config = Config::default();
    config.client_tls.mode = ClientTlsMode::Required;
    let answer = packet(1, &encoded(&handshake(b"app", b"proof")));
    let failure = refused(config, &answer);
    assert_eq!(failure.kind, FailureKind::TlsRequired);
    assert_eq!(told(&failure).0, 3159);
}

#[test]
fn a_refused_user_sends_nothing_to_the_backend() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let admits = |user: &[u8]| match user {
            b"app" => Err(Failure::new(FailureKind::ScriptFailed, "not app")),
            _ => Ok(()),
        };
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            app.receive_greeting().await;
            app.send_payload(&encoded(&handshake(b"app", b"proof")))
                .await;
            db
        };
        let login = log_in_if(&environment, &mut client, &admits);
        let (ended, mut db) = tokio::join!(login, script);
        assert!(ended.awaits_first_answer);
        assert_eq!(ended.failure().cause, "not app");
        assert_eq!(db.receive_end().await, PeerEnd::Closed);
    });
}

/// The failure of a login whose backend answers with these bytes and then closes.
fn answered_by_backend(bytes: &[u8]) -> Failure {
    let mut failed = None;
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            app.receive_greeting().await;
            app.send_payload(&encoded(&handshake(b"app", b"proof")))
                .await;
            db.receive().await;
            db.send(bytes).await;
            drop(db);
        };
        let (ended, ()) = tokio::join!(log_in(&environment, &mut client), script);
        failed = Some(ended.failure());
    });
    failed.unwrap()
}

#[test]
fn a_backend_that_breaks_off_or_breaks_the_protocol_is_named() {
    let ok = packet(2, OK);
    let cases: [(&[u8], &str); 6] = [
        (b"", "connection closed"),
        (&ok[..3], "closed within a packet"),
        (&ok[..ok.len() - 1], "closed within a packet"),
        (&packet(3, OK), "sequence id 3 where 2 belongs"),
        (&packet(2, b""), "makes no sense"),
        (&[0xff, 0xff, 0x7f, 2], "longer than"),
    ];
    for (bytes, cause) in cases {
        let failure = answered_by_backend(bytes);
        assert_eq!(failure.kind, FailureKind::BackendLogin, "{bytes:?}");
        let (number, text) = told(&failure);
        assert_eq!(number, 1429, "{bytes:?}");
        assert!(text.contains("backend db1"), "{text}");
        assert!(text.contains(cause), "{text}");
    }
}

#[test]
fn a_client_that_answered_another_greeting_is_asked_by_the_backends_own_plugin() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        client.begin_at(2);
        app.begin_at(2);
        let request = switch_to(b"ed25519_of_the_account", b"fresh scramble bytes");
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            let forwarded = db.receive().await;
            let forwarded = HandshakeResponse::decode(&forwarded).unwrap();
            // An answer to another scramble would be a failed attempt.
            assert_eq!(
                (forwarded.user, forwarded.auth_response),
                (&b"app"[..], &b""[..])
            );
            assert_eq!(forwarded.plugin, Some(&b"pilotfish_unanswered"[..]));
            db.send_payload(&request).await;
            assert_eq!(app.receive().await, request);
            app.send_payload(b"answer").await;
            assert_eq!(db.receive().await, b"answer");
            db.send_payload(OK).await;
        };
        let passed = authenticate_through(&environment, &mut client, handshake(b"app", b"stale"));
        let (passed, ()) = tokio::join!(passed, script);
        assert_eq!(passed.unwrap().scramble, b"fresh scramble bytes");
    });
}

#[test]
fn a_backend_that_cannot_switch_has_the_client_asked_in_its_name() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        client.begin_at(2);
        app.begin_at(2);
        let there = Greeting {
            capabilities: CAPABILITIES.with(Capabilities::PLUGIN_AUTH, false),
            plugin: Vec::new(),
            ..greeting(17)
        };
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&there).await;
            let asked = app.receive().await;
            assert_eq!(asked, switch_to(MYSQL_NATIVE_PASSWORD, SCRAMBLE));
            app.send_payload(b"answer").await;
            let forwarded = db.receive().await;
            let forwarded = HandshakeResponse::decode(&forwarded).unwrap();
            assert_eq!(forwarded.auth_response, b"answer");
            db.send_payload(OK).await;
        };
        let passed = authenticate_through(&environment, &mut client, handshake(b"app", b"stale"));
        let (passed, ()) = tokio::join!(passed, script);
        assert!(passed.is_ok());
    });
}

#[test]
fn a_client_without_plugins_cannot_be_asked_again() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let (mut client, _app) = environment.client();
        let mut response = handshake(b"app", b"stale");
        response.head.capabilities = CAPABILITIES.with(Capabilities::PLUGIN_AUTH, false);
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            db
        };
        let (passed, _db) = tokio::join!(
            authenticate_through(&environment, &mut client, response),
            script
        );
        let failure = passed.err().unwrap();
        let text = "Client does not support authentication protocol requested by server; consider upgrading MariaDB client";
        assert_eq!(told(&failure), (1251, text.to_owned()));
    });
}

/// Login answers of clients, most of them nearly valid.
fn answers() -> impl Strategy<Value = Vec<u8>> {
    let right = encoded(&handshake(b"app", b"proof"));
    let damaged = (
        prop::collection::vec((0..right.len(), any::<u8>()), 0..4),
        0..=right.len(),
    );
    let damaged = damaged.prop_map(move |(changes, length)| {
        let mut payload = right.clone();
        for (index, byte) in changes {
            payload[index] = byte;
        }
        payload.truncate(length);
        payload
    });
    prop_oneof![
        3 => damaged,
        1 => prop::collection::vec(any::<u8>(), 0..120),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The backend receives the login as the proxy has parsed it, or nothing.
    #[test]
    fn any_login_answer_is_forwarded_whole_or_refused(payload in answers()) {
        play(async {
            let environment = Environment::plain();
            let mut server = environment.serve(1);
            let (mut client, mut app) = environment.client();
            let script = async {
                let mut db = server.accept().await;
                db.send_greeting(&greeting(17)).await;
                app.receive_greeting().await;
                app.send_payload(&payload).await;
                let Ok(forwarded) = db.try_hear().await else {
                    return None;
                };
                db.send_payload(OK).await;
                Some(forwarded)
            };
            let (ended, forwarded) = tokio::join!(log_in(&environment, &mut client), script);
            match (ended.outcome, forwarded) {
                (Ok(_), Some(forwarded)) => {
                    let (said, heard) = (
                        HandshakeResponse::decode(&payload).unwrap(),
                        HandshakeResponse::decode(&forwarded).unwrap(),
                    );
                    assert_eq!((said.user, said.auth_response), (heard.user, heard.auth_response));
                    assert_eq!(said.head.collation, heard.head.collation);
                }
                (Err(failure), None) => {
                    assert_eq!(failure.kind, FailureKind::LoginMalformed);
                    assert!(ended.awaits_first_answer);
                }
                (outcome, forwarded) => {
                    panic!("{:?} {forwarded:?}", outcome.err());
                }
            }
        });
    }
}
