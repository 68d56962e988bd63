//! ProxySQL with one thread, where PILOTFISH_BENCH_PROXYSQL names it: one hostgroup, multiplexing as it
//! comes, no monitor, no rule (proxysql.com/documentation/main-runtime, global-variables).

use std::io;
use std::process::Command;

use super::names::PROXYSQL;
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::Program;

pub struct ProxySql {
    program: Program,
}

pub fn found() -> Option<ProxySql> {
    let program = Program::named("PILOTFISH_BENCH_PROXYSQL")?;
    Some(ProxySql { program })
}

impl Contestant for ProxySql {
    fn name(&self) -> &str {
        PROXYSQL
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("proxysql.cnf");
        let sessions = place.sessions_max;
        let servers = place.backends.iter().map(|backend| {
            format!(
                "{{address=\"{}\",port={},hostgroup=0,max_connections={sessions}}}",
                backend.ip(),
                backend.port()
            )
        });
        let text = format!(
            "datadir=\"{folder}\"\n\
             admin_variables={{admin_credentials=\"admin:admin\"\nmysql_ifaces=\"{}\"}}\n\
             mysql_variables={{threads=1\ninterfaces=\"{}\"\nmax_connections={sessions}\n\
             monitor_enabled=false}}\n\
             mysql_servers=({})\n\
             mysql_users=({{username=\"bench\",password=\"\",default_hostgroup=0,\
             max_connections={sessions}}})\n",
            place.admin,
            place.listen,
            servers.collect::<Vec<_>>().join(","),
            folder = place.folder.display(),
        );
        std::fs::write(&file, text)?;
        let mut command = self.program.command();
        command.args(["--foreground", "--initial", "--config"]);
        command.arg(file).arg("--datadir").arg(place.folder);
        Ok(command)
    }
}
