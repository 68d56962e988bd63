//! The codec: each payload that can be read can be written and read again. Compression does not change payloads.

use wire::auth::{AuthPacket, put_auth_switch};
use wire::compression::{Algorithm, Codec, Remote};
use wire::handshake::{self, HandshakeHead};
use wire::reply::{OkPacket, eof_status};
use wire::{Capabilities, ErrPacket, Greeting, HandshakeResponse, greeting as greetings};

use crate::input::Input;

/// The size of the decompressed output, at most, in bytes.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Input: a server's first payload.
pub fn greeting(data: &[u8]) {
    let mut patched = data.to_vec();
    greetings::patch_capabilities(&mut patched, Capabilities(u64::MAX));
    let Ok(greeting) = Greeting::decode(data) else {
        return;
    };
    assert!(Greeting::decode(&patched).is_ok() || !has_flags_that_change_nothing(&greeting));
    // No server sends a longer scramble, and its length byte has no room for the NUL.
    if greeting.scramble.len() <= 254 {
        let mut again = Vec::new();
        greeting.encode(&mut again);
        assert_eq!(Greeting::decode(&again), Ok(greeting));
    }
}

/// Whether setting all flags leaves the layout as it is.
fn has_flags_that_change_nothing(greeting: &Greeting) -> bool {
    greeting
        .capabilities
        .contains(Capabilities::SECURE_CONNECTION)
}

/// Input: a payload of either side between the greeting and the first command.
pub fn login(data: &[u8]) {
    let mut patched = data.to_vec();
    handshake::patch_capabilities(&mut patched, Capabilities(u64::MAX));
    if let Ok(head) = HandshakeHead::decode(data) {
        let mut again = Vec::new();
        head.encode(&mut again);
        assert_eq!(HandshakeHead::decode(&again), Ok(head));
    }
    if let Ok(response) = HandshakeResponse::decode(data) {
        // The first encoding writes omitted fields as empty. Later encodings are the same as the first.
        let mut first = Vec::new();
        response.encode(&mut first);
        let mut second = Vec::new();
        let read = HandshakeResponse::decode(&first).expect("it was just written");
        read.encode(&mut second);
        assert_eq!(first, second);
        assert_eq!(read.user, response.user);
        assert_eq!(read.auth_response, response.auth_response);
        assert_eq!(read.trailing, response.trailing);
    }
    if let Ok(AuthPacket::Switch { plugin, data }) = AuthPacket::decode(data) {
        let mut again = Vec::new();
        put_auth_switch(&mut again, plugin, data);
        let switch = AuthPacket::Switch { plugin, data };
        assert_eq!(AuthPacket::decode(&again), Ok(switch));
    }
    if let Ok(error) = ErrPacket::decode(data) {
        let mut again = Vec::new();
        error.encode(&mut again);
        assert_eq!(again, data);
    }
    let _ = OkPacket::decode(data);
    let _ = eof_status(data);
}

/// `mode:1 room:1 piece:1 bytes`: frames to be read, and a payload to be written.
pub fn compression(data: &[u8]) {
    let mut input = Input::new(data);
    let mode = input.u8();
    let room = usize::from(input.u8()) + 1;
    let piece = usize::from(input.u8()) + 1;
    let bytes = input.rest();
    let (whole, cut) = (codec(mode), codec(mode));
    let whole = read(whole, bytes.chunks(usize::MAX), 4096);
    let cut = read(cut, bytes.chunks(piece), room);
    // Whether a full output ends the reading depends on the size of the output, so full outputs are not compared.
    if whole.0.len() < OUTPUT_BYTES_MAX && cut.0.len() < OUTPUT_BYTES_MAX {
        assert_eq!(whole, cut, "whole, and in pieces");
    }
    let mut frames = Vec::new();
    codec(mode).encode(bytes, &mut frames);
    let (payload, outcome) = read(codec(mode ^ OTHER_SIDE), frames.chunks(piece), room);
    assert_eq!(outcome, Ok(()));
    assert_eq!(payload, bytes);
}

const OTHER_SIDE: u8 = 2;

fn codec(mode: u8) -> Codec {
    let algorithm = match mode & 1 {
        0 => Algorithm::Zlib,
        _ => Algorithm::Zstd,
    };
    let remote = match mode & OTHER_SIDE {
        0 => Remote::Client,
        _ => Remote::Backend,
    };
    // The highest levels of zstd are slow and read the same.
    Codec::new(algorithm, (mode >> 2) % 10, remote)
}

/// Which fault of a frame is found first, and how much of it comes out before, depends on the pieces.
#[derive(Debug, PartialEq)]
struct Broken;

/// Reads frames through an output of `room` bytes.
fn read<'a>(
    mut codec: Codec,
    pieces: impl Iterator<Item = &'a [u8]>,
    room: usize,
) -> (Vec<u8>, Result<(), Broken>) {
    let mut payload = Vec::new();
    let mut output = vec![0; room];
    for mut piece in pieces {
        loop {
            let progress = match codec.decode(piece, &mut output) {
                Ok(progress) => progress,
                Err(_) => return (Vec::new(), Err(Broken)),
            };
            payload.extend_from_slice(&output[..progress.produced]);
            piece = &piece[progress.consumed..];
            if payload.len() >= OUTPUT_BYTES_MAX {
                return (payload, Ok(()));
            }
            if progress.produced < room {
                assert!(piece.is_empty(), "stuck with input and room");
                break;
            }
        }
    }
    let end = codec.check_end().map_err(|_| Broken);
    (payload, end)
}
