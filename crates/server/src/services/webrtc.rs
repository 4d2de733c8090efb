//! The WebRTC port and its metrics. The front door owns its threads, because sessions begin over HTTP; they end with this
//! service.
//!
//! Metrics that have a direction carry it as a label: `whep` for listeners, `whip` for publishers.

use std::fmt;
use std::sync::Arc;

use base::Counter;
use ingest::Stats;
use operator::metrics::Page;
use operator::metrics::table::*;
use web::FrontDoor;
use web::signalling::{Rtc, Way};

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};
use crate::ports::Port;

/// Service that runs the WebRTC port until its phase, then stops its threads.
pub(super) struct WebrtcPort(pub(super) Arc<FrontDoor>);

/// Adds the port's addresses to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
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

impl Service for WebrtcPort {
    fn until(&self) -> Phase {
        Phase::Ended
    }

    fn metrics(&self) -> Option<Encoder> {
        let (rtc, ingest) = (self.0.rtc.clone(), Arc::clone(&self.0.ingest));
        Some(Box::new(move |page| {
            encode(rtc.as_deref(), &ingest.stats, page)
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let rtc = self.0.rtc.as_ref();
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

fn encode(rtc: Option<&Rtc>, stats: &Stats, page: &mut Page<'_>) -> fmt::Result {
    sessions(rtc, page)?;
    media(rtc, stats, page)?;
    let refusals = rtc.map(|rtc| rtc.refusals.list()).unwrap_or_default();
    let refusals = refusals
        .into_iter()
        .map(|(status, count)| (status.to_string(), count));
    page.counters(WEBRTC_REQUESTS_REFUSED, refusals)
}

fn sessions(rtc: Option<&Rtc>, page: &mut Page<'_>) -> fmt::Result {
    let port = rtc.map(|rtc| rtc.service.counters()).unwrap_or_default();
    let count = rtc.map_or(0, |rtc| rtc.service.sessions());
    page.gauge(WEBRTC_SESSIONS, count)?;
    page.gauge(WEBRTC_HANDSHAKES, port.mux.half_open)?;
    page.counter(WEBRTC_CONNECTED, port.mux.connected)?;
    let failures = [
        ("ice", port.expired),
        ("dtls", port.mux.handshakes_failed),
        ("connect", port.abandoned),
    ];
    page.counters(WEBRTC_FAILURES, failures)?;
    let refused = [
        ("stun", port.mux.checks_refused),
        ("dtls", port.mux.dtls_refused),
        ("srtp", port.mux.srtp_refused),
        ("stray", port.mux.strays),
        ("oversized", port.oversized),
        ("tcp", port.connections_refused),
    ];
    page.counters(WEBRTC_REFUSED, refused)?;
    let datagrams = [("received", port.received), ("sent", port.datagrams)];
    page.counters(WEBRTC_DATAGRAMS, datagrams)?;
    page.counter(WEBRTC_SENDS, port.sends)?;
    page.counter(WEBRTC_BLOCKED, port.blocked)?;
    page.counter(WEBRTC_UNSENT, port.lost)?;
    page.counter(WEBRTC_FORWARDED, port.forwarded)?;
    page.counter(WEBRTC_TCP, port.connections)
}

fn media(rtc: Option<&Rtc>, stats: &Stats, page: &mut Page<'_>) -> fmt::Result {
    let service = rtc.map(|rtc| &rtc.service);
    let out = service
        .map(|service| service.listeners())
        .unwrap_or_default();
    let into = &stats.whip;
    let both = |to_listeners: u64, from_publishers: &Counter| {
        [
            (Way::Out.segment(), to_listeners),
            (Way::In.segment(), from_publishers.value()),
        ]
    };
    page.counters(WEBRTC_PACKETS, both(out.packets, &into.packets))?;
    page.counters(WEBRTC_LOST, both(out.lost, &into.lost))?;
    page.counters(WEBRTC_NACKS, both(out.nacks, &into.nacks))?;
    page.counters(WEBRTC_NACKED, both(out.nacked, &into.nacked))?;
    page.counters(WEBRTC_REPEATED, both(out.retransmissions, &into.recovered))?;
    page.counter(WEBRTC_NOT_REPEATED, out.nacks_refused)?;
    page.counter(WEBRTC_HELD_PICTURES, out.held_pictures)?;
    page.counters(
        WEBRTC_KEYFRAMES_ASKED,
        both(out.keyframe_requests, &into.plis),
    )?;
    page.counter(WEBRTC_ROUND_TRIP, out.round_trip_micros as f64 / 1e6)?;
    page.counter(WEBRTC_ROUND_TRIPS, out.round_trips)?;
    page.counter(WEBRTC_JITTER, into.jitter_micros.value() as f64 / 1e6)?;
    page.counter(WEBRTC_JITTERS, into.reports.value())?;
    let tally = service.map(|service| service.tally());
    let frames = [
        ("b_frame", tally.map_or(0, |tally| tally.left_out.value())),
        (
            "unsendable",
            tally.map_or(0, |tally| tally.unsendable.value()),
        ),
        ("incomplete", into.dropped_frames.value()),
    ];
    page.counters(WEBRTC_LEFT_OUT, frames)?;
    let reordered = tally.map_or(0, |tally| tally.reordered.value());
    page.counter(WEBRTC_REORDERED, reordered)
}
