//! Why `mysql.proto` cannot read or make a packet.

use mlua::Lua;
use wire::Malformed;

use crate::fault::raise;

/// Why a packet cannot be read or made.
pub(crate) enum PacketFault {
    /// The bytes are not what they should be.
    Malformed,
    /// A key of the table is not what it should be, or memory has run out.
    Lua(mlua::Error),
}

impl From<Malformed> for PacketFault {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<mlua::Error> for PacketFault {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

impl PacketFault {
    pub(super) fn raised(self, lua: &Lua, function: &str) -> mlua::Error {
        match self {
            Self::Malformed => raise(lua, &format!("mysql.proto: {function}() failed")),
            Self::Lua(error) => error,
        }
    }
}
