//! Worlds with fixed seeds and a fixed number of operations, so each change runs the same worlds.

#![allow(clippy::unwrap_used)]

use simulation::runs::{run_alone, run_traced};
use simulation::world::{WORLDS, WorldKind};

/// The seeds with which each change runs every kind of world.
const SEEDS: std::ops::Range<u64> = 1..3;

/// The number of operations in each of these worlds.
const OPERATIONS: usize = 1200;

fn hold(kind: WorldKind, seed: u64, operations: usize) {
    let outcome = run_alone(kind, seed, operations);
    assert!(outcome.broken.is_none(), "{outcome}");
}

fn hold_all(name: &str) {
    let (_, kind) = WORLDS[WORLDS.iter().position(|world| world.0 == name).unwrap()];
    for seed in SEEDS {
        hold(kind, seed, OPERATIONS);
    }
}

#[test]
fn calm_worlds_have_no_error() {
    hold_all("calm");
}

#[test]
fn rough_worlds_lose_nothing() {
    hold_all("rough");
}

#[test]
fn worlds_with_replicas_read_their_own_writes() {
    hold_all("replicas");
}

#[test]
fn worlds_that_switch_primaries_lose_nothing() {
    hold_all("switching");
}

#[test]
fn crowded_worlds_keep_their_limits() {
    hold_all("crowd");
}

#[test]
fn worlds_that_are_administered_have_no_error() {
    hold_all("changing");
}

#[test]
fn worlds_that_only_read_have_no_error_while_servers_are_away() {
    hold_all("reads");
}

#[test]
fn worlds_where_everything_goes_wrong_lose_nothing() {
    hold_all("everything");
}

#[test]
fn worlds_whose_links_break_within_statements_lose_nothing() {
    hold_all("links");
}

#[test]
fn worlds_with_two_faults_at_once_lose_nothing() {
    hold_all("pairs");
}

#[test]
fn two_runs_of_a_seed_are_the_same() {
    for (_, kind) in WORLDS {
        let [one, other] = [0, 1].map(|_| run_traced(kind, 7, 600));
        assert_eq!(one.digest, other.digest, "{one}\n{other}");
        assert_eq!(one.statements, other.statements);
    }
}

#[test]
fn worlds_of_different_seeds_differ() {
    let [one, other] = [7, 8].map(|seed| run_traced(WorldKind::Calm, seed, 100));
    assert_ne!(one.digest, other.digest);
}

/// Faults that the simulation has found, each with the seed that showed it.
mod found {
    use super::*;

    /// KILL QUERY of a session within its login ended the login, and the error said that the proxy shuts down.
    #[test]
    fn a_kill_of_a_statement_does_not_end_a_login() {
        hold(WorldKind::Rough, 100, 1500);
    }

    /// The proxy repeated SHOW WARNINGS on another connection after the first one had broken. The list was empty there.
    #[test]
    fn warnings_of_a_lost_connection_are_not_empty() {
        hold(WorldKind::Rough, 1, 1200);
        hold(WorldKind::Switching, 101, 1500);
        hold(WorldKind::Rough, 102, 1500);
    }

    /// A server that shut down refused a SHOW WARNINGS that another session had to send first on the connection. The
    /// proxy then took the list for empty.
    #[test]
    fn warnings_that_a_server_no_longer_tells_are_not_empty() {
        hold(WorldKind::Links, 490_599_188, 4000);
    }

    /// The proxy applied `pool.waiters_max` to each kind of connection of an account, and not to the account.
    #[test]
    fn waiters_max_limits_all_connection_kinds_of_an_account_together() {
        hold(WorldKind::Links, 3, 1200);
    }

    /// An error took the place of the EOF packet after the definitions, because the backend was disabled at that
    /// moment. The model of a client did not expect an error there.
    #[test]
    fn an_error_behind_definitions_is_an_error() {
        hold(WorldKind::Everything, 753_673_021, 4000);
    }

    /// The proxy answered a statement after a lost transaction with an error, but did not count the statement.
    #[test]
    fn statements_behind_a_cut_transaction_are_counted() {
        hold(WorldKind::Rough, 502, 1000);
    }

    /// A transaction with only a BEGIN had to begin again before its next statement, and no backend was available. The
    /// proxy answered the statement with an error, but did not count the statement.
    #[test]
    fn statements_before_which_a_transaction_cannot_begin_again_are_counted() {
        hold(WorldKind::Pairs, 869_549_460, 2000);
    }
}
