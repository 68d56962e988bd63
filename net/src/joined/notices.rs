//! The ring in which the program names the sockets that have bytes for the proxy (BPF_MAP_TYPE_RINGBUF).
//!
//! The kernel maps three things: the reader's position, the writer's position, and the records. The records
//! are mapped twice in a row, so that no record is cut at the end of the ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::ProtFlags;

use super::bpf::{self, MapKind};

/// The memory of the records: a power of two of pages. A record has 16 bytes. There is one record for each direction of
/// a session that has left the kernel, so the ring has room for 32,768 sessions that leave the kernel at the same time.
const RING_BYTES: usize = 1 << 20;
/// In front of each record: its length with two flags, then four bytes that the kernel uses.
const HEADER_BYTES: u64 = 8;
/// The record is being written.
const BUSY: u32 = 1 << 31;
/// The reader must skip the record.
const DISCARDED: u32 = 1 << 30;

/// The reader's side of the ring.
#[derive(Debug)]
pub(super) struct Notices {
    fd: OwnedFd,
    reader: Mapping,
    writer: Mapping,
    /// The records begin behind one page.
    page_bytes: usize,
}

/// Memory that the kernel shares with the proxy.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    #[allow(unsafe_code)]
    fn new(fd: BorrowedFd<'_>, bytes: usize, offset: u64, rights: ProtFlags) -> io::Result<Self> {
        let flags = rustix::mm::MapFlags::SHARED;
        // SAFETY: the kernel chooses a free address. The memory is unmapped when the mapping is dropped, not before.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, rights, flags, fd, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { start, bytes })
    }

    /// A number that the kernel and the proxy read and write as a whole.
    #[allow(unsafe_code)]
    fn number_64(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.bytes);
        // SAFETY: the number lies within the mapping and is aligned. The mapping lives as long as the reference.
        unsafe { self.start.add(at).cast().as_ref() }
    }

    #[allow(unsafe_code)]
    fn number_32(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.bytes);
        // SAFETY: as in `number_64`.
        unsafe { self.start.add(at).cast().as_ref() }
    }
}

impl Drop for Mapping {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: no reference into the memory is left, because each reference borrows the mapping.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

impl Notices {
    /// An empty ring.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new() -> io::Result<Self> {
        let page_bytes = rustix::param::page_size();
        let fd = bpf::create(MapKind::Ring, (0, 0), RING_BYTES as u32)?;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let reader = Mapping::new(fd.as_fd(), page_bytes, 0, rights)?;
        let bytes = page_bytes + 2 * RING_BYTES;
        let writer = Mapping::new(fd.as_fd(), bytes, page_bytes as u64, ProtFlags::READ)?;
        Ok(Self {
            fd,
            reader,
            writer,
            page_bytes,
        })
    }

    /// The ring's descriptor, which becomes readable when there are notices.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Calls `notice` with the cookie of each socket that has bytes to be read, until no record is left.
    pub(super) fn drain(&self, mut notice: impl FnMut(u64)) {
        let read = self.reader.number_64(0);
        let mut at = read.load(Ordering::Relaxed);
        while at < self.writer.number_64(0).load(Ordering::Acquire) {
            let place = self.page_bytes + (at as usize & (RING_BYTES - 1));
            let header = self.writer.number_32(place).load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            if header & DISCARDED == 0 {
                notice(self.writer.number_64(place + 8).load(Ordering::Relaxed));
            }
            let length = u64::from(header & !(BUSY | DISCARDED));
            at += (HEADER_BYTES + length).next_multiple_of(8);
            read.store(at, Ordering::Release);
        }
    }
}
