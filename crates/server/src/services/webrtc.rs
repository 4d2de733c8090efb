//! The WebRTC port. Its threads are the node's, because sessions begin over HTTP; they end with this service.

use std::sync::Arc;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::{Context, Encoder, Port, Run, Service};
use crate::admin::metrics;

/// See the module's description.
pub(super) struct WebrtcPort;

impl Service for WebrtcPort {
    fn until(&self) -> Phase {
        Phase::Ended
    }

    fn announce(&self, facts: &Facts<'_>, notice: &mut Notice) {
        let (Some(_), Some(site)) = (facts.first(Port::Webrtc), facts.site()) else {
            return;
        };
        notice.publish.extend([
            "Publish from a browser".to_owned(),
            format!("  camera   {site}/live/show/publish"),
            format!("  OBS      Service WHIP, Server {site}/live/show/whip"),
            format!("           Bearer Token {}", facts.key),
        ]);
    }

    fn metrics(&self, context: &Context) -> Option<Encoder> {
        let (rtc, ingest) = (context.node.rtc.clone(), Arc::clone(&context.node.ingest));
        Some(Box::new(move |page| {
            metrics::webrtc(rtc.as_deref(), &ingest.stats, page)
        }))
    }

    fn run(self: Box<Self>, context: &Arc<Context>, mut phase: Shown) -> Run {
        let rtc = context.node.rtc.as_ref();
        let port = rtc.map(|rtc| rtc.service.port());
        Box::pin(async move {
            phase.reached(Phase::Ended).await;
            if let Some(port) = port
                && tokio::task::spawn_blocking(move || port.stop())
                    .await
                    .is_err()
            {
                tracing::error!("the WebRTC port did not end in order");
            }
        })
    }
}
