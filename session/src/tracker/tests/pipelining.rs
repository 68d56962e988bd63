//! Commands that arrive before the previous command is answered.

use super::script::{EOF_KEPT, Script};
use super::*;
use crate::tracker::questions::PIPELINE_DEPTH;

#[test]
fn pipelined_commands_are_answered_in_order() {
    let mut tracker = Script::new(EOF_KEPT).tracker();
    let mut commands = Vec::new();
    put_packets(&mut commands, 0, b"\x0e");
    put_packets(&mut commands, 0, b"\x03select");
    assert_eq!(
        tracker.client_bytes(&mut commands.clone(), |_| {}),
        Ok(commands.len())
    );
    assert_eq!(tracker.command(), Some(Command::PING));
    let mut ok = Vec::new();
    put_packets(&mut ok, 1, &[0, 0, 0, 2, 0, 0, 0]);
    tracker.backend_bytes(&mut ok.clone(), |_| {}).unwrap();
    assert_eq!(tracker.command(), Some(Command::QUERY));
    tracker.backend_bytes(&mut ok, |_| {}).unwrap();
    assert!(tracker.is_idle());
}

#[test]
fn too_many_commands_at_once_have_to_wait() {
    let mut tracker = Script::new(EOF_KEPT).tracker();
    let mut commands = Vec::new();
    for _ in 0..PIPELINE_DEPTH + 10 {
        put_packets(&mut commands, 0, b"\x0e");
    }
    let passed = tracker.client_bytes(&mut commands, |_| {}).unwrap();
    assert_eq!(passed, PIPELINE_DEPTH * 5);
    assert!(!tracker.wants_client());
    let mut ok = Vec::new();
    put_packets(&mut ok, 1, &[0, 0, 0, 2, 0, 0, 0]);
    tracker.backend_bytes(&mut ok, |_| {}).unwrap();
    assert_eq!(tracker.client_bytes(&mut commands[passed..], |_| {}), Ok(5));
}

#[test]
fn a_change_of_user_passes_whole_and_by_itself_alone() {
    let mut tracker = Script::new(EOF_KEPT).tracker().holding_change_user();
    let mut commands = Vec::new();
    put_packets(&mut commands, 0, b"\x0e");
    let ping = commands.len();
    put_packets(&mut commands, 0, b"\x11user\0");
    assert_eq!(tracker.client_bytes(&mut commands, |_| {}), Ok(ping));
    let change = &commands[ping..];
    for length in 1..=HEADER_BYTES {
        assert_eq!(tracker.held(&change[..length]), ChangeUserHold::Partly);
        let mut part = change[..length].to_vec();
        assert_eq!(tracker.client_bytes(&mut part, |_| {}), Ok(0));
    }
    assert_eq!(tracker.held(change), ChangeUserHold::ChangeUser(6));
    let mut change = change.to_vec();
    tracker.pass_change_user(&mut change, |_| {}).unwrap();
    // The client's packets of the dialogue wait until the server asks for them.
    assert!(!tracker.wants_client());
    assert_eq!(tracker.held(b""), ChangeUserHold::Nothing);
}

#[test]
fn a_command_behind_a_binlog_dump_waits_for_the_reply() {
    let mut tracker = Script::new(EOF_KEPT).tracker().holding_change_user();
    let mut commands = Vec::new();
    put_packets(&mut commands, 0, b"\x12");
    let dump = commands.len();
    put_packets(&mut commands, 0, b"\x03select");
    assert_eq!(tracker.client_bytes(&mut commands, |_| {}), Ok(dump));
    let mut err = Vec::new();
    put_packets(&mut err, 1, b"\xff\x01\x04#HY000no");
    tracker.backend_bytes(&mut err, |_| {}).unwrap();
    assert!(tracker.wants_client() && tracker.is_at_command());
}
