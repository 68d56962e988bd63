//! The script of `schema_history.script`: its function `on_schema_change(change)` is called for each change.

use std::path::Path;
use std::sync::Arc;

use config::{Config, ScriptConfig};
use script::mlua::{self, Lua, Table};
use system::Clock;

use crate::script_file::ScriptFile;
use crate::store::UndeliveredChange;

/// The function that is called.
const FUNCTION: &str = "on_schema_change";

/// The Lua interpreter. It is created at the first change, and again if the settings change.
pub(super) struct Scripts {
    clock: Clock,
    running: Option<(ScriptConfig, Arc<ScriptFile>)>,
}

impl Scripts {
    /// Starts without an interpreter. Scripts get the time from `clock`.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            running: None,
        }
    }

    /// Calls the script with a change. If the script raises no error, the change counts as delivered.
    pub(super) async fn call(
        &mut self,
        config: &Config,
        change: &UndeliveredChange,
    ) -> Result<(), String> {
        let Some(file) = config.schema_history.script.clone() else {
            return Ok(());
        };
        let script = self.script(&config.script)?;
        let json = change.json.clone();
        // A script may run for a second or longer. On a thread of its own it does not block the streams.
        let called = tokio::task::spawn_blocking(move || deliver(&script, &file, &json));
        called.await.map_err(|error| error.to_string())?
    }

    fn script(&mut self, settings: &ScriptConfig) -> Result<Arc<ScriptFile>, String> {
        if let Some((made_of, script)) = &self.running
            && made_of == settings
        {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(ScriptFile::new(settings, &self.clock)?);
        self.running = Some((settings.clone(), Arc::clone(&script)));
        Ok(script)
    }
}

/// Runs the file, and then its function.
fn deliver(script: &ScriptFile, file: &Path, json: &str) -> Result<(), String> {
    script.forget();
    script.load(file, FUNCTION)?;
    script.call(FUNCTION, |lua, function| function.call(change(lua, json)?))
}

/// Returns the change as a Lua table. Null members are omitted.
fn change(lua: &Lua, json: &str) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).map_err(mlua::Error::external)?;
    for (name, value) in members {
        match value {
            serde_json::Value::String(text) => table.raw_set(name, text)?,
            serde_json::Value::Number(number) => table.raw_set(name, number.as_f64())?,
            _ => {}
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::*;

    async fn called(
        scripts: &mut Scripts,
        file: &Path,
        (text, json): (&str, &str),
    ) -> Result<(), String> {
        std::fs::write(file, text).unwrap();
        let mut config = Config::default();
        config.schema_history.script = Some(file.to_owned());
        let change = UndeliveredChange {
            id: 1,
            json: json.to_owned(),
        };
        scripts.call(&config, &change).await
    }

    #[tokio::test]
    async fn a_script_gets_the_change_as_a_table_and_keeps_its_globals() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("change.lua");
        let mut scripts = Scripts::new(Clock::new(Instant::now, SystemTime::now));
        let text = "count = (count or 0)
            function on_schema_change(change)
              count = count + 1
              assert(change.kind == 'ALTER TABLE' and change.object == nil)
              assert(change.id == count, 'id ' .. change.id .. ' is not ' .. count)
            end";
        let one = "{\"id\":1,\"kind\":\"ALTER TABLE\",\"object\":null}";
        let two = "{\"id\":2,\"kind\":\"ALTER TABLE\",\"object\":null}";
        assert_eq!(called(&mut scripts, &file, (text, one)).await, Ok(()));
        assert_eq!(called(&mut scripts, &file, (text, two)).await, Ok(()));
        let fault = called(&mut scripts, &file, (text, two)).await.unwrap_err();
        assert!(fault.contains("id 2 is not 3"), "{fault}");
    }

    #[tokio::test]
    async fn a_script_that_fails_has_not_taken_the_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("change.lua");
        let mut scripts = Scripts::new(Clock::new(Instant::now, SystemTime::now));
        for (text, expected) in [
            (
                "function on_schema_change() error('not now') end",
                "not now",
            ),
            ("return 1", "has no function on_schema_change"),
            ("function", "change.lua"),
            (
                "function on_schema_change() while true do end end",
                "passed its limit",
            ),
        ] {
            let fault = called(&mut scripts, &file, (text, "{}")).await.unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
