//! Settings of scripts.

use std::path::PathBuf;
use std::time::Duration;

use super::units::{DAY, MS};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// A Lua script in the way of MySQL Proxy, whose hooks see and change what sessions say. See
    /// [Scripts](scripts.md).
    pub struct ScriptConfig in [script], "Scripts" {
        /// State that sessions of different workers share.
        isolation: Isolation = Isolation::Shared, Traits::RESTART;

        /// Which results scripts get to see.
        results: ScriptResults = ScriptResults::Asked, Traits::RESTART;

        /// Folders in which `require` looks for modules before the built-in ones, in Lua's notation
        /// (`"/usr/share/lua/?.lua;..."`).
        lua_path: Option<String> = None, Traits::RESTART.default_text("what `LUA_PATH` says");

        /// The folder in whose `lib/mysql-proxy/lua` modules are looked for where neither `lua_path` nor
        /// `LUA_PATH` says where; `--basedir`.
        base_folder: Option<PathBuf> = None, Traits::RESTART;

        /// The most that a hook may do, in instructions of the Lua machine. The default lasts about a tenth
        /// of a second. The hooks of other sessions may wait for that time.
        instructions_max: u64 = 20_000_000,
            Traits::RESTART.within(1000, 1 << 50).nothing("no limit");

        /// The longest that a hook may run.
        time_max: Duration = Duration::from_secs(1),
            Traits::RESTART.within(MS, DAY).nothing("no limit");

        /// How long a statement of a script's own (`pilotfish.query`) may run. Then it is killed, and the
        /// script is told so; a session that has a connection of its own ends, unless
        /// `health.monitor_user` can kill its statements.
        timeout_query: Duration = Duration::from_secs(60),
            Traits::RELOAD.within(MS, DAY).nothing("no limit");

        /// The most memory that a hook may take, in bytes, beside what scripts have.
        memory_bytes_max: u64 = 256 << 20,
            Traits::RESTART.within(1 << 20, 1 << 40).nothing("no limit");

        /// The most that `pilotfish.shared` may keep, in bytes; then the entries go that were not used for
        /// the longest time.
        shared_bytes_max: u64 = 16 << 20, Traits::RESTART.within(1 << 10, 1 << 40);

        /// The longest result of an injected query that is kept for a script, in bytes.
        result_bytes_max: u64 = 64 << 20, Traits::RELOAD.within(1 << 10, 1 << 40);

        /// The most statements that a script may send for one command of its client's. Further statements are
        /// not sent, and the client gets an error.
        statements_max: u64 = 10_000, Traits::RELOAD.within(1, 1_000_000_000).nothing("no limit");
    }
}

choices! {
    /// State that sessions of different workers share.
    pub enum Isolation {
        /// One interpreter, and `proxy.global` in it: one hook runs at a time in the whole process, as
        /// scripts of MySQL Proxy expect.
        Shared = "shared",
        /// An interpreter for each worker: hooks run side by side, and `proxy.global` is the worker's.
        Worker = "worker",
    }
}

choices! {
    /// Which results scripts get to see.
    pub enum ScriptResults {
        /// Those that were asked for by `resultset_is_needed = true`.
        Asked = "asked",
        /// All of injected queries, unless the script says `resultset_is_needed = false`: for scripts
        /// of MySQL Proxy 0.6 and older.
        Always = "always",
    }
}
