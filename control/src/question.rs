//! Asks a backend about replication, in one write: whether it takes writes, which server it follows and how far it is
//! behind, which transactions it has.

use std::fmt;
use std::time::Duration;

use route::{Family, Position, Server, Writes};
use wire::ErrPacket;

use crate::connection::Connection;
use crate::failure::{Failure, printable};
use crate::grant::grant;
use crate::rows::Bounds;

/// A backend's answer about its replication.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub server: Server,
    pub writes: Writes,
    pub following: Following,
    /// The position of all that it has executed, for use as a primary; `None` if its own writes have no GTIDs.
    pub executed: Option<Position>,
    /// The position that it has applied from its source, for use as a replica: without transactions of its own.
    pub applied: Option<Position>,
    /// From the first byte of the question to the first byte of the answer.
    pub latency: Duration,
    /// Whether it is in step with its group.
    pub group: Group,
}

impl Answer {
    /// The answer reduced to writes and kind of server; the rest is as if it had not been asked for.
    pub(crate) fn of_writes(self) -> Answer {
        Answer {
            following: Following::Nobody,
            executed: None,
            applied: None,
            group: Group::None,
            ..self
        }
    }
}

/// Whether a server is in step with the group of servers that it belongs to: a Galera cluster, or Group
/// Replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group {
    /// The server belongs to no group.
    None,
    /// The server is synced (Galera) or online (Group Replication).
    InStep,
    /// The server is not in step; the text is the server's own name for its state.
    OutOfStep(String),
    /// The server belongs to a group, and the monitor account may not ask for its state; the statement that would help.
    Untold(String),
}

/// The server that a backend follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Following {
    /// The server did not tell. If a privilege is missing, the statement that would help.
    Untold { missing: Option<String> },
    /// No server.
    Nobody,
    /// One or several servers; of several, the worst values.
    Somebody {
        /// Whether the received transactions are being executed.
        applier: Thread,
        /// Whether transactions are being received.
        receiver: Thread,
        /// The lag that the server computes; `None` while one of the two threads does not run.
        behind: Option<Duration>,
    },
}

/// The state of a replica's replication thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thread {
    /// The thread does not run: it was stopped, or has met an error.
    Stopped,
    /// The thread tries to connect to the source.
    Connecting,
    /// The thread runs.
    Running,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Thread::Stopped => "stopped",
            Thread::Connecting => "connecting",
            Thread::Running => "running",
        })
    }
}

/// For one row with positions, which are long on a server that has had many sources.
const PARTICULARS_BOUNDS: Bounds = Bounds {
    rows: 1,
    bytes: 1 << 20,
};

/// For one row per source.
const STATUS_BOUNDS: Bounds = Bounds {
    rows: 256,
    bytes: 4 << 20,
};

/// For one state name.
const STATE_BOUNDS: Bounds = Bounds {
    rows: 1,
    bytes: 1 << 10,
};

/// The state of a member of Group Replication. A member that cannot reach half of its group calls itself ONLINE, but
/// learns of no transaction any more.
const MYSQL_MEMBER: &str = "SELECT IF(MEMBER_STATE = 'ONLINE' AND \
     (SELECT SUM(MEMBER_STATE = 'UNREACHABLE') * 2 >= COUNT(*) \
      FROM performance_schema.replication_group_members), \
     'it cannot reach a majority of the group', MEMBER_STATE) \
     FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@global.server_uuid";

/// The last column: whether it may be a member of Group Replication. Its channels are not in SHOW REPLICA STATUS,
/// and its tables need a privilege that few monitor accounts have.
const MYSQL_PARTICULARS: &str = "SELECT @@global.read_only, @@global.innodb_read_only, \
     CURRENT_USER(), @@global.log_bin, @@global.gtid_executed, @@global.gtid_mode, \
     (SELECT COUNT(*) FROM information_schema.PLUGINS \
      WHERE PLUGIN_NAME = 'group_replication' AND PLUGIN_STATUS = 'ACTIVE')";
const MARIADB_PARTICULARS: &str = "SELECT @@global.read_only, @@global.innodb_read_only, \
     CURRENT_USER(), @@global.log_bin, @@global.gtid_current_pos, @@global.gtid_slave_pos, \
     (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
      WHERE VARIABLE_NAME = 'WSREP_PROVIDER_NAME'), \
     (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
      WHERE VARIABLE_NAME = 'WSREP_LOCAL_STATE_COMMENT')";

