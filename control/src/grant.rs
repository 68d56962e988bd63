//! The statement that gives an account a privilege which it lacks, for the log and the admin tables.

/// `GRANT what TO user`; the user is what `CURRENT_USER()` says.
pub(crate) fn grant(what: &str, user: &str) -> String {
    let (user, host) = user.rsplit_once('@').unwrap_or((user, "%"));
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    format!("GRANT {what} TO {}@{}", quoted(user), quoted(host))
}
