//! Administration of the server: FLUSH, RESET, maintenance of tables, replication, plugins.

use crate::classify::QueryPosition;
use crate::doubts::Doubts;
use crate::facts::{Access, Effects, Role};
use crate::kind::{Flush, StatementKind};
use crate::lexer::TokenKind;
use crate::scan::{Scan, Watcher};
use crate::server::Server;
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// Reads a statement of administration by its first word.
    pub fn administration(&mut self) {
        match self.here.word {
            Word::Flush => self.flush(),
            Word::Reset => self.reset(),
            Word::Analyze | Word::Check | Word::Optimize | Word::Repair => self.maintain(),
            Word::Checksum => self.checksum(),
            Word::Backup => self.backup(),
            Word::Help => self.help(),
            Word::Purge => self.purge(),
            Word::Change | Word::Stop => self.replication(),
            Word::Binlog => self.binlog(),
            Word::Install | Word::Uninstall => self.writes_and_commits(StatementKind::Install),
            Word::Shutdown | Word::Restart => self.server_only(StatementKind::Shutdown),
            Word::Clone => {
                self.facts.doubts.add(Doubts::UNNAMED);
                self.writes_and_commits(StatementKind::Clone);
            }
            Word::Cache => self.cache_index(),
            Word::Import => {
                self.facts.doubts.add(Doubts::UNNAMED);
                self.writes_and_commits(StatementKind::Import);
            }
            _ => self.not_understood(),
        }
    }

    /// Notes a statement that concerns one server and does not change the session.
    fn server_only(&mut self, kind: StatementKind) {
        self.facts.kind = kind;
        self.facts.at_least(Access::Write);
        self.skip_rest();
    }

    /// START, STOP, CHANGE of replication: MySQL ends the transaction.
    pub fn replication(&mut self) {
        if !self.is_mariadb() {
            self.commits();
        }
        self.server_only(StatementKind::Replication);
    }

    /// CACHE INDEX, LOAD INDEX INTO CACHE: MySQL ends the transaction.
    pub fn cache_index(&mut self) {
        if !self.is_mariadb() {
            self.commits();
        }
        self.skip_words(&[Word::Cache, Word::Index, Word::Into]);
        while self.is_table_name() {
            self.mention_name(Role::TableRead);
            self.skip_to_comma();
        }
        self.server_only(StatementKind::CacheIndex);
    }

    fn is_mariadb(&self) -> bool {
        matches!(self.server, Server::MariaDb(_))
    }

    /// PURGE BINARY LOGS TO '…', PURGE BINARY LOGS BEFORE expression
    fn purge(&mut self) {
        self.facts.kind = StatementKind::Purge;
        self.facts.at_least(Access::Write);
        self.body(&mut QueryPosition::of_query());
    }

    /// FLUSH …
    fn flush(&mut self) {
        self.advance();
        self.skip_words(&[Word::Local, Word::NoWriteToBinlog]);
        self.facts.at_least(Access::Write);
        self.commits();
        self.facts.kind = StatementKind::Flush(Flush::Other);
        if matches!(self.here.word, Word::Table | Word::Tables) {
            self.advance();
            self.flush_tables();
        }
        self.skip_rest();
    }

    /// FLUSH TABLES [t, …] [WITH READ LOCK | FOR EXPORT]
    fn flush_tables(&mut self) {
        let first = self.facts.mentions.len();
        while self.is_table_name() && !matches!(self.here.word, Word::With | Word::For) {
            self.mention_name(Role::TableRead);
            if !self.take_kind(TokenKind::Comma) {
                break;
            }
        }
        let is_of_some = self.facts.mentions.len() > first;
        let locks = match (self.here.word, self.ahead.word) {
            (Word::With, Word::Read) => self.tokens_ahead().any(|token| token.word == Word::Lock),
            (Word::For, Word::Export) => true,
            _ => false,
        };
        if locks && is_of_some {
            self.facts.kind = StatementKind::Flush(Flush::TableLocks);
            self.facts.effects.add(Effects::TABLES_LOCKED);
        } else if locks {
            self.facts.kind = StatementKind::Flush(Flush::ReadLock);
            self.facts.effects.add(Effects::GLOBAL_LOCKED);
        }
    }

    /// RESET MASTER, RESET REPLICA …; RESET PERSIST
    fn reset(&mut self) {
        if self.ahead.word == Word::Persist {
            self.facts.effects.add(Effects::GLOBAL_VARIABLES);
        } else {
            self.commits();
        }
        self.server_only(StatementKind::Reset);
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE t, u
    fn maintain(&mut self) {
        self.advance();
        self.skip_words(&[Word::Local, Word::NoWriteToBinlog]);
        self.facts.kind = StatementKind::Maintain;
        self.facts.at_least(Access::Write);
        self.commits();
        if matches!(self.here.word, Word::Table | Word::Tables | Word::View) {
            self.advance();
            self.listed_tables(Role::TableWritten);
            while self.is_persistent() {
                self.skip_to_comma();
                self.listed_tables(Role::TableWritten);
            }
        }
        self.skip_rest();
    }

    /// ANALYZE TABLE t PERSISTENT FOR COLUMNS (a) INDEXES (b), u
    fn is_persistent(&self) -> bool {
        let name = self.here.span.of(self.text);
        self.here.kind == TokenKind::Word && name.eq_ignore_ascii_case(b"persistent")
    }

    /// Passes the next comma outside parentheses, or goes to the end of the statement.
    fn skip_to_comma(&mut self) {
        while !self.is_at_end() && !self.take_kind(TokenKind::Comma) {
            match self.here.kind {
                TokenKind::Open => self.skip_parentheses(),
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// CHECKSUM TABLE t, u
    fn checksum(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Checksum;
        self.facts.at_least(Access::Read);
        if matches!(self.here.word, Word::Table | Word::Tables) {
            self.advance();
            self.listed_tables(Role::TableRead);
        }
        self.skip_rest();
    }

    /// t, s.u, v
    pub fn listed_tables(&mut self, role: Role) {
        while self.is_table_name() {
            self.mention_name(role);
            if !self.take_kind(TokenKind::Comma) {
                return;
            }
        }
    }

    /// BINLOG '…': an event of a binary log, executed.
    fn binlog(&mut self) {
        self.facts.doubts.add(Doubts::UNNAMED);
        self.facts.effects.add(Effects::ANYTHING);
        self.server_only(StatementKind::Binlog);
    }

    fn help(&mut self) {
        self.facts.kind = StatementKind::Help;
        self.facts.at_least(Access::Read);
        self.skip_rest();
    }

    /// BACKUP STAGE START …, BACKUP STAGE END, BACKUP LOCK t, BACKUP UNLOCK (MariaDB)
    fn backup(&mut self) {
        self.advance();
        self.facts.kind = StatementKind::Backup;
        self.facts.at_least(Access::Write);
        let releases = match self.here.word {
            Word::Stage => self.ahead.word == Word::End,
            word => word == Word::Unlock,
        };
        self.facts.effects.add(if releases {
            Effects::INSTANCE_UNLOCKED
        } else {
            Effects::INSTANCE_LOCKED | Effects::TRANSACTION_ENDED
        });
        if self.take_word(Word::Lock) {
            self.mention_name(Role::TableRead);
        }
        self.skip_rest();
    }
}
