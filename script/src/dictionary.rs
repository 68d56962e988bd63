//! `pilotfish.shared`: a dictionary that the scripts of all workers share, in whichever interpreter they
//! run. Entries may expire. The least recently used entries make room for new ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, UserData, UserDataMethods, Value};
use system::Clock;

use crate::arguments::Arguments;
use crate::fault::raise;

/// Bytes that an entry takes besides its key and its value, about.
const ENTRY_BYTES: usize = 160;

/// Longer keys are refused.
const KEY_BYTES_MAX: usize = 1024;

/// The longest that an entry can last: a hundred years.
const SECONDS_MAX: f64 = 100.0 * 365.0 * 86400.0;

/// The shared dictionary, see the module.
#[derive(Debug)]
pub struct Dictionary {
    bytes_max: usize,
    clock: Clock,
    inner: Mutex<DictionaryEntries>,
}

#[derive(Debug)]
struct DictionaryEntries {
    entries: LruCache<Box<[u8]>, Entry>,
    bytes: usize,
    evicted: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    value: Kept,
    expires: Option<Instant>,
}

/// A value in the dictionary.
#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Bytes(Arc<[u8]>),
    Number(f64),
    Boolean(bool),
}

/// How full it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Entries, including expired entries that were not looked up since.
    pub entries: usize,
    /// Bytes that they take, about.
    pub bytes: usize,
    /// Entries that were removed to make room for others.
    pub evicted: u64,
}

impl Dictionary {
    /// An empty dictionary that takes about `bytes_max` bytes. Its entries expire by this clock.
    pub fn new(bytes_max: usize, clock: Clock) -> Self {
        let inner = DictionaryEntries {
            entries: LruCache::unbounded(),
            bytes: 0,
            evicted: 0,
        };
        Self {
            bytes_max,
            clock,
            inner: Mutex::new(inner),
        }
    }

    /// How full it is.
    pub fn fill(&self) -> Fill {
        let inner = self.inner();
        Fill {
            entries: inner.entries.len(),
            bytes: inner.bytes,
            evicted: inner.evicted,
        }
    }

    fn inner(&self) -> MutexGuard<'_, DictionaryEntries> {
        // A panic under the lock leaves no half-made entry.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DictionaryEntries {
    /// The live entry of a key; an expired entry is removed.
    fn get(&mut self, key: &[u8], clock: &Clock) -> Option<&mut Entry> {
        let entry = self.entries.get(key)?;
        if entry.expires.is_some_and(|at| at <= clock.steady()) {
            self.remove(key);
            return None;
        }
        self.entries.get_mut(key)
    }

    fn put(&mut self, key: &[u8], entry: Entry, bytes_max: usize) {
        self.remove(key);
        self.bytes += bytes_of(key, &entry);
        self.entries.put(key.into(), entry);
        while self.bytes > bytes_max
            && let Some((key, entry)) = self.entries.pop_lru()
        {
            self.bytes -= bytes_of(&key, &entry);
            self.evicted += 1;
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some((key, entry)) = self.entries.pop_entry(key) {
            self.bytes -= bytes_of(&key, &entry);
        }
    }
}

fn bytes_of(key: &[u8], entry: &Entry) -> usize {
    let value = match &entry.value {
        Kept::Bytes(bytes) => bytes.len(),
        Kept::Number(_) | Kept::Boolean(_) => 0,
    };
    ENTRY_BYTES + key.len() + value
}

/// A dictionary as a Lua object.
pub(crate) struct Shared(pub Arc<Dictionary>);

impl UserData for Shared {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        method(methods, "get", |this, given| {
            let key = given.string(1)?;
            match this.0.inner().get(&key.as_bytes(), &this.0.clock) {
                Some(entry) => entry.value.value(given.lua()),
                None => Ok(Value::Nil),
            }
        });
        method(methods, "set", |this, given| {
            let (key, entry) = this.given(given)?;
            let mut inner = this.0.inner();
            match entry {
                Some(entry) => inner.put(&key.as_bytes(), entry, this.0.bytes_max),
                None => inner.remove(&key.as_bytes()),
            }
            Ok(())
        });
        method(methods, "add", |this, given| {
            let (key, entry) = this.given(given)?;
            let mut inner = this.0.inner();
            let is_there = inner.get(&key.as_bytes(), &this.0.clock).is_some();
            if let (false, Some(entry)) = (is_there, entry) {
                inner.put(&key.as_bytes(), entry, this.0.bytes_max);
            }
            Ok(!is_there)
        });
        method(methods, "increase", |this, given| {
            let by = given.number_if_any(2)?.unwrap_or(1.0);
            let seconds = given.number_if_any(3)?;
            this.increase(given.lua(), &given.string(1)?, by, seconds)
        });
        method(methods, "delete", |this, given| {
            let key = given.string(1)?;
            this.0.inner().remove(&key.as_bytes());
            Ok(())
        });
        methods.add_method("clear", |_, this, ()| {
            let mut inner = this.0.inner();
            inner.entries.clear();
            inner.bytes = 0;
            Ok(())
        });
    }
}

