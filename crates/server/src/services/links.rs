//! The links to other servers.

use std::sync::Arc;
use std::time::Duration;

use net::link::Connector;

use super::phase::{Phase, Shown};
use super::{Context, Encoder, Run, Service};
use crate::admin::metrics;
use crate::links;

/// How long other servers may be told that the server ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// See the module's description.
pub(super) struct LinkKeeper {
    connector: Connector,
}

impl LinkKeeper {
    /// `connector` makes the connections.
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector }
    }
}

impl Service for LinkKeeper {
    fn until(&self) -> Phase {
        Phase::Unlinked
    }

    fn metrics(&self, context: &Context) -> Option<Encoder> {
        let links = context.links.clone();
        Some(Box::new(move |page| metrics::links(&links, page)))
    }

    fn run(self: Box<Self>, context: &Arc<Context>, mut phase: Shown) -> Run {
        let node = &context.node;
        let links = links::Context {
            config: Arc::clone(&node.config),
            registry: Arc::clone(&node.registry),
            gate: Arc::clone(&node.gate),
            ingest: Arc::clone(&node.ingest),
            connector: self.connector,
            links: context.links.clone(),
        };
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let keeping = links::supervise(links, stopped);
        Box::pin(async move {
            let end = async {
                phase.reached(Phase::Unlinked).await;
                stop.send_replace(true);
                tokio::time::sleep(GOODBYE).await;
            };
            tokio::select! {
                () = keeping => {}
                () = end => tracing::debug!("some links are cut off"),
            }
        })
    }
}
