//! Accounts learned from scripted backends. The tests wait for events, and never for a fixed time.

use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Found, Names, Origin, PassThrough, Treatment};
use config::{AccountConfig, Config, Role};
use net::watch;
use route::{BackendId, Report};

use super::scripted_backend::{Answer, EOF, Met, Script, Scripted};
use super::{PATIENCE, at, backend, config, monitored, start, system};
use crate::Control;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::rows::Bounds;

const ORIGIN: [u8; 4] = [10, 0, 0, 1];
const HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

/// A MariaDB server with these accounts for every host, by mysql_native_password.
fn server(users: &[&str]) -> Script {
    let native =
        format!(r#"{{"plugin":"mysql_native_password","authentication_string":"{HASH}"}}"#);
    let rows: Vec<[Option<&str>; 4]> = users
        .iter()
        .map(|user| [Some(*user), Some("%"), Some(native.as_str()), Some("0")])
        .collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| row.as_slice()).collect();
    grant_table(Answer::rows(&rows))
}

fn grant_table(answer: Answer) -> Script {
    Script::Answers(vec![
        ("SELECT VERSION()", particulars("0")),
        ("SHOW GLOBAL VARIABLES", secure_transport("OFF")),
        ("SELECT User, Host, Priv", answer),
    ])
}

fn secure_transport(value: &str) -> Answer {
    Answer::rows(&[&[Some("require_secure_transport"), Some(value)]])
}

fn particulars(skip_name_resolve: &str) -> Answer {
    let version = Some("10.11.19-MariaDB-log");
    Answer::rows(&[&[version, Some(skip_name_resolve), Some("monitor@10.%")]])
}

/// A configuration in which accounts are learned on request, and hardly ever otherwise.
fn learning(from: &Scripted) -> Config {
    let mut config = monitored(from.address);
    config.health.monitor_interval = Duration::from_secs(3600);
    config.accounts.learn = true;
    config.accounts.learn_interval = Duration::from_secs(3600);
    config
}

/// Waits for the first snapshot that is as `wanted`.
async fn first(control: &Control, wanted: impl Fn(&Accounts) -> bool) -> Arc<Accounts> {
    let mut accounts: watch::Receiver<Arc<Accounts>> = control.accounts();
    let waiting = accounts.wait_for(|accounts| wanted(accounts));
    let found = tokio::time::timeout(PATIENCE, waiting).await;
    Arc::clone(&found.expect("it never came to that").unwrap())
}

fn found(accounts: &Accounts, user: &str) -> String {
    match accounts.find(user.as_bytes(), &Origin::tcp(ORIGIN.into(), None)) {
        Found::Account(account) => format!("{:?}", account.id()),
        Found::Nobody => "nobody".to_owned(),
        Found::PassThrough => "passed through".to_owned(),
    }
}

fn unknown(user: &str) -> Report {
    Report::UnknownAccount {
        user: user.to_owned(),
    }
}

#[tokio::test]
async fn accounts_are_learned_at_the_start() {
    let scripted = Scripted::start(server(&["app", "other"])).await;
    let (control, _topology) = start(&learning(&scripted));
    let accounts = first(&control, |accounts| accounts.asked_at().is_some()).await;
    assert_eq!(found(&accounts, "app"), "'app'@'%' (Learned)");
    assert_eq!(found(&accounts, "nobody"), "nobody");
    let rules = accounts.learned().unwrap().rules();
    assert_eq!(rules.names, Names::Resolved);
}

#[tokio::test]
async fn logins_pass_through_while_the_accounts_are_unknown() {
    let scripted = Scripted::start(Script::Refuse(1045, "Access denied")).await;
    let (control, _topology) = start(&learning(&scripted));
    assert_eq!(found(&control.accounts().borrow(), "app"), "passed through");
    let accounts = first(&control, |accounts| accounts.asked_at().is_some()).await;
    assert!(accounts.answers_logins());
    assert_eq!(found(&accounts, "app"), "passed through");
    scripted.play(server(&["app"]));
    let accounts = first(&control, |accounts| accounts.learned().is_some()).await;
    assert_eq!(found(&accounts, "app"), "'app'@'%' (Learned)");
}

