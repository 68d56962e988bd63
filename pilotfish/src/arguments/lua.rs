//! The arguments of `lua`.

use std::ffi::OsString;

use clap::Args;

/// Runs a script in the embedded Lua 5.1 interpreter, or checks scripts
#[derive(Debug, Args)]
pub struct LuaArguments {
    /// Only load the scripts, as the proxy would, and report errors with their lines
    #[arg(long)]
    pub check: bool,

    /// Where `require` looks before the built-in modules [default: the environment's LUA_PATH]
    #[arg(long, value_name = "PATH")]
    pub lua_path: Option<String>,

    /// The script, and what it gets as `...` and `arg`; with --check more scripts
    #[arg(value_name = "FILE", required = true, num_args = 1.., trailing_var_arg = true)]
    pub words: Vec<OsString>,
}
