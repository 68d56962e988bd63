//! Scripts and the interpreter that runs them for many clients.
//!
//! An interpreter belongs to one worker, or all workers share it behind its lock. In both cases one hook runs
//! at a time, and its changes to `proxy` belong to its session.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, Table, Thread, Value};
use route::rules::Hints;
use system::Clock;

use crate::answer::Answer;
use crate::budget::Budget;
use crate::chunk::Chunk;
use crate::commons::Commons;
use crate::constants;
use crate::decision::Hook;
use crate::dictionary::Shared;
use crate::facts::{BACKEND_STATE_DOWN, BackendFacts};
use crate::fault::{Fault, raise};
use crate::functions::Functions;
use crate::interpreter::{Interpreter, Setup};
use crate::log::{Level, Log};
use crate::session_fault::SessionFault;
use crate::stack::OWN;
use crate::{keeping, loader, metrics, prepared, statement};

/// The Lua files of the objects that hooks use, in the order of their dependencies.
const OBJECTS: [(&str, &str); 16] = [
    ("keeping", include_str!("objects/keeping.lua")),
    ("address", include_str!("objects/address.lua")),
    ("socket", include_str!("objects/socket.lua")),
    ("waiting", include_str!("objects/waiting.lua")),
    ("route", include_str!("objects/route.lua")),
    ("asking", include_str!("objects/asking.lua")),
    ("queries", include_str!("objects/queries.lua")),
    ("backends", include_str!("objects/backends.lua")),
    ("connection", include_str!("objects/connection.lua")),
    ("older", include_str!("objects/older.lua")),
    ("injection", include_str!("objects/injection.lua")),
    ("rows", include_str!("objects/rows.lua")),
    ("timers", include_str!("objects/timers.lua")),
    ("chain", include_str!("objects/chain.lua")),
    ("hooks", include_str!("objects/hooks.lua")),
    ("pilotfish", include_str!("objects/pilotfish.lua")),
];

/// An interpreter of scripts, as one worker uses it. Cheap to clone.
#[derive(Clone)]
pub struct Scripts {
    inner: Arc<ScriptsInner>,
    /// The worker whose sessions use this.
    worker: usize,
    /// Whether that worker runs the interpreter's timers.
    keeps_time: bool,
}

struct ScriptsInner {
    interpreter: Interpreter,
    /// The lock that must be held to run anything in the interpreter. It holds the idle coroutines.
    turn: Mutex<Vec<Thread>>,
    /// The worker that held the lock last; changed only under the lock.
    worker: AtomicUsize,
    /// How many backends a script has set down.
    out: Arc<AtomicUsize>,
    log: Arc<dyn Log>,
    commons: Arc<Commons>,
    module: Table,
    functions: Functions,
    clock: Clock,
    began: Instant,
}

/// The guard of the interpreter's lock: only its holder may run anything in the interpreter.
type InterpreterGuard<'a> = MutexGuard<'a, Vec<Thread>>;

