//! The packets between handshake response and OK
//! (protocol pages "Protocol::AuthSwitchRequest", "AuthMoreData", "AuthNextFactorRequest").

use crate::greeting::up_to_nul;
use crate::read::{Malformed, Reader};
use crate::reply;
use crate::write::put_nul_terminated;

/// `caching_sha2_password`, MySQL's default since 8.0.
pub const CACHING_SHA2_PASSWORD: &[u8] = b"caching_sha2_password";
/// `sha256_password`, the predecessor of `caching_sha2_password`.
pub const SHA256_PASSWORD: &[u8] = b"sha256_password";
/// `mysql_native_password`, MariaDB's default.
pub const MYSQL_NATIVE_PASSWORD: &[u8] = b"mysql_native_password";

/// A server's packet during login. The servers put 0x01 before plugin data that would begin like
/// another kind of packet (`server_mpvio_write_packet`), so the first byte decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthPacket<'a> {
    /// The login has succeeded.
    Ok,
    /// The login has failed.
    Err,
    /// Another plugin, with its own data. An empty name is the pre-4.1 switch (`mysql_old_password`).
    Switch {
        /// The plugin's name.
        plugin: &'a [u8],
        /// Its first data; for most plugins a scramble with its NUL.
        data: &'a [u8],
    },
    /// Data for the client's plugin.
    MoreData(&'a [u8]),
    /// The next authentication factor (MySQL 8.0.27).
    NextFactor {
        /// The plugin's name.
        plugin: &'a [u8],
        /// Its first data.
        data: &'a [u8],
    },
    /// Anything else: plugin data without a prefix.
    Other,
}

impl<'a> AuthPacket<'a> {
    /// Decodes a payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        Ok(match reader.u8("authentication packet")? {
            reply::OK => Self::Ok,
            reply::ERR => Self::Err,
            reply::EOF => {
                let (plugin, data) = plugin_and_data(reader.remainder());
                Self::Switch { plugin, data }
            }
            0x01 => Self::MoreData(reader.remainder()),
            0x02 => {
                let (plugin, data) = plugin_and_data(reader.remainder());
                Self::NextFactor { plugin, data }
            }
            _ => Self::Other,
        })
    }
}

fn plugin_and_data(bytes: &[u8]) -> (&[u8], &[u8]) {
    let plugin = up_to_nul(bytes);
    (plugin, bytes.get(plugin.len() + 1..).unwrap_or_default())
}

/// Appends an auth switch request.
pub fn put_auth_switch(out: &mut Vec<u8>, plugin: &[u8], data: &[u8]) {
    out.push(reply::EOF);
    put_nul_terminated(out, plugin);
    out.extend_from_slice(data);
}

#[cfg(test)]
mod tests;
