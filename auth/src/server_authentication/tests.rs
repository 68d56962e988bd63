use proptest::prelude::*;
use system::Entropy;

use super::*;
use crate::{CachingSha2Hash, Challenge, Channel, Ed25519Key, NativeHash, ServerKey};

const FRESH: [u8; 32] = [5; 32];

fn scramble() -> Scramble {
    Scramble::of_random(*b"abcdefghijklmnopqrst")
}

/// The client's side of the login, played by this crate's client code.
struct Client {
    challenge: Challenge,
    credential: Credential,
    privacy: Privacy,
}

impl Client {
    fn new(plugin: Plugin, password: &str, privacy: Privacy) -> Self {
        Self {
            challenge: Challenge {
                plugin: plugin.client_name().to_vec(),
                scramble: scramble().as_bytes().to_vec(),
            },
            credential: Credential::Password(Password::new(password)),
            privacy,
        }
    }

    fn hears(&mut self, payload: &[u8]) -> Vec<u8> {
        use wire::auth::AuthPacket;
        let answer = match AuthPacket::decode(payload).unwrap() {
            AuthPacket::Switch { plugin, data } => {
                self.challenge = Challenge::switched(plugin, data);
                self.challenge.answer(&self.credential, self.channel())
            }
            AuthPacket::MoreData(data) => {
                let answer = self.challenge.answer_to(
                    data,
                    &self.credential,
                    self.channel(),
                    &Entropy::seeded(1),
                );
                answer.map(Option::unwrap)
            }
            other => panic!("{other:?}"),
        };
        answer.unwrap().to_vec()
    }

    /// The client's channel, on which it requests the server's key.
    fn channel(&self) -> Channel<'static> {
        Channel {
            privacy: self.privacy,
            key: ServerKey::Asked,
        }
    }
}

/// The outcome of a login, and the number of packets that the server sends.
fn exam(
    greeting: Plugin,
    verifiers: &[Verifier],
    held: Option<&str>,
    password: &str,
    privacy: Privacy,
) -> (Result<Passed, Denial>, usize) {
    let (end, packets) = sit(greeting, verifiers, held, password, privacy);
    (end.map_err(|(denial, _)| denial), packets)
}

/// Like [`exam`], but a denial also has the proof that the client has shown.
fn sit(
    greeting: Plugin,
    verifiers: &[Verifier],
    held: Option<&str>,
    password: &str,
    privacy: Privacy,
) -> (Result<Passed, (Denial, Option<Shown>)>, usize) {
    let mut client = Client::new(greeting, password, privacy);
    let answer = client
        .challenge
        .answer(&client.credential, client.channel())
        .unwrap();
    let candidate = Candidate {
        plugin: Some(greeting.client_name()),
        answer: &answer,
        privacy,
    };
    let own_key = OwnKey::default();
    let held = held.map(Password::new);
    let mut verdict = ServerAuthentication::begin(
        greeting,
        &scramble(),
        verifiers.into(),
        held,
        candidate,
        FRESH,
    );
    let mut packets = 0;
    loop {
        verdict = match verdict {
            Verdict::Work(work) => work.run(&own_key),
            Verdict::Send { payload, exam } => {
                packets += 1;
                exam.receive(&client.hears(&payload))
            }
            Verdict::Accepted(passed) => return (Ok(passed), packets),
            Verdict::Denied(denial, shown) => return (Err((denial, shown)), packets),
        }
    }
}

/// The verdict of a second judge on the proof that the client has shown.
fn judged(shown: Shown, verifiers: &[Verifier]) -> Result<Passed, Denial> {
    let mut verdict = shown.judge(verifiers);
    loop {
        verdict = match verdict {
            Verdict::Work(work) => work.run(&OwnKey::default()),
            Verdict::Send { payload, .. } => panic!("the client is asked again: {payload:?}"),
            Verdict::Accepted(passed) => return Ok(passed),
            Verdict::Denied(denial, _) => return Err(denial),
        }
    }
}

