//! Numbers and names of commands, compared with another implementation.

use mysql_common::constants::Command as Oracle;

use super::*;

#[test]
fn numbers_agree_with_mysql_common() {
    let pairs = [
        (Command::SLEEP, Oracle::COM_SLEEP),
        (Command::QUIT, Oracle::COM_QUIT),
        (Command::INIT_DB, Oracle::COM_INIT_DB),
        (Command::QUERY, Oracle::COM_QUERY),
        (Command::FIELD_LIST, Oracle::COM_FIELD_LIST),
        (Command::CREATE_DB, Oracle::COM_CREATE_DB),
        (Command::DROP_DB, Oracle::COM_DROP_DB),
        (Command::REFRESH, Oracle::COM_REFRESH),
        (Command::SHUTDOWN, Oracle::COM_DEPRECATED_1),
        (Command::STATISTICS, Oracle::COM_STATISTICS),
        (Command::PROCESS_INFO, Oracle::COM_PROCESS_INFO),
        (Command::CONNECT, Oracle::COM_CONNECT),
        (Command::PROCESS_KILL, Oracle::COM_PROCESS_KILL),
        (Command::DEBUG, Oracle::COM_DEBUG),
        (Command::PING, Oracle::COM_PING),
        (Command::TIME, Oracle::COM_TIME),
        (Command::DELAYED_INSERT, Oracle::COM_DELAYED_INSERT),
        (Command::CHANGE_USER, Oracle::COM_CHANGE_USER),
        (Command::BINLOG_DUMP, Oracle::COM_BINLOG_DUMP),
        (Command::TABLE_DUMP, Oracle::COM_TABLE_DUMP),
        (Command::CONNECT_OUT, Oracle::COM_CONNECT_OUT),
        (Command::REGISTER_SLAVE, Oracle::COM_REGISTER_SLAVE),
        (Command::STMT_PREPARE, Oracle::COM_STMT_PREPARE),
        (Command::STMT_EXECUTE, Oracle::COM_STMT_EXECUTE),
        (
            Command::STMT_SEND_LONG_DATA,
            Oracle::COM_STMT_SEND_LONG_DATA,
        ),
        (Command::STMT_CLOSE, Oracle::COM_STMT_CLOSE),
        (Command::STMT_RESET, Oracle::COM_STMT_RESET),
        (Command::SET_OPTION, Oracle::COM_SET_OPTION),
        (Command::STMT_FETCH, Oracle::COM_STMT_FETCH),
        (Command::DAEMON, Oracle::COM_DAEMON),
        (Command::BINLOG_DUMP_GTID, Oracle::COM_BINLOG_DUMP_GTID),
        (Command::RESET_CONNECTION, Oracle::COM_RESET_CONNECTION),
        (Command::STMT_BULK_EXECUTE, Oracle::COM_STMT_BULK_EXECUTE),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours.0, theirs as u8, "{ours}");
    }
    let newer = [Command::CLONE, Command::SUBSCRIBE_GROUP_REPLICATION_STREAM];
    let named = (0..=u8::MAX).filter(|number| Command(*number).name().is_some());
    assert_eq!(named.count(), pairs.len() + newer.len());
}

#[test]
fn commands_are_shown_by_name_and_strangers_by_number() {
    assert_eq!(
        Command::STMT_BULK_EXECUTE.to_string(),
        "COM_STMT_BULK_EXECUTE"
    );
    assert_eq!(Command(0x42).to_string(), "COM_ 0x42");
    assert_eq!(format!("{:?}", Command::PING), "COM_PING");
}
