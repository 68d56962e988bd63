//! `mysql.password`: the computations of mysql_native_password, over raw bytes. For an impossible length the
//! functions return an empty string or false, and raise no error.

use mlua::{Lua, Table};
use sha1::{Digest as _, Sha1};

use super::context::{ModuleContext, describe};
use crate::arguments::{Arguments, function};

const HASH_BYTES: usize = 20;

type Hash = [u8; HASH_BYTES];

pub(super) fn open(lua: &Lua, _: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    module.set(
        "hash",
        function(lua, "hash", |arguments| {
            let password = arguments.string(1)?;
            arguments.lua().create_string(sha1(&[&password.as_bytes()]))
        })?,
    )?;
    module.set(
        "scramble",
        function(lua, "scramble", |arguments| {
            let [challenge, hashed] = strings(arguments)?;
            let scrambled = scramble(&challenge, &hashed);
            arguments.lua().create_string(bytes(&scrambled))
        })?,
    )?;
    module.set(
        "unscramble",
        function(lua, "unscramble", |arguments| {
            let [challenge, response, double_hashed] = strings(arguments)?;
            let hashed = unscramble(&challenge, &response, &double_hashed);
            arguments.lua().create_string(bytes(&hashed))
        })?,
    )?;
    module.set(
        "check",
        function(lua, "check", |arguments| {
            let [challenge, response, double_hashed] = strings(arguments)?;
            Ok(check(&challenge, &response, &double_hashed))
        })?,
    )?;
    describe(&module, "MySQL's native passwords")?;
    lua.globals().set("password", &module)?;
    Ok(module)
}

fn strings<const N: usize>(arguments: &Arguments<'_>) -> mlua::Result<[Vec<u8>; N]> {
    let mut strings = [const { Vec::new() }; N];
    for (index, string) in strings.iter_mut().enumerate() {
        *string = arguments.string(index + 1)?.as_bytes().to_vec();
    }
    Ok(strings)
}

fn bytes(hash: &Option<Hash>) -> &[u8] {
    hash.as_ref().map_or(b"", |hash| hash)
}

/// `hashed` xor SHA1(`challenge` ‖ SHA1(`hashed`)); a challenge may end with its NUL.
fn scramble(challenge: &[u8], hashed: &[u8]) -> Option<Hash> {
    let hashed: &Hash = hashed.try_into().ok()?;
    Some(xor(*hashed, pad(challenge, &sha1(&[hashed]))?))
}

/// SHA1(password) from the answer to `challenge`, which has 20 bytes here.
fn unscramble(challenge: &[u8], response: &[u8], double_hashed: &[u8]) -> Option<Hash> {
    let challenge: &Hash = challenge.try_into().ok()?;
    let response: &Hash = response.try_into().ok()?;
    Some(xor(*response, pad(challenge, double_hashed)?))
}

fn check(challenge: &[u8], response: &[u8], double_hashed: &[u8]) -> bool {
    let challenge = challenge.get(..HASH_BYTES).unwrap_or_default();
    match unscramble(challenge, response, double_hashed) {
        Some(hashed) => sha1(&[&hashed]) == double_hashed,
        None => false,
    }
}

/// SHA1(`challenge` ‖ `double_hashed`)
fn pad(challenge: &[u8], double_hashed: &[u8]) -> Option<Hash> {
    let double_hashed: &Hash = double_hashed.try_into().ok()?;
    match challenge.len() {
        20 | 21 => Some(sha1(&[&challenge[..HASH_BYTES], double_hashed])),
        _ => None,
    }
}

fn xor(mut left: Hash, right: Hash) -> Hash {
    for (byte, pad) in left.iter_mut().zip(right) {
        *byte ^= pad;
    }
    left
}

fn sha1(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha1::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use auth::{Challenge, Channel, Credential, Password, Privacy};
    use wire::auth::MYSQL_NATIVE_PASSWORD;

    use super::*;

    #[test]
    fn mysql_password_gives_the_answers_of_logins() {
        let challenge = b"abcdefghijklmnopqrst";
        for password in [&b"x"[..], b"secret", &[0xff; 300]] {
            let credential = Credential::Password(Password::new(password.to_vec()));
            let asked = Challenge::switched(MYSQL_NATIVE_PASSWORD, challenge);
            let answer = asked.answer(&credential, Channel::keyless(Privacy::Open));
            let answer = answer.unwrap();
            let hashed = sha1(&[password]);
            let scrambled = scramble(challenge, &hashed).unwrap();
            assert_eq!(answer.as_slice(), scrambled);
            assert!(check(challenge, &answer, &sha1(&[&hashed])));
        }
    }
}
