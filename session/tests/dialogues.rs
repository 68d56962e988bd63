//! Captured dialogues of real servers, tracked whole, byte by byte and in random pieces.
//!
//! The files in `dialogues/` were captured by `cargo run -p pilotfish-e2e --example capture`,
//! which describes their format and notes where its own client saw each exchange end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use pilotfish_session::{Event, Outcome, Piece, Pipelining, Progress, Reply, Sequences, Tracker};
use proptest::prelude::*;
use wire::{Capabilities, Command, StatusFlags};

/// One step of a dialogue.
#[derive(Debug, Clone)]
enum Step {
    /// Bytes from the client.
    Client(Vec<u8>),
    /// Bytes from the backend.
    Backend(Vec<u8>),
    /// The event that must have occurred by now, and no other.
    Seen(String),
}

#[derive(Debug)]
struct Dialogue {
    path: PathBuf,
    capabilities: Capabilities,
    steps: Vec<Step>,
}

impl Dialogue {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut dialogue = Self {
            path,
            capabilities: Capabilities(0),
            steps: Vec::new(),
        };
        for line in text.lines() {
            match line.split_once(' ').unwrap() {
                ("#", _) => {}
                ("capabilities", bits) => {
                    let bits = bits.strip_prefix("0x").unwrap();
                    dialogue.capabilities = Capabilities(u64::from_str_radix(bits, 16).unwrap());
                }
                (">", hex) => dialogue.bytes(hex, true),
                ("<", hex) => dialogue.bytes(hex, false),
                _ => dialogue.steps.push(Step::Seen(line.to_owned())),
            }
        }
        dialogue
    }

    /// Packets of one side in a row are one step, so that pieces may span them.
    fn bytes(&mut self, hex: &str, of_client: bool) {
        let bytes = bytes_of(hex);
        match (self.steps.last_mut(), of_client) {
            (Some(Step::Client(last)), true) | (Some(Step::Backend(last)), false) => {
                last.extend(bytes);
            }
            (_, true) => self.steps.push(Step::Client(bytes)),
            (_, false) => self.steps.push(Step::Backend(bytes)),
        }
    }

    /// Plays all steps, each in pieces of the lengths that `pieces` gives.
    fn play(&self, sequences: Sequences, mut pieces: impl Iterator<Item = usize>) -> Tracker {
        let status = StatusFlags::AUTOCOMMIT;
        let (limit, deep) = (1 << 24, Pipelining::Deep);
        let mut tracker = Tracker::new(self.capabilities, status, sequences, deep, limit);
        let mut seen = VecDeque::new();
        for (at, step) in self.steps.iter().enumerate() {
            let place = || format!("{}, step {at}: {step:?}", self.path.display());
            let (Step::Client(bytes) | Step::Backend(bytes)) = step else {
                self.see(step, at, &mut seen);
                continue;
            };
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(pieces.next().unwrap()));
                let mut passed = piece.to_vec();
                let emit = |event| seen.extend(noted(event));
                if matches!(step, Step::Client(_)) {
                    let taken = tracker.client_bytes(&mut passed, emit);
                    assert_eq!(taken, Ok(piece.len()), "{}", place());
                } else {
                    let followed = tracker.backend_bytes(&mut passed, emit);
                    assert_eq!(followed, Ok(()), "{}", place());
                }
                assert_eq!(passed, piece, "bytes pass unchanged: {}", place());
                rest = after;
            }
        }
        assert!(seen.is_empty(), "{}: {seen:?}", self.path.display());
        assert!(tracker.is_idle(), "{}: {tracker:?}", self.path.display());
        tracker
    }

    /// Asserts that the event of `step` has occurred, and no further event unless the next step expects one.
    fn see(&self, step: &Step, at: usize, seen: &mut VecDeque<String>) {
        let Step::Seen(expected) = step else {
            return;
        };
        let place = format!("{}, step {at}", self.path.display());
        assert_eq!(seen.pop_front().as_ref(), Some(expected), "{place}");
        if !matches!(self.steps.get(at + 1), Some(Step::Seen(_))) {
            assert!(seen.is_empty(), "{place}: {seen:?} as well");
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// Returns the line that the file of a dialogue has for this event.
fn noted(event: Event) -> Option<String> {
    let text = |outcome| match outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Err(number) => format!("error {number}"),
    };
    match event {
        Event::ReplyEnded { command, outcome } => Some(format!("= {command} {}", text(outcome))),
        Event::LocalInfile => Some("? file".to_owned()),
        Event::Unsolicited(outcome) => Some(format!("! {}", text(outcome))),
        Event::Lost(reason) => Some(format!("lost: {reason:?}")),
        Event::CommandBegun(_) | Event::CommandEnded(_) | Event::ResultEnded(_) => None,
    }
}

fn dialogues() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .flat_map(|product| std::fs::read_dir(product.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 80, "{} dialogues", paths.len());
    paths.into_iter().map(Dialogue::read).collect()
}

#[test]
fn real_dialogues_are_followed_to_their_end() {
    for dialogue in dialogues() {
        dialogue.play(Sequences::Checked, std::iter::repeat(usize::MAX));
    }
}

#[test]
fn real_dialogues_are_followed_byte_by_byte() {
    for dialogue in dialogues() {
        dialogue.play(Sequences::Checked, std::iter::repeat(1));
    }
}

#[test]
fn renumbering_gives_the_captured_sequence_ids() {
    for dialogue in dialogues() {
        dialogue.play(Sequences::Renumbered, std::iter::repeat(usize::MAX));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn real_dialogues_are_followed_in_any_pieces(
        pieces in prop::collection::vec(1usize..200, 1..50),
    ) {
        for dialogue in dialogues() {
            dialogue.play(Sequences::Checked, pieces.iter().copied().cycle());
        }
    }
}

impl Dialogue {
    /// Plays each exchange whose command is one packet, with a new [`Reply`] for each.
    /// Returns the number of those exchanges.
    fn play_replies(&self, mut pieces: impl Iterator<Item = usize>) -> usize {
        let mut played = 0;
        for steps in self.steps.windows(3) {
            let [
                Step::Client(command),
                Step::Backend(bytes),
                Step::Seen(seen),
            ] = steps
            else {
                continue;
            };
            let [a, b, c, _, kind, ..] = command[..] else {
                continue;
            };
            let (length, kind) = (u32::from_le_bytes([a, b, c, 0]) as usize, Command(kind));
            let is_dialogue = kind == Command::CHANGE_USER || seen == "? file";
            if length + 4 != command.len() || !seen.starts_with(&format!("= {kind}")) || is_dialogue
            {
                continue;
            }
            let mut reply = Reply::to(kind, self.capabilities, Sequences::Checked, 1).unwrap();
            let mut out = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(pieces.next().unwrap()));
                let mut fed = piece.to_vec();
                let taken = reply.feed(&mut fed, |piece| match piece {
                    Piece::Pass(bytes) | Piece::Changes(bytes, _) => out.extend_from_slice(bytes),
                });
                assert_eq!(taken, Ok(piece.len()), "{}: {seen}", self.path.display());
                rest = after;
            }
            let Progress::Over(outcome) = reply.progress() else {
                panic!("{}: {seen}: {reply:?}", self.path.display());
            };
            let ended = noted(Event::ReplyEnded {
                command: kind,
                outcome,
            });
            assert_eq!(ended.as_ref(), Some(seen), "{}", self.path.display());
            assert_eq!(&out, bytes, "all bytes pass: {}", self.path.display());
            played += 1;
        }
        played
    }
}

#[test]
fn the_end_of_each_captured_reply_is_found() {
    let all = |pieces: usize| {
        let played = dialogues()
            .iter()
            .map(|it| it.play_replies(std::iter::repeat(pieces)))
            .sum::<usize>();
        assert!(played > 200, "{played} replies");
    };
    all(usize::MAX);
    all(1);
    all(7);
}
