//! A connection to a broker. It has one request in flight at a time.

use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Sleep, sleep, timeout};

use crate::error::KafkaError;
use crate::protocol::versions::Versions;
use crate::protocol::{Api, put_header, versions};
use crate::refusal::Refusal;

/// The time limit for an answer. The brokers themselves give up after 30 seconds if replicas do not acknowledge.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// The maximum length of an answer, in bytes. An answer contains the addresses of all brokers and the partitions of
/// one topic.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// The length of the correlation id at the start of each answer, in bytes.
const NUMBER_BYTES: usize = 4;

/// A byte stream, encrypted or not.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection to a broker. After an error it must not be used again.
pub struct Connection {
    address: String,
    stream: Box<dyn Stream>,
    versions: Versions,
    /// The correlation id of the last request.
    number: i32,
    /// The time before which the broker wants no request.
    free: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    /// Asks the broker which requests it supports.
    ///
    /// # Errors
    /// The broker does not answer.
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

    /// Sends the pieces of a request's body, and waits for the answer. Returns the request's version and the
    /// answer's body.
    ///
    /// # Errors
    /// The broker does not support the request, or sends no valid answer.
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

    /// Delays the next request by `time`, because the broker's quota asks for that.
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
