//! TiProxy with one thread (GOMAXPROCS), where PILOTFISH_BENCH_TIPROXY names it. Static routing: without PD
//! its backends come over HTTP, as a namespace (its conf/proxy.toml and pkg/server/api/namespace.go).

use std::io;
use std::process::Command;

use super::names::TIPROXY;
use super::{Contestant, Place};
use crate::run::process::version_line;
use crate::run::program::Program;

pub struct TiProxy {
    program: Program,
}

pub fn found() -> Option<TiProxy> {
    let program = Program::named("PILOTFISH_BENCH_TIPROXY")?;
    Some(TiProxy { program })
}

impl Contestant for TiProxy {
    fn name(&self) -> &str {
        TIPROXY
    }

    fn version(&self) -> String {
        version_line(self.program.command().arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("tiproxy.toml");
        let text = format!(
            "workdir = \"{}\"\n[proxy]\naddr = \"{}\"\npd-addrs = \"\"\n[api]\naddr = \"{}\"\n\
             [log]\nlevel = \"warn\"\n[security.sql-tls]\nskip-ca = true\n",
            place.folder.display(),
            place.listen,
            place.admin,
        );
        std::fs::write(&file, text)?;
        let mut command = self.program.command();
        command.env("GOMAXPROCS", "1").arg("--config").arg(file);
        Ok(command)
    }

    fn requests(&self, place: &Place<'_>) -> Vec<String> {
        let instances: Vec<String> = place.backends.iter().map(ToString::to_string).collect();
        let namespace = serde_json::json!({
            "namespace": "default",
            "backend": { "instances": instances },
        });
        let request = |line: &str, body: &str| {
            format!(
                "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                place.admin,
                body.len(),
            )
        };
        vec![
            request("PUT /api/admin/namespace/default", &namespace.to_string()),
            request("POST /api/admin/namespace/commit?namespace=default", ""),
        ]
    }
}
