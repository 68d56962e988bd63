//! How servers name a client's host in errors: by its name, or by its address.

use std::net::IpAddr;

use auth::Names;
use net::proxy_protocol;
use wire::ErrPacket;

use crate::connect::connect;
use crate::destination::Destination;
use crate::known_host_names::configured;
use crate::login_env::LoginEnv;
use backend::greeting::dialect_of;
use backend::settings::Settings;
use link::decline::refusal;

/// Whether the servers name their clients' hosts by names. The proxy tries a login that a backend
/// refuses: the refusal names the proxy's own host. If that does not answer the question, the
/// server's setting comes with the learned accounts.
pub async fn host_names(env: &LoginEnv, settings: &Settings, destination: &Destination) -> Names {
    let own = &env.host_names;
    let _asking = own.ask().await;
    if let Some(names) = own.answer() {
        return names;
    }
    let told = ask(env, settings, destination).await;
    let names = told.unwrap_or_else(|| configured(&env.accounts.borrow()));
    own.note(names);
    names
}

async fn ask(env: &LoginEnv, settings: &Settings, destination: &Destination) -> Option<Names> {
    let header = proxy_protocol::Header::Own;
    let greeted = connect(env, &settings.config, &header, destination).await;
    let greeted = greeted.ok()?;
    let family = dialect_of(&greeted.greeting);
    names_in(&refusal(greeted.stream, family).await?)
}

/// Reads the host from a refusal, which ends with `'user'@'host' (using password: NO)`. An address
/// other than the loopback's may belong to a host without a name.
fn names_in(payload: &[u8]) -> Option<Names> {
    let err = ErrPacket::decode(payload).ok()?;
    let text = String::from_utf8_lossy(err.text);
    let (_, rest) = text.rsplit_once("@'")?;
    let (host, _) = rest.split_once('\'')?;
    match host.parse::<IpAddr>() {
        Err(_) => Some(Names::Resolved),
        Ok(address) => address.is_loopback().then_some(Names::Skipped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_whether_hosts_have_names() {
        let names = |text: &str| {
            let mut payload = Vec::new();
            ErrPacket {
                number: 1045,
                sqlstate: Some(*b"28000"),
                text: text.as_bytes(),
            }
            .encode(&mut payload);
            names_in(&payload)
        };
        let refused = |host: &str| {
            names(&format!(
                "Access denied for user 'some one'@'{host}' (using password: NO)"
            ))
        };
        assert_eq!(refused("localhost"), Some(Names::Resolved));
        assert_eq!(refused("web.example"), Some(Names::Resolved));
        assert_eq!(refused("127.0.0.1"), Some(Names::Skipped));
        assert_eq!(refused("::1"), Some(Names::Skipped));
        assert_eq!(refused("fd00::1"), None);
        assert_eq!(names("Client does not support this"), None);
        assert_eq!(names_in(b""), None);
    }
}
