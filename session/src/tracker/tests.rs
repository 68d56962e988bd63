//! Dialogues of both families, cut at every byte.

use proptest::prelude::*;
use script::{AUTOCOMMIT, EOF_KEPT, Script, both};
use wire::write::put_packets;
use wire::{Capabilities, Command, StatusFlags};

use super::*;
use crate::reply::Outcome;

mod packets;
mod pipelining;
mod script;

#[test]
fn a_result_set_ends_at_its_last_terminator() {
    for script in both() {
        let script = script.command(b"\x03select 1").result_set(300, AUTOCOMMIT);
        assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
    }
}

#[test]
fn every_further_result_belongs_to_the_same_exchange() {
    for script in both() {
        let more = AUTOCOMMIT | StatusFlags::MORE_RESULTS_EXISTS.0;
        let script = script
            .command(b"\x03call p()")
            .result_set(1, more)
            .ok(more)
            .result_set(0, more)
            .ok(3);
        assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
        assert!(script.play(9).0.status().contains(StatusFlags::IN_TRANS));
    }
}

#[test]
fn an_error_ends_a_reply_wherever_it_stands() {
    for script in both() {
        let script = script.command(b"\x03select").err(1064);
        let script = script
            .command(b"\x03select")
            .count(1)
            .definition()
            .definitions_end(2)
            .backend(b"row");
        let ends = script.err(1317).ends_idle();
        assert_eq!(
            ends,
            [
                (Command::QUERY, Outcome::Err(1064)),
                (Command::QUERY, Outcome::Err(1317))
            ]
        );
    }
}

#[test]
fn rows_follow_although_a_procedure_has_a_cursor_of_its_own_open() {
    let within = AUTOCOMMIT | StatusFlags::MORE_RESULTS_EXISTS.0 | StatusFlags::CURSOR_EXISTS.0;
    for script in both() {
        let script = script
            .command(b"\x03call p")
            .count(1)
            .definition()
            .definitions_end(within)
            .backend(b"\x0210")
            .terminator(within)
            .ok(AUTOCOMMIT);
        assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
    }
}

#[test]
fn a_cursor_has_definitions_and_no_rows_until_they_are_fetched() {
    let cursor = AUTOCOMMIT | StatusFlags::CURSOR_EXISTS.0;
    for script in both() {
        // Without DEPRECATE_EOF one EOF ends definitions and result alike.
        let script = script
            .command(b"\x17execute")
            .count(1)
            .definition()
            .terminator(cursor);
        let script = script
            .command(b"\x1cfetch")
            .backend(b"\0\0row")
            .terminator(cursor);
        let ends = script.ends_idle();
        assert_eq!(
            ends,
            [
                (Command::STMT_EXECUTE, Outcome::Ok),
                (Command::STMT_FETCH, Outcome::Ok)
            ]
        );
    }
}

#[test]
fn a_prepared_statement_is_announced_with_its_definitions() {
    for (parameters, columns) in [(0, 0), (1, 0), (0, 1), (3, 2)] {
        for script in both() {
            let script = script
                .command(b"\x16select ?")
                .prepared(parameters, columns);
            assert_eq!(script.ends_idle(), [(Command::STMT_PREPARE, Outcome::Ok)]);
        }
    }
}

