//! MySQL Router with one thread: the one that PILOTFISH_BENCH_ROUTER names, or the one that
//! `e2e/provision.sh` has unpacked beside MySQL. Static routing without TLS, no connection sharing.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::names::ROUTER;
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::{MYSQL, Program};

pub struct Router {
    program: Program,
}

pub fn found() -> Option<Router> {
    let named = Program::named("PILOTFISH_BENCH_ROUTER");
    let program = named.or_else(|| Program::unpacked(MYSQL, "usr/bin/mysqlrouter"))?;
    Some(Router { program })
}

impl Router {
    /// Where its plugins are, when that is not where it looks by itself.
    fn plugins(&self) -> Option<PathBuf> {
        Some(self.program.root()?.join("usr/lib/mysqlrouter/plugin"))
    }
}

impl Contestant for Router {
    fn name(&self) -> &str {
        ROUTER
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("router.conf");
        let plugins = self.plugins().map_or(String::new(), |folder| {
            format!("plugin_folder={}\n", folder.display())
        });
        let folder = place.folder.display();
        let backends: Vec<String> = place.backends.iter().map(ToString::to_string).collect();
        let text = format!(
            "[DEFAULT]\n{plugins}logging_folder={folder}\nruntime_folder={folder}\n\
             data_folder={folder}\nconfig_folder={folder}\nmax_total_connections={sessions}\n\
             [logger]\nlevel=WARNING\n\
             [io]\nthreads=1\n\
             [routing:bench]\nbind_address={}\nbind_port={}\ndestinations={}\n\
             routing_strategy=round-robin\nprotocol=classic\nmax_connections={sessions}\n\
             client_ssl_mode=DISABLED\nserver_ssl_mode=DISABLED\n",
            place.listen.ip(),
            place.listen.port(),
            backends.join(","),
            sessions = place.sessions_max,
        );
        std::fs::write(&file, text)?;
        let mut command = self.program.command();
        command.arg("-c").arg(file);
        Ok(command)
    }
}
