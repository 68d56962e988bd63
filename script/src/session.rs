//! One client's script: its environment, its hooks, and the hooks' decisions.
//!
//! ```text
//!  begin ─► connect_server ─► read_handshake ─► read_auth ─► read_auth_result …
//!           ┌───────────────────────────────────────────────────────────────┘
//!           └► read_query ─► [next query ─► read_query_result] … ─► disconnect_client
//! ```

use std::path::{Path, PathBuf};

use mlua::{Function, IntoLuaMulti, Lua, LuaString, Table, Thread, Value};
use wire::errors::{self, ProxyError};

use crate::answer::Answer;
use crate::decision::{Decision, Hook, Injection, Move, ReplyFacts, Wish, WishOutcome};
use crate::facts::SocketFacts;
use crate::fault::Fault;
use crate::limits::Limit;
use crate::log::Level;
use crate::payloads::Payloads;
use crate::prepared::Prepared;
use crate::response;
use crate::rows::Rows;
use crate::scripts::{HookCall, Scripts};
use crate::session_fault::SessionFault;

/// One client's script.
pub struct Session {
    scripts: Scripts,
    table: Table,
    /// The hooks that the script has, as of the end of the last hook that ran.
    has: [bool; Hook::ALL.len()],
    /// How many commands were queued when the last hook ended.
    queued: usize,
    /// The script has asked for moves of connections.
    has_moved: bool,
    has_route: bool,
    has_rows: bool,
    wants_close: bool,
    /// The session's prepared statements, after the first was prepared.
    prepared: Option<Prepared>,
    /// The hook that waits, and its coroutine.
    waiting: Option<(Hook, Thread)>,
    /// The error for the client if the last hook has passed a limit.
    refusal: Option<Payloads>,
    /// The session's scripts, in their order.
    files: Vec<PathBuf>,
    /// `disconnect_client` has run.
    has_ended: bool,
}

impl Scripts {
    /// Begins a client's session: runs the scripts' bodies for it, in this order. `takes_turns`: the session has no
    /// backend connection of its own, but gets one for each command.
    ///
    /// # Errors
    /// A script cannot be read, does not parse, or raises an error.
    pub fn begin(
        &self,
        files: &[PathBuf],
        id: u64,
        client: &SocketFacts,
        takes_turns: bool,
    ) -> Result<Session, SessionFault> {
        Session::begin(self, files, id, client, takes_turns)
    }
}

impl Session {
    pub(crate) fn begin(
        scripts: &Scripts,
        files: &[PathBuf],
        id: u64,
        client: &SocketFacts,
        takes_turns: bool,
    ) -> Result<Self, SessionFault> {
        let functions = scripts.functions();
        let begun = scripts.within(|lua| {
            let client = client.table(lua)?;
            functions.begin.call::<Table>((id, client, takes_turns))
        });
        let table = begun.map_err(|fault| SessionFault::Raised(fault.to_string()))?;
        for file in files {
            let begun = Self::begin_file(scripts, &table, file, files.len() > 1);
            let commons = scripts.commons();
            match &begun {
                Ok(()) => commons.note(file, |it| it.sessions += 1),
                Err(fault) => commons.note(file, |it| {
                    it.refused += 1;
                    it.last_fault = fault.to_string();
                }),
            }
            begun?;
        }
        let mut session = Self {
            scripts: scripts.clone(),
            table,
            has: [false; Hook::ALL.len()],
            queued: 0,
            has_moved: true,
            has_route: false,
            has_rows: false,
            wants_close: false,
            prepared: None,
            waiting: None,
            refusal: None,
            files: files.to_vec(),
            has_ended: false,
        };
        let looked = session.note_hooks();
        looked.map_err(|fault| SessionFault::Raised(cannot_be_asked(&fault)))?;
        Ok(session)
    }