/// How a hook is called.
pub(crate) enum HookCall<'a> {
    /// The hook cannot wait.
    AtOnce(&'a Function),
    /// The hook runs in a coroutine, and may wait.
    Waiting(&'a Function),
    /// The hook continues in the coroutine in which it has waited.
    GoesOn(Thread),
}

/// How a hook has ended, and what it has changed.
pub(crate) struct Outcome {
    /// The number that the hook has returned, or 0.
    pub decision: f64,
    /// How many commands are queued.
    pub queued: usize,
    flags: u8,
    /// The coroutine of a hook that has not ended: it waits, and is resumed in this coroutine.
    pub waits: Option<Thread>,
}

// The flags that `outcome_of` in `hooks.lua` returns.
const HAS_MOVED: u8 = 1;
const HAS_CHANGED: u8 = 2;
const WANTS_CLOSE: u8 = 4;
const WAITS: u8 = 8;
const HAS_ROUTE: u8 = 16;
const HAS_ROWS: u8 = 32;

impl Outcome {
    fn of((decision, queued, flags): (Option<f64>, Option<usize>, Option<u8>)) -> Self {
        Self {
            decision: decision.unwrap_or_default(),
            queued: queued.unwrap_or_default(),
            flags: flags.unwrap_or_default(),
            waits: None,
        }
    }

    pub fn has_moved(&self) -> bool {
        self.flags & HAS_MOVED != 0
    }

    pub fn has_changed(&self) -> bool {
        self.flags & HAS_CHANGED != 0
    }

    pub fn wants_close(&self) -> bool {
        self.flags & WANTS_CLOSE != 0
    }

    pub fn has_route(&self) -> bool {
        self.flags & HAS_ROUTE != 0
    }

    pub fn has_rows(&self) -> bool {
        self.flags & HAS_ROWS != 0
    }
}

impl Scripts {
    /// Makes a new interpreter. Scripts are read when a client connects. `keeps_all`: results are
    /// kept for the script unless it says otherwise.
    ///
    /// # Errors
    /// The interpreter has no memory for the objects of `proxy`.
    pub fn new(setup: Setup, keeps_all: bool) -> mlua::Result<Self> {
        let log = Arc::clone(&setup.log);
        let commons = Arc::clone(&setup.commons);
        let timers_changed = Arc::clone(&setup.timers_changed);
        let clock = setup.clock.clone();
        let interpreter = Interpreter::new(setup)?;
        let began = clock.steady();
        let lua = interpreter.lua();
        let module = lua.create_table()?;
        let host = host(lua, &log, &commons, &clock, began)?;
        let set = move |_: &Lua, ()| {
            timers_changed();
            Ok(())
        };
        host.raw_set("timers_changed", lua.create_function(set)?)?;
        let out = Arc::new(AtomicUsize::new(0));
        let to = Arc::clone(&out);
        let set_out = move |_: &Lua, count: usize| {
            to.store(count, Ordering::Relaxed);
            Ok(())
        };
        host.raw_set("set_out", lua.create_function(set_out)?)?;
        host.raw_set("newproxy", interpreter.newproxy())?;
        host.raw_set("protect", interpreter.protect())?;
        module.raw_set("buffers_always", keeps_all)?;
        let proxy = lua.create_table()?;
        constants::put(&proxy)?;
        lua.globals().set("proxy", &proxy)?;
        let own = keeping::environment(lua, interpreter.error())?;
        interpreter.protect().call::<()>(&own)?;
        for (name, text) in OBJECTS {
            let chunk = lua.load(text).set_name(format!("{OWN}{name}"));
            let chunk = chunk.set_environment(own.clone());
            chunk.call::<()>((&module, &host))?;
        }
        share(lua, &proxy, &module)?;
        module.raw_get::<Function>("keep")?.call::<()>(())?;
        loader::tell_of_modules(lua, module.raw_get("keep_module")?)?;
        let inner = ScriptsInner {
            turn: Mutex::default(),
            worker: AtomicUsize::new(usize::MAX),
            out,
            functions: Functions::of(lua, &module)?,
            interpreter,
            log,
            commons,
            module,
            clock,
            began,
        };
        Ok(Self {
            inner: Arc::new(inner),
            worker: 0,
            keeps_time: true,
        })
    }

    /// The same interpreter for the sessions of another worker. `keeps_time`: whether that worker runs its timers.
    pub fn of_worker(&self, worker: usize, keeps_time: bool) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            worker,
            keeps_time,
        }
    }

    /// Whether this worker runs the timers.
    pub fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// The time until the next timer is due; `None`: there is no timer.
    pub fn time_to_timer(&self) -> Option<Duration> {
        let function = self.inner.module.raw_get::<Function>("time_to_timer");
        let microseconds = self.run::<Option<f64>>(&function.ok()?, ()).ok()??;
        Some(Duration::from_micros(microseconds as u64))
    }

    /// Runs the next timer, if it is due.
    pub fn run_timer(&self) {
        let function = self.inner.module.raw_get::<Function>("run_timer");
        let ran = function.ok().map(|it| self.run::<()>(&it, ()));
        if let Some(Err(fault)) = ran {
            self.log(Level::Critical, &format!("(timer) {fault}"));
        }
    }

    /// The data that this interpreter shares with other interpreters.
    pub(crate) fn commons(&self) -> &Commons {
        &self.inner.commons
    }

    /// Sets the current backends, in their order.
    pub fn take_up(&self, backends: &[BackendFacts]) {
        self.tell(|lua, module| {
            let list = lua.create_table()?;
            for backend in backends {
                list.raw_push(backend.table(lua)?)?;
            }
            module.raw_get::<Function>("take_up")?.call(list)
        });
    }

    /// Sets whether a backend is up or down.
    pub fn set_state(&self, index: usize, state: i64) {
        self.tell_of(index, "set_state", state);
    }

    /// Whether a backend counts as down, or does not exist.
    pub fn is_down(&self, index: usize) -> bool {
        let _turn = self.turn();
        let backend = self.backend(index);
        let state = backend.and_then(|it| it.raw_get::<i64>("state").ok());
        state.is_none_or(|state| state == BACKEND_STATE_DOWN)
    }

    /// The numbers of the backends that a script has set down.
    pub fn backends_out(&self) -> Vec<usize> {
        if self.inner.out.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let function = self.inner.module.raw_get::<Function>("out");
        let found = function.ok().and_then(|it| self.run(&it, ()).ok());
        found.unwrap_or_default()
    }

    /// Allows backends that were down for a while to be tried again.
    pub fn retry_backends(&self) {
        self.tell(|_, module| module.raw_get::<Function>("look_again")?.call(()));
    }

    /// The backend of a session whose script has chosen none; 0 if there is no backend.
    pub fn default_backend(&self) -> usize {
        let function = self.inner.module.raw_get::<Function>("default_backend");
        let found = function.ok().and_then(|it| self.run(&it, ()).ok());
        found.unwrap_or_default()
    }

    /// Notes that an idle connection has ended.
    pub fn unpark(&self, id: u64) {
        self.tell(|_, module| module.raw_get::<Function>("unpark")?.call(id));
    }

    /// Gives up the hook in which a session waits.
    pub(crate) fn give_up(&self, session: &Table) {
        self.tell(|_, module| module.raw_get::<Function>("give_up")?.call(session));
    }

    /// Microseconds since the interpreter began.
    pub fn now(&self) -> f64 {
        self.inner.clock.since(self.inner.began).as_micros() as f64
    }

    /// Logs a line for the script.
    pub fn log(&self, level: Level, line: &str) {
        self.inner.log.log(level, line);
    }

    pub(crate) fn lua(&self) -> &Lua {
        self.inner.interpreter.lua()
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.inner.functions
    }

    /// The budget of the call under way.
    pub(crate) fn budget(&self) -> &Budget {
        self.inner.interpreter.budget()
    }

    /// Loads the current version of a script.
    pub(crate) fn chunk(&self, file: &Path) -> Result<Chunk, SessionFault> {
        let _turn = self.turn();
        let loaded = self.inner.interpreter.load(file);
        loaded.map_err(|fault| SessionFault::Unreadable(fault.to_string()))
    }

    /// Runs a function with the Lua state, within the limits of a call.
    pub(crate) fn within<R>(&self, run: impl FnOnce(&Lua) -> mlua::Result<R>) -> Result<R, Fault> {
        let turn = self.turn();
        self.within_turn(&turn, run)
    }

    fn within_turn<R>(
        &self,
        _turn: &InterpreterGuard<'_>,
        run: impl FnOnce(&Lua) -> mlua::Result<R>,
    ) -> Result<R, Fault> {
        self.inner.interpreter.call(|lua| {
            if self.inner.worker.swap(self.worker, Ordering::Relaxed) != self.worker {
                self.inner.module.raw_set("worker", self.worker)?;
            }
            run(lua)
        })
    }

    /// Calls one of the objects' functions.
    pub(crate) fn run<R: FromLuaMulti>(
        &self,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, Fault> {
        self.within(|_| function.call(arguments))
    }

    /// Calls a hook. Returns its outcome, or its fault.
    pub(crate) fn run_hook<A: IntoLuaMulti>(
        &self,
        way: HookCall<'_>,
        session: &Table,
        arguments: impl FnOnce(&Lua) -> mlua::Result<A>,
    ) -> Result<Outcome, Fault> {
        let mut turn = self.turn();
        // A hook's arguments do not count as its memory, and it is faster to make them without a limit.
        let arguments = arguments(self.lua()).map_err(|error| Fault::of(&error))?;
        let (told, runner) = match way {
            HookCall::AtOnce(function) => {
                let told = self.within_turn(&turn, |_| function.call((session, arguments)));
                (told, None)
            }
            HookCall::Waiting(function) => {
                let runner = self.runner(&mut turn)?;
                let told =
                    self.within_turn(&turn, |_| runner.resume((function, session, arguments)));
                (told, Some(runner))
            }
            HookCall::GoesOn(runner) => {
                let told = self.within_turn(&turn, |_| runner.resume(arguments));
                (told, Some(runner))
            }
        };
        let mut outcome = Outcome::of(told?);
        match runner {
            Some(runner) if outcome.flags & WAITS != 0 => outcome.waits = Some(runner),
            Some(runner) => turn.push(runner),
            None => {}
        }
        Ok(outcome)
    }

    /// Takes an idle coroutine, or makes one.
    fn runner(&self, turn: &mut InterpreterGuard<'_>) -> Result<Thread, Fault> {
        match turn.pop() {
            Some(runner) => Ok(runner),
            None => self.within_turn(turn, |_| self.functions().runner.call(())),
        }
    }

    /// A hook's name, for the objects.
    pub(crate) fn name_of(&self, hook: Hook) -> LuaString {
        self.inner.functions.names[hook as usize].clone()
    }

    fn turn(&self) -> InterpreterGuard<'_> {
        // A panic leaves no half-made coroutine, so a poisoned lock is still good.
        self.inner
            .turn
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn backend(&self, index: usize) -> Option<Table> {
        let backends = self.inner.module.raw_get::<Table>("backends").ok()?;
        backends.raw_get::<Option<Table>>(index).ok()?
    }

    fn tell_of(&self, index: usize, function: &str, value: i64) {
        self.tell(|_, module| match self.backend(index) {
            Some(backend) => module.raw_get::<Function>(function)?.call((backend, value)),
            None => Ok(()),
        });
    }

    /// Passes news to the Lua objects, and logs a failure.
    fn tell(&self, run: impl FnOnce(&Lua, &Table) -> mlua::Result<()>) {
        if let Err(fault) = self.within(|lua| run(lua, &self.inner.module)) {
            self.log(Level::Critical, &fault.to_string());
        }
    }
}