#[test]
fn definitions_that_are_left_out_are_not_waited_for() {
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::DEPRECATE_EOF;
    let script = Script::new(optional)
        .command(b"\x03select")
        .backend(&[1, 0])
        .backend(b"row")
        .terminator(2);
    assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
    let script = Script::new(optional)
        .command(b"\x16select")
        .backend(&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(script.ends_idle(), [(Command::STMT_PREPARE, Outcome::Ok)]);
    let cached = Capabilities::MARIADB_CACHE_METADATA;
    let script = Script::new(cached)
        .command(b"\x17")
        .backend(&[1, 0])
        .terminator(2)
        .backend(b"row")
        .terminator(2);
    assert_eq!(script.ends_idle(), [(Command::STMT_EXECUTE, Outcome::Ok)]);
}

#[test]
fn definitions_of_a_prepared_statement_that_are_left_out_leave_their_eofs() {
    for (parameters, columns) in [(0, 0), (1, 0), (0, 1), (3, 2)] {
        let mut script = Script::new(Capabilities::OPTIONAL_RESULTSET_METADATA)
            .command(b"\x16select ?")
            .backend(&[0, 1, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0, 0]);
        for _ in [parameters, columns].into_iter().filter(|count| *count > 0) {
            script = script.terminator(2);
        }
        let script = script.command(b"\x0e").ok(AUTOCOMMIT);
        assert_eq!(
            script.ends_idle(),
            [
                (Command::STMT_PREPARE, Outcome::Ok),
                (Command::PING, Outcome::Ok)
            ]
        );
    }
}

#[test]
fn a_reply_continues_after_out_parameters_if_an_eof_announces_more_results() {
    let more = AUTOCOMMIT | StatusFlags::MORE_RESULTS_EXISTS.0;
    let out = more | StatusFlags::PS_OUT_PARAMS.0;
    // MySQL without DEPRECATE_EOF, MariaDB without it, both with it.
    let ends = [
        (EOF_KEPT, AUTOCOMMIT),
        (EOF_KEPT, out),
        (Capabilities::DEPRECATE_EOF, out),
    ];
    for (capabilities, end) in ends {
        let script = Script::new(capabilities)
            .command(b"\x17execute")
            .count(1)
            .definition()
            .definitions_end(out)
            .backend(b"\0\0row")
            .terminator(end)
            .ok(AUTOCOMMIT);
        assert_eq!(script.ends_idle(), [(Command::STMT_EXECUTE, Outcome::Ok)]);
        assert_eq!(script.play(7).0.status(), StatusFlags(AUTOCOMMIT));
    }
}

#[test]
fn the_clients_file_is_not_taken_for_commands() {
    for script in both() {
        let script = script
            .command(b"\x03load data local")
            .backend(b"\xfbfile")
            .client(b"\x01\x03rows")
            .client(b"");
        assert_eq!(
            script.ok(AUTOCOMMIT).ends_idle(),
            [(Command::QUERY, Outcome::Ok)]
        );
    }
}

#[test]
fn a_change_of_user_is_a_dialogue() {
    for script in both() {
        let script = script
            .command(b"\x11u\0")
            .backend(b"\xfeplugin\0data")
            .client(b"\x03answer");
        let script = script
            .backend(b"\x01\x03")
            .ok(AUTOCOMMIT)
            .command(b"\x0e")
            .ok(AUTOCOMMIT);
        assert_eq!(
            script.ends_idle(),
            [
                (Command::CHANGE_USER, Outcome::Ok),
                (Command::PING, Outcome::Ok)
            ]
        );
    }
}

#[test]
fn progress_reports_end_nothing_where_they_were_agreed_on() {
    let script = Script::new(Capabilities::MARIADB_PROGRESS)
        .command(b"\x03alter")
        .err(0xffff)
        .err(0xffff)
        .ok(2);
    assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
}

#[test]
fn commands_without_reply_leave_the_connection_idle() {
    for script in both() {
        let script = script
            .command(b"\x18\x01\0\0\0\0\0data")
            .command(b"\x19\x01\0\0\0");
        assert_eq!(script.ends_idle(), []);
    }
}

#[test]
fn old_and_odd_commands_end_where_they_should() {
    for script in both() {
        let script = script
            .command(b"\x09")
            .backend(b"Uptime: 1")
            .command(b"\x04t\0")
            .definition()
            .terminator(2);
        let script = script
            .command(b"\x1b\0\0")
            .terminator(2)
            .command(b"\x0d")
            .backend(&[0xfe])
            .command(b"")
            .err(1047);
        let commands: Vec<_> = script
            .ends_idle()
            .into_iter()
            .map(|(command, _)| command)
            .collect();
        let expected = [
            Command::STATISTICS,
            Command::FIELD_LIST,
            Command::SET_OPTION,
            Command::DEBUG,
            Command::SLEEP,
        ];
        assert_eq!(commands, expected);
    }
}

#[test]
fn a_row_that_looks_like_a_terminator_is_a_row() {
    // A first column of 16 MiB begins with 0xfe, and fills its packet.
    for script in both() {
        let mut row = vec![0xfe, 0, 0, 0, 1, 0, 0, 0, 0];
        row.resize(wire::PACKET_PAYLOAD_MAX + 10, b'x');
        let script = script
            .command(b"\x03select")
            .count(1)
            .definition()
            .definitions_end(2);
        let script = script.backend(&row).terminator(2);
        let (tracker, _) = script.play(1 << 16);
        assert!(tracker.is_idle());
    }
}

#[test]
fn a_servers_goodbye_is_reported_and_other_unrequested_packets_end_the_tracking() {
    let mut tracker = Script::new(EOF_KEPT).tracker();
    let mut events = Vec::new();
    let mut goodbye = Vec::new();
    put_packets(&mut goodbye, 0, b"\xff\xbf\x0f#HY000inactive");
    tracker
        .backend_bytes(&mut goodbye, |event| events.push(event))
        .unwrap();
    let mut oddity = Vec::new();
    put_packets(&mut oddity, 0, b"\x42");
    tracker
        .backend_bytes(&mut oddity, |event| events.push(event))
        .unwrap();
    assert_eq!(
        events,
        [
            Event::Unsolicited(Outcome::Err(4031)),
            Event::Lost(LostReason::UnknownUnsolicited)
        ]
    );
    assert!(tracker.is_lost());
}

#[test]
fn a_streaming_binlog_lasts_until_it_ends() {
    let script = Script::new(EOF_KEPT)
        .command(b"\x12dump")
        .backend(b"\0event")
        .backend(b"\0\xfeevent");
    let script = script.client(b"\xefack").backend(b"\0event").terminator(2);
    assert_eq!(script.ends_idle(), [(Command::BINLOG_DUMP, Outcome::Ok)]);
}

proptest! {
    #[test]
    fn any_bytes_from_either_side_are_survived(
        capabilities in any::<u64>(),
        turns in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..64)), 0..32),
    ) {
        let mut tracker = Script::new(Capabilities(capabilities)).tracker();
        for (from_client, mut bytes) in turns {
            let outcome = match from_client {
                true => tracker.client_bytes(&mut bytes, |_| {}).map(drop),
                false => tracker.backend_bytes(&mut bytes, |_| {}),
            };
            if outcome.is_err() {
                break;
            }
        }
    }

    #[test]
    fn any_packets_from_the_backend_give_the_same_events_however_they_are_cut(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..20),
        piece in 1usize..50,
        deprecate_eof in any::<bool>(),
    ) {
        let capabilities = if deprecate_eof { Capabilities::DEPRECATE_EOF } else { EOF_KEPT };
        let follow = |piece: usize| {
            let mut tracker = Script::new(capabilities).tracker();
            let mut events = Vec::new();
            tracker.client_bytes(&mut [1, 0, 0, 0, 3], |_| {}).unwrap();
            let mut bytes = Vec::new();
            let mut sequence = 1;
            for payload in &payloads {
                sequence = put_packets(&mut bytes, sequence, payload);
            }
            let mut outcome = Ok(());
            for part in bytes.chunks_mut(piece) {
                outcome = tracker.backend_bytes(part, |event| events.push(event));
                if outcome.is_err() {
                    break;
                }
            }
            (events, outcome)
        };
        prop_assert_eq!(follow(usize::MAX), follow(piece));
    }
}

