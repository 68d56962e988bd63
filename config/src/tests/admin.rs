//! The admin port and its users.

use super::{File, load, with_backend};
use crate::*;

fn faults(text: &str) -> Vec<String> {
    File::new(&with_backend(text)).faults()
}

#[test]
fn all_users_of_the_admin_port_are_listed_together() {
    let config = load(
        "[admin]\nusername = \"root\"\npassword = \"a\"\n\
         [[admin_account]]\nuser = \"look\"\npassword = \"b\"\n\
         [[admin_account]]\nuser = \"second\"\npassword = \"c\"\nrole = \"admin\"",
    );
    let admins = config.admins();
    let told: Vec<_> = admins.iter().map(|it| (&*it.user, it.role)).collect();
    let expected = [
        ("root", AdminRole::Admin),
        ("look", AdminRole::Stats),
        ("second", AdminRole::Admin),
    ];
    assert_eq!(told, expected);
    assert_eq!(admins[2].password, Some(Secret::new("c")));
    assert_eq!(load("").admins(), []);
    assert_eq!(load("").admin.address, ["127.0.0.1:4041".parse().unwrap()]);
}

#[test]
fn a_user_of_the_admin_port_needs_a_name_and_a_password() {
    for (text, expected) in [
        (
            "[admin]\nusername = \"root\"",
            "pilotfish.toml:2:12: admin.username: needs a password; hint: admin.password",
        ),
        (
            "[admin]\npassword = \"a\"",
            "pilotfish.toml:2:12: admin.password: is of no use without admin.username",
        ),
        (
            "[[admin_account]]\nuser = \"look\"\npassword = \"\"",
            "pilotfish.toml:3:12: admin_account.password: must not be empty",
        ),
        (
            "[admin]\nusername = \"a\"\npassword = \"a\"\n[[admin_account]]\nuser = \"a\"\npassword = \"b\"",
            "pilotfish.toml:5:8: admin_account.user: a is given twice",
        ),
    ] {
        assert_eq!(faults(text), [expected], "{text}");
    }
    let nothing = faults("[[admin_account]]\nrole = \"stats\"");
    assert!(nothing[0].contains("admin_account"), "{nothing:?}");
}
