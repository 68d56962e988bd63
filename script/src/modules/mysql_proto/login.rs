//! The greeting ("challenge") and the client's answer ("response").

use wire::greeting::SCRAMBLE_BYTES;
use wire::handshake::HandshakeHead;
use wire::write::{put_lenenc_bytes, put_nul_terminated};
use wire::{Capabilities, Greeting, Reader, StatusFlags};

use super::fields::Fields;
use super::packet_fault::PacketFault;

/// PROTOCOL_41 and SECURE_CONNECTION.
const CAPABILITIES: u64 = 0x8200;

/// The original's default challenge.
const CHALLENGE: &[u8] = b"01234567890123456789";

pub(super) fn from_challenge(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    let greeting = Greeting::decode(packet)?;
    // The original never stored the version.
    fields.set("protocol_version", 0)?;
    fields.set("server_version", version_number(&greeting.version))?;
    fields.set("thread_id", greeting.thread_id)?;
    fields.set("capabilities", greeting.capabilities.lower())?;
    fields.set("charset", greeting.collation)?;
    fields.set("server_status", greeting.status.0)?;
    fields.set_text("challenge", &greeting.scramble_as_sent())?;
    fields.set_text("auth_plugin_name", &greeting.plugin)
}

pub(super) fn to_challenge(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let capabilities = fields.number_or("capabilities", CAPABILITIES)? as u32;
    let mut scramble = fields.text_or("challenge", CHALLENGE)?;
    if scramble.len() == SCRAMBLE_BYTES + 1 && scramble.last() == Some(&0) {
        // Greetings with PLUGIN_AUTH have this NUL.
        scramble.pop();
    }
    let greeting = Greeting {
        version: version_text(fields.number_or("server_version", 0)?).into_bytes(),
        thread_id: fields.number_or("thread_id", 0)? as u32,
        scramble,
        capabilities: Capabilities(capabilities.into()),
        collation: fields.number_or("charset", 0)? as u8,
        status: StatusFlags(fields.number_or("server_status", 0)? as u16),
        plugin: Vec::new(),
    };
    let protocol_version = fields.number_or("protocol_version", 10)? as u8;
    let mut out = Vec::new();
    greeting.encode(&mut out);
    out[0] = protocol_version;
    Ok(out)
}

/// "5.1.14…" is 50114; a missing or invalid number is 0.
fn version_number(text: &[u8]) -> u32 {
    let mut parts = text.split(|byte| !byte.is_ascii_digit());
    let mut part = || {
        let digits = parts.next().unwrap_or_default();
        let number = std::str::from_utf8(digits)
            .ok()
            .and_then(|it| it.parse().ok());
        number.unwrap_or(0u32).min(99)
    };
    let [major, minor, patch] = [part(), part(), part()];
    major * 10_000 + minor * 100 + patch
}

/// 50114 is "5.01.14"; a number that the original rejects is "5.0.99".
fn version_text(number: u64) -> String {
    match number {
        30_000..=100_000 => {
            let [minor, patch] = [number / 100 % 100, number % 100];
            format!("{}.{minor:02}.{patch:02}", number / 10_000)
        }
        _ => "5.0.99".to_owned(),
    }
}

pub(super) fn from_response(
    fields: &Fields<'_>,
    packet: &[u8],
    server: Option<u32>,
) -> Result<(), PacketFault> {
    let head = HandshakeHead::decode(packet)?;
    let client = Capabilities(head.capabilities.lower().into());
    let server = server.map_or(client, |flags| Capabilities(flags.into()));
    let mut reader = Reader::new(packet);
    reader.bytes(wire::handshake::SSL_REQUEST_BYTES, "head")?;
    fields.set("capabilities", client.lower())?;
    fields.set("server_capabilities", server.lower())?;
    fields.set("max_packet_size", head.packet_bytes_max)?;
    fields.set("charset", head.collation)?;
    fields.set_text("username", reader.until_nul("user name")?)?;
    let response = if client.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        reader.lenenc_bytes("response")?
    } else if client.contains(Capabilities::SECURE_CONNECTION) {
        let length = reader.u8("response length")?;
        reader.bytes(length.into(), "response")?
    } else {
        reader.until_nul("response")?
    };
    fields.set_text("response", response)?;
    let has_plugin = both(client, server, Capabilities::PLUGIN_AUTH);
    // `to_response_packet` writes it for the server's flag alone.
    let is_all = server.contains(Capabilities::CONNECT_WITH_DB) && !has_plugin;
    if is_all || both(client, server, Capabilities::CONNECT_WITH_DB) {
        fields.set_text("database", string_if_any(&mut reader))?;
    }
    if has_plugin {
        fields.set_text("auth_plugin_name", string_if_any(&mut reader))?;
    }
    Ok(())
}

fn both(client: Capabilities, server: Capabilities, flag: Capabilities) -> bool {
    client.contains(flag) && server.contains(flag)
}

/// A string up to a NUL or the packet's end.
fn string_if_any<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    match reader.until_nul("string") {
        Ok(text) => text,
        Err(_) => reader.remainder(),
    }
}

pub(super) fn to_response(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let client = fields.number_or("capabilities", CAPABILITIES)? as u32;
    // Scripts from before release 0.8.3 do not set the server's capabilities.
    let server = fields.number_or("server_capabilities", client.into())? as u32;
    let [client, server] = [client, server].map(|flags| Capabilities(flags.into()));
    let mut out = Vec::new();
    HandshakeHead {
        capabilities: client,
        packet_bytes_max: fields.number_or("max_packet_size", 0)? as u32,
        collation: fields.number_or("charset", 0)? as u8,
    }
    .encode(&mut out);
    put_nul_terminated(&mut out, &fields.text_or("username", b"")?);
    let response = fields.text_or("response", b"")?;
    if client.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        put_lenenc_bytes(&mut out, &response);
    } else if client.contains(Capabilities::SECURE_CONNECTION) {
        let response = &response[..response.len().min(255)];
        out.push(response.len() as u8);
        out.extend_from_slice(response);
    } else {
        put_nul_terminated(&mut out, &response);
    }
    if server.contains(Capabilities::CONNECT_WITH_DB) {
        put_nul_terminated(&mut out, &fields.text_or("database", b"")?);
    }
    if both(client, server, Capabilities::PLUGIN_AUTH) {
        put_nul_terminated(&mut out, &fields.text_or("auth_plugin_name", b"")?);
    }
    Ok(out)
}
