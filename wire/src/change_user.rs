//! COM_CHANGE_USER: a new login on the same connection (protocol page "COM_CHANGE_USER").

use crate::capability::Capabilities;
use crate::read::{Malformed, Reader};
use crate::write::{put_lenenc_bytes, put_nul_terminated};

/// The fields of a COM_CHANGE_USER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user.
    pub user: &'a [u8],
    /// The plugin's first answer, to the scramble of the previous login.
    pub auth_response: &'a [u8],
    /// The first schema, if any.
    pub schema: Option<&'a [u8]>,
    /// The collation; absent in packets of old clients.
    pub collation: Option<u16>,
    /// The plugin that the client answers with; `None` without PLUGIN_AUTH.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes: pairs of length-encoded strings, not decoded; `None` if they are incomplete.
    pub attributes: Option<&'a [u8]>,
}

impl<'a> ChangeUser<'a> {
    /// Decodes what follows the command's byte (`parse_com_change_user_packet`).
    ///
    /// # Errors
    /// The incomplete item.
    pub fn decode(arguments: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        let user = reader.until_nul("user")?;
        let auth_response = match capabilities.contains(Capabilities::SECURE_CONNECTION) {
            true => {
                let length = reader.u8("auth response length")?;
                reader.bytes(usize::from(length), "auth response")?
            }
            false => reader.until_nul("auth response")?,
        };
        let schema = reader.until_nul("schema")?;
        let collation = match reader.is_empty() {
            true => None,
            false => Some(reader.u16("collation")?),
        };
        let has_plugin = capabilities.contains(Capabilities::PLUGIN_AUTH) && !reader.is_empty();
        let plugin = match has_plugin {
            true => Some(reader.until_nul("plugin")?),
            false => None,
        };
        let has_attributes =
            capabilities.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty();
        let attributes = match has_attributes {
            true => reader.lenenc_bytes("connection attributes").ok(),
            false => None,
        };
        Ok(Self {
            user,
            auth_response,
            schema: (!schema.is_empty()).then_some(schema),
            collation,
            plugin,
            attributes,
        })
    }

    /// Appends the bytes after the command's byte. An authentication response that is too long for its
    /// length's byte is left out: then the server asks for it.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        put_nul_terminated(out, self.user);
        let auth_response = match self.auth_response.len() {
            0..=255 => self.auth_response,
            _ => &[],
        };
        match capabilities.contains(Capabilities::SECURE_CONNECTION) {
            true => {
                // Checked above.
                out.push(auth_response.len() as u8);
                out.extend_from_slice(auth_response);
            }
            false => put_nul_terminated(out, auth_response),
        }
        put_nul_terminated(out, self.schema.unwrap_or_default());
        let Some(collation) = self.collation else {
            return;
        };
        out.extend_from_slice(&collation.to_le_bytes());
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_terminated(out, self.plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(out, self.attributes.unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Capabilities = Capabilities(
        Capabilities::SECURE_CONNECTION.0
            | Capabilities::PLUGIN_AUTH.0
            | Capabilities::CONNECT_ATTRS.0,
    );
    const WHOLE: &[u8] = b"app\0\x03abcshop\0\x2d\x00caching_sha2_password\0\x04\x01a\x01b";

    #[test]
    fn a_change_user_packet_is_decoded_with_all_items() {
        let decoded = ChangeUser::decode(WHOLE, NEW);
        assert_eq!(
            decoded,
            Ok(ChangeUser {
                user: b"app",
                auth_response: b"abc",
                schema: Some(b"shop"),
                collation: Some(45),
                plugin: Some(b"caching_sha2_password"),
                attributes: Some(b"\x01a\x01b"),
            })
        );
    }

    #[test]
    fn a_change_user_packet_is_encoded_as_it_was_decoded() {
        let mut written = Vec::new();
        if let Ok(decoded) = ChangeUser::decode(WHOLE, NEW) {
            decoded.encode(NEW, &mut written);
        }
        assert_eq!(written, WHOLE);
    }

    #[test]
    fn fields_that_old_clients_omit_are_absent() {
        let decoded =
            ChangeUser::decode(b"app\0\x00\0", NEW).map(|it| (it.schema, it.collation, it.plugin));
        assert_eq!(decoded, Ok((None, None, None)));
    }

    #[test]
    fn truncated_attributes_of_change_user_are_ignored() {
        let decoded = ChangeUser::decode(&WHOLE[..WHOLE.len() - 1], NEW);
        assert_eq!(decoded.map(|it| it.attributes), Ok(None));
    }

    #[test]
    fn a_truncated_packet_names_the_missing_item() {
        for (length, item) in [
            (2, "user"),
            (6, "auth response"),
            (9, "schema"),
            (14, "collation"),
            (20, "plugin"),
        ] {
            let decoded = ChangeUser::decode(&WHOLE[..length], NEW);
            assert_eq!(decoded, Err(Malformed::Truncated(item)), "{length}");
        }
    }
}
