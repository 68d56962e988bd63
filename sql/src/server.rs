//! The server that will read a statement.

/// The server that will read the statement. Versions are as in executable comments: 80036 for
/// 8.0.36, 101108 for 10.11.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Server {
    /// Unknown, or several different servers: behaviour of only one family counts as unsure.
    #[default]
    Unknown,
    /// MySQL of this version.
    MySql(u32),
    /// MariaDB of this version.
    MariaDb(u32),
}

/// How a server treats an executable comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Its content is part of the statement.
    Code,
    /// Code for some servers, a comment for others; read as code.
    Maybe,
    /// A comment.
    Comment,
}

impl Server {
    /// Returns how the server treats `/*!version …*/` (0: without a version) or, `for_mariadb`, `/*M!…*/`.
    ///
    /// MariaDB skips comments with versions 50700 to 99999, because they contain features of MySQL that it lacks.
    pub(crate) const fn gate(self, version: u32, for_mariadb: bool) -> Gate {
        let is_mysql_feature = matches!(version, 50_700..=99_999);
        match self {
            Self::MySql(_) if for_mariadb => Gate::Comment,
            Self::MySql(own) if version > own => Gate::Comment,
            Self::MySql(_) => Gate::Code,
            Self::MariaDb(own) if version > own => Gate::Comment,
            Self::MariaDb(_) if is_mysql_feature && !for_mariadb => Gate::Comment,
            Self::MariaDb(_) => Gate::Code,
            Self::Unknown if for_mariadb || version >= 50_700 => Gate::Maybe,
            Self::Unknown => Gate::Code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versioned_comments_are_code_for_the_same_servers() {
        let mysql = Server::MySql(80_036);
        let mariadb = Server::MariaDb(101_108);
        for (version, for_mariadb, unknown, of_mysql, of_mariadb) in [
            (0, false, Gate::Code, Gate::Code, Gate::Code),
            (40_101, false, Gate::Code, Gate::Code, Gate::Code),
            (50_700, false, Gate::Maybe, Gate::Code, Gate::Comment),
            (80_000, false, Gate::Maybe, Gate::Code, Gate::Comment),
            (80_100, false, Gate::Maybe, Gate::Comment, Gate::Comment),
            (100_100, false, Gate::Maybe, Gate::Comment, Gate::Code),
            (0, true, Gate::Maybe, Gate::Comment, Gate::Code),
            (50_701, true, Gate::Maybe, Gate::Comment, Gate::Code),
            (110_000, true, Gate::Maybe, Gate::Comment, Gate::Comment),
        ] {
            assert_eq!(
                Server::Unknown.gate(version, for_mariadb),
                unknown,
                "{version}"
            );
            assert_eq!(mysql.gate(version, for_mariadb), of_mysql, "{version}");
            assert_eq!(mariadb.gate(version, for_mariadb), of_mariadb, "{version}");
        }
    }
}
