//! Dialogues of both families, cut at every place.

use proptest::prelude::*;
use wire::write::{put_lenenc, put_packets};
use wire::{Capabilities, Command, StatusFlags};

use super::*;
use crate::reply::Outcome;

const EOF_KEPT: Capabilities = Capabilities(0);
const AUTOCOMMIT: u16 = 2;
const LIMIT: u64 = 1 << 30;

/// Who says what, in order. A turn may hold several packets.
#[derive(Debug, Clone)]
enum Turn {
    Client(Vec<u8>),
    Backend(Vec<u8>),
}

/// Builds one connection's turns.
struct Script {
    capabilities: Capabilities,
    turns: Vec<Turn>,
    sequence: u8,
}

impl Script {
    fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            turns: Vec::new(),
            sequence: 0,
        }
    }

    fn command(mut self, payload: &[u8]) -> Self {
        self.sequence = 0;
        self.client(payload)
    }

    fn client(mut self, payload: &[u8]) -> Self {
        let mut bytes = Vec::new();
        self.sequence = put_packets(&mut bytes, self.sequence, payload);
        self.turns.push(Turn::Client(bytes));
        self
    }

    fn backend(mut self, payload: &[u8]) -> Self {
        let mut bytes = Vec::new();
        self.sequence = put_packets(&mut bytes, self.sequence, payload);
        self.turns.push(Turn::Backend(bytes));
        self
    }

    fn ok(self, status: u16) -> Self {
        let [a, b] = status.to_le_bytes();
        self.backend(&[0, 0, 0, a, b, 0, 0])
    }

    fn err(self, number: u16) -> Self {
        let mut payload = vec![0xff];
        payload.extend_from_slice(&number.to_le_bytes());
        payload.extend_from_slice(b"#42000no");
        self.backend(&payload)
    }

    /// The EOF behind rows, or the OK in its place.
    fn terminator(self, status: u16) -> Self {
        let [a, b] = status.to_le_bytes();
        match self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => self.backend(&[0xfe, 0, 0, a, b, 0, 0]),
            false => self.backend(&[0xfe, 0, 0, a, b]),
        }
    }

    /// The EOF behind definitions, where there is one.
    fn definitions_end(self, status: u16) -> Self {
        match self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => self,
            false => self.terminator(status),
        }
    }

    fn definition(self) -> Self {
        self.backend(b"\x03def\x04demo\x01t\x01t\x01c\x01c\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0")
    }

    fn count(self, columns: u64) -> Self {
        let mut payload = Vec::new();
        put_lenenc(&mut payload, columns);
        self.backend(&payload)
    }

    fn result_set(self, rows: usize, status: u16) -> Self {
        let mut script = self
            .count(2)
            .definition()
            .definition()
            .definitions_end(AUTOCOMMIT);
        for row in 0..rows {
            script = script.backend(&vec![b'x'; row * 7 % 300 + 1]);
        }
        script.terminator(status)
    }

    fn prepared(self, parameters: u16, columns: u16) -> Self {
        let mut payload = vec![0, 1, 0, 0, 0];
        payload.extend_from_slice(&columns.to_le_bytes());
        payload.extend_from_slice(&parameters.to_le_bytes());
        payload.extend_from_slice(&[0, 0, 0]);
        let mut script = self.backend(&payload);
        for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..count {
                script = script.definition();
            }
            script = script.definitions_end(AUTOCOMMIT);
        }
        script
    }

    fn tracker(&self) -> Tracker {
        Tracker::new(
            self.capabilities,
            StatusFlags(AUTOCOMMIT),
            Sequences::Checked,
            Pipelining::Deep,
            LIMIT,
        )
    }

    /// Plays all turns, each cut into pieces of at most `piece` bytes.
    fn play(&self, piece: usize) -> (Tracker, Vec<Event>) {
        let mut tracker = self.tracker();
        let mut events = Vec::new();
        for turn in &self.turns {
            let (Turn::Client(bytes) | Turn::Backend(bytes)) = turn;
            for part in bytes.chunks(piece) {
                let mut part = part.to_vec();
                let emit = |event| events.push(event);
                match turn {
                    Turn::Client(_) => {
                        assert_eq!(tracker.client_bytes(&mut part, emit), Ok(part.len()));
                    }
                    Turn::Backend(_) => tracker.backend_bytes(&mut part, emit).unwrap(),
                }
            }
        }
        (tracker, events)
    }

    /// Ends idle, with the same events however it is cut; returns how the exchanges ended.
    fn ends_idle(&self) -> Vec<(Command, Outcome)> {
        let (tracker, events) = self.play(usize::MAX);
        assert!(tracker.is_idle(), "{events:?}");
        for piece in [1, 2, 3, 5, 24, 25, 29, 64] {
            assert_eq!(self.play(piece).1, events, "in pieces of {piece}");
        }
        let ends = events.iter().filter_map(|event| match event {
            Event::ReplyEnded { command, outcome } => Some((*command, *outcome)),
            _ => None,
        });
        ends.collect()
    }
}

