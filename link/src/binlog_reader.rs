//! A session that reads a binary log (COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID) and may have to continue at
//! another server. It ends between two transactions, so that its client can continue there by GTID.

use binlog::DumpFollower;
use wire::Command;

/// A session that reads a binary log. `R` is the role of its backend when the dump began.
#[derive(Debug)]
pub struct BinlogReader<R> {
    follower: DumpFollower,
    role: R,
    /// Whether the session ends as soon as possible.
    leaves: bool,
    /// Whether no more bytes may pass.
    has_ended: bool,
}

impl<R: PartialEq> BinlogReader<R> {
    /// Begins with the reply to a command; `None` if the command is no dump.
    pub fn begin(command: Option<Command>, role: R) -> Option<Box<Self>> {
        let is_by_gtid = match command {
            Some(Command::BINLOG_DUMP) => false,
            Some(Command::BINLOG_DUMP_GTID) => true,
            _ => return None,
        };
        Some(Box::new(Self {
            follower: DumpFollower::new(is_by_gtid),
            role,
            leaves: false,
            has_ended: false,
        }))
    }

    /// Takes the backend's current role. If the role has changed, the session ends between two transactions.
    /// A client that began by file and position stays, because it could not continue at another server.
    pub fn note_role(&mut self, role: &R) {
        self.leaves = self.role != *role && self.follower.is_by_gtid();
        self.has_ended |= self.leaves && self.follower.is_between();
    }

    /// Takes bytes from the backend. Returns the bytes that pass to the client.
    pub fn take<'b>(&mut self, bytes: &'b mut [u8]) -> &'b mut [u8] {
        let passing = match (self.has_ended, self.leaves) {
            (true, _) => 0,
            (false, false) => {
                self.follower.take(bytes);
                return bytes;
            }
            (false, true) => match self.follower.take_until_between(bytes) {
                Some(passing) => {
                    self.has_ended = true;
                    passing
                }
                None => bytes.len(),
            },
        };
        bytes.get_mut(..passing).unwrap_or_default()
    }

    /// Whether the session ends as soon as the client has taken the bytes that have passed.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A packet with an event of a type; a QUERY is `BEGIN`.
    fn packet(event_type: u8, body: &[u8]) -> Vec<u8> {
        let length = (19 + body.len()) as u32;
        let mut event = vec![0, 7, 7, 7, 7, event_type, 1, 0, 0, 0];
        event.extend(length.to_le_bytes());
        event.extend([0; 6]);
        event.extend(body);
        let mut packet = (event.len() as u32).to_le_bytes();
        packet[3] = 1;
        [&packet[..], &event].concat()
    }

    /// FORMAT_DESCRIPTION, then GTID and XID of one transaction, in the way of MariaDB.
    fn stream() -> [Vec<u8>; 3] {
        let mut format = vec![4, 0];
        format.extend([b'x'; 50]);
        format.extend([0; 4]);
        format.push(19);
        format.extend([0; 171]);
        // No checksums, then the checksum bytes of the event itself.
        format.extend([0; 5]);
        [
            packet(15, &format),
            packet(162, &[0; 19]),
            packet(16, &[0; 8]),
        ]
    }

    #[test]
    fn a_reader_by_gtid_ends_between_two_transactions_when_its_backend_is_something_else() {
        let [format, gtid, xid] = stream();
        let mut reader = BinlogReader::begin(Some(Command::BINLOG_DUMP_GTID), 'r').unwrap();
        let mut bytes = [format, gtid.clone()].concat();
        assert_eq!(reader.take(&mut bytes.clone()).len(), bytes.len());
        reader.note_role(&'r');
        reader.note_role(&'p');
        assert!(!reader.has_ended());
        bytes = [xid.clone(), gtid].concat();
        assert_eq!(reader.take(&mut bytes).len(), xid.len());
        assert!(reader.has_ended());
        assert!(reader.take(&mut bytes).is_empty());
    }

    #[test]
    fn an_idle_reader_ends_at_once_unless_its_backend_is_unchanged() {
        let [format, _, _] = stream();
        let begin = || {
            let mut reader = BinlogReader::begin(Some(Command::BINLOG_DUMP_GTID), 1).unwrap();
            reader.take(&mut format.clone());
            reader
        };
        let (mut stays, mut ends) = (begin(), begin());
        stays.note_role(&1);
        ends.note_role(&2);
        assert_eq!((stays.has_ended(), ends.has_ended()), (false, true));
        // The backend is unchanged again before the next transaction has ended.
        let mut returns = begin();
        returns.take(&mut stream()[1].clone());
        returns.note_role(&2);
        returns.note_role(&1);
        let mut rest = stream()[2].clone();
        assert_eq!(returns.take(&mut rest).len(), rest.len());
        assert!(!returns.has_ended());
    }

    #[test]
    fn a_reader_by_file_and_position_stays_and_other_commands_are_no_readers() {
        let mut reader = BinlogReader::begin(Some(Command::BINLOG_DUMP), 1).unwrap();
        reader.take(&mut stream()[0].clone());
        reader.note_role(&2);
        assert!(!reader.has_ended());
        for command in [None, Some(Command::QUERY), Some(Command::REGISTER_SLAVE)] {
            assert!(BinlogReader::begin(command, 1).is_none());
        }
    }
}
