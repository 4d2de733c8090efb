//! A request to publish, from its arrival to the decision of gate and registry.
//!
//! The connection's task waits for the decision; dropping the question withdraws it.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use ::rtmp::auth::Proof;
use ::rtmp::server::Request;
use fanout::gate::{self, Denied};
use media::StreamName;
use net::rtmp::RtmpConnection;

use super::words;
use crate::admission::{self, PublishedEpoch};
use crate::{Context, Error, Protocol};

/// Query parameter that carries the publish key.
const KEY_PARAMETER: &str = "key";

/// Outcome of a request to publish.
pub(super) type Answer = Result<PublishedEpoch, Refused>;

/// Reason why a request is refused.
pub(super) struct Refused {
    pub(super) error: Error,
    /// Requested stream, as far as it may be shown.
    pub(super) stream: Option<String>,
}

/// A pending request to publish, which is asked when it is first polled.
pub(super) type Question = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Prepares the question without asking it yet.
pub(super) fn question(
    context: &Arc<Context>,
    connection: &RtmpConnection<()>,
    request: Box<Request>,
) -> Question {
    let (context, peer) = (Arc::clone(context), connection.peer);
    let (agent, referer) = (connection.agent.clone(), connection.referer.clone());
    Box::pin(async move { decide(&context, peer, &agent, &referer, &request).await })
}

async fn decide(
    context: &Context,
    peer: SocketAddr,
    agent: &str,
    referer: &str,
    request: &Request,
) -> Answer {
    let path = &request.path;
    let stream = admission::name(&path.name, context.is_taken).map_err(|error| Refused {
        error,
        stream: None,
    })?;
    let key = path.parameter(KEY_PARAMETER);
    let user = path.user.as_ref();
    let proof = request.proof.as_ref().map(Proven);
    let asked = gate::Request {
        agent,
        referer,
        user: user.map(|(user, _)| user.as_str()),
        password: user.map(|(_, password)| password.as_str()),
        token: key.as_deref(),
        query: &path.query,
        proof: proof.as_ref().map(|proof| proof as &dyn gate::Proof),
        ..gate::Request::new(&stream, Protocol::Rtmp.label(), peer)
    };
    let source = admission::source(Protocol::Rtmp, Some(peer), agent);
    let admitted = admission::admit(context, &asked, Protocol::Rtmp, &source).await;
    admitted.map_err(|error| Refused {
        stream: Some(shown(context, &stream, &error)),
        error,
    })
}

/// Returns the name of a refused stream for display. If there was no key where the key belongs, the last
/// segment of the name may be the key.
fn shown(context: &Context, stream: &StreamName, error: &Error) -> String {
    let is_missing = matches!(error, Error::Denied(Denied::Missing));
    let is_known = context.registry.stream(stream).is_some();
    match is_missing && !is_known {
        true => words::without_key(stream),
        false => stream.to_string(),
    }
}

/// A reply to a challenge, in the form that the gate checks.
struct Proven<'a>(&'a Proof);

impl gate::Proof for Proven<'_> {
    fn verifies(&self, secret: &str) -> bool {
        self.0.verifies(secret)
    }
}
