//! Listening sockets: bound here or inherited from the service manager.
//!
//! An accepted socket is not registered with any reactor, so that the accepting thread can hand
//! it to the worker that will own it ([`crate::Socket::from_raw`]).

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, SockAddr, SockRef, Type};
use tokio::io::unix::AsyncFd;

use crate::socket::{Endpoint, RawSocket, set_options};

/// How long the caller accepts nothing after the kernel has run out of files or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);

/// How a listening socket is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListenOptions {
    /// Connections the kernel queues before they are accepted (it caps this at `somaxconn`).
    pub backlog: i32,
    /// Permissions of a Unix socket's file.
    pub unix_mode: u32,
}

impl Default for ListenOptions {
    /// A queue as long as the kernel allows; a Unix socket that every user may use, like MySQL's own.
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: 4096,
            unix_mode: 0o777,
        }
    }
}

/// A connection just accepted.
#[derive(Debug)]
pub struct Accepted {
    /// Its socket.
    pub socket: RawSocket,
    /// The client's address; an empty path for a Unix socket.
    pub remote: Endpoint,
}

/// Why nothing could be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The process or the machine has no file or no memory left. Connections wait in the kernel's
    /// queue meanwhile; the caller logs it, sleeps for `pause` and tries again.
    #[error("cannot accept connections for now: {cause}")]
    Exhausted {
        /// The kernel's word for it.
        cause: io::Error,
        /// How long to wait before the next attempt.
        pause: Duration,
    },
    /// The listening socket itself is unusable.
    #[error("the listening socket is broken: {0}")]
    Broken(io::Error),
}

/// One listening socket, known to the reactor of the thread that made it.
#[derive(Debug)]
pub struct Listener {
    socket: AsyncFd<socket2::Socket>,
    endpoint: Endpoint,
    /// The socket's file. It is dropped, and so removed, after the socket.
    _file: Option<SocketFile>,
}

impl Listener {
    /// Binds and listens. An IPv6 address takes IPv6 only, so that `0.0.0.0` and `[::]` can be
    /// had side by side on one port. A Unix socket's file left by a dead process is replaced; a
    /// live one is not.
    ///
    /// # Errors
    /// The kernel's; [`io::ErrorKind::AddrInUse`] if another process listens there already;
    /// [`io::ErrorKind::AlreadyExists`] if the path is no socket.
    pub fn bind(endpoint: &Endpoint, options: ListenOptions) -> io::Result<Listener> {
        match endpoint {
            Endpoint::Tcp(address) => bind_tcp(*address, options),
            Endpoint::Unix(path) => bind_unix(path, options),
        }
    }

    /// The sockets that the service manager has opened for the proxy (`LISTEN_FDS`), in its order; none
    /// without a service manager. They can be taken once. The function unsets the variables: call it while
    /// the process has one thread.
    ///
    /// # Errors
    /// An error that names the file descriptor that is no listening stream socket.
    pub fn inherited() -> io::Result<Vec<Listener>> {
        let mut passed = listenfd::ListenFd::from_env();
        (0..passed.len())
            .map(|index| take_inherited(&mut passed, index))
            .collect()
    }

    fn new(
        socket: socket2::Socket,
        endpoint: Endpoint,
        file: Option<SocketFile>,
    ) -> io::Result<Listener> {
        socket.set_nonblocking(true)?;
        if let Endpoint::Tcp(_) = endpoint {
            set_options(SockRef::from(&socket))?;
        }
        Ok(Listener {
            socket: register(socket)?,
            endpoint,
            _file: file,
        })
    }

    /// The address that the socket listens on, with the port that the kernel chose if none was given.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Waits for the next connection. Cancelling loses no connection.
    ///
    /// # Errors
    /// See [`AcceptError`]; connections that broke while they were queued are skipped.
    pub async fn accept(&self) -> Result<Accepted, AcceptError> {
        loop {
            let mut ready = self.socket.readable().await.map_err(AcceptError::Broken)?;
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match acceptfrom_with(self.socket.get_ref(), flags) {
                Ok((socket, remote)) => return Ok(self.accepted(socket, remote)),
                Err(Errno::WOULDBLOCK) => ready.clear_ready(),
                Err(error) => match Refusal::of(error) {
                    Refusal::Passing => {}
                    Refusal::Exhausted => {
                        return Err(AcceptError::Exhausted {
                            cause: error.into(),
                            pause: EXHAUSTED_PAUSE,
                        });
                    }
                    Refusal::Broken => return Err(AcceptError::Broken(error.into())),
                },
            }
        }
    }

