use system::Entropy;

use super::*;

const NEW: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0 | Capabilities::DEPRECATE_EOF.0 | Capabilities::SESSION_TRACK.0,
);

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::write::put_packets(&mut bytes, sequence, payload);
    bytes
}

/// An OK that reports a change to the schema `s`.
fn ok_with_changes(sequence: u8, status: u16) -> Vec<u8> {
    let [low, high] = (status | StatusFlags::SESSION_STATE_CHANGED.0).to_le_bytes();
    packet(sequence, &[0, 0, 0, low, high, 0, 0, 0, 4, 1, 2, 1, b's'])
}

fn reply(command: Command) -> Reply {
    Reply::to(command, NEW, Sequences::Checked, 1).unwrap()
}

#[test]
fn bytes_after_a_reply_are_not_part_of_it() {
    let mut bytes = packet(1, &[0, 0, 0, 2, 0, 0, 0]);
    let length = bytes.len();
    bytes.extend(packet(1, &[0, 0, 0, 2, 0, 0, 0]));
    let mut reply = reply(Command::PING);
    assert_eq!(reply.feed(&mut bytes, |_| {}), Ok(length));
    assert_eq!(reply.progress(), Progress::Over(Outcome::Ok));
    assert_eq!(reply.tally().status, Some(StatusFlags::AUTOCOMMIT));
}

#[test]
fn an_ok_with_changes_is_handed_over_whole_however_it_comes() {
    let bytes = ok_with_changes(1, 2);
    for length in 1..=bytes.len() {
        let mut reply = reply(Command::QUERY);
        let mut changes = Vec::new();
        for piece in bytes.chunks(length) {
            let fed = reply.feed(&mut piece.to_vec(), |piece| match piece {
                Piece::Changes(packet, _) => changes.push(packet.to_vec()),
                Piece::Pass(bytes) => assert!(bytes.is_empty(), "{bytes:?} passed"),
            });
            assert_eq!(fed, Ok(piece.len()));
        }
        assert_eq!(changes.concat(), bytes);
        assert_eq!(reply.progress(), Progress::Over(Outcome::Ok));
    }
}

#[test]
fn rows_are_counted_and_long_ones_pass_in_pieces() {
    let mut bytes = packet(1, &[1]);
    bytes.extend(packet(2, &[b'd'; 30]));
    let mut long = vec![b'x'; 100_000];
    long[0] = 5;
    for (sequence, row) in (3..).zip([&[1, b'a'][..], &long, &[1, b'b']]) {
        bytes.extend(packet(sequence, row));
    }
    bytes.extend(packet(6, &[0xfe, 0, 0, 2, 0, 3, 0]));
    for length in [1, 100, 70_000, bytes.len()] {
        let mut reply = reply(Command::QUERY);
        let mut out = Vec::new();
        for piece in bytes.chunks(length) {
            let fed = reply.feed(&mut piece.to_vec(), |piece| match piece {
                Piece::Pass(bytes) | Piece::Changes(bytes, _) => out.extend_from_slice(bytes),
            });
            assert_eq!(fed, Ok(piece.len()));
        }
        assert!(out == bytes, "in pieces of {length}");
        let tally = reply.tally();
        assert_eq!((tally.rows, tally.had_rows, tally.warnings), (3, true, 3));
        assert_eq!(tally.row_bytes, 6 + 100_004 + 6);
        assert_eq!(reply.progress(), Progress::Over(Outcome::Ok));
    }
}

/// Follows the reply to a query in pieces of this length; returns the bytes that pass.
fn followed(capabilities: Capabilities, bytes: &[u8], length: usize) -> (Reply, Vec<u8>, bool) {
    let reply = Reply::to(Command::QUERY, capabilities, Sequences::Checked, 1).unwrap();
    let mut reply = reply.amended(Amendment::of_shared(capabilities));
    let mut out = Vec::new();
    let mut has_changes = false;
    for piece in bytes.chunks(length) {
        let fed = reply.feed(&mut piece.to_vec(), |piece| match piece {
            Piece::Pass(bytes) => out.extend_from_slice(bytes),
            Piece::Changes(bytes, _) => {
                has_changes = true;
                out.extend_from_slice(bytes);
            }
        });
        if fed.is_err() {
            break;
        }
    }
    (reply, out, has_changes)
}