    /// Runs a script's body.
    fn begin_file(
        scripts: &Scripts,
        table: &Table,
        file: &Path,
        is_one_of_several: bool,
    ) -> Result<(), SessionFault> {
        let chunk = scripts.chunk(file)?;
        let ran = scripts.within(|_| {
            let name = file.display().to_string();
            let environment =
                scripts
                    .functions()
                    .environment
                    .call::<Table>((table, name, is_one_of_several))?;
            chunk.instance(&environment)?.call::<()>(())
        });
        ran.map_err(|fault| SessionFault::Raised(raised(file, &fault)))
    }

    /// The scripts, in the order in which their hooks run.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether the script has this hook.
    pub fn has(&self, hook: Hook) -> bool {
        self.has[hook as usize]
    }

    /// Runs a hook that takes no argument.
    pub fn call(&mut self, hook: Hook) -> Decision {
        self.run(hook, ())
    }

    /// Runs `disconnect_client` at the session's end, once. If the session is dropped without this call, the
    /// hook runs, too.
    pub fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.call(Hook::DisconnectClient);
        }
    }

    /// Runs `read_auth_result` for a packet from the backend.
    pub fn read_auth_result(&mut self, packet: &[u8]) -> Decision {
        let scripts = self.scripts.clone();
        let argument = |lua: &Lua| {
            let table = lua.create_table()?;
            table.raw_set("packet", lua.create_string(packet)?)?;
            Ok((scripts.name_of(Hook::ReadAuthResult), table))
        };
        self.run_with(
            Hook::ReadAuthResult,
            HookCall::AtOnce(&scripts.functions().call),
            argument,
        )
    }

    /// Runs `read_query` for a command's whole payload.
    pub fn read_query(&mut self, payload: &[u8]) -> Decision {
        let scripts = self.scripts.clone();
        let packet = |lua: &Lua| lua.create_string(payload);
        let way = HookCall::Waiting(&scripts.functions().queries.read_query);
        self.run_with(Hook::ReadQuery, way, packet)
    }

    /// Runs `read_query_result` for the reply to the command that was sent last.
    pub fn read_query_result(&mut self, facts: &ReplyFacts, answer: Option<Answer>) -> Decision {
        let scripts = self.scripts.clone();
        let way = HookCall::Waiting(&scripts.functions().queries.read_query_result);
        let reply = |lua: &Lua| facts.arguments(lua, answer);
        self.run_with(Hook::ReadQueryResult, way, reply)
    }

    /// Microseconds since the interpreter began: the clock of replies.
    pub fn now(&self) -> f64 {
        self.scripts.now()
    }

    /// Takes the next command from the script's queue.
    pub fn next_query(&mut self) -> Option<Injection> {
        let next = &self.scripts.functions().queries.next_query;
        type Next = (Option<LuaString>, Option<bool>, Option<LuaString>);
        let (packet, is_kept, route) = self.scripts.run::<Next>(next, &self.table).ok()?;
        Some(Injection {
            payload: packet?.as_bytes().to_vec(),
            is_kept: is_kept.unwrap_or_default(),
            route: route.map(|hint| hint.as_bytes().as_ref().into()),
        })
    }

    /// How many commands were queued when the last hook ended.
    pub fn queue_len(&self) -> usize {
        self.queued
    }

    /// Clears the queue of commands.
    pub fn clear_queue(&mut self) {
        if std::mem::take(&mut self.queued) == 0 {
            return;
        }
        if let Ok(queue) = self.lua().create_table() {
            let _ = self.table.raw_set("queue", queue);
        }
    }

    /// `proxy.response` as payloads; `None` if it is no response. The reason is logged.
    pub fn response(&mut self) -> Option<Payloads> {
        if let Some(refusal) = self.refusal.take() {
            return Some(refusal);
        }
        let encoded = self.scripts.within(|lua| {
            let locals = self.table.raw_get::<Table>("locals")?;
            let response = locals.raw_get("response").unwrap_or(Value::Nil);
            Ok(response::encode(lua, &response, self.scripts.budget()))
        });
        let encoded = match encoded {
            Ok(encoded) => encoded,
            Err(fault) => {
                let Some(limit) = fault.limit else {
                    self.scripts.log(Level::Critical, &fault.to_string());
                    return None;
                };
                let line = format!("proxy.response: {fault}");
                self.scripts.log(Level::Critical, &line);
                return Some(refusal(&passed("proxy.response", limit)));
            }
        };
        match encoded {
            Ok((payloads, warnings)) => {
                for warning in warnings {
                    self.scripts.log(Level::Warning, &warning);
                }
                Some(payloads)
            }
            Err(cause) => {
                self.scripts.log(Level::Message, &cause);
                None
            }
        }
    }

    /// Whether the hook that ran last has passed a limit.
    pub fn has_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Takes the wish that the hook waits for.
    pub fn take_wish(&mut self) -> Option<Wish> {
        let wish = self.table.raw_get::<Option<Table>>("wish").ok()??;
        Wish::read(&wish)
    }

    /// Resumes the hook that waits.
    pub fn resume(&mut self, given: WishOutcome) -> Decision {
        let Some((hook, runner)) = self.waiting.take() else {
            return Decision::Nothing;
        };
        let way = HookCall::GoesOn(runner);
        match given {
            WishOutcome::Time => self.run_with(hook, way, |_| Ok(())),
            WishOutcome::Refusal(text, number) => {
                let refusal = |lua: &Lua| {
                    let text = lua.create_string(&text)?;
                    Ok((Value::Nil, text, number, "HY000"))
                };
                self.run_with(hook, way, refusal)
            }
            WishOutcome::Reply(facts, answer) => {
                let reply = |lua: &Lua| {
                    Ok((
                        lua.create_userdata(answer)?,
                        facts.affected_rows.map(|count| count as f64),
                        facts.insert_id.map(|id| id as f64),
                        facts.warnings,
                        facts.status,
                    ))
                };
                self.run_with(hook, way, reply)
            }
        }
    }

    /// Gives up the hook that waits, as if the script had no such hook.
    pub fn give_up(&mut self) {
        self.waiting = None;
        self.scripts.give_up(&self.table);
        self.queued = 0;
    }

    /// The route that the script has set for the command since the last call, as a hint; empty: the route is cleared.
    pub fn take_route(&mut self) -> Option<Box<[u8]>> {
        if !std::mem::take(&mut self.has_route) {
            return None;
        }
        let route = self.table.raw_get::<Option<LuaString>>("route").ok()??;
        let _ = self.table.raw_set("route", Value::Nil);
        Some(route.as_bytes().as_ref().into())
    }

    /// The functions that rewrite the command's rows, if the script has set them since the last call.
    pub fn take_rows(&mut self) -> Option<Rows> {
        if !std::mem::take(&mut self.has_rows) {
            return None;
        }
        let functions = self.table.raw_get::<Option<Table>>("rows").ok()??;
        let _ = self.table.raw_set("rows", Value::Nil);
        Some(Rows::new(
            self.scripts.clone(),
            self.table.clone(),
            functions,
        ))
    }

    /// Notes that the session has prepared a statement.
    pub fn note_prepared(&mut self, id: u32, text: &[u8], parameters: u16) {
        if self.prepared.is_none() {
            let prepared = Prepared::default();
            let kept = prepared.clone();
            let set = self.scripts.within(|lua| {
                let kept = lua.create_userdata(kept)?;
                self.table.raw_set("prepared", kept)
            });
            self.tell_of(set);
            self.prepared = Some(prepared);
        }
        if let Some(prepared) = &self.prepared {
            prepared.note(id, text, parameters);
        }
    }

    /// The number of parameters of a prepared statement of the session.
    pub fn parameters_of(&self, id: u32) -> Option<u16> {
        self.prepared.as_ref()?.parameters_of(id)
    }

    /// Notes a command of the client before the script gets it.
    pub fn follow_prepared(&self, payload: &[u8]) {
        if let Some(prepared) = &self.prepared {
            prepared.follow(payload);
        }
    }

    /// Notes that the script has got the command.
    pub fn has_followed(&self, payload: &[u8]) {
        if let Some(prepared) = &self.prepared {
            prepared.executed(payload);
        }
    }

    /// Forgets all prepared statements, because the session was reset.
    pub fn forget_prepared(&self) {
        if let Some(prepared) = &self.prepared {
            prepared.clear();
        }
    }

    /// Releases the session's connection to its pool, as if the script had done so.
    pub fn leave(&mut self) {
        let leave = &self.scripts.functions().leave;
        self.tell_of(self.scripts.run::<()>(leave, &self.table));
        self.has_moved = true;
    }

    /// The script's moves of connections since the last call.
    pub fn take_moves(&mut self) -> Vec<Move> {
        if !std::mem::take(&mut self.has_moved) {
            return Vec::new();
        }
        let take = &self.scripts.functions().take_moves;
        let Ok(Some(moves)) = self.scripts.run::<Option<Table>>(take, &self.table) else {
            return Vec::new();
        };
        let moves = moves.sequence_values::<Table>();
        moves.filter_map(|entry| Move::read(&entry.ok()?)).collect()
    }

    /// `proxy.connection.backend_ndx`: which backend, from 1; 0 for none.
    pub fn backend_index(&self) -> usize {
        let index = self.table.raw_get::<i64>("backend_ndx");
        usize::try_from(index.unwrap_or_default()).unwrap_or_default()
    }

    /// Notes that the proxy itself has chosen a backend, or given it up (0).
    pub fn settle(&mut self, index: usize) {
        let _ = self.table.raw_set("backend_ndx", index);
    }

    /// The id of the connection that is the session's in the script's view.
    pub fn server_id(&self) -> Option<u64> {
        let server = self.table.raw_get::<Option<Table>>("server").ok()??;
        server.raw_get("id").ok()
    }

    /// Whether the script wants the session to end after this command.
    pub fn wants_close(&self) -> bool {
        self.wants_close
    }

    /// Sets the facts about the client.
    pub fn set_client(&mut self, facts: &SocketFacts) {
        let set = self
            .scripts
            .within(|lua| self.table.raw_set("client", facts.table(lua)?));
        self.tell_of(set);
    }

    /// Sets the facts about the session's backend connection; `None`: the session has none.
    pub fn set_server(&mut self, facts: Option<&SocketFacts>) {
        let set_server = &self.scripts.functions().server.set_server;
        let set = self.scripts.within(|lua| {
            let server = facts.map(|facts| facts.table(lua)).transpose()?;
            set_server.call::<()>((&self.table, server))
        });
        self.tell_of(set);
    }

    /// Sets the facts that are true of each connection that a session gets for one command.
    pub fn know_server(&mut self, facts: &SocketFacts) {
        let know_server = &self.scripts.functions().server.know_server;
        let known = self.scripts.within(|lua| {
            let server = facts.table(lua)?;
            know_server.call::<()>((&self.table, server))
        });
        self.tell_of(known);
    }

    /// Sets the user of both sides.
    pub fn set_user(&mut self, user: &[u8]) {
        self.set_both("username", user);
    }

    /// Sets the default schema of both sides.
    pub fn set_schema(&mut self, schema: &[u8]) {
        self.set_both("default_db", schema);
    }

    fn set_both(&self, key: &str, value: &[u8]) {
        let Ok(value) = self.lua().create_string(value) else {
            return;
        };
        for side in ["client", "server", "any_server"] {
            if let Ok(Some(side)) = self.table.raw_get::<Option<Table>>(side) {
                let _ = side.raw_set(key, &value);
            }
        }
    }

    /// Logs a failure. These calls fail only if there is not enough memory.
    fn tell_of(&self, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome {
            self.scripts.log(Level::Critical, &fault.to_string());
        }
    }

    fn run(&mut self, hook: Hook, arguments: impl IntoLuaMulti) -> Decision {
        let scripts = self.scripts.clone();
        let way = HookCall::AtOnce(&scripts.functions().call);
        let name = scripts.name_of(hook);
        self.run_with(hook, way, |_| Ok((name, arguments)))
    }

    /// Runs a hook, if the script has it.
    fn run_with<A: IntoLuaMulti>(
        &mut self,
        hook: Hook,
        way: HookCall<'_>,
        arguments: impl FnOnce(&Lua) -> mlua::Result<A>,
    ) -> Decision {
        self.refusal = None;
        let has_started = matches!(way, HookCall::GoesOn(_));
        if !has_started && !self.has(hook) {
            return Decision::Nothing;
        }
        let outcome = match self.scripts.run_hook(way, &self.table, arguments) {
            Ok(outcome) => outcome,
            Err(fault) => return self.failed(hook, &fault),
        };
        self.queued = outcome.queued;
        self.has_moved |= outcome.has_moved();
        self.has_route |= outcome.has_route();
        self.has_rows |= outcome.has_rows();
        self.wants_close = outcome.wants_close();
        if outcome.has_changed()
            && let Err(fault) = self.note_hooks()
        {
            return self.refuse_unasked(&fault);
        }
        if let Some(runner) = outcome.waits {
            self.waiting = Some((hook, runner));
            return Decision::Waits;
        }
        Decision::of(outcome.decision)
    }

    /// Handles a failed hook. If it has raised an error, the client notices nothing. If it has passed a limit, its
    /// decision is not known, so the proxy sends nothing and the client gets an error.
    fn failed(&mut self, hook: Hook, fault: &Fault) -> Decision {
        let line = format!("({}) {fault}", hook.name());
        self.scripts.log(Level::Critical, &line);
        let commons = self.scripts.commons();
        if let Some(file) = self.files.first() {
            commons.note(file, |it| it.failed(&line));
        }
        // The hook may have failed after it changed these.
        self.queued = usize::MAX;
        self.has_moved = true;
        let scripts = self.scripts.clone();
        if let Err(fault) = self.note_hooks_by(&scripts.functions().recover) {
            return self.refuse_unasked(&fault);
        }
        let Some(limit) = fault.limit else {
            if hook == Hook::ReadQuery {
                // Commands that were queued before the error are not sent.
                self.clear_queue();
            }
            return Decision::Nothing;
        };
        self.refuse(&passed(hook.name(), limit))
    }

    /// Sends nothing to a backend, and the error to the client.
    fn refuse(&mut self, error: &ProxyError) -> Decision {
        self.clear_queue();
        self.refusal = Some(refusal(error));
        Decision::SendResult
    }

    /// Refuses the command, because the script's hooks cannot be found: no command may bypass a hook.
    fn refuse_unasked(&mut self, fault: &Fault) -> Decision {
        self.scripts.log(Level::Critical, &cannot_be_asked(fault));
        self.queued = usize::MAX;
        self.refuse(&errors::script_without_hooks())
    }

    /// Notes which hooks the script has.
    fn note_hooks(&mut self) -> Result<(), Fault> {
        let scripts = self.scripts.clone();
        self.note_hooks_by(&scripts.functions().find_hooks)
    }

    fn note_hooks_by(&mut self, look: &Function) -> Result<(), Fault> {
        let found = self.scripts.run::<Table>(look, &self.table)?;
        for hook in Hook::ALL {
            self.has[hook as usize] = found.raw_get(hook.name()).unwrap_or_default();
        }
        Ok(())
    }

    fn lua(&self) -> &Lua {
        self.scripts.lua()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
        let forget = &self.scripts.functions().forget;
        let _ = self.scripts.run::<()>(forget, &self.table);
    }
}

/// The client's error if a script has passed a limit.
fn passed(part: &str, limit: Limit) -> ProxyError {
    errors::script_over_limit(part, limit, limit.setting())
}

fn refusal(error: &ProxyError) -> Payloads {
    let mut refusal = Payloads::default();
    refusal.put(|out| out.extend_from_slice(&error.payload()));
    refusal
}

/// The log line if the script's environment raised an error during the search for hooks.
fn cannot_be_asked(fault: &Fault) -> String {
    format!("the script cannot be asked for its hooks: {fault}")
}

/// The log line if a script's body has raised an error.
fn raised(file: &Path, fault: &Fault) -> String {
    format!("(lua-error) [{}] {fault}", file.display())
}
