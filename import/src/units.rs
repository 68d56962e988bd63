//! Times, sizes and booleans as other proxies write them.

/// Milliseconds of `5s`, `500ms`, `1m`, `2h`, `3d`, `100us`; a number alone counts `unit_ms` each.
pub fn milliseconds(text: &str, unit_ms: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let unit = match text.get(digits..)?.trim().to_ascii_lowercase().as_str() {
        "" => unit_ms,
        "us" => return Some(number.div_ceil(1000)),
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// `true`, `yes`, `on`, `1`, and their opposites.
pub fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" | "y" | "t" | "enabled" => Some(true),
        "false" | "no" | "off" | "0" | "n" | "f" | "disabled" => Some(false),
        _ => None,
    }
}

/// A duration as the configuration file writes it.
pub fn spell_time(ms: u64) -> String {
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

/// `host:port` from the two, with brackets around IPv6.
pub fn address(host: &str, port: &str) -> String {
    let port = if port.is_empty() { "3306" } else { port };
    match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}
