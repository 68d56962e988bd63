//! The address of `schema_history.webhook`: one POST request for each change.

use config::SchemaHistoryConfig;
use net::post::{self, Authorities, Destination};

use crate::store::UndeliveredChange;

/// How many bytes of an answer go into the log.
const ANSWER_BYTES_MAX: usize = 200;

/// Posts a change. The server must answer with a success status.
pub(super) async fn post(
    history: &SchemaHistoryConfig,
    change: &UndeliveredChange,
) -> Result<(), String> {
    let Some(target) = history.webhook_target() else {
        return Ok(());
    };
    let target = target.map_err(|text| format!("the address {text}"))?;
    let destination = Destination {
        host: &target.host,
        port: target.port,
        path: &target.path,
        tls: target
            .is_tls
            .then(|| Authorities::of(history.webhook_ca.as_deref())),
        headers: &[("content-type", "application/json")],
    };
    let body = change.json.clone().into_bytes();
    let answered = post::post(destination, body.into(), history.timeout_hook).await;
    // Log only host and port, because the path may be a secret.
    let place = format!("{}:{}", target.host, target.port);
    let answer = answered.map_err(|error| format!("{place}: {error}"))?;
    if answer.status.is_success() {
        return Ok(());
    }
    let body = answer.body.unwrap_or_default();
    let body = String::from_utf8_lossy(&body[..body.len().min(ANSWER_BYTES_MAX)]).into_owned();
    Err(format!(
        "{place} answers {}: {}",
        answer.status,
        body.trim()
    ))
}

#[cfg(test)]
mod tests {
    use config::Secret;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// The request that the webhook sends, and the result of its delivery if the server gives this answer.
    async fn asked(answer: &'static str) -> (String, Result<(), String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let history = SchemaHistoryConfig {
            webhook: Some(Secret::new(format!("http://127.0.0.1:{port}/hooks?key=k"))),
            ..SchemaHistoryConfig::default()
        };
        let change = UndeliveredChange {
            id: 1,
            json: "{\"id\":1}".to_owned(),
        };
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"{\"id\":1}") {
                stream.read_buf(&mut request).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request).unwrap()
        };
        tokio::join!(serve, post(&history, &change))
    }

    #[tokio::test]
    async fn a_change_is_posted_and_the_status_counts() {
        let (request, told) = asked("HTTP/1.1 204 No Content\r\n\r\n").await;
        assert_eq!(told, Ok(()));
        assert!(
            request.starts_with("POST /hooks?key=k HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("content-type: application/json\r\n"),
            "{request}"
        );
        let refusal = "HTTP/1.1 503 Busy\r\ncontent-length: 5\r\n\r\nlater";
        let (_, told) = asked(refusal).await;
        let fault = told.unwrap_err();
        assert!(fault.contains("503") && fault.contains("later"), "{fault}");
        assert!(!fault.contains("key=k"), "{fault}");
        let (_, told) = asked("").await;
        assert!(told.is_err());
    }
}
