//! Outcomes of logins at real servers, compared with [`Accounts`] learned from their grant tables.
//!
//! The files in `grants/` were recorded from servers. The lines with `#` created the accounts. After them: the
//! rows that [`learned::query`] returns, and logins (user, password, address, transport) with their
//! outcome: CURRENT_USER(), or the number of the error. `-` means that the recording client did not know
//! the plugin that the server requested.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pilotfish_auth::{Account, configured};
use pilotfish_auth::{
    Accounts, Candidate, Certificate, Challenge, Channel, Circumstances, Credential, Denial,
    Dialect, Directory, Found, Learned, Names, Origin, OwnKey, Passed, Password, Plugin, Privacy,
    Rules, Scramble, ServerAuthentication, TlsSession, Treatment, Verdict, Verifier, learned,
};
use system::Entropy;
use wire::read::Reader;

/// 2026-11-20, the day of the recording: no password was older than its lifetime.
const NOW: Duration = Duration::from_secs(1_795_132_800);

struct Recording<'a> {
    version: &'a str,
    cipher: &'a str,
    accounts: Accounts,
    logins: Vec<Login<'a>>,
}

struct Login<'a> {
    user: &'a str,
    password: &'a str,
    from: &'a str,
    over: &'a str,
    came_of_it: &'a str,
}

