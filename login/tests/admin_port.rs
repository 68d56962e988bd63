//! Logins to the admin port, and an admin client's packets after that: valid, malformed, or none.

use std::sync::Arc;
use std::time::Duration;

use auth::{Directory, OwnKey, Plugin};
use backend::settings::Settings;
use config::Config;
use dialogues::environment::{account, client_address, directory, settings};
use dialogues::memory_network::{End, ROOM};
use dialogues::peer::{CAPABILITIES, OK, Peer, PeerEnd, packet};
use dialogues::play;
use net::RawSocket;
use net::listen::Accepted;
use pilotfish_login::reception::{AdminClient, AdminClientError, AdminState, Reception};
use system::Entropy;
use tokio::time::timeout;
use wire::change_user::ChangeUser;
use wire::{ErrorCode, HandshakeResponse};

use crate::support::{claim, encoded, handshake, proof, switched_proof};

/// An admin port with one account, whose password is its name.
struct Port {
    reception: Reception,
    accounts: Directory,
    settings: Arc<Settings>,
}

impl Port {
    fn open() -> Self {
        let started = net::clock::now().into_std();
        let own_key = Arc::new(OwnKey::default());
        Self {
            reception: Reception::new(own_key, started, Entropy::seeded(7)),
            accounts: directory([account("admin")]),
            settings: settings(Config::default()),
        }
    }

    fn state(&self) -> AdminState<'_> {
        AdminState {
            accounts: &self.accounts,
            settings: &self.settings,
            version: "8.0.40-pilotfish",
            plugin: Plugin::Native,
            id: 7,
            has_schema: |name| name == "shop",
        }
    }

    /// Accepts a connection while its client runs this script.
    async fn receive<T>(
        &self,
        script: impl AsyncFnOnce(Peer) -> T,
    ) -> (Result<AdminClient, AdminClientError>, T) {
        let (near, far) = End::pair(client_address(), client_address(), ROOM);
        let accepted = Accepted {
            socket: RawSocket::Memory(Box::new(near)),
            remote: client_address(),
        };
        let state = self.state();
        let received = self.reception.receive(accepted, &state);
        tokio::join!(received, script(Peer::new(far)))
    }

    /// A logged-in admin client, and the client's end of the connection.
    async fn logged_in(&self) -> (AdminClient, Peer) {
        let (received, app) = self
            .receive(async |mut app: Peer| {
                claim(&mut app, "admin", "admin").await;
                assert_eq!(app.receive().await, OK);
                app
            })
            .await;
        (received.unwrap(), app)
    }

    async fn refused(&self, user: &str, password: &str) -> (u16, String) {
        let (received, told) = self
            .receive(async |mut app: Peer| {
                claim(&mut app, user, password).await;
                let told = app.receive_err().await;
                assert_eq!(app.receive_end().await, PeerEnd::Closed);
                told
            })
            .await;
        assert!(matches!(received, Err(AdminClientError::Login(_))));
        told
    }
}

#[test]
fn an_admin_client_logs_in_and_is_heard_command_by_command() {
    play(async {
        let port = Port::open();
        let (mut admin, mut app) = port.logged_in().await;
        assert_eq!(
            (&*admin.user, admin.schema.as_deref()),
            ("admin", Some("shop"))
        );
        for text in [&b"\x03SHOW TABLES"[..], b"\x0e"] {
            app.begin_at(0);
            app.send_payload(text).await;
            assert_eq!(admin.command().await.unwrap().as_deref(), Some(text));
            admin.send(&packet(1, OK)).await.unwrap();
            assert_eq!(app.receive().await, OK);
        }
        drop(app);
        assert!(admin.command().await.unwrap().is_none());
    });
}

#[test]
fn a_wrong_password_and_an_unknown_user_sound_alike_at_the_admin_port() {
    play(async {
        let port = Port::open();
        let wrong = port.refused("admin", "wrong").await;
        let text = "Access denied for user 'admin'@'10.0.9.9' (using password: YES)";
        assert_eq!(wrong, (1045, text.to_owned()));
        let stranger = port.refused("nobody", "wrong").await;
        assert_eq!(stranger, (1045, text.replace("admin", "nobody")));
    });
}

#[test]
fn a_schema_that_the_admin_port_lacks_is_refused_behind_the_password() {
    play(async {
        let port = Port::open();
        let claim_of = |password: &'static str| {
            port.receive(async move |mut app: Peer| {
                let greeting = app.receive_greeting().await;
                let proof = proof(&greeting, password);
                let response = HandshakeResponse {
                    schema: Some(b"attic"),
                    ..handshake(b"admin", &proof)
                };
                app.send_payload(&encoded(&response)).await;
                app.receive_err().await
            })
        };
        let (_, told) = claim_of("admin").await;
        assert_eq!(told, (1049, "Unknown database 'attic'".to_owned()));
        let (_, told) = claim_of("wrong").await;
        assert_eq!(told.0, 1045, "nobody else learns which schemas there are");
    });
}

