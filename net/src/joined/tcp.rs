//! What the kernel tells of a TCP socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The part of `struct tcp_info` up to `tcpi_bytes_acked`.
#[derive(Clone, Copy)]
#[repr(C)]
struct TcpInfo {
    state: u8,
    before: [u64; 14],
    bytes_acked: u64,
}

#[allow(unsafe_code)]
fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut info = TcpInfo {
        state: 0,
        before: [0; 14],
        bytes_acked: 0,
    };
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `info`. All its values are valid.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    match asked {
        0 if length as usize == size_of::<TcpInfo>() => Ok(info),
        0 => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether both sides of a connection may send.
///
/// # Errors
/// The kernel's.
pub(super) fn is_established(socket: BorrowedFd<'_>) -> io::Result<bool> {
    /// TCP_ESTABLISHED.
    const ESTABLISHED: u8 = 1;
    Ok(tcp_info(socket)?.state == ESTABLISHED)
}

/// Bytes that were written to a socket, by the proxy or the kernel: acknowledged bytes and unacknowledged bytes. It
/// takes two system calls. Bytes that are acknowledged between them are missing, so the result is never too large.
///
/// # Errors
/// The kernel's.
pub(super) fn written(socket: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(tcp_info(socket)?.bytes_acked + unacknowledged(socket)?)
}

/// Bytes that were written to a socket and that the other side has not acknowledged.
///
/// # Errors
/// The kernel's.
#[allow(unsafe_code)]
pub(super) fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut queued: libc::c_int = 0;
    // SAFETY: the kernel writes one number.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
    match asked {
        0 => Ok(u64::from(queued.cast_unsigned())),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Bytes that a socket has received and the proxy has not read.
///
/// # Errors
/// The kernel's.
#[allow(unsafe_code)]
pub(super) fn unread(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    let most = i32::MAX as usize;
    // SAFETY: with MSG_TRUNC the kernel writes nothing for a TCP socket (tcp(7)): it only counts.
    let count = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, flags) };
    match u32::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            error => Err(error),
        },
    }
}

/// Has the kernel tell that a socket has unread bytes, if it has some. It does so when the least number of bytes that make
/// the socket readable is set (`tcp_set_rcvlowat`).
///
/// # Errors
/// The kernel's.
#[allow(unsafe_code)]
pub(super) fn notify_of_unread(socket: BorrowedFd<'_>) -> io::Result<()> {
    let least: libc::c_int = 1;
    // SAFETY: the kernel reads one number.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            std::ptr::from_ref(&least).cast(),
            size_of_val(&least) as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
