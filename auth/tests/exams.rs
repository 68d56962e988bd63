//! Recorded logins at real servers, replayed with [`ServerAuthentication`].
//!
//! Each line in the files of `exams/` names its kind. All bytes that a server sent are compared.

use std::path::Path;
use std::sync::Arc;

use pilotfish_auth::{
    Account, Candidate, Circumstances, Denial, Dialect, Directory, HostPattern, Names, Origin,
    OwnKey, Passed, Password, Plugin, Privacy, Rules, Scramble, ServerAuthentication,
    TlsRequirement, Verdict, Verifier, key_exchange,
};

/// One login, line by line.
struct Dialogue<'a> {
    title: &'a str,
    dialect: Dialect,
    lines: Vec<Vec<&'a str>>,
}

impl<'a> Dialogue<'a> {
    fn all(text: &'a str, dialect: Dialect) -> impl Iterator<Item = Self> {
        let blocks = text.split("\n\n").filter(|block| !block.starts_with("##"));
        blocks.map(move |block| {
            let mut lines = block.lines();
            Self {
                title: lines.next().unwrap(),
                dialect,
                lines: lines.map(|line| line.split(' ').collect()).collect(),
            }
        })
    }

    /// The words of each line of a kind, after the kind's name.
    fn lines(&self, kind: &str) -> impl Iterator<Item = &[&'a str]> {
        let of_kind = self.lines.iter().filter(move |line| line[0] == kind);
        of_kind.map(|line| &line[1..])
    }

    fn line(&self, kind: &str) -> &[&'a str] {
        self.lines(kind).next().unwrap()
    }

    /// The account as the server's grant table has it, or a decoy if the account did not exist.
    fn account(&self) -> Account {
        let host = HostPattern::any(self.dialect);
        let user = self.line("client")[1];
        let verifiers: Vec<Verifier> = self
            .lines("stored")
            .map(|line| {
                let plugin = match line[0] {
                    "mysql_native_password" => Plugin::Native,
                    "caching_sha2_password" => Plugin::CachingSha2,
                    _ => Plugin::Ed25519,
                };
                let stored = bytes(line.get(1).copied().unwrap_or_default());
                // MariaDB 10.11 stores nothing for ed25519's empty password, and lets no client in.
                let nobody = || Verifier::Never(Box::new(Verifier::parse(plugin, KEY).unwrap()));
                Verifier::parse(plugin, &stored).unwrap_or_else(|_| nobody())
            })
            .collect();
        let mut account = Account::new(user, host, verifiers);
        account.conditions.locked = ["locked", "lockedtls"].contains(&user);
        if ["lockedtls", "tls_only"].contains(&user) {
            account.conditions.tls = TlsRequirement::Any;
        }
        account
    }

    /// The challenge of the server's auth switch, which replaces the randomness of the exam. If the
    /// server sent no auth switch, the bytes are fixed.
    fn fresh(&self) -> [u8; 32] {
        let mut fresh = [7; 32];
        let switched = self
            .lines("<")
            .map(|line| line[0])
            .find(|it| it.starts_with("fe"));
        if let Some(payload) = switched.map(bytes) {
            let name_end = payload.iter().position(|byte| *byte == 0).unwrap();
            let data = &payload[name_end + 1..];
            fresh[..data.len().min(32)].copy_from_slice(&data[..data.len().min(32)]);
        }
        fresh
    }
}

const KEY: &[u8] = b"T9LWm4UVPJyvQCr8JrJTIFp6GA0fQavX1oFdR4U9JoI";

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// One exam, and the packets that the proxy has sent.
struct Replay<'a> {
    dialogue: &'a Dialogue<'a>,
    own_key: &'a OwnKey,
    account: Account,
    privacy: Privacy,
    user: &'a str,
    scramble: Vec<u8>,
    sent: Vec<String>,
}

impl<'a> Replay<'a> {
    fn new(dialogue: &'a Dialogue<'a>, own_key: &'a OwnKey) -> Self {
        let client = dialogue.line("client");
        Self {
            dialogue,
            own_key,
            account: dialogue.account(),
            privacy: match client[0] {
                "tls" => Privacy::Tls,
                "local" => Privacy::Local,
                _ => Privacy::Open,
            },
            user: client[1],
            scramble: bytes(dialogue.line("greeting")[1]),
            sent: Vec::new(),
        }
    }

