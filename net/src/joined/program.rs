//! The program that decides, for each piece that a joined socket receives, whether the kernel passes it on or the proxy
//! reads it.
//!
//! ```text
//!   a piece without bytes (the end of a side)                 the proxy reads it
//!   passed == forwarded, and redirected + length <= credit    redirected += length; to the other socket
//!   passed == forwarded, beyond the credit                    passed += length; a notice; the proxy reads it
//!   passed != forwarded                                       passed += length; the proxy reads it
//! ```
//!
//! The kernel runs the program with the socket locked, once at a time. So the program counts with plain loads and
//! stores. It counts a piece before it writes the notice: the reader of the notice must see the count.

use std::os::fd::{AsRawFd, BorrowedFd};

/// One instruction, as the kernel reads it (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    code: u8,
    /// The written register in the lower four bits, the read register in the upper four.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// The maps that the program uses. Their keys are the cookies of sockets.
pub(super) struct ProgramMaps<'a> {
    /// The socket that the bytes go to.
    pub(super) targets: BorrowedFd<'a>,
    /// Two counts: `redirected`, `passed`.
    pub(super) seen: BorrowedFd<'a>,
    /// Two bounds: `credit`, `forwarded`.
    pub(super) granted: BorrowedFd<'a>,
    /// A ring: cookies of sockets with bytes that the proxy is to read.
    pub(super) notices: BorrowedFd<'a>,
}

// Helpers of the kernel (enum bpf_func_id).
const MAP_LOOKUP_ELEM: i32 = 1;
const GET_SOCKET_COOKIE: i32 = 46;
const SK_REDIRECT_HASH: i32 = 72;
const RINGBUF_OUTPUT: i32 = 130;
/// SK_PASS.
const PASS: i32 = 1;
/// The offset of the cookie, from the end of the stack.
const COOKIE: i16 = -8;
const COOKIE_BYTES: i32 = 8;
/// The offset of `len` in `struct __sk_buff`.
const LENGTH: i16 = 0;

const fn instruction(code: u8, target: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: source << 4 | target,
        offset,
        immediate,
    }
}

const fn copy(target: u8, source: u8) -> Instruction {
    instruction(0xbf, target, source, 0, 0)
}

const fn set(target: u8, value: i32) -> Instruction {
    instruction(0xb7, target, 0, 0, value)
}

const fn add(target: u8, source: u8) -> Instruction {
    instruction(0x0f, target, source, 0, 0)
}

const fn add_number(target: u8, number: i32) -> Instruction {
    instruction(0x07, target, 0, 0, number)
}

const fn load_64(target: u8, source: u8, offset: i16) -> Instruction {
    instruction(0x79, target, source, offset, 0)
}

const fn load_32(target: u8, source: u8, offset: i16) -> Instruction {
    instruction(0x61, target, source, offset, 0)
}

const fn store_64(target: u8, offset: i16, source: u8) -> Instruction {
    instruction(0x7b, target, source, offset, 0)
}

const fn call(helper: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, helper)
}

// Jumps; `Assembly::land` fills in the distance.
const fn if_zero(register: u8) -> Instruction {
    instruction(0x15, register, 0, 0, 0)
}

const fn if_different(one: u8, other: u8) -> Instruction {
    instruction(0x5d, one, other, 0, 0)
}

const fn if_greater(one: u8, other: u8) -> Instruction {
    instruction(0x2d, one, other, 0, 0)
}

const EXIT: Instruction = instruction(0x95, 0, 0, 0, 0);

/// A target of jumps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Pass,
    CountPassed,
}

/// A program while it is put together.
#[derive(Default)]
struct Assembly {
    code: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
}

impl Assembly {
    fn put(&mut self, instructions: &[Instruction]) {
        self.code.extend_from_slice(instructions);
    }

    fn jump(&mut self, instruction: Instruction, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.code.push(instruction);
    }

    /// Two instructions, because a map needs two immediates.
    fn load_map(&mut self, target: u8, map: BorrowedFd<'_>) {
        /// The immediate is the descriptor of a map (BPF_PSEUDO_MAP_FD).
        const OF_MAP: u8 = 1;
        self.put(&[
            instruction(0x18, target, OF_MAP, 0, map.as_raw_fd()),
            instruction(0, 0, 0, 0, 0),
        ]);
    }

    /// The address of the cookie.
    fn cookie(&mut self, target: u8) {
        self.put(&[copy(target, 10), add_number(target, COOKIE.into())]);
    }

    /// r0: the address of this socket's value in `map`. The proxy reads the bytes of a socket without a value.
    fn find(&mut self, map: BorrowedFd<'_>) {
        self.load_map(1, map);
        self.cookie(2);
        self.put(&[call(MAP_LOOKUP_ELEM)]);
        self.jump(if_zero(0), Label::Pass);
    }

    /// Places `label` here: fills in the distances of the jumps to it.
    fn land(&mut self, label: Label) {
        let here = self.code.len();
        for (at, _) in self.jumps.iter().filter(|(_, to)| *to == label) {
            self.code[*at].offset = i16::try_from(here - at - 1).unwrap_or(i16::MAX);
        }
    }
}

/// The program for these maps.
pub(super) fn program(maps: &ProgramMaps<'_>) -> Vec<Instruction> {
    let mut assembly = Assembly::default();
    // r6: the piece. r7: the address of the counts in `seen`. r0: the address of the bounds in `granted`.
    assembly.put(&[copy(6, 1), call(GET_SOCKET_COOKIE), store_64(10, COOKIE, 0)]);
    assembly.find(maps.seen);
    assembly.put(&[copy(7, 0)]);
    assembly.find(maps.granted);
    // r1: the piece's length. r2: passed. r3: forwarded. r8: whether a notice is due.
    assembly.put(&[load_32(1, 6, LENGTH)]);
    // The end of a side has no bytes. If it were redirected, the other socket would break (EPIPE).
    assembly.jump(if_zero(1), Label::Pass);
    assembly.put(&[load_64(2, 7, 8), load_64(3, 0, 8), set(8, 0)]);
    assembly.jump(if_different(2, 3), Label::CountPassed);
    // r4: `redirected` with this piece. r5: credit.
    assembly.put(&[set(8, 1), load_64(4, 7, 0), add(4, 1), load_64(5, 0, 0)]);
    assembly.jump(if_greater(4, 5), Label::CountPassed);
    assembly.put(&[store_64(7, 0, 4), copy(1, 6)]);
    assembly.load_map(2, maps.targets);
    assembly.cookie(3);
    assembly.put(&[set(4, 0), call(SK_REDIRECT_HASH), EXIT]);
    assembly.land(Label::CountPassed);
    assembly.put(&[add(2, 1), store_64(7, 8, 2)]);
    assembly.jump(if_zero(8), Label::Pass);
    assembly.load_map(1, maps.notices);
    assembly.cookie(2);
    assembly.put(&[set(3, COOKIE_BYTES), set(4, 0), call(RINGBUF_OUTPUT)]);
    assembly.land(Label::Pass);
    assembly.put(&[set(0, PASS), EXIT]);
    assembly.code
}
