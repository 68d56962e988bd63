//! The socket on which the program tells the service manager that it is ready.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::wait;

/// The socket, and its path for the variable `NOTIFY_SOCKET`.
#[derive(Debug)]
pub struct Ready {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Ready {
    /// Makes it in a folder.
    pub fn bind(folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).expect("the folder is writable");
        // Some programs change their user, so everybody may open the folder and write to the socket.
        for (path, mode) in [(folder, 0o755), (&*path, 0o666)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
        }
        let pause = Duration::from_millis(50);
        let set = socket.set_read_timeout(Some(pause));
        set.expect("it is not zero");
        Self { socket, path }
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the program is ready; panics if it ends instead.
    #[track_caller]
    pub fn wait(&self, process: &mut Process) {
        let start = Instant::now();
        let mut message = [0; 1024];
        loop {
            let length = match self.socket.recv(&mut message) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => panic!("the notification socket: {error}"),
            };
            let text = String::from_utf8_lossy(&message[..length]);
            if text.lines().any(|line| line == "READY=1") {
                return;
            }
            let log = || process.log_tail();
            assert!(
                start.elapsed() < wait::SOON,
                "the proxy is not ready\n{}",
                log()
            );
            if let Some(status) = process.ended() {
                panic!("the proxy ended at once: {status}\n{}", process.log_tail());
            }
        }
    }
}