/// Adds a method that refuses wrong arguments with the errors of Lua's own functions.
fn method<M: UserDataMethods<Shared>, R: IntoLuaMulti>(
    methods: &mut M,
    name: &'static str,
    body: impl Fn(&Shared, &Arguments<'_>) -> mlua::Result<R> + Send + 'static,
) {
    methods.add_method(name, move |lua, this, values: MultiValue| {
        body(this, &Arguments::new(lua, name, values))
    });
}

impl Shared {
    /// Reads the arguments: a key, a value, and the seconds until it expires.
    fn given(&self, given: &Arguments<'_>) -> mlua::Result<(LuaString, Option<Entry>)> {
        let (key, seconds) = (given.string(1)?, given.number_if_any(3)?);
        let entry = self.entry(given.lua(), &key, &given.value(2), seconds)?;
        Ok((key, entry))
    }

    /// The entry for a value; `None` for nil.
    fn entry(
        &self,
        lua: &Lua,
        key: &LuaString,
        value: &Value,
        seconds: Option<f64>,
    ) -> mlua::Result<Option<Entry>> {
        let key = key.as_bytes();
        if key.len() > KEY_BYTES_MAX {
            let text = format!("pilotfish.shared: a key has {KEY_BYTES_MAX} bytes at most");
            return Err(raise(lua, &text));
        }
        if value.is_nil() {
            return Ok(None);
        }
        let entry = Entry {
            value: Kept::of(lua, value)?,
            expires: self.expires(lua, seconds)?,
        };
        if bytes_of(&key, &entry) > self.0.bytes_max {
            let max = self.0.bytes_max;
            let text = format!(
                "pilotfish.shared: the value is longer than script.shared_bytes_max, {max}"
            );
            return Err(raise(lua, &text));
        }
        Ok(Some(entry))
    }

    fn expires(&self, lua: &Lua, seconds: Option<f64>) -> mlua::Result<Option<Instant>> {
        let Some(seconds) = seconds else {
            return Ok(None);
        };
        if seconds.is_nan() || seconds <= 0.0 {
            let text = "pilotfish.shared: an entry lasts for more than 0 seconds";
            return Err(raise(lua, text));
        }
        let lasts = Duration::from_secs_f64(seconds.min(SECONDS_MAX));
        Ok(self.0.clock.steady().checked_add(lasts))
    }

    /// Adds to a number, which is 0 if there is none. `seconds` counts only for a new entry.
    fn increase(
        &self,
        lua: &Lua,
        key: &LuaString,
        by: f64,
        seconds: Option<f64>,
    ) -> mlua::Result<f64> {
        let first = self.entry(lua, key, &Value::Number(by), seconds)?;
        let mut inner = self.0.inner();
        if let Some(entry) = inner.get(&key.as_bytes(), &self.0.clock) {
            let Kept::Number(number) = &mut entry.value else {
                let text = "pilotfish.shared: what is to be increased is no number";
                return Err(raise(lua, text));
            };
            *number += by;
            return Ok(*number);
        }
        if let Some(entry) = first {
            inner.put(&key.as_bytes(), entry, self.0.bytes_max);
        }
        Ok(by)
    }
}

impl Kept {
    fn of(lua: &Lua, value: &Value) -> mlua::Result<Self> {
        Ok(match value {
            Value::String(text) => Self::Bytes(text.as_bytes().as_ref().into()),
            Value::Integer(number) => Self::Number(*number as f64),
            Value::Number(number) => Self::Number(*number),
            Value::Boolean(is) => Self::Boolean(*is),
            other => {
                let kind = other.type_name();
                let text = format!(
                    "pilotfish.shared: a value is a string, a number or a boolean, not a {kind}"
                );
                return Err(raise(lua, &text));
            }
        })
    }

    fn value(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Bytes(bytes) => Value::String(lua.create_string(bytes)?),
            Self::Number(number) => Value::Number(*number),
            Self::Boolean(is) => Value::Boolean(*is),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::SystemTime;

    use super::*;

    fn lua(bytes_max: usize) -> (Lua, Arc<Dictionary>) {
        let start = Instant::now();
        lua_at(
            bytes_max,
            Clock::new(move || start, || SystemTime::UNIX_EPOCH),
        )
    }

    fn lua_at(bytes_max: usize, clock: Clock) -> (Lua, Arc<Dictionary>) {
        let lua = Lua::new();
        let dictionary = Arc::new(Dictionary::new(bytes_max, clock));
        let shared = Shared(Arc::clone(&dictionary));
        lua.globals().set("shared", shared).unwrap();
        (lua, dictionary)
    }

    #[test]
    fn shared_dictionary_entries_can_be_set_increased_and_deleted() {
        let (lua, dictionary) = lua(1 << 20);
        let run = |text: &str| lua.load(text).exec().unwrap();
        run("shared:set('a', 'x') assert(shared:get('a') == 'x')");
        run("shared:set('a', 1.5) assert(shared:get('a') == 1.5)");
        run(
            "assert(not shared:add('a', 2)) assert(shared:add('b', true)) assert(shared:get('b') == true)",
        );
        run("assert(shared:increase('a', 2) == 3.5) assert(shared:increase('c') == 1)");
        run("shared:set('a', nil) assert(shared:get('a') == nil) shared:delete('b')");
        assert_eq!(dictionary.fill().entries, 1);
        run("shared:clear() assert(shared:get('c') == nil)");
        assert_eq!(dictionary.fill().bytes, 0);
    }

    #[test]
    fn an_entry_ends_when_it_expires() {
        let (start, seconds) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let passed = Arc::clone(&seconds);
        let steady = move || start + Duration::from_secs(passed.load(Ordering::Relaxed));
        let (lua, dictionary) = lua_at(1 << 20, Clock::new(steady, || SystemTime::UNIX_EPOCH));
        let run = |text: &str| lua.load(text).exec().unwrap();
        run("shared:set('a', 'x', 10) shared:set('b', 'x', 1000)");
        seconds.store(9, Ordering::Relaxed);
        run("assert(shared:get('a') == 'x')");
        seconds.store(10, Ordering::Relaxed);
        run("assert(shared:get('a') == nil and shared:get('b') == 'x')");
        assert_eq!(dictionary.fill().entries, 1);
    }

    #[test]
    fn a_full_shared_dictionary_evicts_its_oldest_entries() {
        let (lua, dictionary) = lua(1000);
        lua.load("for i = 1, 100 do shared:set(i, 'x') end")
            .exec()
            .unwrap();
        let fill = dictionary.fill();
        assert!(fill.bytes <= 1000 && fill.entries >= 5, "{fill:?}");
        assert_eq!(fill.evicted, 100 - fill.entries as u64);
        lua.load("assert(shared:get(1) == nil and shared:get(100) == 'x')")
            .exec()
            .unwrap();
    }

    #[test]
    fn values_that_cannot_be_stored_give_an_error() {
        let (lua, _) = lua(1000);
        for (text, cause) in [
            (
                "shared:set(nil, 1)",
                "bad argument #1 to 'set' (string expected, got nil)",
            ),
            (
                "shared:get({})",
                "bad argument #1 to 'get' (string expected, got table)",
            ),
            (
                "shared:increase()",
                "bad argument #1 to 'increase' (string expected, got no value)",
            ),
            (
                "shared:set('a', 1, 'soon')",
                "bad argument #3 to 'set' (number expected, got string)",
            ),
            ("shared:set('a', {})", "not a table"),
            ("shared:set('a', ('x'):rep(2000))", "longer than"),
            ("shared:set(('x'):rep(2000), 1)", "a key has"),
            ("shared:set('a', 1, 0)", "more than 0"),
            ("shared:set('a', 'x') shared:increase('a')", "no number"),
        ] {
            let error = lua.load(text).exec().unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
    }
}
