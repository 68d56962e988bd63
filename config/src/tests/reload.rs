//! The changes that a reload reports, and the changes that it makes.

use super::{File, load};
use crate::setting::{Applies, settings};
use crate::*;

fn changes(old: &str, new: &str) -> Vec<String> {
    let load = |text| File::new(text).load().unwrap().config;
    diff(&load(old), &load(new))
        .iter()
        .map(Change::to_string)
        .collect()
}

#[test]
fn a_reload_without_changes_reports_none() {
    let text = "[[backend]]\naddress = \"a\"";
    assert_eq!(changes(text, text), [""; 0]);
}

#[test]
fn every_change_is_reported_with_both_values() {
    let backend = "[[backend]]\naddress = \"a\"";
    let found = changes(
        &format!("listen = \":1\"\n[limits]\nsessions_max = 5\n{backend}"),
        &format!(
            "listen = [\":1\", \":2\"]\npid_file = \"/p.pid\"\n[limits]\nsessions_max = 6\n{backend}"
        ),
    );
    assert_eq!(
        found,
        [
            "listen: [\"0.0.0.0:1\"] becomes [\"0.0.0.0:1\", \"0.0.0.0:2\"] (needs a restart)",
            "pid_file: \"\" becomes \"/p.pid\" (needs a restart)",
            "limits.sessions_max: 5 becomes 6",
        ]
    );
}

#[test]
fn a_changed_secret_is_noticed_and_masked() {
    let with = |secret: &str| {
        format!(
            "[health]\nmonitor_user = \"m\"\nmonitor_password = \"{secret}\"\n[[backend]]\naddress = \"a\""
        )
    };
    let found = changes(&with("one"), &with("two"));
    assert_eq!(found, ["health.monitor_password: \"…\" becomes \"…\""]);
}

#[test]
fn a_reload_reports_new_changed_removed_and_moved_backends() {
    let found = changes(
        "[[backend]]\nname = \"a\"\naddress = \"x\"\n[[backend]]\nname = \"b\"\naddress = \"y\"\n\
         [[backend]]\nname = \"c\"\naddress = \"z\"",
        "[[backend]]\nname = \"c\"\naddress = \"z\"\nweight = 2\n[[backend]]\nname = \"d\"\naddress = \"w\"\n\
         [[backend]]\nname = \"b\"\naddress = \"y:1\"",
    );
    assert_eq!(
        found,
        [
            "backend[a]: x:3306 goes",
            "backend[c].weight: 1 becomes 2",
            "backend[d]: w:3306 is new",
            "backend[b].address: \"y:3306\" becomes \"y:1\"",
            "the order of backends: b, c becomes c, b",
        ]
    );
}

#[test]
fn a_reload_applies_all_settings_except_those_that_need_a_restart() {
    let old = load("");
    let new = load(
        "listen = \":1\"\nworkers = 7\ntimeout_drain = 9\n[log]\nlevel = \"error\"\nformat = \"json\"",
    );
    let reloaded = old.reloaded(&new);
    for setting in settings() {
        let expected = if setting.traits.applies == Applies::AtRestart {
            &old
        } else {
            &new
        };
        assert!((setting.same)(&reloaded, expected), "{}", setting.name);
    }
    let left = diff(&reloaded, &new);
    assert_eq!(left.len(), 3);
    assert!(
        left.iter()
            .all(|change| change.applies == Applies::AtRestart)
    );
}