fn sha2(password: &str) -> Verifier {
    Verifier::CachingSha2(CachingSha2Hash::of(password.as_bytes(), [3; 20], 1_000))
}

fn all_of(password: &str) -> [Verifier; 4] {
    let bytes = password.as_bytes();
    [
        Verifier::Native(NativeHash::of(bytes)),
        sha2(password),
        Verifier::Ed25519(Ed25519Key::of(bytes)),
        Verifier::Password(Password::new(password)),
    ]
}

const GREETINGS: [Plugin; 2] = [Plugin::Native, Plugin::CachingSha2];
const PRIVACIES: [Privacy; 3] = [Privacy::Open, Privacy::Local, Privacy::Tls];

#[test]
fn the_right_password_authenticates_with_each_plugin_and_transport() {
    for greeting in GREETINGS {
        for verifier in all_of("secret") {
            for privacy in PRIVACIES {
                let verifiers = [verifier.clone()];
                let (end, _) = exam(greeting, &verifiers, None, "secret", privacy);
                let passed = end.unwrap();
                let expected = match &verifier {
                    Verifier::Native(_) => {
                        Some(Credential::NativeStage1(crate::native::stage1(b"secret")))
                    }
                    Verifier::Ed25519(_) => None,
                    _ => Some(Credential::Password(Password::new("secret"))),
                };
                assert_eq!(passed.credential, expected);
                assert!(passed.password_used);
                for wrong in ["Secret", "secret ", ""] {
                    let (end, _) = exam(greeting, &verifiers, None, wrong, privacy);
                    let password_used = match end {
                        Err(Denial::Access { password_used }) => password_used,
                        end => panic!("{end:?}"),
                    };
                    let always = matches!(verifier, Verifier::Ed25519(_));
                    assert_eq!(password_used, always || !wrong.is_empty());
                }
            }
        }
    }
}

#[test]
fn a_cached_proof_accepts_only_its_own_password() {
    for greeting in GREETINGS {
        for (index, verifier) in all_of("before").into_iter().enumerate() {
            for privacy in PRIVACIES {
                let shown = |password| {
                    let verifiers = [verifier.clone()];
                    let (end, _) = sit(greeting, &verifiers, Some("before"), password, privacy);
                    end.unwrap_err().1.expect("it was shown")
                };
                let after = |password: &str| [all_of(password)[index].clone()];
                let passed = judged(shown("after"), &after("after")).unwrap();
                let (expected, _) = exam(greeting, &after("after"), None, "after", privacy);
                assert_eq!(passed.credential, expected.unwrap().credential);
                for other in ["before", "afte", "after "] {
                    judged(shown("after"), &after(other)).unwrap_err();
                }
                judged(shown("after"), &[]).unwrap_err();
                let nobody = [after("after")[0].unknown([9; 32])];
                judged(shown("after"), &nobody).unwrap_err();
            }
        }
    }
}

#[test]
fn a_cached_proof_holds_for_its_own_plugin_only() {
    let native = [Verifier::Native(NativeHash::of(b"before"))];
    let (end, _) = sit(Plugin::Native, &native, None, "after", Privacy::Tls);
    let shown = end.unwrap_err().1.unwrap();
    let others = [sha2("after"), Verifier::Ed25519(Ed25519Key::of(b"after"))];
    judged(shown, &others).unwrap_err();
}

#[test]
fn an_account_whose_password_was_removed_accepts_an_empty_password() {
    for plugin in GREETINGS {
        let before = [Verifier::parse(plugin, b"").unwrap()];
        let after = all_of("before");
        let after = [after[usize::from(plugin == Plugin::CachingSha2)].clone()];
        let (end, _) = sit(plugin, &after, None, "", Privacy::Open);
        let passed = judged(end.unwrap_err().1.unwrap(), &before).unwrap();
        assert!(!passed.password_used);
    }
}