    fn begin(&self) -> Verdict {
        let client = self.dialogue.line("client");
        let greeting = self.dialogue.line("greeting");
        let answer = bytes(client.get(3).copied().unwrap_or_default());
        let candidate = Candidate {
            plugin: (client[2] != "-").then_some(client[2].as_bytes()),
            answer: &answer,
            privacy: self.privacy,
        };
        ServerAuthentication::begin(
            Plugin::of_client_name(greeting[0].as_bytes()).unwrap(),
            &Scramble::of_random(self.scramble.as_slice().try_into().unwrap()),
            self.verifiers(),
            self.dialogue
                .lines("held")
                .next()
                .map(|line| Password::new(line[0])),
            candidate,
            self.dialogue.fresh(),
        )
    }

    fn verifiers(&self) -> Arc<[Verifier]> {
        let treatment = self.account.treatment(std::time::Duration::ZERO);
        match treatment {
            pilotfish_auth::Treatment::Examine(verifiers) if !verifiers.is_empty() => verifiers,
            _ => {
                let rules = Rules {
                    dialect: self.dialogue.dialect,
                    names: Names::Skipped,
                };
                Directory::new(rules, [], [1; 32]).decoy(self.user.as_bytes())
            }
        }
    }

    /// Runs the exam to its end; returns the packets that the server would have sent.
    fn run(mut self) -> Vec<String> {
        let mut said = self.dialogue.lines(">");
        let mut verdict = self.begin();
        loop {
            verdict = match verdict {
                Verdict::Work(work) => work.run(self.own_key),
                Verdict::Send { payload, exam } => {
                    self.note(&payload);
                    let words = said.next().unwrap();
                    exam.receive(&self.client_says(words))
                }
                Verdict::Accepted(passed) => return self.accepted(passed),
                Verdict::Denied(denial, _) => return self.denied(denial),
            }
        }
    }

    fn note(&mut self, payload: &[u8]) {
        if let [0xfe, rest @ ..] = payload {
            let data = rest.splitn(2, |byte| *byte == 0).nth(1).unwrap();
            self.scramble = data[..data.len().min(20)].to_vec();
        }
        let is_key = payload.starts_with(b"\x01-----BEGIN PUBLIC KEY");
        self.sent.push(match is_key {
            true => "key".to_owned(),
            false => payload.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
    }

    fn client_says(&self, words: &[&str]) -> Vec<u8> {
        match words {
            ["encrypted", password] => {
                let clear = [bytes(password), vec![0]].concat();
                let pem = self.own_key.public_pem().unwrap();
                key_exchange::encrypt(&clear, &self.scramble, pem).unwrap()
            }
            [hex] => bytes(hex),
            _ => panic!("{words:?}"),
        }
    }

    fn accepted(mut self, passed: Passed) -> Vec<String> {
        let origin = self.origin();
        let circumstances = Circumstances {
            origin: &origin,
            tls: None,
            password_used: passed.password_used,
        };
        if let Some(payload) = &passed.payload {
            self.note(payload);
        }
        match self.account.admit(&circumstances) {
            Ok(()) => self.sent.push("ok".to_owned()),
            Err(denial) => return self.denied(denial),
        }
        self.sent
    }

    fn denied(mut self, denial: Denial) -> Vec<String> {
        let host = self.origin().shown(Names::Skipped);
        let payload = denial.payload(self.dialogue.dialect, self.user.as_bytes(), &host);
        self.note(&payload);
        self.sent
    }

    fn origin(&self) -> Origin {
        match self.privacy {
            Privacy::Local => Origin::unix(),
            _ => Origin::tcp([127, 0, 0, 1].into(), None),
        }
    }
}

#[test]
fn clients_are_examined_as_the_servers_do_it() {
    let own_key = OwnKey::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exams");
    for (file, dialect, count) in [
        ("mariadb-10.11.txt", Dialect::MariaDb, 30),
        ("mariadb-11.8.txt", Dialect::MariaDb, 42),
        ("mysql-9.7.txt", Dialect::MySql, 26),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let mut seen = 0;
        for dialogue in Dialogue::all(&text, dialect) {
            let of_server: Vec<&str> = dialogue.lines("<").map(|line| line[0]).collect();
            let ours = Replay::new(&dialogue, &own_key).run();
            assert_eq!(ours, of_server, "{file}: {}", dialogue.title);
            seen += 1;
        }
        assert_eq!(seen, count, "{file}");
    }
}
