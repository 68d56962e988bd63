//! The authentication of a client, for all kinds of login.

use std::sync::Arc;

use auth::{Certificate, Denial, Origin, OwnKey, Passed, Shown, TlsSession, Verdict};
use net::Endpoint;
use system::Entropy;
use wire::errors;

use link::dialogue::client_broke;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;

/// A failed authentication.
pub struct AuthenticationFailure {
    /// Why it failed.
    pub denial: Denial,
    /// The client's answers, for a second check.
    pub shown: Option<Shown>,
    /// Whether the client was asked anything after its answer to the greeting.
    pub was_asked: bool,
}

/// Runs an authentication from its first verdict to its last.
pub async fn examine<T>(
    own_key: &Arc<OwnKey>,
    client: &mut PacketStream<T>,
    mut verdict: Verdict,
) -> Result<Result<Passed, AuthenticationFailure>, Failure>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut was_asked = false;
    loop {
        verdict = match verdict {
            Verdict::Accepted(passed) => return Ok(Ok(passed)),
            Verdict::Denied(denial, shown) => {
                return Ok(Err(AuthenticationFailure {
                    denial,
                    shown,
                    was_asked,
                }));
            }
            Verdict::Send { payload, exam } => {
                was_asked = true;
                let sent = client.write(&payload).await;
                sent.map_err(|error| client_broke(error.into()))?;
                exam.receive(&client.read().await.map_err(client_broke)?)
            }
            Verdict::Work(work) => {
                let own_key = Arc::clone(own_key);
                let worked = tokio::task::spawn_blocking(move || work.run(&own_key)).await;
                worked.map_err(|error| {
                    Failure::saying(
                        FailureKind::KeyExchange,
                        errors::password_check_failed(error),
                    )
                })?
            }
        }
    }
}

/// Returns the facts of a TLS connection that the requirements of accounts are checked against.
pub fn tls_session(facts: &net::tls::Facts) -> TlsSession<'_> {
    let names = facts.issuer.as_deref().zip(facts.subject.as_deref());
    TlsSession {
        cipher: &facts.cipher,
        certificate: names.map(|(issuer, subject)| Certificate { issuer, subject }),
    }
}

/// Random bytes for a login.
pub fn random<const N: usize>(entropy: &Entropy) -> [u8; N] {
    let bytes = entropy.bytes();
    bytes.expect("the system has random bytes, or TLS would not work")
}

/// Returns the client's host as the requirements of accounts name it.
pub fn origin_of(remote: &Endpoint) -> Origin {
    match remote {
        Endpoint::Tcp(address) => Origin::tcp(address.ip(), None),
        Endpoint::Unix(_) => Origin::unix(),
    }
}
