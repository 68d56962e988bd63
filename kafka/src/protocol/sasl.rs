//! SaslHandshake and SaslAuthenticate: the bytes of a login.

use super::{AnswerError, Api, Input, put_text};

/// Tells the broker which mechanism the client uses.
pub const HANDSHAKE: Api = Api {
    name: "SaslHandshake",
    key: 17,
    min: 1,
    max: 1,
};

/// Carries a token of the mechanism.
pub const AUTHENTICATE: Api = Api {
    name: "SaslAuthenticate",
    key: 36,
    min: 0,
    max: 0,
};

/// How many mechanisms of an answer are kept, for the error message.
const MECHANISMS_MAX: usize = 16;

/// Returns the request that names a mechanism.
pub fn handshake(mechanism: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, mechanism);
    out
}

/// Decodes an answer: the error code, and the mechanisms that the broker supports.
///
/// # Errors
/// The bytes are not a valid answer.
pub fn handshaken(bytes: &[u8]) -> Result<(i16, Vec<String>), AnswerError> {
    let mut input = Input(bytes);
    let code = input.i16("error code")?;
    let mut mechanisms = Vec::new();
    input.each("mechanisms", |input| {
        let mechanism = input.text("mechanism")?;
        if mechanisms.len() < MECHANISMS_MAX {
            mechanisms.push(mechanism.to_owned());
        }
        Ok(())
    })?;
    Ok((code, mechanisms))
}

/// Returns the request with a token. Tokens are short: a user, a password, a nonce.
pub fn authenticate(token: &[u8]) -> Vec<u8> {
    let length = i32::try_from(token.len()).unwrap_or(i32::MAX);
    let mut out = length.to_be_bytes().to_vec();
    out.extend(token);
    out
}

/// The answer to a token.
#[derive(Debug)]
pub struct Authenticated<'a> {
    pub code: i16,
    /// The broker's message, if the answer has one.
    pub message: Option<&'a str>,
    pub token: &'a [u8],
}

/// # Errors
/// The bytes are not a valid answer.
pub fn authenticated(bytes: &[u8]) -> Result<Authenticated<'_>, AnswerError> {
    let mut input = Input(bytes);
    let code = input.i16("error code")?;
    let message = input.optional_text("error")?;
    let length = input.i32("token")?;
    let length = usize::try_from(length).map_err(|_| AnswerError::Length("token"))?;
    let token = input.bytes(length, "token")?;
    Ok(Authenticated {
        code,
        message,
        token,
    })
}