/// Asks, and waits for the answer without a time limit.
pub(crate) async fn question(connection: &mut Connection) -> Result<Answer, Failure> {
    let family = Family::of_version(connection.version.as_bytes());
    let version = version(family, &connection.version);
    let (particulars, status) = match family {
        Family::MySql => (MYSQL_PARTICULARS, mysql_status(&version)),
        Family::MariaDb => (MARIADB_PARTICULARS, "SHOW ALL SLAVES STATUS"),
    };
    let began = net::clock::now();
    connection.send_all(&[particulars, status]).await?;
    let head = connection.reply().await?;
    let latency = began.elapsed();
    let rows = connection.rows(&head, PARTICULARS_BOUNDS).await?;
    let row = rows.only().await?;
    let values = row.values()?;
    let value = |column: usize| values.get(column).copied().flatten();
    let position = |column| position(family, value(column)?);
    let user = printable(value(2).unwrap_or_default());
    let writes = match is_on(value(0)) || is_on(value(1)) {
        true => Writes::Refused,
        false => Writes::Taken,
    };
    let (makes_gtids, applied) = match family {
        Family::MySql => (is_on(value(5)), position(4)),
        Family::MariaDb => (true, position(5)),
    };
    // Without GTIDs for new writes, the executed position says nothing of those writes.
    let executed = position(4).filter(|_| makes_gtids && is_on(value(3)));
    let galera = match family {
        Family::MariaDb => galera(value(6), value(7)),
        Family::MySql => Group::None,
    };
    let may_be_member = family == Family::MySql && is_on(value(6));
    let head = connection.reply().await?;
    let following = following(connection, &head, family, &version, &user).await?;
    let group = match may_be_member {
        true => member(connection, &user, &following).await?,
        false => galera,
    };
    Ok(Answer {
        server: Server { family, version },
        writes,
        following,
        executed,
        applied,
        latency,
        group,
    })
}

/// A node without a wsrep provider is in no group.
fn galera(provider: Option<&[u8]>, state: Option<&[u8]>) -> Group {
    match (provider.unwrap_or_default(), state.unwrap_or_default()) {
        (b"", _) => Group::None,
        (_, b"Synced") => Group::InStep,
        (_, state) => Group::OutOfStep(printable(state)),
    }
}

/// The state of a member of Group Replication. A server without a member row that follows another server only has the
/// plugin, and is in no group.
async fn member(
    connection: &mut Connection,
    user: &str,
    following: &Following,
) -> Result<Group, Failure> {
    connection.send_all(&[MYSQL_MEMBER]).await?;
    let head = connection.reply().await?;
    if let Ok(err) = ErrPacket::decode(&head) {
        let refused = Failure::refused(&err);
        return match refused.is_missing_privilege() {
            true => Ok(Group::Untold(grant(
                "SELECT ON performance_schema.replication_group_members",
                user,
            ))),
            false => Err(refused),
        };
    }
    let mut rows = connection.rows(&head, STATE_BOUNDS).await?;
    let mut state = match following {
        Following::Somebody { .. } => Group::None,
        Following::Nobody | Following::Untold { .. } => Group::OutOfStep("OFFLINE".to_owned()),
    };
    while let Some(row) = rows.next().await? {
        state = match row.values()?.first().copied().flatten().unwrap_or_default() {
            b"ONLINE" => Group::InStep,
            b"OFFLINE" => continue,
            other => Group::OutOfStep(printable(other)),
        };
    }
    Ok(state)
}

/// What a variable of several values is taken for: `0`, `OFF` (or `OFF_PERMISSIVE`, which makes no new
/// GTIDs), or something else.
fn is_on(value: Option<&[u8]>) -> bool {
    let value = value.unwrap_or_default();
    let begins_off = value
        .get(..3)
        .is_some_and(|it| it.eq_ignore_ascii_case(b"OFF"));
    !matches!(value, b"" | b"0") && !begins_off
}

/// The position that a GTID set gives. An empty set is a server without GTIDs: it is not comparable, so `None`.
fn position(family: Family, text: &[u8]) -> Option<Position> {
    let is_empty = text.iter().all(u8::is_ascii_whitespace);
    (!is_empty).then(|| Position::parse(family, text).ok())?
}

