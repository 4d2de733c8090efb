//! Changes by the operator: removes and moves listeners, ends streams, and sets other fallbacks.

use std::time::Instant;

use fanout::ListenerId;
use http::StatusCode;
use media::StreamName;

use super::sheet::Outcome;
use super::{Answer, Ask, Refusal, mount};
use crate::listeners;
use crate::reply::Reply;

/// Reply page of Icecast.
const CONFIGURED: &str = "<html><head><title>Admin request successful</title></head>\
    <body><p>Fallback configured</p></body></html>\r\n";

impl Ask<'_> {
    /// Handles `/admin/killclient?mount=&id=`.
    pub(super) async fn kick(&self) -> Result<Outcome, Refusal> {
        let stream = self.stream()?;
        let text = self.parameter("id")?;
        // Icecast reads text that is no number as zero, which is no listener's id.
        let id = ListenerId(text.trim().parse().unwrap_or_default());
        let fanout = self.front.registry.fanout();
        let kicked = listeners::kick(fanout, id, Some(stream.name().clone()));
        let kicked = kicked.await.map_err(|_| Refusal::Failed)?;
        let id = id.0;
        Ok(match kicked {
            true => Outcome::new(format!("Client {id} removed"), true),
            false => Outcome::new(format!("Client {id} not found"), false),
        })
    }

    /// Handles `/admin/killsource?mount=`.
    pub(super) fn end(&self) -> Result<Outcome, Refusal> {
        let stream = self.stream()?;
        let name = stream.name();
        match self.front.registry.end(name, None, Instant::now()) {
            Ok(true) => {
                tracing::info!(stream = %name, "a stream is ended by the operator");
                Ok(Outcome::new("Source Removed", true))
            }
            Ok(false) => Err(Refusal::NoStream),
            // Nothing is blocked here.
            Err(_) => Err(Refusal::Failed),
        }
    }

    /// Handles `/admin/moveclients?mount=&destination=`: the listeners of one stream receive another from now on. Without a
    /// destination, lists the possible ones.
    pub(super) fn move_listeners(&self) -> Result<Answer, Refusal> {
        let stream = self.stream()?;
        // An id moves one listener, as in Icecast 2.5. Its form sends an empty one for all.
        if self.query.get("id").is_some_and(|id| !id.is_empty()) {
            return Err(Refusal::OneListener);
        }
        let Some(text) = self.query.get("destination") else {
            return Ok(Answer::Sheet(self.destinations(stream.name())));
        };
        let (front, name) = (self.front, stream.name());
        let to = StreamName::parse(&text).map_err(|_| Refusal::NoDestination)?;
        if to == *name {
            return Err(Refusal::SameMount);
        }
        let destination = front.registry.stream(&to).ok_or(Refusal::NoDestination)?;
        let (own, other) = (stream.info(), destination.info());
        if !other.is_on_air() {
            return Err(Refusal::DestinationAway);
        }
        // Qualities belong to the publisher of their stream.
        let streams = front.registry.list();
        let has_qualities = streams.iter().any(|one| one.name().is_rendition_of(name));
        if has_qualities || name.parent().is_some() {
            return Err(Refusal::Qualities);
        }
        if let Some(misfit) = programme::fallback::misfit(&own, &other) {
            tracing::warn!(stream = %name, destination = %to, reason = misfit, "listeners cannot be moved");
            return Err(Refusal::OtherFormat);
        }
        let config = &front.config;
        let fallback = |of: &StreamName| config.fallback(of);
        front.orders.move_to(name, to.clone(), fallback)?;
        tracing::info!(stream = %name, destination = %to, "the operator moves listeners");
        let words = format!("Clients moved from {} to {}", mount(name), mount(&to));
        Ok(Answer::Done(Outcome::new(words, true)))
    }

    /// Handles `/admin/fallbacks?mount=&fallback=`: sets the stream that listeners receive while the publisher is away, from
    /// now on. Replies with a page, as Icecast does.
    pub(super) fn fall_back(&self) -> Result<Answer, Refusal> {
        let stream = self.stream()?;
        let (front, name) = (self.front, stream.name());
        let text = self.parameter("fallback")?;
        let to = match text.as_str() {
            "" => None,
            text => Some(StreamName::parse(text).map_err(|_| Refusal::NoParameter)?),
        };
        if name.parent().is_some() {
            return Err(Refusal::Qualities);
        }
        let config = &front.config;
        let fallback = |of: &StreamName| config.fallback(of);
        front.orders.fall_back(name, to.clone(), fallback)?;
        let to = to.as_ref().map(tracing::field::display);
        tracing::info!(stream = %name, fallback = to, "the operator sets a fallback");
        let page = Reply::full(StatusCode::OK, "text/html; charset=utf-8", CONFIGURED);
        Ok(Answer::Whole(page))
    }
}