/// A text row's values.
fn values(payload: &[u8]) -> Vec<Option<&[u8]>> {
    let mut reader = Reader::new(payload);
    let mut values = Vec::new();
    while !reader.is_empty() {
        values.push(match reader.rest()[0] {
            0xfb => reader.u8("NULL").map(|_| None).unwrap(),
            _ => Some(reader.lenenc_bytes("value").unwrap()),
        });
    }
    values
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

impl<'a> Recording<'a> {
    fn read(text: &'a str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<Vec<&str>> = lines.map(|line| line.split(" | ").collect()).collect();
        let of = |kind: &'static str| lines.iter().filter(move |line| line[0] == kind);
        let one = |kind| of(kind).next().unwrap()[1];
        let version = one("version");
        let rules = Rules {
            dialect: Dialect::of_version(version),
            names: match one("skip_name_resolve") {
                "1" => Names::Skipped,
                _ => Names::Resolved,
            },
        };
        let rows: Vec<Vec<u8>> = of("row").map(|line| bytes(line[1])).collect();
        let account = |row: &Vec<u8>| learned::account(version, &values(row)).unwrap();
        let accounts: Vec<Account> = rows.iter().filter_map(account).collect();
        let directory = Directory::new(rules, accounts, [7; 32]);
        let nobody = configured(&[], [7; 32]).unwrap();
        let login = |line: &Vec<&'a str>| Login {
            user: line[1],
            password: line[2],
            from: line[3],
            over: line[4],
            came_of_it: line[5],
        };
        Self {
            version,
            cipher: one("cipher"),
            accounts: Accounts::new(nobody, Learned::Known(Arc::new(directory))),
            logins: of("login").map(login).collect(),
        }
    }

    /// The proxy's outcome of a login, in the recording's form. `Err` is the reason why the login passes through.
    fn outcome(&self, login: &Login<'_>, own_key: &OwnKey) -> Result<String, String> {
        let origin = match login.from {
            "socket" => Origin::unix(),
            address => Origin::tcp(address.parse().unwrap(), None),
        };
        let (verifiers, account) = match self.accounts.find(login.user.as_bytes(), &origin) {
            Found::PassThrough => return Err("the name of its host".to_owned()),
            Found::Nobody => (self.accounts.decoy(login.user.as_bytes()), None),
            Found::Account(account) => match account.treatment(NOW) {
                Treatment::PassThrough(reason) => return Err(reason.to_string()),
                Treatment::Examine(verifiers) => (verifiers, Some(account)),
            },
        };
        let admitted = examine(verifiers, login.password, own_key).and_then(|passed| {
            let account = account.expect("nobody passes a decoy");
            account.admit(&Circumstances {
                origin: &origin,
                tls: self.tls(login),
                password_used: passed.password_used,
            })?;
            Ok(format!("{}@{}", account.user, account.host.as_str()))
        });
        Ok(admitted.unwrap_or_else(|denial| self.number(denial)))
    }

    fn tls(&self, login: &Login<'_>) -> Option<TlsSession<'a>> {
        let certificate = Certificate {
            issuer: "/CN=Pilotfish test authority",
            subject: "/CN=app",
        };
        (login.over != "open").then_some(TlsSession {
            cipher: self.cipher,
            certificate: (login.over == "certificate").then_some(certificate),
        })
    }

    fn number(&self, denial: Denial) -> String {
        let payload = denial.payload(Dialect::of_version(self.version), b"user", "host");
        u16::from_le_bytes([payload[1], payload[2]]).to_string()
    }
}

/// The whole conversation with a client over TLS that knows `password`.
fn examine(verifiers: Arc<[Verifier]>, password: &str, own_key: &OwnKey) -> Result<Passed, Denial> {
    let greeting = Plugin::Native;
    let scramble = Scramble::of_random(*b"abcdefghijklmnopqrst");
    let credential = Credential::Password(Password::new(password));
    let mut challenge = Challenge {
        plugin: greeting.client_name().to_vec(),
        scramble: scramble.as_bytes().to_vec(),
    };
    let channel = Channel::keyless(Privacy::Tls);
    let answer = challenge.answer(&credential, channel).unwrap();
    let candidate = Candidate {
        plugin: Some(greeting.client_name()),
        answer: &answer,
        privacy: Privacy::Tls,
    };
    let mut verdict =
        ServerAuthentication::begin(greeting, &scramble, verifiers, None, candidate, [7; 32]);
    loop {
        verdict = match verdict {
            Verdict::Work(work) => work.run(own_key),
            Verdict::Accepted(passed) => return Ok(passed),
            Verdict::Denied(denial, _) => return Err(denial),
            Verdict::Send { payload, exam } if payload[0] == 0xfe => {
                let end = payload.iter().position(|byte| *byte == 0).unwrap();
                challenge = Challenge::switched(&payload[1..end], &payload[end + 1..]);
                exam.receive(&challenge.answer(&credential, channel).unwrap())
            }
            Verdict::Send { payload, exam } => {
                let answer =
                    challenge.answer_to(&payload[1..], &credential, channel, &Entropy::seeded(1));
                exam.receive(&answer.unwrap().unwrap())
            }
        };
    }
}

/// `passed_through`: the number of logins for each reason to pass through.
fn assert_as_recorded(file: &str, passed_through: &[(&str, usize)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/grants")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let recording = Recording::read(&text);
    assert!(recording.logins.len() > 150);
    let own_key = OwnKey::default();
    let (mut wrong, mut reasons) = (Vec::new(), BTreeMap::<String, usize>::new());
    for login in &recording.logins {
        let Login {
            user,
            password,
            from,
            over,
            came_of_it,
        } = login;
        let known = |came_of_it: &str| match came_of_it {
            // Only for plugins that pass through, and for unknown users whose decoy has one of these plugins.
            "-" => "1045".to_owned(),
            known => known.to_owned(),
        };
        match recording.outcome(login, &own_key) {
            Ok(outcome) if outcome == known(came_of_it) => (),
            Ok(outcome) => wrong.push(format!(
                "{user} | {password} | {from} | {over} | {came_of_it}, not {outcome}"
            )),
            Err(reason) => *reasons.entry(reason).or_default() += 1,
        }
    }
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
    let reasons: Vec<(&str, usize)> = reasons.iter().map(|(it, count)| (&**it, *count)).collect();
    assert_eq!(reasons, passed_through);
}

#[test]
fn logins_that_mysql_accepts_are_accepted_here() {
    let passed_through = [
        ("failed logins are counted by the server", 2),
        ("plugin mysql_no_login", 4),
        ("plugin sha256_password", 4),
        ("the password has expired", 8),
    ];
    assert_as_recorded("mysql-9.7.txt", &passed_through);
    assert_as_recorded("mysql-9.7-names.txt", &passed_through);
}

#[test]
fn logins_that_mariadb_accepts_are_accepted_here() {
    let passed_through = [
        ("no connection is allowed", 4),
        ("plugin ed25519", 12),
        ("the password has expired", 4),
    ];
    assert_as_recorded("mariadb-10.11.txt", &passed_through);
    assert_as_recorded("mariadb-10.11-names.txt", &passed_through);
}

#[test]
fn logins_that_newer_mariadb_accepts_are_accepted_here() {
    let passed_through = [
        ("no connection is allowed", 4),
        ("plugin ed25519", 12),
        ("plugin parsec", 4),
        ("the password has expired", 4),
    ];
    assert_as_recorded("mariadb-11.8.txt", &passed_through);
}
