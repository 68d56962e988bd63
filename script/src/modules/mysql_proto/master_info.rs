//! The contents of a `master.info` file: a value a line, the number of lines first.

use super::Fault;
use super::fields::Fields;

/// From this many lines on, the last one is there.
const LINES_WITH_VERIFY: u64 = 15;

const VERIFY: (&str, Kind) = ("master_ssl_verify_server_cert", Kind::Number);

const LINES: [(&str, Kind); 13] = [
    ("master_log_file", Kind::Text),
    ("master_log_pos", Kind::Number),
    ("master_host", Kind::Text),
    ("master_user", Kind::Text),
    ("master_password", Kind::Text),
    ("master_port", Kind::Number),
    ("master_connect_retry", Kind::Number),
    ("master_ssl", Kind::Number),
    ("master_ssl_ca", Kind::Text),
    ("master_ssl_capath", Kind::Text),
    ("master_ssl_cert", Kind::Text),
    ("master_ssl_cipher", Kind::Text),
    ("master_ssl_key", Kind::Text),
];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
}

pub(super) fn from_text(fields: &Fields<'_>, text: &[u8]) -> Result<(), Fault> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let count = number(lines.next().ok_or(Fault::Malformed)?)?;
    fields.set("master_lines", count as f64)?;
    let verify = (count >= LINES_WITH_VERIFY).then_some(VERIFY);
    for (key, kind) in LINES.into_iter().chain(verify) {
        let line = lines.next().ok_or(Fault::Malformed)?;
        match kind {
            Kind::Text => fields.set_text(key, line)?,
            Kind::Number => fields.set(key, number(line)? as f64)?,
        }
    }
    Ok(())
}

fn number(line: &[u8]) -> Result<u64, Fault> {
    let text = std::str::from_utf8(line).map_err(|_| Fault::Malformed)?;
    text.trim().parse().map_err(|_| Fault::Malformed)
}

/// A line break within a value would make two lines of it: the value ends there.
pub(super) fn to_text(fields: &Fields<'_>) -> Result<Vec<u8>, Fault> {
    let count = fields.number_or("master_lines", LINES_WITH_VERIFY)?;
    let mut out = format!("{count}\n").into_bytes();
    let verify = (count >= LINES_WITH_VERIFY).then_some(VERIFY);
    for (key, kind) in LINES.into_iter().chain(verify) {
        match kind {
            Kind::Text => {
                let text = fields.text_or(key, b"")?;
                let line = text.split(|byte| *byte == b'\n').next();
                out.extend_from_slice(line.unwrap_or_default());
            }
            Kind::Number => {
                out.extend_from_slice(fields.number_or(key, 0)?.to_string().as_bytes());
            }
        }
        out.push(b'\n');
    }
    Ok(out)
}
