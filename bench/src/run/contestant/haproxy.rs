//! HAProxy in mode tcp with one thread: the proxy that does not look at what it relays. The one on the
//! search path takes part, and a second one when HAPROXY_NEWER names it.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::{Contestant, HAPROXY, Place};
use crate::run::process::{find_program, version_line};

pub struct HaProxy {
    name: &'static str,
    program: PathBuf,
}

pub fn found() -> Vec<HaProxy> {
    let usual = find_program("HAPROXY", "haproxy").map(|program| (HAPROXY, program));
    let newer = std::env::var_os("HAPROXY_NEWER").map(|path| ("haproxy-newer", path.into()));
    let both = [usual, newer].into_iter().flatten();
    both.map(|(name, program)| HaProxy { name, program })
        .collect()
}

impl Contestant for HaProxy {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("-v"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("haproxy.cfg");
        let Place {
            listen,
            backend,
            sessions_max,
            ..
        } = place;
        let text = format!(
            "global\n  nbthread 1\n  maxconn {sessions_max}\n\
             defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen mysql\n  bind {listen}\n  server one {backend}\n"
        );
        std::fs::write(&file, text)?;
        let mut command = Command::new(&self.program);
        command.arg("-db").arg("-f").arg(file);
        Ok(command)
    }
}
