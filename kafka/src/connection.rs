//! A connection to a broker: a request, its answer, the next request.

use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Sleep, sleep, timeout};

use crate::error::KafkaError;
use crate::protocol::versions::Versions;
use crate::protocol::{Api, put_header, versions};
use crate::refusal::Refusal;

/// How long an answer may take. The brokers themselves give up after 30 seconds if replicas do not acknowledge.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// A broker's answer is no longer: it has the addresses of all brokers and the partitions of one topic.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// The number of the request, which is in front of each answer.
const NUMBER_BYTES: usize = 4;

/// Bytes both ways, in clear or not.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection. After an error it is of no use any more.
pub struct Connection {
    address: String,
    stream: Box<dyn Stream>,
    versions: Versions,
    /// Of the last request.
    number: i32,
    /// The broker wants no request before.
    free: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    /// Asks the broker which requests it knows.
    ///
    /// # Errors
    /// The broker does not say it.
    pub async fn begin(address: &str, stream: Box<dyn Stream>) -> Result<Self, KafkaError> {
        let mut connection = Self {
            address: address.to_owned(),
            stream,
            versions: Versions::default(),
            number: 0,
            free: None,
        };
        let api = versions::API;
        let answer = connection.exchange(api, api.min, &[&[]]).await?;
        let (code, versions) = versions::answer(&answer)?;
        if code != 0 {
            return Err(Refusal::new(code, None).into());
        }
        connection.versions = versions;
        Ok(connection)
    }

    /// Sends the pieces of a request's body, and waits for the answer; its version and its body.
    ///
    /// # Errors
    /// The broker does not know the request, or nothing comes that is an answer.
    pub async fn ask(&mut self, api: Api, body: &[&[u8]]) -> Result<(i16, Vec<u8>), KafkaError> {
        let version = self
            .versions
            .newest(api)
            .ok_or_else(|| KafkaError::Version {
                address: self.address.clone(),
                api,
            })?;
        if let Some(free) = self.free.take() {
            free.await;
        }
        Ok((version, self.exchange(api, version, body).await?))
    }

    /// The broker wants no request for so long, because of a quota.
    pub fn hold(&mut self, time: Duration) {
        self.free = Some(Box::pin(sleep(time)));
    }

    async fn exchange(
        &mut self,
        api: Api,
        version: i16,
        body: &[&[u8]],
    ) -> Result<Vec<u8>, KafkaError> {
        self.number = self.number.wrapping_add(1);
        let mut head = vec![0; 4];
        put_header(&mut head, api, version, self.number);
        let length = head.len() - 4 + body.iter().map(|it| it.len()).sum::<usize>();
        let length = i32::try_from(length).map_err(|_| KafkaError::TooLong)?;
        head[..4].copy_from_slice(&length.to_be_bytes());
        let exchange = async {
            let lost = |error| KafkaError::Lost {
                address: self.address.clone(),
                error,
            };
            self.stream.write_all(&head).await.map_err(lost)?;
            for piece in body {
                self.stream.write_all(piece).await.map_err(lost)?;
            }
            self.stream.flush().await.map_err(lost)?;
            let length = self.stream.read_i32().await.map_err(lost)?;
            let bytes = usize::try_from(length).ok();
            let bytes = bytes.filter(|it| (NUMBER_BYTES..=ANSWER_BYTES_MAX).contains(it));
            let bytes = bytes.ok_or_else(|| KafkaError::Length {
                address: self.address.clone(),
                length,
            })?;
            let number = self.stream.read_i32().await.map_err(lost)?;
            if number != self.number {
                return Err(KafkaError::Order(self.address.clone()));
            }
            let mut answer = vec![0; bytes - NUMBER_BYTES];
            self.stream.read_exact(&mut answer).await.map_err(lost)?;
            Ok(answer)
        };
        match timeout(ANSWER_TIMEOUT, exchange).await {
            Ok(answered) => answered,
            Err(_) => Err(KafkaError::Silent {
                address: self.address.clone(),
                wait: ANSWER_TIMEOUT,
            }),
        }
    }
}
