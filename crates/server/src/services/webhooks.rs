//! Webhooks: their receivers by the configuration, and the task that delivers.

use std::sync::Arc;
use std::time::Duration;

use config::Config;
use fanout::events::{EventReader, Received};
use net::link::Connector;
use operator::metrics::table::{WEBHOOK_QUEUE, WEBHOOKS};
use outbound::webhooks::{Counts, Courier, Endpoint, OpenError, Settings};
use reports::hooks::Hooks;
use tokio::time::timeout;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Service that delivers events to webhooks until all have been sent.
pub(super) struct WebhookCourier {
    pub(super) front: Arc<FrontDoor>,
    pub(super) hooks: Hooks,
    pub(super) courier: Option<Courier>,
    /// Makes the connections.
    pub(super) connector: Connector,
}

/// Opens the queue, if there is a receiver; `seed` is random. The returned [`Hooks`] exist in any case.
///
/// # Errors
/// Returns an error if another process holds the queue.
pub(crate) fn open(config: &Config, seed: u64) -> Result<(Option<Courier>, Hooks), OpenError> {
    if config.hooks.is_empty() {
        return Ok((None, Hooks::default()));
    }
    let endpoints = config.hooks.iter().cloned().map(|rule| Endpoint {
        url: rule.url.clone(),
        keys: rule.keys.clone(),
        wants: Box::new(move |kind, stream| rule.wants(kind, stream)),
    });
    let settings = Settings {
        directory: config.webhooks.directory.as_deref(),
        endpoints: endpoints.collect(),
        seed,
    };
    let counts = Arc::new(Counts::default());
    let (courier, teller) = Courier::open(settings, Arc::clone(&counts))?;
    let hooks = Hooks {
        teller: Some(teller),
        counts,
    };
    Ok((Some(courier), hooks))
}

impl Service for WebhookCourier {
    fn until(&self) -> Phase {
        // By then, recordings are closed and the last listeners have left.
        Phase::Reported
    }

    fn metrics(&self) -> Option<Encoder> {
        let counts = Arc::clone(&self.hooks.counts);
        Some(Box::new(move |page| {
            page.counters(WEBHOOKS, counts.outcomes.values())?;
            page.gauge(WEBHOOK_QUEUE, counts.queued.value())
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let Some(courier) = self.courier else {
            return Box::pin(async {});
        };
        let (hooks, connector) = (self.hooks, self.connector);
        let mut events = self.front.registry.fanout().events().subscribe();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        Box::pin(async move {
            let streams = async {
                let following = async {
                    while let Some(received) = events.next().await {
                        tell(&hooks, &received);
                    }
                };
                tokio::select! {
                    () = following => {}
                    () = phase.reached(Phase::Reported) => {}
                }
                tell_rest(&hooks, &mut events).await;
                drop(stop);
            };
            let finish = async {
                stopped.await.ok();
            };
            tokio::join!(streams, courier.run(connector, finish));
        })
    }
}

/// Passes on the last events that streams have emitted.
async fn tell_rest(hooks: &Hooks, events: &mut EventReader) {
    while let Ok(Some(received)) = timeout(Duration::ZERO, events.next()).await {
        tell(hooks, &received);
    }
}

fn tell(hooks: &Hooks, received: &Received) {
    match received {
        Received::Event(event) => hooks.tell_of_stream(event),
        Received::Missed { count } => {
            tracing::warn!(
                ?count,
                "webhooks about streams may be missing: too many events at once"
            );
        }
    }
}
