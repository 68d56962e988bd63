//! The login to a broker: SASL, in the first requests of a connection.

use config::{KafkaConfig, KafkaSasl, Secret};
use system::Entropy;
use zeroize::Zeroizing;

use crate::connection::Connection;
use crate::error::KafkaError;
use crate::protocol::sasl;
use crate::scram::{Scram, ScramHash};

/// How many characters of a broker's message are kept.
const MESSAGE_CHARACTERS_MAX: usize = 200;

/// A user, a password and a mechanism.
pub struct Login {
    mechanism: Mechanism,
    user: String,
    password: Secret,
    entropy: Entropy,
}

#[derive(Clone, Copy)]
enum Mechanism {
    Plain,
    Scram(ScramHash),
}

impl Mechanism {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram(ScramHash::Sha256) => "SCRAM-SHA-256",
            Self::Scram(ScramHash::Sha512) => "SCRAM-SHA-512",
        }
    }
}

impl Login {
    /// Returns the login of the settings; none if they have no mechanism.
    pub fn new(settings: &KafkaConfig, entropy: &Entropy) -> Option<Self> {
        let mechanism = match settings.sasl {
            KafkaSasl::None => return None,
            KafkaSasl::Plain => Mechanism::Plain,
            KafkaSasl::ScramSha256 => Mechanism::Scram(ScramHash::Sha256),
            KafkaSasl::ScramSha512 => Mechanism::Scram(ScramHash::Sha512),
        };
        Some(Self {
            mechanism,
            user: settings.user.clone().unwrap_or_default(),
            password: settings.password.clone().unwrap_or_else(|| Secret::new("")),
            entropy: entropy.clone(),
        })
    }

    /// Logs in.
    ///
    /// # Errors
    /// The broker does not support the mechanism, refuses the user, or does not prove that it knows the password.
    pub async fn run(&self, connection: &mut Connection) -> Result<(), KafkaError> {
        let mechanism = self.mechanism.name();
        let request = sasl::handshake(mechanism);
        let (_, answer) = connection.ask(sasl::HANDSHAKE, &[&request]).await?;
        let (code, has) = sasl::handshaken(&answer)?;
        if code != 0 {
            return Err(KafkaError::Mechanism { mechanism, has });
        }
        match self.mechanism {
            Mechanism::Plain => {
                let token = format!("\0{}\0{}", self.user, self.password.expose());
                let token = Zeroizing::new(token.into_bytes());
                authenticate(connection, &token).await.map(drop)
            }
            Mechanism::Scram(hash) => {
                let password = self.password.expose();
                let scram = Scram::new(hash, &self.user, password, &self.entropy)?;
                let answer = authenticate(connection, scram.first().as_bytes()).await?;
                let (last, expected) = scram.answer(&answer)?;
                let answer = authenticate(connection, last.as_bytes()).await?;
                Ok(expected.check(&answer)?)
            }
        }
    }
}

/// Sends a token. Returns the broker's token.
async fn authenticate(connection: &mut Connection, token: &[u8]) -> Result<Vec<u8>, KafkaError> {
    let request = Zeroizing::new(sasl::authenticate(token));
    let (_, answer) = connection.ask(sasl::AUTHENTICATE, &[&request]).await?;
    let answer = sasl::authenticated(&answer)?;
    if answer.code != 0 {
        let message = answer.message.unwrap_or("wrong user or password");
        let message = message.chars().take(MESSAGE_CHARACTERS_MAX).collect();
        return Err(KafkaError::Login(message));
    }
    Ok(answer.token.to_vec())
}
