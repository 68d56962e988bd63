//! The two families of servers, as far as they differ in what they say of themselves.

use sql::Server as Dialect;

/// Which server the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// MariaDB 10.11.
    MariaDb,
    /// MySQL 9.7.
    MySql,
}

impl Family {
    /// `@@version`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::MariaDb => "10.11.19-MariaDB-log",
            Self::MySql => "9.7.0",
        }
    }

    /// What the greeting says: MariaDB puts a number in front that old replicas of MySQL understand.
    pub const fn greeted_version(self) -> &'static str {
        match self {
            Self::MariaDb => "5.5.5-10.11.19-MariaDB-log",
            Self::MySql => "9.7.0",
        }
    }

    /// The name in texts of errors.
    pub const fn product(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// Whether it is MariaDB.
    pub const fn is_mariadb(self) -> bool {
        matches!(self, Self::MariaDb)
    }

    /// How its statements are read.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::MariaDb => Dialect::MariaDb(101_119),
            Self::MySql => Dialect::MySql(90_700),
        }
    }

    /// The collation that a character set has by itself.
    pub fn collation_of(self, charset: &str) -> String {
        let name = match (self, charset) {
            (_, "latin1") => "latin1_swedish_ci",
            (_, "binary") => "binary",
            (Self::MySql, "utf8mb4") => "utf8mb4_0900_ai_ci",
            (_, other) => return format!("{other}_general_ci"),
        };
        name.to_owned()
    }

    /// A character set and its collation by the collation's id; none if the family has no such collation.
    pub fn charset_of_id(self, id: u16) -> Option<(&'static str, &'static str)> {
        Some(match (self, id) {
            (_, 45) => ("utf8mb4", "utf8mb4_general_ci"),
            (_, 46) => ("utf8mb4", "utf8mb4_bin"),
            (_, 224) => ("utf8mb4", "utf8mb4_unicode_ci"),
            (Self::MySql, 255) => ("utf8mb4", "utf8mb4_0900_ai_ci"),
            (_, 33) => ("utf8mb3", "utf8mb3_general_ci"),
            (_, 8) => ("latin1", "latin1_swedish_ci"),
            (_, 63) => ("binary", "binary"),
            _ => return None,
        })
    }

    /// The id of that collation for utf8mb4.
    pub const fn collation_id(self) -> u16 {
        match self {
            Self::MariaDb => 45,
            Self::MySql => 255,
        }
    }
}
