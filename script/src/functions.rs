//! The functions of `proxy`'s objects that the proxy calls.

use mlua::{Function, Lua, LuaString, Table};

use crate::decision::Hook;

/// The objects' functions that the proxy calls.
pub(crate) struct Functions {
    /// The names of the hooks, in their order.
    pub names: Vec<LuaString>,
    pub queries: QueryFunctions,
    pub server: ServerFunctions,
    pub begin: Function,
    pub environment: Function,
    pub find_hooks: Function,
    pub recover: Function,
    pub call: Function,
    pub runner: Function,
    pub take_moves: Function,
    pub leave: Function,
    pub forget: Function,
}

/// The functions that see queries and their results.
pub(crate) struct QueryFunctions {
    pub read_query: Function,
    pub read_query_result: Function,
    pub rewrite_row: Function,
    pub next_query: Function,
}

/// The functions that say which backend connection a session has.
pub(crate) struct ServerFunctions {
    pub set_server: Function,
    pub know_server: Function,
}

impl Functions {
    pub(crate) fn of(lua: &Lua, module: &Table) -> mlua::Result<Self> {
        let names = Hook::ALL.into_iter();
        let names = names.map(|hook| lua.create_string(hook.name()));
        Ok(Self {
            names: names.collect::<mlua::Result<_>>()?,
            queries: QueryFunctions {
                read_query: module.raw_get("read_query")?,
                read_query_result: module.raw_get("read_query_result")?,
                rewrite_row: module.raw_get("rewrite_row")?,
                next_query: module.raw_get("next_query")?,
            },
            server: ServerFunctions {
                set_server: module.raw_get("set_server")?,
                know_server: module.raw_get("know_server")?,
            },
            begin: module.raw_get("begin")?,
            environment: module.raw_get("environment_of")?,
            find_hooks: module.raw_get("find_hooks")?,
            recover: module.raw_get("recover")?,
            call: module.raw_get("call")?,
            runner: module.raw_get("runner")?,
            take_moves: module.raw_get("take_moves")?,
            leave: module.raw_get("leave")?,
            forget: module.raw_get("forget")?,
        })
    }
}