#[test]
fn a_result_in_one_piece_is_followed_like_one_in_many() {
    let old = Capabilities(NEW.0 & !Capabilities::DEPRECATE_EOF.0);
    let row: &[u8] = &[1, b'a'];
    for (capabilities, definitions_end) in [(NEW, None), (old, Some([EOF_BYTE, 0, 0, 2, 0]))] {
        for status in [0u16, 2, 3, 0x0a, 0x22, 0x42, 0x1002, 0x4002] {
            for (columns, rows) in [(1, 0), (2, 1), (3, 300), (250, 2)] {
                let [low, high] = status.to_le_bytes();
                let mut payloads: Vec<Vec<u8>> = vec![vec![columns]];
                payloads.extend((0..columns).map(|_| b"\x03def".to_vec()));
                payloads.extend(definitions_end.map(|it| it.to_vec()));
                payloads.extend((0..rows).map(|_| row.to_vec()));
                payloads.push(match definitions_end {
                    Some(_) => vec![EOF_BYTE, 3, 0, low, high],
                    None => vec![EOF_BYTE, 0, 0, low, high, 3, 0],
                });
                let numbered = payloads.iter().zip(1usize..);
                let packets = numbered.map(|(payload, id)| packet(id as u8, payload));
                let bytes = packets.collect::<Vec<_>>().concat();
                let (whole, out, has_changes) = followed(capabilities, &bytes, bytes.len());
                for length in [1, 7, bytes.len() - 1] {
                    let (pieces, passed, had_changes) = followed(capabilities, &bytes, length);
                    let case = format!("{status:#x} {columns} {rows} by {length}");
                    assert_eq!(whole.tally(), pieces.tally(), "{case}");
                    assert_eq!(whole.progress(), pieces.progress(), "{case}");
                    assert_eq!(whole.next_sequence(), pieces.next_sequence(), "{case}");
                    assert_eq!((&out, has_changes), (&passed, had_changes), "{case}");
                }
            }
        }
    }
}

const EOF_BYTE: u8 = 0xfe;

#[test]
fn a_result_in_one_piece_with_an_error_in_it_is_not_taken_for_a_whole_one() {
    let end = packet(4, &[EOF_BYTE, 0, 0, 2, 0, 0, 0]);
    for (id, definition, is_right) in [
        (2, &b"\x03def"[..], true),
        (3, b"\x03def", false),
        (2, b"\xff\x15\x04#HY000no", false),
    ] {
        let bytes = [
            packet(1, &[1]),
            packet(id, definition),
            packet(3, &[1, b'a']),
        ]
        .concat();
        let bytes = [bytes, end.clone()].concat();
        let (reply, _, _) = followed(NEW, &bytes, bytes.len());
        let is_over = reply.progress() == Progress::Over(Outcome::Ok);
        assert_eq!(is_over, is_right, "{id} {definition:?}");
    }
}

#[test]
fn a_sequence_id_that_does_not_follow_is_a_violation() {
    let mut reply = reply(Command::PING);
    let fed = reply.feed(&mut packet(2, &[0, 0, 0, 2, 0, 0, 0]), |_| {});
    let (expected, found) = (1, 2);
    assert_eq!(fed, Err(Violation::Sequence { expected, found }));
}

#[test]
fn ids_are_written_anew_where_frames_set_them() {
    let mut reply = Reply::to(Command::PING, NEW, Sequences::Renumbered, 4).unwrap();
    let mut bytes = packet(77, &[0, 0, 0, 2, 0, 0, 0]);
    assert!(reply.feed(&mut bytes, |_| {}).is_ok());
    assert_eq!(bytes[3], 4);
}

/// The fingerprint of a result of one column with these rows, fed in pieces of this length.
fn print(keys: &HashKeys, rows: &[&[u8]], end: &[u8], length: usize) -> Fingerprint {
    let mut bytes = packet(1, &[1]);
    bytes.extend(packet(2, &[b'd'; 30]));
    let mut sequence = 3;
    for row in rows {
        bytes.extend(packet(sequence, row));
        sequence += 1;
    }
    bytes.extend(packet(sequence, end));
    let mut reply = reply(Command::QUERY).fingerprinted(keys);
    for piece in bytes.chunks(length) {
        assert!(reply.feed(&mut piece.to_vec(), |_| {}).is_ok());
    }
    assert!(matches!(reply.progress(), Progress::Over(_)));
    reply.fingerprint().unwrap()
}