#[test]
fn an_admin_client_that_says_nothing_is_sent_away_in_time() {
    play(async {
        let port = Port::open();
        let (received, ()) = port
            .receive(async |mut app: Peer| {
                app.receive_greeting().await;
                let (number, _) = app.receive_err().await;
                assert_eq!(number, 1159);
            })
            .await;
        assert!(matches!(received, Err(AdminClientError::Login(_))));
    });
}

#[test]
fn passwords_are_not_guessed_quickly_at_the_admin_port() {
    play(async {
        let port = Port::open();
        for _ in 0..6 {
            port.refused("admin", "wrong").await;
        }
        let (received, ()) = port
            .receive(async |mut app: Peer| {
                claim(&mut app, "admin", "admin").await;
                let at_once = timeout(Duration::from_millis(100), app.receive()).await;
                assert!(at_once.is_err(), "a right guess waits as a wrong one does");
                assert_eq!(app.receive().await, OK);
            })
            .await;
        assert!(received.is_ok());
    });
}

#[test]
fn malformed_admin_commands_get_an_error_and_a_disconnected_client_gets_none() {
    let cases: [(&[u8], Option<ErrorCode>); 5] = [
        (&[0x01, 0x00, 0x10, 0], Some(ErrorCode::PACKET_TOO_LARGE)),
        (b"\x01\0\0\x05\x0e", Some(ErrorCode::PACKETS_OUT_OF_ORDER)),
        (b"\x05\0\0\0\x03do", None),
        (b"\x05\0", None),
        (
            b"GET / HTTP/1.1\r\n\r\n",
            Some(ErrorCode::PACKETS_OUT_OF_ORDER),
        ),
    ];
    for (bytes, code) in cases {
        play(async {
            let port = Port::open();
            let (mut admin, mut app) = port.logged_in().await;
            app.send(bytes).await;
            drop(app);
            match (admin.command().await, code) {
                (Err(AdminClientError::Broken(found, _)), Some(code)) => assert_eq!(found, code),
                (Err(AdminClientError::Gone(_)), None) => {}
                (other, code) => panic!("{bytes:?}: {code:?} expected, and not {other:?}"),
            }
        });
    }
}

#[test]
fn sending_to_an_admin_client_that_does_not_read_times_out() {
    play(async {
        let port = Port::open();
        let (mut admin, app) = port.logged_in().await;
        let much = vec![0; 4 * ROOM];
        let sent = admin.send(&much).await;
        assert!(matches!(sent, Err(AdminClientError::Gone(_))), "{sent:?}");
        drop(app);
    });
}

#[test]
fn an_admin_client_becomes_another_user_by_that_users_password() {
    play(async {
        let port = Port {
            accounts: directory([account("admin"), account("auditor")]),
            ..Port::open()
        };
        for (password, becomes) in [("auditor", true), ("admin", false)] {
            let (mut admin, mut app) = port.logged_in().await;
            let mut argument = Vec::new();
            ChangeUser {
                user: b"auditor",
                auth_response: b"",
                schema: None,
                collation: Some(45),
                plugin: Some(b"mysql_native_password"),
                attributes: None,
            }
            .encode(CAPABILITIES, &mut argument);
            let script = async {
                app.begin_at(0);
                app.send_payload(&[&b"\x11"[..], &argument].concat()).await;
                let request = app.receive().await;
                app.send_payload(&switched_proof(&request, password)).await;
                app.receive().await
            };
            let state = port.state();
            let change = async {
                let command = admin.command().await.unwrap().unwrap();
                let changed = port
                    .reception
                    .change_user(&mut admin, &command[1..], &state);
                changed.await
            };
            let (changed, told) = tokio::join!(change, script);
            assert_eq!(changed.is_ok(), becomes);
            assert_eq!(told == OK, becomes);
            assert_eq!(admin.user == "auditor", becomes);
        }
    });
}

#[test]
fn a_change_of_the_user_that_is_not_whole_ends_the_admin_client() {
    play(async {
        let port = Port::open();
        let mut whole = Vec::new();
        ChangeUser {
            user: b"admin",
            auth_response: b"12345678901234567890",
            schema: None,
            collation: None,
            plugin: None,
            attributes: None,
        }
        .encode(CAPABILITIES, &mut whole);
        for cut in 0..whole.len() {
            let (mut admin, app) = port.logged_in().await;
            let changed = {
                let state = port.state();
                let leaves = async { drop(app) };
                let change = port
                    .reception
                    .change_user(&mut admin, &whole[..cut], &state);
                tokio::join!(change, leaves).0
            };
            assert!(
                matches!(changed, Err(AdminClientError::Login(_))),
                "cut at {cut}"
            );
        }
    });
}