/// The server's version. MariaDB greets with "5.5.5-" before it, because old MySQL replicas understand that.
fn version(family: Family, greeted: &str) -> String {
    let version = match family {
        Family::MySql => greeted,
        Family::MariaDb => greeted.strip_prefix("5.5.5-").unwrap_or(greeted),
    };
    version.to_owned()
}

/// The statement for a replica's status. MySQL has the name SHOW REPLICA STATUS since 8.0.22.
fn mysql_status(version: &str) -> &'static str {
    match numbers(version) < [8, 0, 22] {
        true => "SHOW SLAVE STATUS",
        false => "SHOW REPLICA STATUS",
    }
}

/// A version's three numbers; a missing number counts as the highest one.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = [u32::MAX; 3];
    let parts = version.split(|character: char| !character.is_ascii_digit());
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part.parse().unwrap_or(u32::MAX);
    }
    numbers
}

async fn following(
    connection: &mut Connection,
    head: &[u8],
    family: Family,
    version: &str,
    user: &str,
) -> Result<Following, Failure> {
    if let Ok(err) = ErrPacket::decode(head) {
        let lacks = Failure::refused(&err).is_missing_privilege();
        return Ok(Following::Untold {
            missing: lacks.then(|| missing_grant(family, version, user)),
        });
    }
    let mut rows = connection.rows(head, STATUS_BOUNDS).await?;
    let columns = Columns::of(rows.names());
    let mut worst = Following::Nobody;
    while let Some(row) = rows.next().await? {
        worst = worse(worst, columns.read(&row.values()?));
    }
    Ok(worst)
}

/// The GRANT statement for the privilege that the status needs.
fn missing_grant(family: Family, version: &str, user: &str) -> String {
    let privilege = match family {
        Family::MariaDb if numbers(version) >= [10, 5, 0] => "SLAVE MONITOR",
        Family::MariaDb | Family::MySql => "REPLICATION CLIENT",
    };
    grant(&format!("{privilege} ON *.*"), user)
}

/// The columns of `SHOW REPLICA STATUS` and similar statements by position; their names differ by version.
#[derive(Debug, Default)]
struct Columns {
    channel: Option<usize>,
    receiver: Option<usize>,
    applier: Option<usize>,
    behind: Option<usize>,
}

impl Columns {
    fn of(names: &[String]) -> Columns {
        let find = |is_it: fn(&str) -> bool| names.iter().position(|name| is_it(name));
        Columns {
            channel: find(|name| matches!(name, "Channel_Name" | "Connection_name")),
            receiver: find(|name| name.ends_with("_IO_Running")),
            applier: find(|name| name.ends_with("_SQL_Running")),
            behind: find(|name| name.starts_with("Seconds_Behind_")),
        }
    }

    /// Whether the row is one of Group Replication's own channels.
    fn is_of_group(&self, values: &[Option<&[u8]>]) -> bool {
        let channel = self.channel.and_then(|column| values.get(column).copied());
        let channel = channel.flatten().unwrap_or_default();
        channel.starts_with(b"group_replication_")
    }

    fn read(&self, values: &[Option<&[u8]>]) -> Following {
        let value = |column: Option<usize>| values.get(column?).copied().flatten();
        if self.is_of_group(values) {
            return Following::Nobody;
        }
        let thread = |column| match value(column).unwrap_or_default() {
            b"Yes" => Thread::Running,
            b"Connecting" | b"Preparing" => Thread::Connecting,
            _ => Thread::Stopped,
        };
        let behind = value(self.behind).and_then(|it| std::str::from_utf8(it).ok());
        Following::Somebody {
            applier: thread(self.applier),
            receiver: thread(self.receiver),
            behind: behind
                .and_then(|it| it.parse().ok())
                .map(Duration::from_secs),
        }
    }
}