/// Sets `proxy.global`, and its names in older scripts.
fn share(lua: &Lua, proxy: &Table, module: &Table) -> mlua::Result<()> {
    let backends = module
        .raw_get::<Function>("backends_object")?
        .call::<Value>(())?;
    let global = lua.create_table()?;
    global.raw_set("config", lua.create_table()?)?;
    global.raw_set("backends", &backends)?;
    proxy.raw_set("global", global)?;
    proxy.raw_set("backends", &backends)?;
    proxy.raw_set("servers", backends)
}

/// The functions in Rust that the Lua objects use.
fn host(
    lua: &Lua,
    log: &Arc<dyn Log>,
    commons: &Arc<Commons>,
    clock: &Clock,
    began: Instant,
) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    let names = lua.create_table()?;
    for hook in Hook::ALL {
        names.raw_set(hook.name(), true)?;
    }
    host.raw_set("hooks", names)?;
    let clock = clock.clone();
    let now = move |_: &Lua, ()| Ok(clock.since(began).as_micros() as f64);
    host.raw_set("now", lua.create_function(now)?)?;
    tell_log(lua, &host, log)?;
    show_answers(lua, &host)?;
    statement::share(lua, &host)?;
    prepared::share(lua, &host)?;
    keeping::share(lua, &host)?;
    metrics::share(lua, &host, &commons.metrics)?;
    host.raw_set("shared", Shared(Arc::clone(&commons.dictionary)))?;
    let to = Arc::clone(commons);
    let fault = move |_: &Lua, (file, cause): (LuaString, LuaString)| {
        let file = file.to_string_lossy();
        to.note(Path::new(&file), |it| it.failed(&cause.to_string_lossy()));
        Ok(())
    };
    host.raw_set("fault", lua.create_function(fault)?)?;
    let is_hint = |_: &Lua, text: LuaString| Ok(is_hint(&text.as_bytes()));
    host.raw_set("is_hint", lua.create_function(is_hint)?)?;
    Ok(host)
}