#[tokio::test]
async fn a_report_of_an_unknown_user_makes_the_proxy_read_the_accounts() {
    let scripted = Scripted::start(server(&["app"])).await;
    let (control, _topology) = start(&learning(&scripted));
    let before = first(&control, |accounts| accounts.asked_at().is_some()).await;
    scripted.play(server(&["app", "created"]));
    control.reports().send(unknown("created")).unwrap();
    let after = first(&control, |accounts| accounts.asked_at() > before.asked_at()).await;
    assert_eq!(found(&after, "created"), "'created'@'%' (Learned)");

    scripted.play(server(&["created"]));
    let refused = Report::CredentialRefused {
        backend: BackendId(0),
        user: "app".to_owned(),
        cause: "Access denied".to_owned(),
    };
    control.reports().send(refused).unwrap();
    let last = first(&control, |accounts| accounts.asked_at() > after.asked_at()).await;
    assert_eq!(found(&last, "app"), "nobody");
}

/// An attempt without news is published too, because sessions wait for it. Pools keep their accounts.
#[tokio::test]
async fn an_attempt_without_news_leaves_accounts_as_they_are() {
    let scripted = Scripted::start(server(&["app"])).await;
    let (control, _topology) = start(&learning(&scripted));
    let before = first(&control, |accounts| accounts.asked_at().is_some()).await;
    control.reports().send(unknown("stranger")).unwrap();
    let after = first(&control, |accounts| accounts.asked_at() > before.asked_at()).await;
    let directory = |accounts: &Accounts| Arc::clone(accounts.learned().unwrap());
    assert!(Arc::ptr_eq(&directory(&before), &directory(&after)));
}

#[tokio::test]
async fn accounts_that_cannot_be_read_any_more_stay_as_they_were() {
    let scripted = Scripted::start(server(&["app"])).await;
    let (control, _topology) = start(&learning(&scripted));
    let before = first(&control, |accounts| accounts.asked_at().is_some()).await;
    let scripts = [
        grant_table(Answer::Err(1142, "SELECT command denied")),
        grant_table(Answer::Bytes(b"\x01\0\0\x01\xfb".to_vec())),
        Script::Refuse(1045, "Access denied"),
    ];
    let mut rounds = before.asked_at();
    for script in scripts {
        scripted.play(script);
        control.reports().send(unknown("other")).unwrap();
        let after = first(&control, |accounts| accounts.asked_at() > rounds).await;
        assert_eq!(found(&after, "app"), "'app'@'%' (Learned)");
        assert_eq!(found(&after, "other"), "nobody");
        rounds = after.asked_at();
    }
}

#[tokio::test]
async fn a_primary_is_asked_before_a_replica_and_the_next_where_one_fails() {
    let replica = Scripted::start(server(&["of_replica"])).await;
    let primary = Scripted::start(server(&["of_primary"])).await;
    let mut config = learning(&replica);
    config.backends = vec![
        backend("replica", at(replica.address)),
        backend("primary", at(primary.address)),
    ];
    config.backends[0].role = Role::Replica;
    let (control, _topology) = start(&config);
    let accounts = first(&control, |accounts| accounts.asked_at().is_some()).await;
    assert_eq!(found(&accounts, "of_primary"), "'of_primary'@'%' (Learned)");

    primary.play(Script::Refuse(1045, "Access denied"));
    control.reports().send(unknown("of_replica")).unwrap();
    let before = accounts.asked_at();
    let accounts = first(&control, |accounts| accounts.asked_at() > before).await;
    assert_eq!(found(&accounts, "of_replica"), "'of_replica'@'%' (Learned)");
}

