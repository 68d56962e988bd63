//! Instructions of BPF, and their assembly with jumps to labels.

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

const fn instruction(code: u8, target: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: source << 4 | target,
        offset,
        immediate,
    }
}

pub(super) const fn copy(target: u8, source: u8) -> Instruction {
    instruction(0xbf, target, source, 0, 0)
}

pub(super) const fn set(target: u8, value: i32) -> Instruction {
    instruction(0xb7, target, 0, 0, value)
}

pub(super) const fn add(target: u8, source: u8) -> Instruction {
    instruction(0x0f, target, source, 0, 0)
}

pub(super) const fn subtract(target: u8, source: u8) -> Instruction {
    instruction(0x1f, target, source, 0, 0)
}

/// The sum of the lower 32 bits. The upper ones become 0.
pub(super) const fn add_32(target: u8, source: u8) -> Instruction {
    instruction(0x0c, target, source, 0, 0)
}

/// The difference of the lower 32 bits. The upper ones become 0.
pub(super) const fn subtract_32(target: u8, source: u8) -> Instruction {
    instruction(0x1c, target, source, 0, 0)
}

pub(super) const fn negate(target: u8) -> Instruction {
    instruction(0x87, target, 0, 0, 0)
}

pub(super) const fn add_number(target: u8, number: i32) -> Instruction {
    instruction(0x07, target, 0, 0, number)
}

pub(super) const fn load_64(target: u8, source: u8, offset: i16) -> Instruction {
    instruction(0x79, target, source, offset, 0)
}

pub(super) const fn load_32(target: u8, source: u8, offset: i16) -> Instruction {
    instruction(0x61, target, source, offset, 0)
}

pub(super) const fn store_64(target: u8, offset: i16, source: u8) -> Instruction {
    instruction(0x7b, target, source, offset, 0)
}

pub(super) const fn store_number_64(target: u8, offset: i16, value: i32) -> Instruction {
    instruction(0x7a, target, 0, offset, value)
}

pub(super) const fn call(helper: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, helper)
}

// Jumps; `Assembly::place_label` fills in the distance.
pub(super) const fn if_zero(register: u8) -> Instruction {
    instruction(0x15, register, 0, 0, 0)
}

/// Skips the next `count` instructions if the register is 0.
pub(super) const fn skip_if_zero(register: u8, count: i16) -> Instruction {
    instruction(0x15, register, 0, count, 0)
}

pub(super) const fn if_set(register: u8) -> Instruction {
    instruction(0x55, register, 0, 0, 0)
}

pub(super) const fn if_above(register: u8, number: i32) -> Instruction {
    instruction(0x25, register, 0, 0, number)
}

pub(super) const fn if_at_most(register: u8, number: i32) -> Instruction {
    instruction(0xb5, register, 0, 0, number)
}

pub(super) const fn if_different(one: u8, other: u8) -> Instruction {
    instruction(0x5d, one, other, 0, 0)
}

pub(super) const fn if_greater(one: u8, other: u8) -> Instruction {
    instruction(0x2d, one, other, 0, 0)
}

/// A jump.
pub(super) const ALWAYS: Instruction = instruction(0x05, 0, 0, 0, 0);

pub(super) const EXIT: Instruction = instruction(0x95, 0, 0, 0, 0);

/// How far a jump at one place goes to reach another.
fn distance(from: usize, to: usize) -> i16 {
    // The programs are far shorter than the longest jump. The kernel refuses one that leads out of the program.
    i16::try_from(to as i64 - from as i64 - 1).unwrap_or(i16::MAX)
}

/// A program while it is put together. `L` names its labels.
pub(super) struct Assembly<L> {
    pub(super) code: Vec<Instruction>,
    jumps: Vec<(usize, L)>,
}

impl<L: PartialEq> Assembly<L> {
    pub(super) fn new() -> Self {
        Self {
            code: Vec::new(),
            jumps: Vec::new(),
        }
    }

    pub(super) fn put(&mut self, instructions: &[Instruction]) {
        self.code.extend_from_slice(instructions);
    }

    pub(super) fn jump(&mut self, instruction: Instruction, to: L) {
        self.jumps.push((self.code.len(), to));
        self.code.push(instruction);
    }

    pub(super) fn jump_back(&mut self, mut instruction: Instruction, to: usize) {
        instruction.offset = distance(self.code.len(), to);
        self.code.push(instruction);
    }

    /// Two instructions, because a map needs two immediates.
    pub(super) fn load_map(&mut self, target: u8, map: BorrowedFd<'_>) {
        /// The immediate is the descriptor of a map (BPF_PSEUDO_MAP_FD).
        const OF_MAP: u8 = 1;
        self.put(&[
            instruction(0x18, target, OF_MAP, 0, map.as_raw_fd()),
            instruction(0, 0, 0, 0, 0),
        ]);
    }

    /// Places `label` here: fills in the distances of the jumps to it.
    pub(super) fn place_label(&mut self, label: L) {
        let here = self.code.len();
        for (at, _) in self.jumps.iter().filter(|(_, to)| *to == label) {
            self.code[*at].offset = distance(*at, here);
        }
    }
}
