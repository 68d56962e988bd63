//! `pilotfish`: reads the command, runs it, and reports how it ended.
//!
//! ```text
//!   arguments ──► Command ─┬─ serve      the proxy: files, signals, ports, logs
//!                          │    ├─ snapshot, reloading, editing   settings as all others get them
//!                          │    ├─ listening ──► worker           clients
//!                          │    ├─ control, replication           threads of their own
//!                          │    ├─ admin, http                    what can be seen and done
//!                          │    └─ journals, outlets, telemetry   what leaves the process
//!                          ├─ sandbox    the same in front of servers of its own (crate `sandbox`)
//!                          ├─ console, top, health                a proxy that runs, over its admin port
//!                          ├─ explain, plan, probe, init          a configuration, without a proxy
//!                          └─ import, binlog, schema, lua         files
//! ```
//!
//! Only this crate takes the clock, random bytes and threads from the machine (`machine`), and hands them to the others.

mod admin_client;
mod arguments;
mod binlog_files;
mod console;
mod digests;
mod editing;
mod explain;
mod health;
mod init;
mod journals;
mod listening;
mod logging;
mod lua;
mod machine;
mod new_file;
mod outlets;
mod plan;
mod probe;
mod process;
mod reloading;
mod replica_port;
mod rules;
mod schema;
mod serve;
mod shell;
mod snapshot;
mod table;
mod taking_over;
mod telemetry;
mod top;

use std::process::ExitCode;

use arguments::Command;
use serve::Serving;

/// The allocator keeps sizes apart, so the memory of a login, freed when the session is idle, serves the next login
/// and is not broken up by small allocations. Measured with 10,000 idle sessions: see docs/benchmarks.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Command::parse() {
        Command::Serve(arguments) => match arguments.replicant() {
            Some(replicant) => binlog_files::replicant(&arguments, &replicant),
            None => serve::serve(&arguments),
        },
        Command::Check(arguments) => arguments::check(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Probe(arguments) => probe::probe(&arguments),
        Command::Health(arguments) => health::health(&arguments),
        Command::Console(command) => console::console(&command),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Man(arguments) => shell::man(&arguments),
        Command::Init(arguments) => init::init(&arguments),
        Command::Import(arguments) => taking_over::take_over(&arguments),
        Command::Lua(arguments) => lua::lua(&arguments),
        Command::Binlog(arguments) => binlog_files::binlog(&arguments),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Top(arguments) => top::top(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Sandbox(arguments) => sandbox::run(&arguments, machine::entropy(), |assignment| {
            serve::run(
                assignment.config,
                Serving::until(assignment.ready, assignment.stop),
            )
        }),
    }
}
