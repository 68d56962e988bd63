//! MaxScale with one thread, where PILOTFISH_BENCH_MAXSCALE names it: readconnroute, which gives a session
//! one server, as the article that measures it does (mariadb.com/docs/maxscale, ReadConnRoute).

use std::fmt::Write as _;
use std::io;
use std::process::Command;

use super::names::MAXSCALE;
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::Program;

pub struct MaxScale {
    program: Program,
}

pub fn found() -> Option<MaxScale> {
    let program = Program::named("PILOTFISH_BENCH_MAXSCALE")?;
    Some(MaxScale { program })
}

impl Contestant for MaxScale {
    fn name(&self) -> &str {
        MAXSCALE
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("maxscale.cnf");
        let names: Vec<String> = (0..place.backends.len())
            .map(|number| format!("server{number}"))
            .collect();
        let servers = names.join(",");
        let mut text = format!(
            "[maxscale]\nthreads=1\nadmin_enabled=false\nskip_name_resolve=true\n\
             [monitor]\ntype=monitor\nmodule=mariadbmon\nservers={servers}\nuser=bench\npassword=\n\
             [service]\ntype=service\nrouter=readconnroute\nrouter_options=running\n\
             servers={servers}\nuser=bench\npassword=\nmax_connections={}\n\
             [listener]\ntype=listener\nservice=service\nprotocol=MariaDBClient\naddress={}\nport={}\n",
            place.sessions_max,
            place.listen.ip(),
            place.listen.port(),
        );
        for (name, backend) in names.iter().zip(place.backends) {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "[{name}]\ntype=server\naddress={}\nport={}\n",
                backend.ip(),
                backend.port()
            );
        }
        std::fs::write(&file, text)?;
        let mut command = self.program.command();
        command.args(["--nodaemon", "--log=stdout", "--config"]);
        command.arg(file);
        let folders = ["logdir", "cachedir", "datadir", "piddir", "persistdir"];
        for option in folders {
            command.arg(format!("--{option}={}", place.folder.display()));
        }
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        Ok(command)
    }
}