/// Whether the whole text is a valid routing hint.
fn is_hint(text: &[u8]) -> bool {
    let mut hints = Hints::default();
    hints.attribute(text);
    hints.unread == 0
}

fn tell_log(lua: &Lua, host: &Table, log: &Arc<dyn Log>) -> mlua::Result<()> {
    let to = Arc::clone(log);
    let tell = move |_: &Lua, (level, text): (LuaString, LuaString)| {
        let name = level.to_string_lossy();
        let level = Level::ALL.into_iter().find(|level| level.name() == name);
        to.log(level.unwrap_or(Level::Message), &text.to_string_lossy());
        Ok(())
    };
    host.raw_set("log", lua.create_function(tell)?)?;
    let to = Arc::clone(log);
    let tell_with = move |lua: &Lua, (level, text, fields): (LuaString, LuaString, Table)| {
        let name = level.to_string_lossy();
        let level = Level::ALL.into_iter().find(|level| level.name() == name);
        let data = data_of(lua, &fields)?;
        to.log_with(
            level.unwrap_or(Level::Message),
            &text.to_string_lossy(),
            &data,
        );
        Ok(())
    };
    host.raw_set("log_with", lua.create_function(tell_with)?)?;
    let to = Arc::clone(log);
    let warned = lua.create_table()?;
    let warn_once = move |_: &Lua, text: LuaString| {
        if !warned.raw_get::<bool>(&text)? {
            to.log(Level::Warning, &text.to_string_lossy());
            warned.raw_set(text, true)?;
        }
        Ok(())
    };
    host.raw_set("warn_once", lua.create_function(warn_once)?)
}

