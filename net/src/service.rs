//! Words to the service manager (systemd's `sd_notify` protocol: datagrams to `NOTIFY_SOCKET`).
//!
//! Without that variable nobody listens and nothing is sent.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// What may be told. The text forms are those of `sd_notify(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State<'a> {
    /// Start-up or reload is complete.
    Ready,
    /// The configuration is being read again; `Ready` follows when that is over, well or badly.
    Reloading,
    /// Shutting down.
    Stopping,
    /// One line for `systemctl status`.
    Status(&'a str),
}

impl State<'_> {
    fn text(self) -> String {
        match self {
            State::Ready => "READY=1\n".to_owned(),
            State::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}\n", monotonic_usec()),
            State::Stopping => "STOPPING=1\n".to_owned(),
            // A line break would begin another assignment.
            State::Status(line) => format!("STATUS={}\n", line.replace('\n', " ")),
        }
    }
}

/// Tells the service manager, if there is one, all of `states` in one datagram.
///
/// # Errors
/// The kernel's: the socket named by `NOTIFY_SOCKET` does not take the message.
pub fn notify(states: &[State<'_>]) -> io::Result<()> {
    match env::var_os("NOTIFY_SOCKET") {
        Some(name) if !name.is_empty() => notify_at(&name, states),
        _ => Ok(()),
    }
}

fn notify_at(name: &OsStr, states: &[State<'_>]) -> io::Result<()> {
    let message: String = states.iter().map(|state| state.text()).collect();
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}

/// Microseconds of the monotonic clock, by which systemd orders a reload's messages.
fn monotonic_usec() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_path_and_an_abstract_name_both_receive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let at_path = UnixDatagram::bind(&path).unwrap();
        let status = State::Status("12 sessions\nREADY=1");
        notify_at(path.as_os_str(), &[State::Ready, status]).unwrap();
        assert_eq!(received(&at_path), "READY=1\nSTATUS=12 sessions READY=1\n");

        let name = format!("pilotfish-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_socket = UnixDatagram::bind_addr(&address).unwrap();
        notify_at(OsStr::new(&format!("@{name}")), &[State::Stopping]).unwrap();
        assert_eq!(received(&abstract_socket), "STOPPING=1\n");
    }

    #[test]
    fn a_reload_carries_the_time_it_began() {
        let text = State::Reloading.text();
        let usec = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!(usec.trim_end().parse::<u64>().unwrap() > 0);
    }
}
