//! `mysql.tokenizer`: a statement as tokens, by the rules of MySQL Proxy, including its mistakes, because scripts
//! depend on them. The rest of the proxy reads statements with the crate `sql`.

mod kind;
pub(crate) mod scan;
mod words;

use std::sync::Arc;

use mlua::{Function, Lua, LuaString, MetaMethod, Table, Value};
use mlua::{UserData, UserDataMethods};

use self::kind::TokenId;
use super::context::{ModuleContext, describe};
use crate::arguments::{function, number_of};
use crate::budget::Held;
use crate::fault::raise;
use crate::stack::OWN;

/// Statements up to this length are not charged: they cost about as much as the call itself.
const LONG_BYTES: usize = 65536;
/// The cost of tokens for each byte, in bytes that Lua's library handles in the same time.
const COST: usize = 8;
/// Bytes that a token takes besides its text.
const TOKEN_BYTES: usize = size_of::<(TokenId, usize)>();

pub(super) fn open(lua: &Lua, surroundings: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let budget = Arc::clone(&surroundings.budget);
    module.set(
        "tokenize",
        function(lua, "tokenize", move |arguments| {
            let statement = arguments.string(1)?;
            let statement = statement.as_bytes();
            if statement.len() > LONG_BYTES {
                budget.charge(arguments.lua(), statement.len() * COST, 1)?;
            }
            let lua = arguments.lua();
            let mut found = Tokens::of(&statement, budget.memory_left(lua));
            if found.is_none() {
                // Garbage may take the memory.
                lua.gc_collect()?;
                found = Tokens::of(&statement, budget.memory_left(lua));
            }
            let mut tokens = found.ok_or_else(|| budget.lacks_memory(lua))?;
            tokens.held = Some(budget.hold(tokens.bytes()));
            Ok(tokens)
        })?,
    )?;
    describe(&module, "MySQL's tokens")?;
    lua.globals().set("tokenizer", &module)?;
    let names = TokenId::all().map(|kind| lua.create_string(kind.name()));
    lua.set_app_data(Maker {
        names: names.collect::<mlua::Result<_>>()?,
        make: lua
            .load(MAKE)
            .set_name(format!("{OWN}tokenizer"))
            .call(&surroundings.error)?,
    });
    Ok(module)
}

/// A token is a table, so that reading it needs no call into Rust.
const MAKE: &str = r#"
    local error = ...
    local setmetatable, tostring = setmetatable, tostring
    local meta = { __index = function(_, key)
        error("tokens[...] has no " .. tostring(key) .. " field", 2)
    end }
    return function(text, id, name)
        return setmetatable({ text = text, token_id = id, token_name = name }, meta)
    end"#;

/// The data from which tokens are made.
struct Maker {
    /// Every kind's name, by its number.
    names: Vec<LuaString>,
    make: Function,
}

/// The result of `tokenize`: `#tokens`, `tokens[i]`, `tokens[i] = nil`.
struct Tokens {
    /// The texts of all tokens, one after the other.
    texts: Vec<u8>,
    /// Each token's kind, and the end of its text.
    ends: Vec<(TokenId, usize)>,
    /// Which tokens were set to nil; empty if none was.
    freed: Vec<bool>,
    /// The tokens' bytes, which count as the script's memory.
    held: Option<Held>,
}

impl Tokens {
    /// The tokens of a statement; `None` if they would take more than `bytes_max`.
    fn of(statement: &[u8], bytes_max: usize) -> Option<Self> {
        let mut tokens = Self {
            texts: Vec::new(),
            ends: Vec::new(),
            freed: Vec::new(),
            held: None,
        };
        if statement.len() > bytes_max {
            return None;
        }
        tokens.texts.reserve(statement.len());
        tokens.ends.reserve(statement.len() / 6 + 1);
        let (mut found, mut rest) = (Vec::new(), statement);
        while let Some(first) = rest.first() {
            rest = scan::step(rest, *first, &mut found);
            for token in found.drain(..) {
                tokens.texts.extend_from_slice(&token.text);
                tokens.ends.push((token.kind, tokens.texts.len()));
            }
            if tokens.bytes() > bytes_max {
                return None;
            }
        }
        Some(tokens)
    }

    fn bytes(&self) -> usize {
        self.texts.capacity() + self.ends.capacity() * TOKEN_BYTES
    }

    /// The place of a Lua index, if a token is there.
    fn place(&self, lua: &Lua, index: Value) -> mlua::Result<Option<usize>> {
        let index = number_of(lua, index)
            .ok_or_else(|| raise(lua, "tokens[...] has to be indexed by a number"))?;
        let at = (index as i64).checked_sub(1);
        let at = at.and_then(|at| usize::try_from(at).ok());
        Ok(at.filter(|at| *at < self.ends.len()))
    }

    /// The token at a valid place.
    fn token(&self, lua: &Lua, at: usize) -> mlua::Result<Table> {
        let (kind, end) = self.ends[at];
        let start = match at {
            0 => 0,
            at => self.ends[at - 1].1,
        };
        let (make, name) = {
            let maker = lua.app_data_ref::<Maker>();
            let maker = maker.ok_or_else(|| raise(lua, "the tokenizer is not loaded"))?;
            let name = maker.names.get(usize::from(kind.id())).cloned();
            (maker.make.clone(), name)
        };
        let text = lua.create_string(&self.texts[start..end])?;
        make.call((text, kind.id(), name))
    }
}

impl UserData for Tokens {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.ends.len()));
        methods.add_meta_method(MetaMethod::Index, |lua, this, index: Value| {
            let at = this.place(lua, index)?;
            let at = at.filter(|at| !this.freed.get(*at).is_some_and(|freed| *freed));
            at.map(|at| this.token(lua, at)).transpose()
        });
        methods.add_meta_method_mut(
            MetaMethod::NewIndex,
            |lua, this, (index, value): (Value, Value)| {
                if !value.is_nil() {
                    return Err(raise(lua, "tokens[...] can only be set to nil"));
                }
                if let Some(at) = this.place(lua, index)? {
                    this.freed.resize(this.ends.len(), false);
                    this.freed[at] = true;
                }
                Ok(())
            },
        );
    }
}