/// Fields as a JSON object, by name.
fn data_of(lua: &Lua, fields: &Table) -> mlua::Result<String> {
    let mut object = BTreeMap::new();
    for pair in fields.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let key = match key {
            Value::String(key) => key.to_string_lossy(),
            other => return Err(no_field(lua, &other)),
        };
        let value = match value {
            Value::String(text) => serde_json::Value::from(text.to_string_lossy()),
            Value::Integer(number) => number.into(),
            Value::Number(number) => number.into(),
            Value::Boolean(is) => is.into(),
            other => return Err(no_field(lua, &other)),
        };
        object.insert(key, value);
    }
    serde_json::to_string(&object).map_err(mlua::Error::external)
}

fn no_field(lua: &Lua, value: &Value) -> mlua::Error {
    let kind = value.type_name();
    let text = format!(
        "pilotfish.log: fields are strings, numbers and booleans by their names, not a {kind}"
    );
    raise(lua, &text)
}

fn show_answers(lua: &Lua, host: &Table) -> mlua::Result<()> {
    type Kept = mlua::UserDataRef<Answer>;
    let first = |_: &Lua, answer: Kept| Ok(answer.first_row());
    host.raw_set("answer_first", lua.create_function(first)?)?;
    let row = |lua: &Lua, (answer, at): (Kept, usize)| answer.row(lua, at);
    host.raw_set("answer_row", lua.create_function(row)?)?;
    let raw = |lua: &Lua, answer: Kept| lua.create_string(answer.raw());
    host.raw_set("answer_raw", lua.create_function(raw)?)?;
    let fields = |lua: &Lua, answer: Kept| answer.fields(lua);
    host.raw_set("answer_fields", lua.create_function(fields)?)?;
    let error = |lua: &Lua, answer: Kept| answer.error(lua);
    host.raw_set("answer_error", lua.create_function(error)?)
}
