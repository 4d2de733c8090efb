//! One delivery attempt: posts a message to a receiver.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use net::http_client::ExchangeError;
use net::link::Connector;
use net::url::Url;
use tokio::time::timeout;

use crate::webhooks::key::SigningKey;
use crate::webhooks::queue::{Answer, Delivery};

/// Longest time from the lookup of the receiver's name to the head of its response, as the specification recommends (15 to 30
/// s).
const TIMEOUT: Duration = Duration::from_secs(20);

/// Statuses with which a receiver refuses one message, and may accept the next. Any other error may be the receiver's own: it
/// restarts, is overloaded, or its proxy cannot reach it.
const REFUSALS: [StatusCode; 5] = [
    StatusCode::BAD_REQUEST,
    StatusCode::CONFLICT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// Receiver: its URL, and the keys, at least one of which it knows.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) url: Url,
    pub(crate) keys: Vec<SigningKey>,
}

/// Reason why a receiver has not accepted a message.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error("its address cannot be asked for: {0}")]
    Request(#[from] http::Error),
    #[error("it answers {0}")]
    Status(StatusCode),
    #[error("it has not answered for {} seconds", TIMEOUT.as_secs())]
    Timeout,
}

/// Posts a delivery and returns the result.
pub(crate) async fn post(
    connector: &Connector,
    receiver: &Receiver,
    delivery: &Delivery,
) -> Answer {
    let asked = timeout(TIMEOUT, ask(connector, receiver, delivery)).await;
    let (failure, retry_after) = match asked {
        Ok(Ok((status, _))) if status.is_success() => return Answer::Taken,
        Ok(Ok((StatusCode::GONE, _))) => {
            let url = &receiver.url;
            tracing::error!(%url, "a receiver of webhooks wants no more (410); it is asked again after the next start");
            return Answer::Gone;
        }
        Ok(Ok((status, retry_after))) => (Failure::Status(status), retry_after),
        Ok(Err(failure)) => (failure, None),
        Err(_) => (Failure::Timeout, None),
    };
    let (id, kind, url) = (&delivery.id, &delivery.kind, &receiver.url);
    tracing::warn!(%id, %kind, %url, %failure, attempt = delivery.attempts + 1, "a webhook is not delivered");
    match failure {
        Failure::Status(status) if REFUSALS.contains(&status) => Answer::Refused,
        _ => Answer::Failed { retry_after },
    }
}

async fn ask(
    connector: &Connector,
    receiver: &Receiver,
    delivery: &Delivery,
) -> Result<(StatusCode, Option<Duration>), Failure> {
    let url = &receiver.url;
    let request = request(receiver, delivery, SystemTime::now())?;
    // The body of the response is ignored.
    let (answer, _) = net::http_client::exchange(connector, url, request, None).await?;
    let seconds = answer.headers.get(header::RETRY_AFTER);
    let seconds = seconds.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    Ok((answer.status, seconds.map(Duration::from_secs)))
}

fn request(
    receiver: &Receiver,
    delivery: &Delivery,
    now: SystemTime,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let Receiver { url, keys } = receiver;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let signatures = keys.iter();
    let signatures = signatures.map(|key| key.sign(&delivery.id, seconds, &delivery.body));
    let request = net::http_client::request(Method::POST, url)
        .header(header::CONTENT_TYPE, "application/json")
        .header("webhook-id", &*delivery.id)
        .header("webhook-timestamp", seconds)
        .header(
            "webhook-signature",
            signatures.collect::<Vec<_>>().join(" "),
        );
    request.body(Full::new(delivery.body.clone()))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::webhooks::queue::tests::delivery;

    #[test]
    fn a_request_has_what_the_specification_names() {
        let key = |byte| format!("whsec_{}", STANDARD.encode([byte; 24]));
        let keys = [key(1), key(2)];
        let receiver = Receiver {
            url: "https://u:p@[::1]:99/hook?x=1".parse().expect("a URL"),
            keys: keys.iter().map(|key| key.parse().expect("a key")).collect(),
        };
        let mut delivery = delivery(0, "live/show", 0);
        delivery.id = "msg_7".into();
        let now = UNIX_EPOCH + Duration::from_millis(1_800_000_000_999);
        let request = request(&receiver, &delivery, now).expect("a request");
        assert_eq!(request.uri(), "/hook?x=1");
        let head = |name: &str| request.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(head("host"), "[::1]:99");
        assert_eq!(head("authorization"), "Basic dTpw");
        assert_eq!(head("webhook-id"), "msg_7");
        assert_eq!(head("webhook-timestamp"), "1800000000");
        let signed = receiver.keys.iter();
        let signed = signed.map(|key| key.sign("msg_7", 1_800_000_000, b"{}"));
        let signed: Vec<_> = signed.collect();
        assert_eq!(head("webhook-signature"), signed.join(" "));
        assert!(signed[0] != signed[1] && signed[1].starts_with("v1,"));
    }
}
