//! `pilotfish status`: the state of a proxy, in a few lines.

use super::shown::Shown;
use crate::admin_client::{AdminClient, AdminError, Cell};

/// The state of a proxy.
struct ProxyHealth {
    version: String,
    uptime: String,
    sessions: String,
    busy: String,
    waiting: String,
    unsaved: usize,
    backends: usize,
    /// The number of backends that are drained or disabled.
    out: usize,
    /// Name, state and remark of each backend that should serve but does not.
    unwell: Vec<[String; 3]>,
}

/// Asks for the state and prints it. A proxy is not well if a backend is down or has a complaint.
pub fn status(client: &mut AdminClient, json: bool) -> Result<Shown, AdminError> {
    let health = ProxyHealth::ask(client)?;
    let text = if json { health.json() } else { health.lines() };
    Ok(Shown {
        text,
        is_well: health.is_well(),
    })
}

impl ProxyHealth {
    fn ask(client: &mut AdminClient) -> Result<Self, AdminError> {
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
                unwell.push([cell(0), cell(1), cell(2)]);
            }
        }
        Ok(Self {
            version: one(client, "SELECT version FROM process")?,
            uptime: one(client, "SELECT uptime_seconds FROM process")?,
            sessions: one(client, "SELECT count(*) FROM sessions")?,
            busy: one(
                client,
                "SELECT count(*) FROM sessions WHERE state <> 'idle'",
            )?,
            waiting: one(client, "SELECT coalesce(sum(waiting), 0) FROM pools")?,
            unsaved: client.query("SHOW CHANGES")?.rows.len(),
            backends: backends.rows.len(),
            out,
            unwell,
        })
    }

    fn is_well(&self) -> bool {
        self.unwell.is_empty() && self.out < self.backends
    }

    fn json(&self) -> String {
        let unwell = self.unwell.iter();
        let unwell: Vec<_> = unwell
            .map(|[name, state, remark]| serde_json::json!({ "backend": name, "state": state, "remark": remark }))
            .collect();
        let figure = |text: &str| {
            text.parse::<u64>()
                .map_or(serde_json::Value::Null, Into::into)
        };
        let status = serde_json::json!({
            "is_well": self.is_well(),
            "version": self.version,
            "uptime_seconds": figure(&self.uptime),
            "sessions": figure(&self.sessions),
            "sessions_busy": figure(&self.busy),
            "waiting_for_connections": figure(&self.waiting),
            "unsaved_changes": self.unsaved,
            "backends": self.backends,
            "backends_out_of_use": self.out,
            "unwell": unwell,
        });
        format!("{status:#}\n")
    }

    fn lines(&self) -> String {
        let out = if self.out == 0 {
            String::new()
        } else {
            format!(", {} drained or disabled", self.out)
        };
        let mut text = format!(
            "{}\n\
             version    {}, up for {}\n\
             backends   {} of {} up{out}\n\
             sessions   {}, {} busy, {} wait for a connection\n\
             settings   {}\n",
            if self.is_well() {
                "All is well."
            } else {
                "Not all is well."
            },
            self.version,
            spelled(&self.uptime),
            self.backends - self.unwell.len() - self.out,
            self.backends,
            self.sessions,
            self.busy,
            self.waiting,
            match self.unsaved {
                0 => "as in the file".to_owned(),
                1 => "one change is not saved".to_owned(),
                count => format!("{count} changes are not saved"),
            },
        );
        for [name, state, remark] in &self.unwell {
            let remark = if remark.is_empty() {
                String::new()
            } else {
                format!(": {remark}")
            };
            text.push_str(&format!("  {name} is {state}{remark}\n"));
        }
        text
    }
}

fn one(client: &mut AdminClient, sql: &str) -> Result<String, AdminError> {
    let answer = client.query(sql)?;
    let cell = answer.rows.first().and_then(|row| row.first());
    Ok(cell.map_or(String::new(), Cell::printable))
}

/// A duration in a form for people: `3 d 4 h`, `12 min`, `5 s`.
fn spelled(seconds: &str) -> String {
    let seconds = seconds.parse::<f64>().unwrap_or(0.0).max(0.0) as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