#[test]
fn a_fingerprint_depends_on_the_content_and_not_on_the_packets() {
    let keys = Entropy::seeded(7).hash_keys().unwrap();
    let mut long = vec![b'x'; 100_000];
    long[0] = 5;
    let rows: [&[u8]; 3] = [&[1, b'a'], &long, &[1, b'b']];
    let end = [0xfe, 0, 0, 2, 0, 0, 0];
    let whole = print(&keys, &rows, &end, usize::MAX);
    assert_eq!(whole.bytes, 1 + 30 + 2 + 100_000 + 2);
    for length in [1, 7, 100, 70_000] {
        assert_eq!(print(&keys, &rows, &end, length), whole, "by {length}");
    }
    // Flags: in a transaction, no index used, session state changed.
    let flags = [0xfe, 0, 0, 0x23, 0x40, 0, 0, 0, 4, 1, 2, 1, b's'];
    assert_eq!(print(&keys, &rows, &flags, 100), whole);
    let mut other = long.clone();
    other[99_999] = b'y';
    for rows in [
        &[&[1, b'a'][..], &other, &[1, b'b']][..],
        &[&[1, b'a'], &[1, b'b'], &long],
        &[&[1, b'a'], &long],
        &[],
    ] {
        assert_ne!(print(&keys, rows, &end, 100), whole);
    }
    let a_warning = [0xfe, 0, 0, 2, 0, 1, 0];
    assert_ne!(print(&keys, &rows, &a_warning, 100), whole);
    let an_error = [0xff, 0x25, 5, b'#', b'7', b'0', b'1', b'0', b'0', b'!'];
    assert_ne!(print(&keys, &rows, &an_error, 100), whole);
}

#[test]
fn flags_of_an_eof_are_its_own_but_for_changes() {
    let old = Capabilities::PROTOCOL_41;
    let changed = StatusFlags::SESSION_STATE_CHANGED.0;
    let out = 2 | StatusFlags::PS_OUT_PARAMS.0 | StatusFlags::MORE_RESULTS_EXISTS.0;
    let eof = |sequence, status: u16| {
        let [low, high] = status.to_le_bytes();
        packet(sequence, &[0xfe, 0, 0, low, high])
    };
    // After OUT parameters, MySQL does not announce the OK that follows.
    let told = |changed| {
        let mut bytes = packet(1, &[1]);
        bytes.extend(packet(2, &[b'd'; 30]));
        bytes.extend(eof(3, out));
        bytes.extend(packet(4, &[0, 0, 7]));
        bytes.extend(eof(5, 2 | changed));
        bytes.extend(packet(6, &[0, 0, 0, 2, 0, 0, 0]));
        bytes
    };
    let reply = Reply::to(Command::STMT_EXECUTE, old, Sequences::Checked, 1).unwrap();
    let mut reply = reply.amended(Amendment::of_shared(old));
    let mut passed = Vec::new();
    let fed = reply.feed(&mut told(changed), |piece| match piece {
        Piece::Pass(bytes) | Piece::Changes(bytes, _) => passed.extend_from_slice(bytes),
    });
    assert_eq!(fed, Ok(told(0).len()));
    assert_eq!(passed, told(0));
    assert_eq!(reply.progress(), Progress::Over(Outcome::Ok));
}

/// Servers before protocol 4.1 send such an EOF.
#[test]
fn an_eof_of_one_byte_has_no_flags() {
    let old = Capabilities::default();
    let mut reply = Reply::to(Command::QUERY, old, Sequences::Checked, 1).unwrap();
    let mut bytes = packet(1, &[1]);
    bytes.extend(packet(2, b"\x01t\x01n\x03\x20\0\0\x01\xfd\x03\0\0\0"));
    bytes.extend(packet(3, &[0xfe]));
    bytes.extend(packet(4, b"\x011"));
    bytes.extend(packet(5, &[0xfe]));
    let length = bytes.len();
    assert_eq!(reply.feed(&mut bytes, |_| {}), Ok(length));
    assert_eq!(reply.progress(), Progress::Over(Outcome::Ok));
    assert!(reply.tally().had_rows);
    assert_eq!(reply.tally().status, Some(StatusFlags::default()));
}

