//! The system call bpf(2), as far as joining sockets needs it: maps, and two programs.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::assembly::Instruction;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const MAP_DELETE_ELEM: libc::c_int = 3;
const PROG_LOAD: libc::c_int = 5;
const PROG_ATTACH: libc::c_int = 8;
const PROG_TEST_RUN: libc::c_int = 10;

/// BPF_SK_SKB_VERDICT.
const SK_SKB_VERDICT: u32 = 38;
/// The licence that the proxy names to the kernel. Programs of every licence may call the helpers that this one uses.
const LICENCE: &CStr = c"Apache-2.0";

/// The kinds of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    /// BPF_PROG_TYPE_SCHED_CLS: for packets. The proxy runs it itself, on a packet that holds its arguments.
    Call,
    /// BPF_PROG_TYPE_SK_SKB: for the pieces that the sockets of a map receive.
    Verdict,
}

impl ProgramKind {
    /// The numbers of the kind and of the place that a program of this kind is attached to.
    fn numbers(self) -> (u32, u32) {
        match self {
            Self::Call => (3, 0),
            Self::Verdict => (14, SK_SKB_VERDICT),
        }
    }
}

/// The kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum MapKind {
    /// BPF_MAP_TYPE_HASH.
    Hash = 1,
    /// BPF_MAP_TYPE_SOCKHASH.
    SocketHash = 18,
    /// BPF_MAP_TYPE_RINGBUF.
    Ring = 27,
}

impl MapKind {
    /// BPF_F_NO_PREALLOC: the memory of a hash grows with its entries. The other kinds do not have this flag.
    fn flags(self) -> u32 {
        match self {
            Self::Hash => 1,
            Self::SocketHash | Self::Ring => 0,
        }
    }
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries_max: u32,
    flags: u32,
}

#[repr(C)]
struct MapEntry {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface_index: u32,
    expected_attach_kind: u32,
}

#[repr(C)]
struct ProgAttach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

#[repr(C)]
struct ProgTestRun {
    program: u32,
    returned: u32,
    packet_bytes: u32,
    output_bytes: u32,
    packet: u64,
    output: u64,
    repeat: u32,
    duration: u32,
}

/// Calls the kernel with the attributes of `command`.
#[allow(unsafe_code)]
fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<RawFd> {
    let length = size_of::<T>();
    let attributes = std::ptr::from_mut(attributes);
    // SAFETY: `attributes` is a structure of the kernel's layout for this command, `length` bytes long. Each pointer in
    // it points to memory that outlives the call. The memory is as long as the map's or the program's sizes say.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, length) };
    match returned {
        -1 => Err(io::Error::last_os_error()),
        fd => RawFd::try_from(fd).map_err(io::Error::other),
    }
}

#[allow(unsafe_code)]
fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just returned `fd` as a new descriptor. No other code has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// A map from numbers to values of `N` numbers.
#[derive(Debug)]
pub(super) struct BpfMap<const N: usize> {
    fd: OwnedFd,
}

impl<const N: usize> BpfMap<N> {
    /// An empty map.
    ///
    /// # Errors
    /// The kernel's: EPERM without the capabilities, EINVAL if the kernel does not know this kind of map.
    pub(super) fn new(kind: MapKind, entries_max: u32) -> io::Result<Self> {
        let fd = create(kind, (size_of::<u64>(), size_of::<[u64; N]>()), entries_max)?;
        Ok(Self { fd })
    }

    /// Sets the value of a key. A value of a socket map is the descriptor of a socket.
    ///
    /// # Errors
    /// The kernel's: the map is full, or the socket is not established any more.
    pub(super) fn set(&self, key: u64, mut value: [u64; N]) -> io::Result<()> {
        self.entry(MAP_UPDATE_ELEM, key, &mut value)
    }

    /// The value of a key.
    pub(super) fn find(&self, key: u64) -> Option<[u64; N]> {
        let mut value = [0; N];
        let found = self.entry(MAP_LOOKUP_ELEM, key, &mut value);
        found.ok().map(|()| value)
    }

    /// Removes a key, if it is there.
    pub(super) fn remove(&self, key: u64) {
        let _ = self.entry(MAP_DELETE_ELEM, key, &mut [0; N]);
    }

    fn entry(&self, command: libc::c_int, key: u64, value: &mut [u64; N]) -> io::Result<()> {
        let mut entry = MapEntry {
            map: number(self.fd()),
            padding: 0,
            key: std::ptr::from_ref(&key) as u64,
            value: std::ptr::from_mut(value) as u64,
            flags: 0,
        };
        bpf(command, &mut entry).map(drop)
    }

    /// The descriptor of the map, for programs.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Creates a map of any kind, with keys and values of these sizes in bytes.
///
/// # Errors
/// The kernel's, as [`BpfMap::new`].
pub(super) fn create(
    kind: MapKind,
    (key_bytes, value_bytes): (usize, usize),
    entries_max: u32,
) -> io::Result<OwnedFd> {
    let mut attributes = MapCreate {
        kind: kind as u32,
        key_bytes: key_bytes as u32,
        value_bytes: value_bytes as u32,
        entries_max,
        flags: kind.flags(),
    };
    bpf(MAP_CREATE, &mut attributes).map(owned)
}

/// Has the kernel check and load a program.
///
/// # Errors
/// The kernel's.
pub(super) fn load(kind: ProgramKind, instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let (kind, expected_attach_kind) = kind.numbers();
    let mut attributes = ProgLoad {
        kind,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: *b"pilotfish_join\0\0",
        interface_index: 0,
        expected_attach_kind,
    };
    bpf(PROG_LOAD, &mut attributes).map(owned)
}

/// Has a program decide for the sockets of a map.
///
/// # Errors
/// The kernel's.
pub(super) fn attach(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = ProgAttach {
        target: number(map),
        program: number(program),
        kind: SK_SKB_VERDICT,
        flags: 0,
    };
    bpf(PROG_ATTACH, &mut attributes).map(drop)
}

/// Runs a program of the kind [`ProgramKind::Call`] on a packet, and returns its result.
///
/// # Errors
/// The kernel's.
pub(super) fn call(program: BorrowedFd<'_>, packet: &[u8]) -> io::Result<u32> {
    let mut attributes = ProgTestRun {
        program: number(program),
        returned: 0,
        packet_bytes: packet.len() as u32,
        output_bytes: 0,
        packet: packet.as_ptr() as u64,
        output: 0,
        repeat: 1,
        duration: 0,
    };
    bpf(PROG_TEST_RUN, &mut attributes)?;
    Ok(attributes.returned)
}
