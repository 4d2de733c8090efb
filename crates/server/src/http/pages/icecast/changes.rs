//! What the operator changes: listeners are removed, streams are ended.

use std::time::Instant;

use fanout::ListenerId;

use super::told::Outcome;
use super::{Ask, Refusal};
use crate::listeners;

impl Ask<'_> {
    /// `/admin/killclient?mount=&id=`.
    pub(super) async fn kick(&self) -> Result<Outcome, Refusal> {
        let stream = self.stream()?;
        let text = self.parameter("id")?;
        // Icecast reads what is no number as zero, which is nobody's.
        let id = ListenerId(text.trim().parse().unwrap_or_default());
        let fanout = self.node.registry.fanout();
        let kicked = listeners::kick(fanout, id, Some(stream.name().clone()));
        let kicked = kicked.await.map_err(|_| Refusal::Failed)?;
        let id = id.0;
        Ok(match kicked {
            true => Outcome::new(format!("Client {id} removed"), true),
            false => Outcome::new(format!("Client {id} not found"), false),
        })
    }

    /// `/admin/killsource?mount=`.
    pub(super) fn end(&self) -> Result<Outcome, Refusal> {
        let stream = self.stream()?;
        let name = stream.name();
        match self.node.registry.end(name, None, Instant::now()) {
            Ok(true) => {
                tracing::info!(stream = %name, "a stream is ended by the operator");
                Ok(Outcome::new("Source Removed", true))
            }
            Ok(false) => Err(Refusal::NoStream),
            // Nothing is blocked here.
            Err(_) => Err(Refusal::Failed),
        }
    }

    /// `/admin/moveclients?mount=&destination=`: a listener's connection is bound to the bytes of its stream.
    pub(super) fn move_listeners(&self) -> Refusal {
        match self.stream() {
            Ok(_) => Refusal::NoMoves,
            Err(refusal) => refusal,
        }
    }

    /// `/admin/fallbacks?mount=&fallback=`: a stream keeps its listeners for the next publisher instead.
    pub(super) fn fall_back(&self) -> Refusal {
        match self.stream() {
            Ok(_) => Refusal::NoFallbacks,
            Err(refusal) => refusal,
        }
    }
}
