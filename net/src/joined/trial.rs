//! Joins two connections of the proxy to itself before any others: on a kernel that shows the program something else than
//! sequence numbers, every joined session would break.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;

use super::joiner::{JoinedEnd, JoinedSockets, SocketJoiner};

/// How often the proxy looks for a few bytes from another socket of this machine, and how long it waits each time.
const READS_MAX: usize = 500;
const READ_TIMEOUT: Duration = Duration::from_millis(10);

/// The first version of Linux whose sockmap a program may cut pieces in. In 6.0 to 6.3 the kernel keeps a second reference
/// to a piece while the program runs: cutting would stop the machine (mended in 6.4, commit 78fa0d61d97a).
const LINUX: (u32, u32) = (6, 4);

/// Checks the kernel's version, and that the bytes of a joined connection come through the program.
///
/// # Errors
/// The kernel's. Unsupported: the kernel is too old, or the program does not see the sequence numbers of the bytes.
pub(super) fn check(joiner: &Rc<SocketJoiner>) -> io::Result<()> {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    if version(&release).is_none_or(|version| version < LINUX) {
        let what = format!("Linux 6.4 or newer is needed, and this is {release}");
        return Err(io::Error::new(ErrorKind::Unsupported, what));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ((one, mut far), (other, _far)) = (connection(&listener)?, connection(&listener)?);
    let joined = joiner.join(&one, &other)?;
    for piece in [b"first ", b"second"] {
        far.write_all(piece)?;
        receive(&joined, &one, piece.len())?;
    }
    Ok(())
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

/// A connection of the process to itself: the end that is to be joined, and the other one.
fn connection(listener: &TcpListener) -> io::Result<(TcpStream, TcpStream)> {
    let far = TcpStream::connect(listener.local_addr()?)?;
    let (near, peer) = listener.accept()?;
    if peer != far.local_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    near.set_read_timeout(Some(READ_TIMEOUT))?;
    Ok((near, far))
}

/// Waits until `count` bytes of the joined end have come, or until the program has dropped them.
fn receive(joined: &JoinedSockets, mut near: &TcpStream, mut count: usize) -> io::Result<()> {
    for _ in 0..READS_MAX {
        if joined.seen(JoinedEnd::One).is_out_of_order {
            let what = "BPF programs do not see the sequence numbers of TCP here";
            return Err(io::Error::new(ErrorKind::Unsupported, what));
        }
        match near.read(&mut [0; 16]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => count = count.saturating_sub(read),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
        if count == 0 {
            return Ok(());
        }
    }
    Err(ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_of_the_kernel_is_compared_by_its_first_two_numbers() {
        let is_enough = |release| version(release).is_some_and(|version| version >= LINUX);
        let enough = ["6.4", "6.12.1-amd64", "6.4-rc1", "7.0.3", "10.0"];
        assert!(enough.into_iter().all(is_enough));
        assert!(
            !["6.3.13", "5.19", "4.18.0-553.el8", "6", "", "linux"]
                .into_iter()
                .any(is_enough)
        );
    }
}
