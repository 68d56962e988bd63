//! How many connections a process has to an address, from /proc: what a pool really holds.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::SocketAddr;

/// The state of an established connection in /proc/net/tcp (`tcp_states.h`).
const ESTABLISHED: &str = "01";

/// The established IPv4 connections that a process has to `remote`.
///
/// # Errors
/// When the process has ended, or /proc cannot be read.
pub fn count(pid: u32, remote: SocketAddr) -> io::Result<u64> {
    let own = sockets(pid)?;
    let table = fs::read_to_string("/proc/net/tcp")?;
    let rows = table.lines().skip(1).filter_map(Row::read);
    let to_remote = rows.filter(|row| row.is_established && row.remote_port == remote.port());
    Ok(to_remote.filter(|row| own.contains(row.inode)).count() as u64)
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> io::Result<HashSet<String>> {
    let mut inodes = HashSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // One that was closed meanwhile is none.
        let Ok(target) = fs::read_link(entry?.path()) else {
            continue;
        };
        let name = target.to_string_lossy();
        let inode = name
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        inodes.extend(inode.map(str::to_owned));
    }
    Ok(inodes)
}

/// A line of /proc/net/tcp.
struct Row<'a> {
    remote_port: u16,
    is_established: bool,
    inode: &'a str,
}

impl<'a> Row<'a> {
    /// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(2);
        let (_, port) = fields.next()?.split_once(':')?;
        let state = fields.next()?;
        Some(Self {
            remote_port: u16::from_str_radix(port, 16).ok()?,
            is_established: state == ESTABLISHED,
            inode: fields.nth(5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_of_this_process_are_counted_while_they_are_open() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let pid = std::process::id();
        assert_eq!(count(pid, address)?, 0);
        let open = [TcpStream::connect(address)?, TcpStream::connect(address)?];
        assert_eq!(count(pid, address)?, 2);
        drop(open);
        assert_eq!(count(pid, address)?, 0);
        Ok(())
    }
}
