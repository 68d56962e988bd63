//! The changes that pass a filter.

use config::{FilterAction, FilteredChange, ReplicationFilterConfig};
use route::Family;

use super::super::error::FilterError;
use super::super::policy::{ChangeOrigin, Policy};
use super::{drops, on};
use crate::tests::system;

const ORIGIN: ChangeOrigin = ChangeOrigin {
    server_id: 1,
    domain: Some(0),
};

fn policy(settings: &[ReplicationFilterConfig]) -> Policy {
    Policy::new(
        settings,
        &config::ScriptConfig::default(),
        &system(0).clock,
        Family::MariaDb,
    )
    .unwrap()
}

#[test]
fn the_first_matching_replication_filter_applies() {
    let keep = ReplicationFilterConfig {
        action: Some(FilterAction::Keep),
        ..on(&["shop.orders"])
    };
    let policy = policy(&[keep, drops(&["shop.*"], &[])]);
    let passes = |schema, name| policy.passes(FilteredChange::Insert, (schema, name), ORIGIN);
    assert!(passes("shop", "orders"));
    assert!(passes("Shop", "ORDERS"));
    assert!(!passes("shop", "customers"));
    assert!(passes("archive", "customers"));
}

#[test]
fn filters_are_for_kinds_of_changes_servers_and_domains() {
    let of_server = ReplicationFilterConfig {
        server_ids: vec![7],
        ..drops(&[], &[])
    };
    let of_domain = ReplicationFilterConfig {
        domains: vec![3],
        ..drops(&[], &[])
    };
    let policy = policy(&[
        drops(&["shop.orders"], &[FilteredChange::Delete]),
        of_server,
        of_domain,
    ]);
    let orders = ("shop", "orders");
    assert!(policy.passes(FilteredChange::Insert, orders, ORIGIN));
    assert!(!policy.passes(FilteredChange::Delete, orders, ORIGIN));
    let other = ChangeOrigin {
        server_id: 7,
        ..ORIGIN
    };
    assert!(!policy.passes(FilteredChange::Insert, ("a", "b"), other));
    let other = ChangeOrigin {
        domain: Some(3),
        ..ORIGIN
    };
    assert!(!policy.passes(FilteredChange::Insert, ("a", "b"), other));
}

#[test]
fn mysql_has_no_domains() {
    let settings = ReplicationFilterConfig {
        domains: vec![3],
        ..drops(&[], &[])
    };
    let refused = Policy::new(
        &[settings],
        &config::ScriptConfig::default(),
        &system(0).clock,
        Family::MySql,
    )
    .err()
    .unwrap();
    assert!(matches!(refused, FilterError::Domains));
}

#[test]
fn names_of_tables_change_where_a_filter_says_so() {
    let policy = policy(&[
        ReplicationFilterConfig {
            rename_schema: Some("store".to_owned()),
            ..on(&["shop.*", "!shop.secret"])
        },
        ReplicationFilterConfig {
            rename_table: Some("hidden".to_owned()),
            ..on(&["shop.secret"])
        },
    ]);
    let renamed = |schema: &str, name: &str| policy.renamed(schema, name);
    let is = |schema: &str, name: &str| Some((schema.to_owned(), name.to_owned()));
    assert_eq!(renamed("shop", "orders"), is("store", "orders"));
    assert_eq!(renamed("shop", "secret"), is("shop", "hidden"));
    assert_eq!(renamed("other", "orders"), None);
}
