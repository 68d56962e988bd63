//! MySQL Proxy 0.8 with one event thread and no script, where PILOTFISH_BENCH_MYSQL_PROXY names it.

use std::io;
use std::process::Command;

use super::names::MYSQL_PROXY;
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::Program;

pub struct MySqlProxy {
    program: Program,
}

pub fn found() -> Option<MySqlProxy> {
    let program = Program::named("PILOTFISH_BENCH_MYSQL_PROXY")?;
    Some(MySqlProxy { program })
}

impl Contestant for MySqlProxy {
    fn name(&self) -> &str {
        MYSQL_PROXY
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let mut command = self.program.command();
        command.args(["--plugins=proxy", "--event-threads=1"]);
        command.arg(format!("--proxy-address={}", place.listen));
        for backend in place.backends {
            command.arg(format!("--proxy-backend-addresses={backend}"));
        }
        Ok(command)
    }
}
