//! The errors that the proxy itself sends to clients, each with its number, its text, and its entry in the manual.
//! `xtask errors` writes the manual's list of errors from these definitions. Errors of servers pass unchanged and
//! are not here. Errors of the admin port are not here either.

mod connecting;
mod definition;
mod ending;
mod killing;
mod scripts;
mod statements;

pub use connecting::*;
pub use definition::{Definition, ProxyError};
pub use ending::*;
pub use killing::*;
pub use scripts::*;
pub use statements::*;

/// All errors, sorted by their numbers.
pub fn all() -> Vec<Definition> {
    let mut all = [
        connecting::ALL,
        ending::ALL,
        statements::ALL,
        killing::ALL,
        scripts::ALL,
    ]
    .concat();
    all.sort_by_key(|it| it.code.number);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_arguments_in_its_text() {
        let error = lost_during("db1", "COM_QUERY", "it closed the connection");
        assert_eq!(
            error.text,
            "Lost connection to backend db1 during COM_QUERY: it closed the connection"
        );
        assert_eq!(interrupted().payload()[..9], *b"\xff\x25\x05#70100");
    }

    #[test]
    fn texts_leave_room_for_their_arguments_in_the_512_bytes_of_a_message() {
        for Definition { code, text, .. } in all() {
            assert!(text.len() < 300, "{} {text}", code.number);
        }
    }

    #[test]
    fn numbers_of_client_libraries_are_sent_to_clients_of_an_old_protocol_only() {
        let of_libraries = |it: &Definition| (2000..3000).contains(&it.code.number);
        let found: Vec<_> = all().into_iter().filter(of_libraries).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, old_protocol().text);
    }

    #[test]
    fn no_two_errors_have_the_same_text() {
        let mut texts: Vec<_> = all().iter().map(|it| it.text).collect();
        texts.sort_unstable();
        let count = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), count);
    }
}
