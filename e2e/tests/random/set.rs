//! SET statements of all kinds, in all spellings.

use e2e::Product;

use super::script::{Clock, Faults, Language, Script};

/// A session variable and values it may be given.
type Variable = (&'static str, &'static [&'static str]);

const EVERYWHERE: &[Variable] = &[
    (
        "sql_mode",
        &[
            "''",
            "'ANSI_QUOTES'",
            "'NO_BACKSLASH_ESCAPES'",
            "'ANSI'",
            "'TRADITIONAL'",
            "'PIPES_AS_CONCAT'",
            "'IGNORE_SPACE,NO_ZERO_DATE'",
            "'NO_AUTO_VALUE_ON_ZERO'",
            "STRICT_ALL_TABLES",
            "CONCAT(@@sql_mode, ',ANSI_QUOTES')",
            "'NONSENSE'",
        ],
    ),
    (
        "time_zone",
        &["'+00:00'", "'-11:30'", "'SYSTEM'", "'+05:45'", "'nowhere'"],
    ),
    (
        "group_concat_max_len",
        &["4", "1000000", "@@global.group_concat_max_len", "-1"],
    ),
    ("foreign_key_checks", &["0", "1", "OFF", "ON", "'off'", "2"]),
    ("unique_checks", &["0", "1"]),
    ("sql_safe_updates", &["0", "1", "TRUE"]),
    ("sql_select_limit", &["2", "1000", "18446744073709551615"]),
    ("wait_timeout", &["1000", "28800", "'soon'"]),
    ("net_read_timeout", &["31", "60"]),
    ("net_write_timeout", &["61", "90"]),
    ("lock_wait_timeout", &["100", "50"]),
    ("innodb_lock_wait_timeout", &["40", "41"]),
    ("auto_increment_increment", &["1", "3"]),
    ("auto_increment_offset", &["1", "2"]),
    ("lc_time_names", &["'de_DE'", "'en_US'", "'xx_XX'"]),
    ("lc_messages", &["'de_DE'", "'en_US'"]),
    ("default_week_format", &["0", "3"]),
    ("div_precision_increment", &["0", "7", "4"]),
    ("sort_buffer_size", &["65536", "1", "262144"]),
    ("max_heap_table_size", &["16384", "1000000"]),
    ("tmp_table_size", &["1024", "1000000"]),
    ("max_sort_length", &["8", "1024"]),
    ("max_error_count", &["0", "1", "64"]),
    ("sql_auto_is_null", &["0", "1"]),
    ("sql_notes", &["0", "1"]),
    ("sql_warnings", &["0", "1"]),
    ("sql_big_selects", &["1"]),
    ("sql_buffer_result", &["0", "1"]),
    ("big_tables", &["0", "1"]),
    ("low_priority_updates", &["0", "1"]),
    ("updatable_views_with_limit", &["'NO'", "'YES'", "1"]),
    (
        "optimizer_switch",
        &[
            "'index_merge=off'",
            "'mrr=on,mrr_cost_based=off'",
            "DEFAULT",
        ],
    ),
    ("default_storage_engine", &["'MEMORY'", "InnoDB"]),
    ("completion_type", &["0", "'CHAIN'", "1"]),
    (
        "character_set_results",
        &["NULL", "utf8mb4", "'latin1'", "binary"],
    ),
    (
        "character_set_client",
        &["utf8mb4", "latin1", "ucs2", "'cp932'"],
    ),
    ("character_set_connection", &["utf8mb4", "latin2", "ucs2"]),
    ("character_set_server", &["latin1", "utf8mb4"]),
    (
        "collation_connection",
        &[
            "utf8mb4_bin",
            "latin1_german1_ci",
            "'utf8mb4_unicode_ci'",
            "45",
        ],
    ),
    ("collation_server", &["utf8mb4_general_ci"]),
    ("character_set_filesystem", &["binary", "utf8mb4"]),
    ("insert_id", &["500", "0"]),
    ("last_insert_id", &["77", "0"]),
    ("long_query_time", &["1000", "10.5"]),
    ("min_examined_row_limit", &["0", "100"]),
    ("session_track_schema", &["OFF", "ON"]),
    ("session_track_state_change", &["OFF", "ON"]),
    (
        "session_track_transaction_info",
        &["'OFF'", "'STATE'", "'CHARACTERISTICS'"],
    ),
    (
        "session_track_system_variables",
        &["'time_zone,sql_mode'", "''", "DEFAULT", "'autocommit'"],
    ),
    ("max_join_size", &["18446744073709551615"]),
    ("net_buffer_length", &["16384"]),
    ("version", &["'1'"]),
    ("max_connections", &["100"]),
    ("no_such_variable", &["1"]),
    ("profiling", &["0"]),
    ("join_buffer_size", &["128", "262144"]),
    ("transaction_alloc_block_size", &["1024", "8192"]),
    ("myisam_sort_buffer_size", &["4096", "1000000"]),
];

const ON_MARIADB: &[Variable] = &[
    (
        "tx_isolation",
        &["'SERIALIZABLE'", "'READ-COMMITTED'", "DEFAULT"],
    ),
    ("tx_read_only", &["0"]),
    ("max_statement_time", &["0", "100.5"]),
    // In MySQL's errors about foreign keys, its effect depends on earlier statements of the connection.
    ("sql_quote_show_create", &["0", "1"]),
    ("old_mode", &["''", "'UTF8_IS_UTF8MB3'"]),
    ("sql_mode", &["'ORACLE'", "'EMPTY_STRING_IS_NULL'"]),
    ("check_constraint_checks", &["0", "1"]),
    ("idle_transaction_timeout", &["0", "1000"]),
    ("sql_if_exists", &["0", "1"]),
    ("system_versioning_asof", &["'2020-01-01'", "DEFAULT"]),
    ("column_compression_threshold", &["99"]),
    ("query_cache_type", &["OFF"]),
    ("sql_log_bin", &["0", "1"]),
    ("standard_compliant_cte", &["0", "1"]),
    ("default_regex_flags", &["'DOTALL'", "''"]),
    ("progress_report_time", &["5"]),
];

const ON_MYSQL: &[Variable] = &[
    (
        "transaction_isolation",
        &["'SERIALIZABLE'", "'READ-COMMITTED'", "DEFAULT"],
    ),
    ("transaction_read_only", &["0"]),
    ("max_execution_time", &["0", "100000"]),
    ("cte_max_recursion_depth", &["10", "1000"]),
    ("sql_generate_invisible_primary_key", &["0", "1"]),
    ("sql_require_primary_key", &["0", "1"]),
    (
        "default_collation_for_utf8mb4",
        &["utf8mb4_general_ci", "utf8mb4_0900_ai_ci"],
    ),
    ("block_encryption_mode", &["'aes-256-cbc'", "'aes-128-ecb'"]),
    ("windowing_use_high_precision", &["0", "1"]),
    ("information_schema_stats_expiry", &["0", "86400"]),
    ("show_create_table_verbosity", &["0", "1"]),
    ("explain_format", &["'TREE'", "'TRADITIONAL'"]),
    ("resultset_metadata", &["NONE", "FULL"]),
    ("session_track_gtids", &["OFF"]),
    ("print_identified_with_as_hex", &["0", "1"]),
    ("eq_range_index_dive_limit", &["5"]),
    (
        "collation_connection",
        &["utf8mb4_0900_ai_ci", "utf8mb4_zh_0900_as_cs"],
    ),
];

impl Script {
    fn variable(&mut self) -> Variable {
        let own = match self.product {
            Product::MySql => ON_MYSQL,
            _ => ON_MARIADB,
        };
        let at = self.dice.index(EVERYWHERE.len() + own.len());
        let variable = EVERYWHERE
            .get(at)
            .or_else(|| own.get(at - EVERYWHERE.len()));
        let (name, values) = *variable.expect("it is in one of both");
        let is_faulty = name.starts_with("session_track") || name == "lc_messages";
        if is_faulty && self.faults == Faults::LeftOut {
            return self.variable();
        }
        if name == "lc_messages" {
            self.language = Language::Other;
        }
        if name.contains("character_set") || name.contains("collation") {
            self.forget_prepared();
        }
        (name, values)
    }

    /// `name = value` in a random spelling.
    fn assignment(&mut self) -> String {
        let (name, values) = self.variable();
        let value = self.dice.pick(values).to_owned();
        let value = match self.dice.roll(14) {
            0 => "DEFAULT".to_owned(),
            1 => format!("@@global.{name}"),
            2 => format!("@@session.{name}"),
            3 if value != "DEFAULT" => format!("(SELECT {value})"),
            4 if value != "DEFAULT" => format!("/* so */({value})"),
            // A limit of one second is too short on a busy machine.
            5 if !name.contains("time") => "@kept".to_owned(),
            _ => value,
        };
        let name = match self.dice.roll(11) {
            0 => format!("SESSION {name}"),
            1 => format!("LOCAL {name}"),
            2 => format!("@@{name}"),
            3 => format!("@@session.{name}"),
            4 => format!("@@LOCAL.{}", name.to_uppercase()),
            5 => format!("`{name}`"),
            6 => format!("@@`{name}`"),
            7 => format!("session/**/`{name}`"),
            _ => name.to_owned(),
        };
        let sign = self.dice.pick(&["=", " = ", ":=", " := ", "\n=\t"]);
        format!("{name}{sign}{value}")
    }

    /// One or more assignments, of session and user variables.
    pub fn set_variables(&mut self) {
        let mut parts = vec![self.assignment()];
        while self.dice.once_in(4) {
            let part = match self.dice.roll(4) {
                0 => self.user_assignment(),
                1 => {
                    self.forget_prepared();
                    self.names()
                }
                _ => self.assignment(),
            };
            parts.push(part);
        }
        let list = parts.join(self.dice.pick(&[", ", ","]));
        let sql = match self.dice.roll(16) {
            0 => format!("/*!40101 SET {list} */"),
            1 => format!("-- a comment\nSET {list}"),
            2 => format!("/* a comment */ sEt {list};"),
            3 => format!("SET /*!50000 {list} */"),
            4 => format!("  SET\t{list} -- and so on"),
            // A prepared statement's setting that is the proxy's own cannot be told from it.
            5 if !list.to_ascii_lowercase().contains("session_track") => {
                format!("PREPARE setting FROM 'SET {}'", list.replace('\'', "''"))
            }
            6 => return self.statement_only(),
            _ => format!("SET {list}"),
        };
        let is_prepared = sql.starts_with("PREPARE");
        self.say(sql);
        if is_prepared {
            self.say("EXECUTE setting");
            self.say("DEALLOCATE PREPARE setting");
        }
    }

    /// Variables that are set for one statement.
    fn statement_only(&mut self) {
        match self.product {
            Product::MySql => self.say(
                "SELECT /*+ SET_VAR(group_concat_max_len = 4) SET_VAR(time_zone = '+02:00') */ \
                 GROUP_CONCAT(n), @@time_zone FROM a",
            ),
            _ => self.say(
                // With sql_mode among them, MariaDB's flag for it would not change.
                "SET STATEMENT group_concat_max_len = 4, div_precision_increment = 9 FOR \
                 SELECT GROUP_CONCAT(n), 1 / 7 FROM a",
            ),
        }
    }

    fn names(&mut self) -> String {
        let names: &[&str] = &[
            "NAMES utf8mb4",
            "NAMES 'latin1'",
            "NAMES DEFAULT",
            "NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
            "NAMES utf8mb3",
            "NAMES utf8",
            "NAMES binary",
            "NAMES cp932",
            "NAMES gbk",
            "NAMES 'latin1' COLLATE 'latin1_german2_ci'",
            "NAMES latin1 COLLATE utf8mb4_bin",
            "NAMES ucs2",
            "NAMES nonsense",
            "CHARACTER SET latin2",
            "CHARACTER SET DEFAULT",
            "CHARSET 'utf8mb4'",
            "CHARACTER SET nonsense",
        ];
        self.dice.pick(names).to_owned()
    }

    /// Sets character sets, and reads them.
    pub fn set_names(&mut self) {
        let names = self.names();
        self.forget_prepared();
        self.say(format!("SET {names}"));
        if self.dice.once_in(2) {
            self.say(
                "SELECT @@character_set_client, @@character_set_connection, \
                 @@character_set_results, @@collation_connection",
            );
        }
        if self.dice.once_in(4) {
            self.literals();
        }
        if self.dice.once_in(2) {
            self.say("SET NAMES utf8mb4");
        }
    }

    pub fn look_at_variables(&mut self) {
        let mut names = Vec::new();
        for _ in 0..=self.dice.roll(5) {
            let (name, _) = self.variable();
            let prefix = self
                .dice
                .pick(&["@@", "@@session.", "@@local.", "@@Session.`"]);
            let suffix = if prefix.ends_with('`') { "`" } else { "" };
            names.push(format!("{prefix}{name}{suffix}"));
        }
        match self.dice.roll(6) {
            0 => {
                let (name, _) = self.variable();
                self.say(format!("SHOW SESSION VARIABLES LIKE '{name}'"));
            }
            1 => self.say("SHOW VARIABLES WHERE Variable_name LIKE 'character\\_set\\_%'"),
            _ => self.say(format!("SELECT {}", names.join(", "))),
        }
    }

    /// RAND() with seeds, so that its values are not random.
    pub fn random_numbers(&mut self) {
        self.say("SET rand_seed1 = 10, rand_seed2 = 20");
        self.say("SELECT RAND(), RAND(3)");
        self.dice.once_in(2).then(|| self.say("SELECT RAND()"));
    }

    /// Sets `timestamp`, so that NOW() can be compared.
    pub fn stop_the_clock(&mut self) {
        match self.clock {
            Clock::Running => {
                self.say("SET timestamp = 1700000000.5");
                self.clock = Clock::Stopped;
            }
            Clock::Stopped => {
                self.say("SELECT NOW(), UNIX_TIMESTAMP(), @@timestamp, CURDATE()");
                if self.dice.once_in(2) {
                    self.say("SET timestamp = DEFAULT");
                    self.clock = Clock::Running;
                }
            }
        }
    }
}