#[test]
fn a_held_password_avoids_the_full_authentication() {
    let verifiers = [sha2("secret")];
    let greeting = Plugin::CachingSha2;
    let (end, packets) = exam(
        greeting,
        &verifiers,
        Some("secret"),
        "secret",
        Privacy::Open,
    );
    let passed = end.unwrap();
    assert_eq!(packets, 0);
    assert_eq!(passed.payload, Some(vec![1, 3]));
    // The account's password has changed, so the held password does not count.
    let changed = [sha2("another")];
    let (end, packets) = exam(greeting, &changed, Some("secret"), "another", Privacy::Tls);
    assert_eq!((end.unwrap().payload, packets), (None, 1));
}

#[test]
fn a_plain_password_is_asked_for_by_the_greetings_plugin() {
    let verifiers = [Verifier::Password(Password::new("secret"))];
    for (greeting, payload) in [
        (Plugin::Native, None),
        (Plugin::CachingSha2, Some(vec![1, 3])),
    ] {
        let (end, packets) = exam(greeting, &verifiers, None, "secret", Privacy::Open);
        assert_eq!((end.unwrap().payload, packets), (payload, 0));
    }
}

#[test]
fn the_former_of_two_passwords_is_accepted_too() {
    let verifiers = [sha2("current"), sha2("former")];
    for password in ["current", "former"] {
        let (end, _) = exam(
            Plugin::CachingSha2,
            &verifiers,
            None,
            password,
            Privacy::Tls,
        );
        let credential = end.unwrap().credential;
        assert_eq!(
            credential,
            Some(Credential::Password(Password::new(password)))
        );
    }
    let native = ["current", "former"].map(|it| Verifier::Native(NativeHash::of(it.as_bytes())));
    for password in ["current", "former"] {
        let (end, packets) = exam(Plugin::Native, &native, None, password, Privacy::Open);
        assert!(end.is_ok());
        assert_eq!(packets, 0);
    }
}

#[test]
fn an_empty_password_account_refuses_every_other_password() {
    for plugin in GREETINGS {
        let empty = [Verifier::Empty(plugin)];
        let (end, _) = exam(plugin, &empty, None, "", Privacy::Open);
        let passed = end.unwrap();
        assert_eq!(
            passed.credential,
            Some(Credential::Password(Password::new("")))
        );
        assert!(!passed.password_used);
        let (end, _) = exam(plugin, &empty, None, "secret", Privacy::Open);
        assert_eq!(
            end.err(),
            Some(Denial::Access {
                password_used: true
            })
        );
    }
}

/// The parts of a failed exam that a client can observe: each payload without its random bytes, and
/// the steps that take long.
fn seen(verifiers: Arc<[Verifier]>, privacy: Privacy) -> Vec<String> {
    let mut client = Client::new(Plugin::Native, "wrong", privacy);
    let answer = client
        .challenge
        .answer(&client.credential, client.channel())
        .unwrap();
    let candidate = Candidate {
        plugin: Some(Plugin::Native.client_name()),
        answer: &answer,
        privacy,
    };
    let own_key = OwnKey::default();
    let mut seen = Vec::new();
    let mut verdict = ServerAuthentication::begin(
        Plugin::Native,
        &scramble(),
        verifiers,
        None,
        candidate,
        FRESH,
    );
    loop {
        verdict = match verdict {
            Verdict::Work(work) => {
                seen.push(format!("{:?}", std::mem::discriminant(&work.task)));
                work.run(&own_key)
            }
            Verdict::Send { payload, exam } => {
                seen.push(String::from_utf8_lossy(&payload).into_owned());
                exam.receive(&client.hears(&payload))
            }
            Verdict::Denied(denial, _) => {
                seen.push(format!("{denial:?}"));
                return seen;
            }
            Verdict::Accepted(_) => panic!("a wrong password was accepted"),
        }
    }
}

