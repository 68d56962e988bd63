//! A model of a MySQL or MariaDB server, exact in what a proxy depends on.