/// ERR 1290 of a read-only server.
fn refusal(sequence: u8) -> Vec<u8> {
    let text = b"#HY000The MySQL server is running with the --read-only option";
    packet(sequence, &[&[0xff, 0x0a, 0x05][..], text].concat())
}

#[test]
fn a_refusal_is_kept_back_however_it_comes() {
    let bytes = refusal(1);
    for length in 1..=bytes.len() {
        let mut reply = reply(Command::QUERY).withholding(Withholds::NoWrites);
        for piece in bytes.chunks(length) {
            let mut passed = 0;
            let fed = reply.feed(&mut piece.to_vec(), |_| passed += 1);
            assert_eq!((fed, passed), (Ok(piece.len()), 0));
        }
        assert_eq!(reply.withheld(), Some(&bytes[4..]));
        assert_eq!(reply.progress(), Progress::Over(Outcome::Err(1290)));
        assert_eq!(reply.next_sequence(), Some(2));
    }
}

#[test]
fn a_refusal_that_is_not_the_first_packet_passes() {
    let mut more = packet(1, &[0, 0, 0, 10, 0, 0, 0]);
    more.extend(refusal(2));
    let mut rows = packet(1, &[1]);
    rows.extend(packet(2, &[b'd'; 30]));
    rows.extend(refusal(3));
    for bytes in [more, rows] {
        for length in 1..=bytes.len() {
            let mut reply = reply(Command::QUERY).withholding(Withholds::NoWrites);
            let mut out = Vec::new();
            for piece in bytes.chunks(length) {
                let fed = reply.feed(&mut piece.to_vec(), |piece| match piece {
                    Piece::Pass(bytes) | Piece::Changes(bytes, _) => out.extend_from_slice(bytes),
                });
                assert_eq!(fed, Ok(piece.len()));
            }
            assert!(out == bytes, "in pieces of {length}");
            assert_eq!(reply.withheld(), None);
            assert_eq!(reply.progress(), Progress::Over(Outcome::Err(1290)));
        }
    }
}

#[test]
fn any_other_error_passes() {
    let mut bytes = packet(1, &[&[0xff, 0x28, 0x04][..], b"#42000 read_only"].concat());
    let mut reply = reply(Command::QUERY).withholding(Withholds::NoWrites);
    let mut out = Vec::new();
    let fed = reply.feed(&mut bytes, |piece| match piece {
        Piece::Pass(bytes) | Piece::Changes(bytes, _) => out.extend_from_slice(bytes),
    });
    assert_eq!(fed, Ok(out.len()));
    assert_eq!(reply.withheld(), None);
}

#[test]
fn a_file_of_the_client_is_asked_for_if_its_text_names_it() {
    let asked = |command, capabilities, files: Option<Files>| {
        let reply = Reply::to(command, capabilities, Sequences::Checked, 1).unwrap();
        let mut reply = match files {
            Some(files) => reply.with_files(files),
            None => reply,
        };
        let mut passed = Vec::new();
        let fed = reply.feed(&mut packet(1, b"\xfb/tmp/a"), |piece| match piece {
            Piece::Pass(bytes) | Piece::Changes(bytes, _) => passed.extend_from_slice(bytes),
        });
        assert_eq!(fed.is_ok(), !passed.is_empty());
        fed.is_ok()
    };
    let able = NEW | Capabilities::LOCAL_FILES;
    let named = |name: &[u8]| Some(Files::Named(vec![b"x".to_vec(), name.to_vec()]));
    for command in [Command::QUERY, Command::STMT_EXECUTE] {
        assert!(asked(command, able, None));
        assert!(asked(command, able, named(b"/tmp/a")));
        assert!(!asked(command, able, named(b"/tmp/b")));
        assert!(!asked(command, able, Some(Files::NONE)));
        assert!(!asked(command, NEW, named(b"/tmp/a")));
    }
    for command in [Command::STMT_BULK_EXECUTE, Command::PROCESS_INFO] {
        assert!(!asked(command, able, Some(Files::Any)));
    }
}