#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    for verifier in all_of("secret") {
        for privacy in PRIVACIES {
            let decoy = verifier.unknown([9; 32]);
            let known = seen(Arc::new([verifier.clone()]), privacy);
            // Each `OwnKey` has a different key.
            let without_key = |seen: Vec<String>| -> Vec<String> {
                seen.into_iter()
                    .filter(|it| !it.contains("PUBLIC KEY"))
                    .collect()
            };
            let unknown = seen(Arc::new([decoy]), privacy);
            assert_eq!(without_key(unknown), without_key(known), "{verifier:?}");
        }
    }
}

#[test]
fn a_decoy_account_authenticates_no_client() {
    for verifier in all_of("secret")
        .into_iter()
        .chain([Verifier::Empty(Plugin::Native)])
    {
        let never = [Verifier::Never(Box::new(verifier))];
        for greeting in GREETINGS {
            for password in ["secret", ""] {
                let (end, _) = exam(greeting, &never, Some("secret"), password, Privacy::Tls);
                assert!(end.is_err());
            }
        }
    }
}

#[test]
fn an_account_without_a_verifier_authenticates_no_client() {
    let (end, _) = exam(Plugin::Native, &[], None, "", Privacy::Open);
    assert_eq!(
        end.err(),
        Some(Denial::Access {
            password_used: false
        })
    );
}

proptest! {
    /// For any bytes of a client, the exam does not panic, ends within a few payloads, and accepts nobody.
    #[test]
    fn arbitrary_client_payloads_are_denied(
        which in 0usize..5,
        greeting in prop::sample::select(GREETINGS.to_vec()),
        privacy in prop::sample::select(PRIVACIES.to_vec()),
        plugin in prop::option::of(prop::sample::select(vec![
            b"mysql_native_password".to_vec(), b"caching_sha2_password".to_vec(),
            b"client_ed25519".to_vec(), b"dialog".to_vec(), Vec::new(),
        ])),
        payloads in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..80),
                prop::collection::vec(any::<u8>(), 256),
                Just(vec![REQUEST_KEY_CACHING_SHA2]),
                Just(vec![0u8]),
                prop::collection::vec(any::<u8>(), 20),
                prop::collection::vec(any::<u8>(), 32),
                prop::collection::vec(any::<u8>(), 64),
            ],
            6,
        ),
    ) {
        thread_local! {
            static OWN: OwnKey = OwnKey::default();
            static ALL: Vec<Verifier> = {
                let mut all = all_of("a password that chance will not find").to_vec();
                all.push(sha2("another"));
                all
            };
        }
        let verifiers: Arc<[Verifier]> = ALL.with(|all| match which {
            4 => all.as_slice().into(),
            which => all[which..=which].into(),
        });
        let mut payloads = payloads.iter();
        let candidate = Candidate {
            plugin: plugin.as_deref(),
            answer: payloads.next().unwrap(),
            privacy,
        };
        let mut verdict = ServerAuthentication::begin(
            greeting, &scramble(), verifiers, Some(Password::new("held")), candidate, FRESH,
        );
        loop {
            verdict = match verdict {
                Verdict::Work(work) => OWN.with(|own| work.run(own)),
                Verdict::Send { exam, .. } => match payloads.next() {
                    Some(payload) => exam.receive(payload),
                    None => break,
                },
                Verdict::Accepted(_) => return Err(TestCaseError::fail("accepted")),
                Verdict::Denied(..) => break,
            }
        }
    }

    /// The exam accepts a password only if it is the account's password.
    #[test]
    fn only_the_right_password_is_accepted(
        right in "[ab]{0,3}",
        tried in "[ab]{0,3}",
        which in 0usize..4,
        greeting in prop::sample::select(GREETINGS.to_vec()),
        privacy in prop::sample::select(vec![Privacy::Local, Privacy::Tls]),
    ) {
        let verifier = match (right.is_empty(), which) {
            (true, 0) => Verifier::Empty(Plugin::Native),
            (true, 1) => Verifier::Empty(Plugin::CachingSha2),
            _ => all_of(&right)[which].clone(),
        };
        let (end, _) = exam(greeting, &[verifier], None, &tried, privacy);
        prop_assert_eq!(end.is_ok(), right == tried);
    }
}
