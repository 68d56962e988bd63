//! Compressed payloads round-trip at every split point; wrong lengths are errors.

use proptest::prelude::*;

use super::*;

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

fn to_client(algorithm: Algorithm) -> Codec {
    Codec::new(algorithm, 6, Remote::Client)
}

fn to_backend(algorithm: Algorithm) -> Codec {
    Codec::new(algorithm, 6, Remote::Backend)
}

fn encoded(codec: &mut Codec, payload: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    codec.encode(payload, &mut frames);
    frames
}

/// Decodes all of `frames` with an output buffer of `room` bytes.
fn decoded(codec: &mut Codec, mut frames: &[u8], room: usize) -> Result<Vec<u8>, Malformed> {
    let mut payload = Vec::new();
    let mut output = vec![0; room];
    loop {
        let progress = codec.decode(frames, &mut output)?;
        assert!(progress.produced <= room);
        payload.extend_from_slice(&output[..progress.produced]);
        frames = &frames[progress.consumed..];
        if progress.produced < room {
            assert!(frames.is_empty(), "stuck with input and room");
            return Ok(payload);
        }
    }
}

/// A sample of compressible text, followed by incompressible bytes (xorshift).
fn sample(length: usize) -> Vec<u8> {
    let text = b"select name, value from settings where id = "
        .iter()
        .cycle();
    let noise = std::iter::successors(Some(2_463_534_242_u32), |&seed| {
        let seed = seed ^ (seed << 13);
        let seed = seed ^ (seed >> 17);
        Some(seed ^ (seed << 5))
    });
    let half = length / 2;
    let noise = noise.map(|seed| (seed >> 24) as u8);
    let noise = noise.take(length - half);
    text.copied().take(half).chain(noise).collect()
}

fn frame(compressed: usize, sequence: u8, uncompressed: usize, content: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = compressed.to_le_bytes();
    let [d, e, f, ..] = uncompressed.to_le_bytes();
    let mut frame = vec![a, b, c, sequence, d, e, f];
    frame.extend_from_slice(content);
    frame
}

/// The content of the single frame that `payload` is compressed to.
fn packed(algorithm: Algorithm, payload: &[u8]) -> Vec<u8> {
    let mut frame = encoded(&mut to_client(algorithm), payload);
    let content = frame.split_off(FRAME_HEADER_BYTES);
    assert_ne!(frame[4..7], [0; 3], "the payload was to be compressed");
    content
}

/// From the protocol page "Compressed Packet": a COM_QUERY as libmysqlclient sends it.
#[test]
fn the_compressed_query_of_the_mysql_manual_is_decoded() {
    let frame = b"\x22\0\0\0\x32\0\0\x78\x9c\xd3\x63\x60\x60\x60\x2e\x4e\xcd\x49\x4d\x2e\x51\x50\
        \x32\x30\x34\x32\x36\x31\x35\x33\xb7\xb0\xc4\xcd\x52\x02\0\x0c\xd1\x0a\x6c";
    let query = decoded(&mut to_client(Algorithm::Zlib), frame, 64).unwrap();
    assert_eq!(
        query,
        b"\x2e\0\0\0\x03select \"012345678901234567890123456789012345\""
    );
}

#[test]
fn short_and_incompressible_payloads_travel_as_they_are() {
    for algorithm in ALGORITHMS {
        let short = [b'a'; COMPRESS_BYTES_MIN - 1];
        let frames = encoded(&mut to_client(algorithm), &short);
        assert_eq!(frames, frame(short.len(), 0, 0, &short));

        let noise = sample(4_000).split_off(2_000);
        let frames = encoded(&mut to_client(algorithm), &noise);
        assert_eq!(frames, frame(noise.len(), 0, 0, &noise));

        let long = [b'a'; COMPRESS_BYTES_MIN];
        let frames = encoded(&mut to_client(algorithm), &long);
        assert!(frames.len() < long.len());
        assert_eq!(frames[4], long.len() as u8);
    }
}

#[test]
fn empty_payloads_make_no_frame_and_empty_frames_make_no_payload() {
    let mut codec = to_client(Algorithm::Zlib);
    assert!(encoded(&mut codec, b"").is_empty());
    let mut frames = frame(0, 0, 0, b"");
    frames.extend(frame(2, 1, 0, b"ab"));
    assert_eq!(decoded(&mut codec, &frames, 8).unwrap(), b"ab");
    codec.check_end().unwrap();
}