#[tokio::test]
async fn a_row_that_is_not_understood_costs_only_its_own_account() {
    let plain = r#"{"plugin":"mysql_native_password","authentication_string":""}"#;
    let rows: &[&[Option<&str>]] = &[
        &[Some("strange"), Some("%"), Some("{"), Some("0")],
        &[
            Some("pam"),
            Some("%"),
            Some(r#"{"plugin":"pam"}"#),
            Some("0"),
        ],
        &[
            Some("role"),
            Some(""),
            Some(r#"{"is_role":true}"#),
            Some("0"),
        ],
        &[Some("app"), Some("%"), Some(plain), Some("0")],
    ];
    let scripted = Scripted::start(grant_table(Answer::rows(rows))).await;
    let (control, _topology) = start(&learning(&scripted));
    let accounts = first(&control, |accounts| accounts.asked_at().is_some()).await;
    let treatment = |user: &[u8]| {
        let origin = Origin::tcp(ORIGIN.into(), None);
        match accounts.find(user, &origin) {
            Found::Account(account) => Some(account.treatment(Duration::ZERO)),
            Found::Nobody | Found::PassThrough => None,
        }
    };
    let passes = |user: &[u8]| matches!(treatment(user), Some(Treatment::PassThrough(_)));
    assert!(passes(b"strange"));
    let pam = PassThrough::Plugin("pam".to_owned());
    assert_eq!(treatment(b"pam"), Some(Treatment::PassThrough(pam)));
    assert!(matches!(treatment(b"app"), Some(Treatment::Examine(_))));
    assert_eq!(treatment(b"role"), None);
}

/// Runs a query at a server that gives this answer. Returns the number of rows or the failure.
async fn met(answer: Answer, bounds: Bounds) -> Result<usize, Failure> {
    let script = Script::Answers(vec![("SELECT", answer)]);
    let scripted = Scripted::start(script).await;
    let config = monitored(scripted.address);
    let access = crate::login::Access::new(&config, system().entropy);
    let destination = crate::login::Destination {
        host: None,
        endpoints: vec![route::Endpoint::Tcp(scripted.address)],
    };
    let crate::login::Entry::In(mut connection) = access.log_in(&destination).await? else {
        unreachable!("it lets everybody in");
    };
    count(&mut connection, bounds).await
}

async fn count(connection: &mut Connection, bounds: Bounds) -> Result<usize, Failure> {
    let mut rows = connection.query("SELECT 1", bounds).await?;
    let mut count = 0;
    while let Some(row) = rows.next().await? {
        row.values()?;
        count += 1;
    }
    Ok(count)
}

const ENOUGH: Bounds = Bounds {
    rows: 3,
    bytes: 1 << 20,
};

#[tokio::test]
async fn a_result_set_is_read_to_its_end() {
    let rows = Answer::rows(&[&[Some("a"), None], &[Some(""), Some("b")]]);
    assert_eq!(met(rows, ENOUGH).await, Ok(2));
    let none = Answer::rows(&[]);
    assert_eq!(met(none, ENOUGH).await, Ok(0));
    let long = "x".repeat(100_000);
    let one = Answer::rows(&[&[Some(long.as_str())]]);
    assert_eq!(met(one, ENOUGH).await, Ok(1));
}

/// A column without names, the EOF after the columns, and the header of a row that never arrives.
const HUGE_ROW: &[u8] = b"\x13\0\0\x02\0\0\0\0\0\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\
    \x05\0\0\x03\xfe\0\0\x02\0\xff\xff\xff\x04";

#[tokio::test]
async fn a_result_above_its_bounds_is_refused_before_it_is_buffered() {
    let row: &[Option<&str>] = &[Some("0123456789")];
    let four = || Answer::rows(&[row; 4]);
    let rows = "it is no MySQL server: it sends more rows than fit";
    assert_eq!(met(four(), ENOUGH).await.unwrap_err().to_string(), rows);
    let few = Bounds { rows: 4, bytes: 40 };
    assert_eq!(met(four(), few).await.unwrap_err().to_string(), rows);
    let huge = Answer::Bytes(
        b"\x01\0\0\x01\x01"
            .iter()
            .chain(HUGE_ROW)
            .copied()
            .collect(),
    );
    let bytes = "it is no MySQL server: what it sent is not a row";
    assert_eq!(met(huge, few).await.unwrap_err().to_string(), bytes);
    let enough = Bounds { rows: 4, bytes: 44 };
    assert_eq!(met(four(), enough).await, Ok(4));
}

#[tokio::test]
async fn an_error_instead_of_rows_or_after_some_is_reported() {
    let refused = |text: &str| {
        Err(Failure::Refused {
            number: 1142,
            text: text.to_owned(),
        })
    };
    let at_once = Answer::Err(1142, "denied");
    assert_eq!(met(at_once, ENOUGH).await, refused("denied"));
    let Answer::Rows(columns, rows, _) = Answer::rows(&[&[Some("a")]]) else {
        unreachable!("they are rows");
    };
    let later = Answer::Rows(columns, rows, b"\xff\x76\x04#42000late".to_vec());
    assert_eq!(met(later, ENOUGH).await, refused("late"));
}

#[tokio::test]
async fn malformed_result_sets_are_reported() {
    let packet = |payload: &[u8]| {
        let mut bytes = Vec::new();
        wire::write::put_packets(&mut bytes, 1, payload);
        Answer::Bytes(bytes)
    };
    let rows = |row: &[u8]| Answer::Rows(2, vec![row.to_vec()], EOF.to_vec());
    for answer in [
        // OK, a request for a local file, no columns, and more columns than were asked for.
        packet(&[0, 0, 0, 2, 0, 0, 0]),
        packet(b"\xfb/etc/passwd"),
        packet(&[]),
        packet(&[0xfc, 0xff, 0xff]),
        // A wrong sequence id; rows with one value, with three, and with a truncated value; a huge row.
        Answer::Bytes(b"\x01\0\0\x07\x01".to_vec()),
        rows(b"\x01a"),
        rows(b"\x01a\x01b\x01c"),
        rows(b"\x01a\x05b"),
        rows(b"\x01a\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
    ] {
        let failure = met(answer.clone(), ENOUGH).await.unwrap_err();
        assert!(
            matches!(failure, Failure::NotMysql(_)),
            "{answer:?}: {failure}"
        );
    }
}

fn configured(user: &str, host: &str) -> AccountConfig {
    AccountConfig {
        user: user.to_owned(),
        host: host.to_owned(),
        ..AccountConfig::default()
    }
}

#[tokio::test]
async fn configured_accounts_change_with_the_configuration_and_learned_ones_stay() {
    let scripted = Scripted::start(server(&["app"])).await;
    let mut config = learning(&scripted);
    config.configured_accounts = vec![configured("one", "%")];
    let (control, _topology) = start(&config);
    let before = first(&control, |accounts| accounts.asked_at().is_some()).await;
    assert_eq!(found(&before, "one"), "'one'@'%' (Configured)");

    config.configured_accounts = vec![configured("two", "%")];
    control.reconfigure(Arc::new(config.clone())).unwrap();
    let after = Arc::clone(&control.accounts().borrow());
    assert_eq!(found(&after, "one"), "nobody");
    assert_eq!(found(&after, "two"), "'two'@'%' (Configured)");
    assert_eq!(found(&after, "app"), "'app'@'%' (Learned)");

    config.configured_accounts = vec![configured("three", "10.1.1.1/8")];
    let faulty = control.reconfigure(Arc::new(config.clone())).unwrap_err();
    assert_eq!(faulty[0].account, "'three'@'10.1.1.1/8'");
    let kept = Arc::clone(&control.accounts().borrow());
    assert_eq!(found(&kept, "two"), "'two'@'%' (Configured)");

    config.configured_accounts = Vec::new();
    config.accounts.learn = false;
    control.reconfigure(Arc::new(config)).unwrap();
    assert!(!control.accounts().borrow().answers_logins());
}

#[tokio::test]
async fn a_configured_account_that_cannot_be_used_stops_the_start() {
    let mut config = config([]);
    config.configured_accounts = vec![configured("app", "10.1.1.1/8")];
    let error = Control::start(&config, std::time::Instant::now(), &system()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("account 'app'@'10.1.1.1/8': ")
    );
}

#[tokio::test]
async fn grant_tables_are_not_read_if_learning_of_accounts_is_off() {
    let mut scripted = Scripted::start(server(&["app"])).await;
    let mut config = learning(&scripted);
    config.accounts.learn = false;
    let (control, _topology) = start(&config);
    control.reports().send(unknown("app")).unwrap();
    control.stop();
    let met = std::iter::from_fn(|| scripted.met.try_recv().ok());
    let mut statements =
        met.filter(|met| matches!(met, Met::Statement(text) if text.contains("Priv")));
    assert_eq!(statements.next(), None);
}
