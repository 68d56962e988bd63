//! `pilotfish status`: whether all is well, in a few lines.

use super::Shown;
use crate::admin_client::{AdminClient, AdminError, Cell};

/// Asks and says it; not well is a proxy with a backend that is down or has a complaint.
pub fn status(client: &mut AdminClient, json: bool) -> Result<Shown, AdminError> {
    let version = one(client, "SELECT version FROM process")?;
    let uptime = one(client, "SELECT uptime_seconds FROM process")?;
    let sessions = one(client, "SELECT count(*) FROM sessions")?;
    let busy = one(
        client,
        "SELECT count(*) FROM sessions WHERE state <> 'idle'",
    )?;
    let waiting = one(client, "SELECT coalesce(sum(waiting), 0) FROM pools")?;
    let unsaved = client.query("SHOW CHANGES")?.rows.len().to_string();
    let backends = client.query(
        "SELECT name, state, coalesce(complaint, CASE WHEN state <> 'up' THEN cause END), draining, disabled \
         FROM backends ORDER BY backend_ndx",
    )?;
    let (mut unwell, mut out) = (Vec::new(), 0);
    for row in &backends.rows {
        let cell = |index: usize| row.get(index).map_or(String::new(), Cell::printable);
        let is_out = cell(3) == "1" || cell(4) == "1";
        out += usize::from(is_out);
        if !is_out && (cell(1) != "up" || !cell(2).is_empty()) {
            unwell.push((cell(0), cell(1), cell(2)));
        }
    }
    let is_well = unwell.is_empty() && out < backends.rows.len();
    if json {
        let unwell: Vec<_> = unwell
            .iter()
            .map(|(name, state, remark)| serde_json::json!({ "backend": name, "state": state, "remark": remark }))
            .collect();
        let figure = |text: &str| {
            text.parse::<f64>()
                .map_or(serde_json::Value::Null, Into::into)
        };
        let status = serde_json::json!({
            "is_well": is_well,
            "version": version,
            "uptime_seconds": figure(&uptime),
            "sessions": figure(&sessions),
            "sessions_busy": figure(&busy),
            "waiting_for_connections": figure(&waiting),
            "unsaved_changes": figure(&unsaved),
            "backends": backends.rows.len(),
            "unwell": unwell,
        });
        return Ok(Shown {
            text: format!("{status:#}\n"),
            is_well,
        });
    }
    let well = backends.rows.len() - unwell.len() - out;
    let out = if out == 0 {
        String::new()
    } else {
        format!(", {out} drained or disabled")
    };
    let mut text = format!(
        "{}\n\
         version    {version}, up for {}\n\
         backends   {well} of {} up{out}\n\
         sessions   {sessions}, {busy} busy, {waiting} wait for a connection\n\
         settings   {}\n",
        if is_well {
            "All is well."
        } else {
            "Not all is well."
        },
        spelled(&uptime),
        backends.rows.len(),
        if unsaved == "0" {
            "as in the file".to_owned()
        } else {
            format!("{unsaved} changes are not saved")
        },
    );
    for (name, state, remark) in unwell {
        text.push_str(&format!(
            "  {name} is {state}{}\n",
            if remark.is_empty() {
                remark
            } else {
                format!(": {remark}")
            }
        ));
    }
    Ok(Shown { text, is_well })
}

fn one(client: &mut AdminClient, sql: &str) -> Result<String, AdminError> {
    let answer = client.query(sql)?;
    let cell = answer.rows.first().and_then(|row| row.first());
    Ok(cell.map_or(String::new(), Cell::printable))
}

/// Seconds as people say them: `3 d 4 h`, `12 min`, `5 s`.
fn spelled(seconds: &str) -> String {
    let seconds = seconds.parse::<f64>().unwrap_or(0.0).max(0.0) as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