fn both() -> [Script; 2] {
    [
        Script::new(EOF_KEPT),
        Script::new(Capabilities::DEPRECATE_EOF),
    ]
}

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
fn more_follows_out_parameters_when_the_eof_before_them_says_so() {
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
fn payloads_of_exactly_one_packet_are_continued_by_an_empty_one() {
    let script = Script::new(EOF_KEPT);
    let mut statement = vec![b' '; wire::PACKET_PAYLOAD_MAX];
    statement[0] = 3;
    let script = script.command(&statement).ok(2);
    assert!(script.play(1 << 16).0.is_idle());
}

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
        assert_eq!(tracker.held(&change[..length]), Held::Partly);
        let mut part = change[..length].to_vec();
        assert_eq!(tracker.client_bytes(&mut part, |_| {}), Ok(0));
    }
    assert_eq!(tracker.held(change), Held::ChangeUser(6));
    let mut change = change.to_vec();
    tracker.pass_change_user(&mut change, |_| {}).unwrap();
    // What its client says in the dialogue waits for the server.
    assert!(!tracker.wants_client());
    assert_eq!(tracker.held(b""), Held::Nothing);
}

#[test]
fn no_command_passes_for_words_of_a_dialogue_that_does_not_come() {
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

#[test]
fn sequence_ids_must_follow() {
    let mut tracker = Script::new(EOF_KEPT).tracker();
    let violation = tracker.client_bytes(&mut [1, 0, 0, 7, 0x0e], |_| {});
    assert_eq!(
        violation,
        Err(Violation::Sequence {
            expected: 0,
            found: 7
        })
    );
    let mut tracker = Script::new(EOF_KEPT).tracker();
    tracker
        .client_bytes(&mut [1, 0, 0, 0, 0x0e], |_| {})
        .unwrap();
    let violation = tracker.backend_bytes(&mut [7, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0], |_| {});
    assert_eq!(
        violation,
        Err(Violation::Sequence {
            expected: 1,
            found: 5
        })
    );
}

#[test]
fn sequence_ids_are_written_anew_where_one_side_compresses() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Renumbered,
        Pipelining::OneByOne,
        LIMIT,
    );
    let mut ping = [1, 0, 0, 9, 0x0e];
    tracker.client_bytes(&mut ping, |_| {}).unwrap();
    assert_eq!(ping[3], 0);
    let mut ok = [7, 0, 0, 44, 0, 0, 0, 2, 0, 0, 0];
    tracker.backend_bytes(&mut ok, |_| {}).unwrap();
    assert_eq!(ok[3], 1);
}

#[test]
fn the_first_packet_of_a_clients_frame_has_its_number() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Renumbered,
        Pipelining::Deep,
        LIMIT,
    );
    tracker.client_bytes(&mut [1, 0, 0, 0, 3], |_| {}).unwrap();
    let mut packets = Vec::new();
    put_packets(&mut packets, 1, &[1]);
    put_packets(&mut packets, 2, b"\x03def");
    tracker.align(6);
    tracker.backend_bytes(&mut packets, |_| {}).unwrap();
    assert_eq!((packets[3], packets[8]), (6, 7));
    // Within a packet nothing can be numbered.
    tracker.backend_bytes(&mut [5, 0], |_| {}).unwrap();
    tracker.align(40);
    let mut rest = [0, 3, 0xfe, 0, 0, 2, 0];
    tracker.backend_bytes(&mut rest, |_| {}).unwrap();
    assert_eq!(rest[1], 8);
}

#[test]
fn a_payload_beyond_the_limit_is_refused_before_it_has_passed() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Checked,
        Pipelining::Deep,
        100,
    );
    let violation = tracker.client_bytes(&mut [101, 0, 0, 0, 3], |_| {});
    assert_eq!(violation, Err(Violation::PayloadTooLarge { limit: 100 }));
}

#[test]
fn truncated_replies_name_what_is_missing() {
    for length in 1..7 {
        let mut tracker = Script::new(EOF_KEPT).tracker();
        tracker
            .client_bytes(&mut [1, 0, 0, 0, 0x0e], |_| {})
            .unwrap();
        let mut reply = Vec::new();
        put_packets(&mut reply, 1, &[0, 0, 0, 2, 0, 0, 0][..length]);
        let violation = tracker.backend_bytes(&mut reply, |_| {});
        assert!(
            matches!(
                violation,
                Err(Violation::Malformed(wire::Malformed::Truncated(_)))
            ),
            "{length}"
        );
    }
}

#[test]
fn a_farewell_is_told_and_anything_else_unasked_ends_the_following() {
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
