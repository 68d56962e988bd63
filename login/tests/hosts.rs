//! Hosts whose logins fail too often in a row, and the accounts to which a relayed session may change.

use std::path::PathBuf;

use auth::{Account, Accounts, Learned};
use config::Config;
use dialogues::backends::backend;
use dialogues::environment::{Environment, account, client_address, directory};
use dialogues::memory_network::{End, ROOM};
use dialogues::peer::err;
use dialogues::play;
use link::failure::{Failure, FailureKind};
use link::transport::Transport;
use net::{Endpoint, Socket};
use pilotfish_login::host_errors;
use pilotfish_login::user_change::UserChange;

use crate::support::told;

fn environment(connect_errors_max: u32) -> Environment {
    let mut config = Config::default();
    config.limits.connect_errors_max = Some(connect_errors_max);
    Environment::new(config, vec![backend(1)], Accounts::default())
}

fn check(environment: &Environment, host: &Endpoint) -> Result<(), Failure> {
    host_errors::check(&environment.login, &environment.current(), host)
}

#[test]
fn a_host_is_blocked_after_so_many_failures_in_a_row_and_a_success_forgives() {
    play(async {
        let environment = environment(2);
        let (host, other) = (client_address(), Endpoint::Tcp(([10, 0, 9, 8], 1).into()));
        let failure = Failure::new(FailureKind::LoginAbandoned, "it left");
        let note = |failure| host_errors::note(&environment.login, &host, failure);
        note(Some(&failure));
        note(None);
        note(Some(&failure));
        assert!(
            check(&environment, &host).is_ok(),
            "the two were not in a row"
        );
        note(Some(&failure));
        let blocked = check(&environment, &host).err().unwrap();
        assert_eq!(told(&blocked).0, 1129);
        assert!(check(&environment, &other).is_ok());
        environment.login.shared.host_errors.forget_all();
        assert!(check(&environment, &host).is_ok());
    });
}

#[test]
fn only_login_failures_of_the_client_count_against_its_host() {
    let relayed = |kind, number| Failure::relaying(kind, "", err(number, "no"));
    let refused = |cause: &str| Failure::new(FailureKind::LoginRefused, cause);
    let cases = [
        (relayed(FailureKind::LoginDenied, 1045), true),
        (relayed(FailureKind::LoginDenied, 1698), true),
        // An unknown schema and a locked account.
        (relayed(FailureKind::LoginDenied, 1049), false),
        (relayed(FailureKind::LoginDenied, 4151), false),
        (refused("error 1045: Access denied"), true),
        (refused("error 1040: Too many connections"), false),
        (refused("error 10450: of another server"), false),
        (Failure::new(FailureKind::LoginMalformed, ""), true),
        (Failure::new(FailureKind::LoginTimeout, ""), true),
        (Failure::new(FailureKind::KeyExchange, ""), true),
        (Failure::new(FailureKind::ClientTls, ""), true),
        (Failure::new(FailureKind::NoBackend, ""), false),
        (Failure::new(FailureKind::BackendLogin, ""), false),
        (Failure::new(FailureKind::SessionsMax, ""), false),
        (Failure::new(FailureKind::AccountSessionsMax, ""), false),
        (Failure::new(FailureKind::Stopped, ""), false),
    ];
    play(async {
        for (failure, counts) in cases {
            let environment = environment(1);
            host_errors::note(&environment.login, &client_address(), Some(&failure));
            let is_blocked = check(&environment, &client_address()).is_err();
            assert_eq!(is_blocked, counts, "{failure:?}");
        }
    });
}

#[test]
fn the_same_host_over_ipv4_and_over_ipv6_is_one_host() {
    play(async {
        let environment = environment(1);
        let mapped = "[::ffff:10.0.9.9]:4000".parse().unwrap();
        let failure = Failure::new(FailureKind::LoginMalformed, "");
        host_errors::note(&environment.login, &Endpoint::Tcp(mapped), Some(&failure));
        assert!(check(&environment, &client_address()).is_err());
    });
}

/// Whether a session that runs these scripts may send COM_CHANGE_USER with this argument.
fn may_become(argument: &[u8], running: &[PathBuf]) -> Result<(), Failure> {
    let mut outcome = Ok(());
    play(async {
        let scripted = Account {
            script: Some(vec!["audit.lua".into()]),
            ..account("audited")
        };
        let accounts = Accounts::new(directory([scripted, account("app")]), Learned::Off);
        let environment = Environment::new(Config::default(), vec![backend(1)], accounts);
        let (near, _far) = End::pair(client_address(), client_address(), ROOM);
        let change = UserChange {
            remote: &client_address(),
            transport: &Transport::from(Socket::from(near)),
            argument,
            running,
        };
        outcome = change.check(&environment.login);
    });
    outcome
}

#[test]
fn a_change_of_user_fails_if_the_session_does_not_run_the_new_users_script() {
    assert!(may_become(b"app\0\x01xshop\0", &[]).is_ok());
    let failure = may_become(b"audited\0\x01xshop\0", &[]).err().unwrap();
    assert_eq!(failure.kind, FailureKind::ScriptFailed);
    assert!(may_become(b"audited\0\x01xshop\0", &["audit.lua".into()]).is_ok());
    assert!(may_become(b"audited\0\x01xshop\0", &["other.lua".into()]).is_err());
}

#[test]
fn a_truncated_change_of_user_is_checked_once_the_user_name_is_complete() {
    let whole = b"audited\0\x01xshop\0";
    for cut in 0..whole.len() {
        let is_whole_name = cut >= "audited".len();
        assert_eq!(
            may_become(&whole[..cut], &[]).is_err(),
            is_whole_name,
            "{cut}"
        );
    }
}