/// The worse values of two sources that one replica follows.
fn worse(one: Following, other: Following) -> Following {
    match (one, other) {
        (
            Following::Somebody {
                applier,
                receiver,
                behind,
            },
            Following::Somebody {
                applier: other_applier,
                receiver: other_receiver,
                behind: other_behind,
            },
        ) => Following::Somebody {
            applier: applier.min(other_applier),
            receiver: receiver.min(other_receiver),
            behind: behind.zip(other_behind).map(|(one, other)| one.max(other)),
        },
        (one @ Following::Somebody { .. }, _) => one,
        (_, other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(names: &[&str], values: &[Option<&str>]) -> Following {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let values: Vec<Option<&[u8]>> = values.iter().map(|it| it.map(str::as_bytes)).collect();
        Columns::of(&names).read(&values)
    }

    fn somebody(applier: Thread, receiver: Thread, seconds: Option<u64>) -> Following {
        Following::Somebody {
            applier,
            receiver,
            behind: seconds.map(Duration::from_secs),
        }
    }

    #[test]
    fn a_row_is_read_by_the_names_of_every_version() {
        let new = [
            "Replica_IO_State",
            "Replica_IO_Running",
            "Replica_SQL_Running",
            "Seconds_Behind_Source",
            "Replica_SQL_Running_State",
            "Channel_Name",
        ];
        let values = [
            Some(""),
            Some("Yes"),
            Some("Yes"),
            Some("7"),
            Some(""),
            Some(""),
        ];
        let running = somebody(Thread::Running, Thread::Running, Some(7));
        assert_eq!(row(&new, &values), running);
        let old = new.map(|name| name.replace("Replica", "Slave").replace("Source", "Master"));
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        assert_eq!(row(&old, &values), running);
        let values = [
            Some(""),
            Some("Connecting"),
            Some("No"),
            None,
            Some(""),
            Some("a"),
        ];
        let broken = somebody(Thread::Stopped, Thread::Connecting, None);
        assert_eq!(row(&new, &values), broken);
        let group = Some("group_replication_applier");
        let values = [Some(""), Some("No"), Some("Yes"), None, Some(""), group];
        assert_eq!(row(&new, &values), Following::Nobody);
        assert_eq!(
            row(&[], &[]),
            somebody(Thread::Stopped, Thread::Stopped, None)
        );
    }

    #[test]
    fn a_replica_of_several_sources_has_the_worst_state_of_them() {
        let one = somebody(Thread::Running, Thread::Running, Some(7));
        let other = somebody(Thread::Running, Thread::Connecting, None);
        assert_eq!(worse(Following::Nobody, one.clone()), one);
        assert_eq!(worse(one.clone(), Following::Nobody), one);
        assert_eq!(worse(one, other.clone()), other);
    }

    #[test]
    fn the_replica_status_statement_depends_on_the_server_version() {
        assert_eq!(mysql_status("8.0.21"), "SHOW SLAVE STATUS");
        assert_eq!(mysql_status("5.7.44-log"), "SHOW SLAVE STATUS");
        assert_eq!(mysql_status("8.0.22"), "SHOW REPLICA STATUS");
        assert_eq!(mysql_status("9.7.0"), "SHOW REPLICA STATUS");
        assert_eq!(mysql_status("odd"), "SHOW REPLICA STATUS");
        assert_eq!(
            version(Family::MariaDb, "5.5.5-10.11.6-MariaDB"),
            "10.11.6-MariaDB"
        );
    }

    #[test]
    fn the_suggested_grant_for_monitoring_depends_on_the_server_version() {
        let grant = |family, version| missing_grant(family, version, "o'neil@10.%");
        assert_eq!(
            grant(Family::MySql, "9.7.0"),
            "GRANT REPLICATION CLIENT ON *.* TO 'o''neil'@'10.%'"
        );
        assert_eq!(
            grant(Family::MariaDb, "10.11.6-MariaDB"),
            "GRANT SLAVE MONITOR ON *.* TO 'o''neil'@'10.%'"
        );
        assert_eq!(
            grant(Family::MariaDb, "10.4.30-MariaDB"),
            "GRANT REPLICATION CLIENT ON *.* TO 'o''neil'@'10.%'"
        );
    }

    #[test]
    fn a_variable_is_on_unless_it_says_off() {
        for on in ["1", "ON", "NO_LOCK", "ON_PERMISSIVE"] {
            assert!(is_on(Some(on.as_bytes())));
        }
        for off in ["0", "off", "OFF_PERMISSIVE", ""] {
            assert!(!is_on(Some(off.as_bytes())));
        }
        assert!(!is_on(None));
    }
}