#[test]
fn a_long_payload_becomes_several_frames_that_count_on() {
    for algorithm in ALGORITHMS {
        let payload = sample(3 * FRAME_PAYLOAD_BYTES + 1);
        let frames = encoded(&mut to_backend(algorithm), &payload);
        let mut codec = to_client(algorithm);
        assert_eq!(decoded(&mut codec, &frames, 1_000).unwrap(), payload);
        assert_eq!(codec.sequence.next, 4);
    }
}

#[test]
fn every_truncation_is_named_at_the_end() {
    for algorithm in ALGORITHMS {
        let frames = encoded(&mut to_client(algorithm), &sample(200));
        for length in 1..frames.len() {
            let mut codec = to_client(algorithm);
            let got = decoded(&mut codec, &frames[..length], 64).unwrap();
            assert_eq!(got, sample(200)[..got.len()]);
            let item = match length {
                ..FRAME_HEADER_BYTES => "compressed frame's header",
                _ => "compressed frame",
            };
            assert_eq!(
                codec.check_end(),
                Err(Malformed::Truncated(item)),
                "{length}"
            );
        }
    }
}

#[test]
fn a_wrong_length_in_a_compressed_frame_is_an_error() {
    for algorithm in ALGORITHMS {
        let payload = sample(300);
        let content = packed(algorithm, &payload);
        let real = (content.len(), payload.len());
        for (compressed, uncompressed) in [
            (real.0, real.1 - 1),
            (real.0, real.1 + 1),
            (real.0, 1),
            (real.0, 0xff_ffff),
            (real.0 - 1, real.1),
            (real.0 + 1, real.1),
            (1, real.1),
            (0, real.1),
        ] {
            let mut bytes = frame(compressed, 0, uncompressed, &content);
            bytes.extend([0; 16]);
            for room in [1, 7, 4_096] {
                let outcome = decoded(&mut to_client(algorithm), &bytes, room);
                assert!(
                    matches!(outcome, Err(Malformed::Invalid(_))),
                    "{algorithm:?} {compressed} {uncompressed} {room}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn corrupt_content_is_an_error() {
    for algorithm in ALGORITHMS {
        let garbage = frame(64, 0, 300, &[0xa5; 64]);
        let outcome = decoded(&mut to_client(algorithm), &garbage, 512);
        assert_eq!(outcome, Err(CONTENT));
    }
}

#[test]
fn a_broken_frame_does_not_affect_other_connections() {
    // Connections share the thread's working memory; data of one connection must not reach another one.
    for algorithm in ALGORITHMS {
        let payload = sample(5_000);
        let frames = encoded(&mut to_client(algorithm), &payload);
        let half = &frames[..frames.len() / 2];
        let mut abandoned = to_client(algorithm);
        decoded(&mut abandoned, half, 100).unwrap();
        drop(abandoned);
        assert!(decoded(&mut to_client(algorithm), &frame(9, 0, 99, &[7; 9]), 99).is_err());
        assert_eq!(
            decoded(&mut to_client(algorithm), &frames, 64).unwrap(),
            payload
        );
    }
}

#[test]
fn half_received_frames_of_many_connections_do_not_mix() {
    for algorithm in ALGORITHMS {
        let payloads: Vec<_> = (0..12).map(|n| sample(1_000 + n)).collect();
        let frames: Vec<_> = payloads
            .iter()
            .map(|p| encoded(&mut to_client(algorithm), p))
            .collect();
        let mut codecs: Vec<_> = frames.iter().map(|_| to_client(algorithm)).collect();
        let mut got = vec![Vec::new(); frames.len()];
        let longest = frames.iter().map(Vec::len).max().unwrap();
        for start in (0..longest).step_by(100) {
            for (index, codec) in codecs.iter_mut().enumerate() {
                let end = (start + 100).min(frames[index].len());
                let piece = frames[index].get(start..end).unwrap_or_default();
                got[index].extend(decoded(codec, piece, 333).unwrap());
            }
        }
        assert_eq!(got, payloads);
    }
}

#[test]
fn a_decompression_bomb_is_bounded_by_the_output_buffer() {
    let zeros = vec![0; 0xff_ffff];
    for algorithm in ALGORITHMS {
        let content = match algorithm {
            Algorithm::Zlib => {
                let mut content = vec![0; 64 * 1024];
                let mut deflater = flate2::Compress::new(flate2::Compression::best(), true);
                let finish = flate2::FlushCompress::Finish;
                deflater.compress(&zeros, &mut content, finish).unwrap();
                content.truncate(deflater.total_out() as usize);
                content
            }
            Algorithm::Zstd => zstd::bulk::compress(&zeros, 19).unwrap(),
        };
        let bytes = frame(content.len(), 0, zeros.len(), &content);
        let mut codec = to_client(algorithm);
        let payload = decoded(&mut codec, &bytes, 16 * 1024).unwrap();
        assert!(payload == zeros);
        codec.check_end().unwrap();
    }
}

#[test]
fn a_zstd_window_wider_than_a_frame_is_refused() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.include_contentsize(false).unwrap();
    std::io::Write::write_all(&mut encoder, &[b'x'; 500]).unwrap();
    std::io::Write::flush(&mut encoder).unwrap();
    std::io::Write::write_all(&mut encoder, &[b'x'; 500]).unwrap();
    let content = encoder.finish().unwrap();
    let bytes = frame(content.len(), 0, 1_000, &content);
    assert_eq!(
        decoded(&mut to_client(Algorithm::Zstd), &bytes, 2_000),
        Err(CONTENT)
    );
}

#[test]
fn a_compressed_reply_continues_the_sequence_ids_of_its_command() {
    let mut client = to_backend(Algorithm::Zlib);
    let mut server = to_client(Algorithm::Zlib);
    for _ in 0..3 {
        client.begin_command();
        let command = encoded(&mut client, b"command");
        assert_eq!(command[3], 0);
        decoded(&mut server, &command, 64).unwrap();
        let reply = encoded(&mut server, b"reply");
        assert_eq!(reply[3], 1);
        decoded(&mut client, &reply, 64).unwrap();
        // The client sends a second payload, as in LOCAL INFILE.
        assert_eq!(encoded(&mut client, b"file")[3], 2);
    }
}

#[test]
fn a_client_may_restart_or_continue_the_frame_sequence_but_not_skip() {
    let plain = |sequence| frame(1, sequence, 0, b"x");
    let mut codec = to_client(Algorithm::Zlib);
    for sequence in [0, 1, 0, 0, 1, 2] {
        decoded(&mut codec, &plain(sequence), 8).unwrap();
    }
    // The proxy sends an error while the client still sends: the client's count and the proxy's count are both valid.
    encoded(&mut codec, b"error");
    decoded(&mut codec, &plain(3), 8).unwrap();
    let jump = Malformed::Invalid("compressed frame's sequence number");
    assert_eq!(decoded(&mut codec, &plain(6), 8), Err(jump));
}

#[test]
fn frame_sequence_ids_wrap_and_follow_the_backends_ids() {
    let mut codec = to_backend(Algorithm::Zlib);
    decoded(&mut codec, &frame(1, 255, 0, b"x"), 8).unwrap();
    assert_eq!(encoded(&mut codec, b"x")[3], 0);
    assert_eq!(encoded(&mut codec, b"x")[3], 1);
    decoded(&mut codec, &frame(1, 77, 0, b"x"), 8).unwrap();
    assert_eq!(encoded(&mut codec, b"x")[3], 78);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_split_gives_the_same_bytes(
        lengths in prop::collection::vec(0usize..400, 1..5),
        zstd: bool,
        level in 0u8..=23,
        room in 1usize..500,
    ) {
        let algorithm = ALGORITHMS[usize::from(zstd)];
        let mut sender = Codec::new(algorithm, level.min(12), Remote::Backend);
        let payloads: Vec<_> = lengths.iter().map(|&length| sample(length)).collect();
        let frames: Vec<u8> = payloads.iter().flat_map(|p| encoded(&mut sender, p)).collect();
        let payload = payloads.concat();
        for split in 0..=frames.len() {
            let mut codec = to_client(algorithm);
            let mut got = decoded(&mut codec, &frames[..split], room).unwrap();
            got.extend(decoded(&mut codec, &frames[split..], room).unwrap());
            prop_assert_eq!(&got, &payload);
            prop_assert_eq!(codec.check_end(), Ok(()));
        }
    }

    #[test]
    fn any_payload_survives_compression_and_decompression(
        payload in prop::collection::vec(any::<u8>(), 0..100_000),
        zstd: bool,
        room in 1usize..70_000,
    ) {
        let algorithm = ALGORITHMS[usize::from(zstd)];
        let frames = encoded(&mut to_backend(algorithm), &payload);
        prop_assert_eq!(decoded(&mut to_client(algorithm), &frames, room).unwrap(), payload);
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        zstd: bool,
        room in 1usize..100,
    ) {
        let _ = decoded(&mut to_client(ALGORITHMS[usize::from(zstd)]), &bytes, room);
    }
}