/// Before protocol 4.1 an EOF is one byte, and an OK counts no warnings.
#[test]
fn a_server_of_before_protocol_41_is_understood() {
    let old = Script::new(Capabilities::default());
    let script = old
        .command(b"\x03select 1")
        .count(1)
        .backend(b"\x01t\x01n\x03\x20\0\0\x01\xfd\x03\0\0\0")
        .backend(&[0xfe])
        .backend(b"\x011")
        .backend(&[0xfe])
        .command(b"\x04t\0%")
        .backend(b"\x01t\x01n\x03\x20\0\0\x01\xfd\x03\0\0\0")
        .backend(&[0xfe])
        .command(b"\x1b\0\0")
        .backend(&[0xfe])
        .command(b"\x02d")
        .backend(&[0, 0, 0, 2, 0])
        .command(b"\x03do 1")
        .backend(&[0, 0, 0]);
    let commands = [
        Command::QUERY,
        Command::FIELD_LIST,
        Command::SET_OPTION,
        Command::INIT_DB,
        Command::QUERY,
    ];
    assert_eq!(
        script.ends_idle(),
        commands.map(|command| (command, Outcome::Ok))
    );
}

/// A greeting may say 4.0 and claim protocol 4.1.
#[test]
fn an_eof_of_one_byte_ends_rows_with_any_capabilities() {
    for script in both() {
        let script = script
            .command(b"\x03select 1")
            .count(1)
            .definition()
            .definitions_end(2)
            .backend(b"\x011")
            .backend(&[0xfe]);
        assert_eq!(script.ends_idle(), [(Command::QUERY, Outcome::Ok)]);
    }
}
