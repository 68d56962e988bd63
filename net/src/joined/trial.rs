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

/// Checks that the bytes of a joined connection come through the program.
///
/// # Errors
/// The kernel's. Unsupported: the program does not see the sequence numbers of the bytes.
pub(super) fn check(joiner: &Rc<SocketJoiner>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ((one, mut far), (other, _far)) = (connection(&listener)?, connection(&listener)?);
    let joined = joiner.join(&one, &other)?;
    for piece in [b"first ", b"second"] {
        far.write_all(piece)?;
        receive(&joined, &one, piece.len())?;
    }
    Ok(())
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
            let what = "BPF programs do not see the sequence numbers of TCP here: Linux 5.16 or newer is needed";
            return Err(io::Error::new(ErrorKind::Unsupported, what));
        }
        match near.read(&mut [0; 16]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => count = count.saturating_sub(read),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) => {}
        }
        if count == 0 {
            return Ok(());
        }
    }
    Err(ErrorKind::TimedOut.into())
}