    fn accepted(&self, socket: OwnedFd, remote: Option<rustix::net::SocketAddrAny>) -> Accepted {
        match self.endpoint {
            Endpoint::Tcp(local) => {
                let remote = remote.and_then(|any| SocketAddr::try_from(any).ok());
                Accepted {
                    socket: RawSocket::Tcp(socket.into()),
                    // The kernel always names a TCP connection's other end.
                    remote: remote.unwrap_or(local).into(),
                }
            }
            Endpoint::Unix(_) => Accepted {
                socket: RawSocket::Unix(socket.into()),
                remote: Endpoint::Unix(PathBuf::new()),
            },
        }
    }
}

#[allow(unsafe_code)]
fn register(socket: socket2::Socket) -> io::Result<AsyncFd<socket2::Socket>> {
    let interest = tokio::io::Interest::READABLE;
    // SAFETY: the socket owns its descriptor, keeps it open until the socket is dropped, and always
    // returns the same descriptor; the `AsyncFd` owns the socket and lends it by shared reference only.
    let registered = unsafe { AsyncFd::register_with_interest(socket, interest) };
    Ok(registered?)
}

/// What a failed accept means, by accept(2).
enum Refusal {
    /// The connection is gone; the next one may be fine.
    Passing,
    /// No file or no memory is left.
    Exhausted,
    /// The listening socket is at fault.
    Broken,
}

impl Refusal {
    fn of(error: Errno) -> Refusal {
        match error {
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => Refusal::Exhausted,
            Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOTSOCK => Refusal::Broken,
            _ => Refusal::Passing,
        }
    }
}

fn bind_tcp(address: SocketAddr, options: ListenOptions) -> io::Result<Listener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // Connections of an earlier process that linger do not prevent a restart from binding.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(options.backlog)?;
    let bound = socket.local_addr()?.as_socket().unwrap_or(address);
    Listener::new(socket, Endpoint::Tcp(bound), None)
}

fn bind_unix(path: &Path, options: ListenOptions) -> io::Result<Listener> {
    remove_stale(path)?;
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // The file is made with the socket's own mode, less the umask: it is never more open than
    // it should be, not even for the moment until its mode is set exactly.
    let mode = Mode::from_raw_mode(options.unix_mode);
    rustix::fs::fchmod(&socket, mode)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::of(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(options.unix_mode))?;
    socket.listen(options.backlog)?;
    Listener::new(socket, Endpoint::Unix(path.to_owned()), Some(file))
}

/// Removes a socket's file if no process listens on it any more.
fn remove_stale(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.file_type().is_socket() {
        let text = format!("{} exists and is no socket", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => {
            let text = format!("another process listens on {}", path.display());
            Err(io::Error::new(io::ErrorKind::AddrInUse, text))
        }
        Err(error) => Err(error),
    }
}

/// The file of a Unix socket that the proxy has bound. The file is removed when this is dropped.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<SocketFile> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(SocketFile {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl Drop for SocketFile {
    /// Removes the file, unless another process has bound the same path since.
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|now| now.dev() == self.device && now.ino() == self.inode);
        if ours {
            // A failure cannot be reported from here, and the next start replaces the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn take_inherited(passed: &mut listenfd::ListenFd, index: usize) -> io::Result<Listener> {
    let socket: socket2::Socket = match passed.take_tcp_listener(index) {
        Ok(listener) => listener.map(socket2::Socket::from),
        Err(_) => passed.take_unix_listener(index)?.map(Into::into),
    }
    .ok_or_else(|| io::Error::other("an inherited socket was taken twice"))?;
    inherited_listener(socket)
}

fn inherited_listener(socket: socket2::Socket) -> io::Result<Listener> {
    if !SockRef::from(&socket).is_listener()? {
        let text = "an inherited socket does not listen (the unit needs Accept=no)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let local = socket.local_addr()?;
    let endpoint = match local.as_socket() {
        Some(address) => Endpoint::Tcp(address),
        None => Endpoint::Unix(local.as_pathname().map(PathBuf::from).unwrap_or_default()),
    };
    // The service manager made the file and keeps it.
    Listener::new(socket, endpoint, None)
}

#[cfg(test)]
mod tests;
