//! Script files: compiled once for all connections, and read again if mtime or size have changed.
//!
//! A file is compiled as `return function()` … `end`, so that each connection calls its own function
//! with its own environment. The text begins on the first line, so line numbers are those of
//! the file. The chunk's name is the path, so messages begin with `[string "/path/x.lua"]:12: …`.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table};

use crate::fault::message;

/// The longest script, in bytes.
const SCRIPT_BYTES_MAX: u64 = 16 << 20;

/// A compiled script file.
#[derive(Clone, Debug)]
pub struct Chunk {
    factory: Function,
}

impl Chunk {
    /// Whether both are the same compilation of the same file.
    pub fn is(&self, other: &Self) -> bool {
        self.factory == other.factory
    }

    /// A new function that runs the script's body in `environment`.
    ///
    /// # Errors
    /// Memory has run out.
    pub fn instance(&self, environment: &Table) -> mlua::Result<Function> {
        let body: Function = self.factory.call(())?;
        body.set_environment(environment.clone())?;
        Ok(body)
    }
}

/// Why a script cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFault {
    path: PathBuf,
    message: String,
}

impl LoadFault {
    /// The script's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The error: the system's text, or Lua's text with the line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// As the original logs it.
impl fmt::Display for LoadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "lua_load_file({path}) failed: {}", self.message)
    }
}

impl std::error::Error for LoadFault {}

/// The script files of one state.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    by_path: HashMap<PathBuf, (Stamp, Chunk)>,
}

/// The data that shows if a file's content has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            size: metadata.len(),
        }
    }
}

impl Chunks {
    /// Loads the current version of a script file.
    pub(crate) fn load(&mut self, lua: &Lua, path: &Path) -> Result<Chunk, LoadFault> {
        let fault = |message: String| LoadFault {
            path: path.to_owned(),
            message,
        };
        let metadata = fs::metadata(path).map_err(|error| fault(error.to_string()))?;
        if !metadata.is_file() {
            return Err(fault("not a file".to_owned()));
        }
        let stamp = Stamp::of(&metadata);
        if let Some((known, chunk)) = self.by_path.get(path)
            && *known == stamp
        {
            return Ok(chunk.clone());
        }
        if stamp.size > SCRIPT_BYTES_MAX {
            return Err(fault(format!("longer than {SCRIPT_BYTES_MAX} bytes")));
        }
        let text = fs::read(path).map_err(|error| fault(error.to_string()))?;
        let name = path.to_string_lossy();
        let chunk = compile(lua, &name, &text).map_err(|error| fault(message(&error)))?;
        self.by_path.insert(path.to_owned(), (stamp, chunk.clone()));
        Ok(chunk)
    }
}

fn compile(lua: &Lua, name: &str, text: &[u8]) -> mlua::Result<Chunk> {
    let wrapped = [b"return function()", text, b"\nend"].concat();
    let chunk = lua.load(wrapped).set_name(name).set_mode(ChunkMode::Text);
    let factory = chunk.into_function()?;
    Ok(Chunk { factory })
}

#[cfg(test)]
mod tests;
