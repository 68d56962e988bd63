//! The contents of a `master.info` file: one value on each line, and the number of lines first.

use super::fields::Fields;
use super::packet_fault::PacketFault;

/// Files with at least this many lines have the line [`VERIFY`].
const LINES_WITH_VERIFY: u64 = 15;

const VERIFY: (&str, FieldKind) = ("master_ssl_verify_server_cert", FieldKind::Number);

const LINES: [(&str, FieldKind); 13] = [
    ("master_log_file", FieldKind::Text),
    ("master_log_pos", FieldKind::Number),
    ("master_host", FieldKind::Text),
    ("master_user", FieldKind::Text),
    ("master_password", FieldKind::Text),
    ("master_port", FieldKind::Number),
    ("master_connect_retry", FieldKind::Number),
    ("master_ssl", FieldKind::Number),
    ("master_ssl_ca", FieldKind::Text),
    ("master_ssl_capath", FieldKind::Text),
    ("master_ssl_cert", FieldKind::Text),
    ("master_ssl_cipher", FieldKind::Text),
    ("master_ssl_key", FieldKind::Text),
];

#[derive(Clone, Copy)]
enum FieldKind {
    Text,
    Number,
}

pub(super) fn from_text(fields: &Fields<'_>, text: &[u8]) -> Result<(), PacketFault> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let count = number(lines.next().ok_or(PacketFault::Malformed)?)?;
    fields.set("master_lines", count as f64)?;
    let verify = (count >= LINES_WITH_VERIFY).then_some(VERIFY);
    for (key, kind) in LINES.into_iter().chain(verify) {
        let line = lines.next().ok_or(PacketFault::Malformed)?;
        match kind {
            FieldKind::Text => fields.set_text(key, line)?,
            FieldKind::Number => fields.set(key, number(line)? as f64)?,
        }
    }
    Ok(())
}

fn number(line: &[u8]) -> Result<u64, PacketFault> {
    let text = std::str::from_utf8(line).map_err(|_| PacketFault::Malformed)?;
    text.trim().parse().map_err(|_| PacketFault::Malformed)
}

/// Encodes the file. A value ends at its first line break, because a line break would make two lines of it.
pub(super) fn to_text(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let count = fields.number_or("master_lines", LINES_WITH_VERIFY)?;
    let mut out = format!("{count}\n").into_bytes();
    let verify = (count >= LINES_WITH_VERIFY).then_some(VERIFY);
    for (key, kind) in LINES.into_iter().chain(verify) {
        match kind {
            FieldKind::Text => {
                let text = fields.text_or(key, b"")?;
                let line = text.split(|byte| *byte == b'\n').next();
                out.extend_from_slice(line.unwrap_or_default());
            }
            FieldKind::Number => {
                out.extend_from_slice(fields.number_or(key, 0)?.to_string().as_bytes());
            }
        }
        out.push(b'\n');
    }
    Ok(out)
}
