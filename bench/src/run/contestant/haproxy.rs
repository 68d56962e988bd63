//! HAProxy in mode tcp with one thread: the proxy that does not look at what it relays. The one on the
//! search path takes part, and a newer one, which HAPROXY_NEWER names or `bench/provision.sh` has unpacked.

use std::fmt::Write as _;
use std::io;
use std::process::Command;

use super::names::{HAPROXY, HAPROXY_NEWER};
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::Program;

pub struct HaProxy {
    name: &'static str,
    program: Program,
}

pub fn found() -> Vec<HaProxy> {
    let usual = Program::installed("HAPROXY", "haproxy").map(|program| (HAPROXY, program));
    let newer = Program::named("HAPROXY_NEWER")
        .or_else(|| Program::unpacked("haproxy", "usr/sbin/haproxy"))
        .map(|program| (HAPROXY_NEWER, program));
    let both = [usual, newer].into_iter().flatten();
    both.map(|(name, program)| HaProxy { name, program })
        .collect()
}

impl Contestant for HaProxy {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("-v"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("haproxy.cfg");
        let Place {
            listen,
            backends,
            sessions_max,
            ..
        } = place;
        let mut text = format!(
            "global\n  nbthread 1\n  maxconn {sessions_max}\n\
             defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen mysql\n  bind {listen}\n  balance leastconn\n"
        );
        for (number, backend) in backends.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  server s{number} {backend}");
        }
        std::fs::write(&file, text)?;
        let mut command = self.program.command();
        command.arg("-db").arg("-f").arg(file);
        Ok(command)
    }
}
