//! `mysql.tokenizer`: a statement as tokens, by the rules that scripts know. What the rest of the proxy
//! makes of statements is `sql`'s; this one is kept as it was, its mistakes included.

mod kind;
pub(crate) mod scan;
mod words;

use std::sync::Arc;

use mlua::{Lua, LuaString, MetaMethod, Table, Value};
use mlua::{UserData, UserDataMethods};

use self::kind::Kind;
use super::{Surroundings, describe};
use crate::arguments::{function, number_of};
use crate::fault::raise;

pub(super) fn open(lua: &Lua, _: &Surroundings) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    module.set(
        "tokenize",
        function(lua, "tokenize", |arguments| {
            let statement = arguments.string(1)?;
            Ok(Tokens::of(&statement.as_bytes()))
        })?,
    )?;
    describe(&module, "MySQL's tokens")?;
    lua.globals().set("tokenizer", &module)?;
    let names = Kind::all().map(|kind| lua.create_string(kind.name()));
    lua.set_app_data(Names(names.collect::<mlua::Result<_>>()?));
    Ok(module)
}

/// What `tokenize` gives: `#tokens`, `tokens[i]`, `tokens[i] = nil`.
struct Tokens {
    all: Arc<All>,
    /// Those that were set to nil; empty as long as none was.
    freed: Vec<bool>,
}

/// Every token: its kind, and where in `texts` its text ends.
struct All {
    texts: Vec<u8>,
    ends: Vec<(Kind, usize)>,
}

/// One of them.
struct Token {
    all: Arc<All>,
    at: usize,
}

impl Tokens {
    fn of(statement: &[u8]) -> Self {
        let tokens = scan::tokens(statement);
        let mut texts = Vec::with_capacity(statement.len());
        let mut ends = Vec::with_capacity(tokens.len());
        for token in tokens {
            texts.extend_from_slice(&token.text);
            ends.push((token.kind, texts.len()));
        }
        Self {
            all: Arc::new(All { texts, ends }),
            freed: Vec::new(),
        }
    }

    /// The place that an index of Lua's means, if a token is there.
    fn place(&self, lua: &Lua, index: Value) -> mlua::Result<Option<usize>> {
        let index = number_of(lua, index)
            .ok_or_else(|| raise(lua, "tokens[...] has to be indexed by a number"))?;
        let at = (index as i64).checked_sub(1);
        let at = at.and_then(|at| usize::try_from(at).ok());
        Ok(at.filter(|at| *at < self.all.ends.len()))
    }
}

impl UserData for Tokens {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.all.ends.len()));
        methods.add_meta_method(MetaMethod::Index, |lua, this, index: Value| {
            let at = this.place(lua, index)?;
            let at = at.filter(|at| !this.freed.get(*at).is_some_and(|freed| *freed));
            let all = &this.all;
            Ok(at.map(|at| Token {
                all: Arc::clone(all),
                at,
            }))
        });
        methods.add_meta_method_mut(
            MetaMethod::NewIndex,
            |lua, this, (index, value): (Value, Value)| {
                if !value.is_nil() {
                    return Err(raise(lua, "tokens[...] can only be set to nil"));
                }
                if let Some(at) = this.place(lua, index)? {
                    this.freed.resize(this.all.ends.len(), false);
                    this.freed[at] = true;
                }
                Ok(())
            },
        );
    }
}

/// Every kind's name as a string of Lua, made once.
struct Names(Vec<LuaString>);

fn name(lua: &Lua, kind: Kind) -> mlua::Result<LuaString> {
    let names = lua.app_data_ref::<Names>();
    match names
        .as_deref()
        .and_then(|Names(all)| all.get(usize::from(kind.id())))
    {
        Some(name) => Ok(name.clone()),
        None => lua.create_string(kind.name()),
    }
}

impl Token {
    fn kind(&self) -> Kind {
        self.all.ends[self.at].0
    }

    fn text(&self) -> &[u8] {
        let start = match self.at {
            0 => 0,
            at => self.all.ends[at - 1].1,
        };
        &self.all.texts[start..self.all.ends[self.at].1]
    }
}

impl UserData for Token {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: LuaString| {
            match &*key.as_bytes() {
                b"text" => lua.create_string(this.text()).map(Value::String),
                b"token_id" => Ok(Value::Integer(this.kind().id().into())),
                b"token_name" => name(lua, this.kind()).map(Value::String),
                other => {
                    let key = String::from_utf8_lossy(other);
                    Err(raise(lua, &format!("tokens[...] has no {key} field")))
                }
            }
        });
    }
}
