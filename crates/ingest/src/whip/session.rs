//! One publisher session: its tracks, their delivery to its streams, and the feedback to the sender.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use container::rtp::Packet;
use media::{Kind, Span, Timestamp};
use webrtc::mux::Handle;
use webrtc::rtcp::{self, ReportBlock};

use super::agree::{Agreed, Chosen};
use super::allowance::{Allowance, Travel};
use super::arrivals::Arrivals;
use super::layers::LayerMap;
use super::streams::Streams;
use super::track::{Moment, Taken, Track};
use super::{Claim, PublisherOutbox};
use crate::{Error, Settings, Stats};

/// Longest accepted packet, in bytes: no path has longer datagrams, and this bounds the memory of those that
/// wait for repair.
const PACKET_BYTES_MAX: usize = 2_048;

/// Interval between two reports. Browsers' own rate control follows them.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Length beyond which a compound packet is sent before further requests are added: with those of one more
/// track, which are fewer than 300 bytes, it stays within every path's datagrams.
const COMPOUND_BYTES_MAX: usize = 850;

/// Source of this server's reports. Browsers, too, use 1 while they send nothing.
const OURS: u32 = 1;

/// Canonical name of this server, which reports must have and receivers do not use.
const NAME: &str = "carillon";

/// A publisher's session: pass packets to [`rtp`](Self::rtp) and [`rtcp`](Self::rtcp), and call
/// [`handle_timeout`](Self::handle_timeout) at [`due`](Self::due).
#[derive(Debug)]
pub(super) struct Session {
    pub(super) handle: Handle,
    streams: Streams,
    tracks: Vec<Track>,
    layers: Option<LayerTracks>,
    stats: Arc<Stats>,
    settings: Settings,
    /// Origin of the publisher's timeline.
    began: Instant,
    /// Time at which media last arrived.
    heard: Option<Instant>,
    report_at: Instant,
    /// Arrival times of packets, for a sender that wants them.
    arrivals: Arrivals,
    /// Allowed bit rate of a sender that accepts one.
    allowance: Option<Allowance>,
    /// Whether feedback may be sent without a report before it.
    takes_bare_feedback: bool,
    /// Packets being written: reused memory.
    compound: Vec<u8>,
}

/// Layers of a session with simulcast.
#[derive(Debug)]
struct LayerTracks {
    /// Track of the first layer; those of the others follow it.
    first: usize,
    map: LayerMap,
}

impl Session {
    pub(super) fn new(
        handle: Handle,
        claim: Claim,
        agreed: &Agreed,
        settings: &Settings,
        stats: &Arc<Stats>,
        now: Instant,
    ) -> Self {
        let codecs: Vec<_> = agreed.codecs().collect();
        tracing::debug!(?codecs, layers = ?agreed.layers(), "publisher connected");
        let mut tracks = Vec::new();
        let mut layers = None;
        for chosen in agreed.chosen() {
            let count = chosen.layers.names.len().max(1);
            if let Some(map) = LayerMap::of(chosen) {
                let first = tracks.len();
                layers = Some(LayerTracks { first, map });
            }
            tracks.extend((0..count).map(|_| Track::new(chosen, stats, now)));
        }
        Self {
            handle,
            streams: Streams::new(claim, agreed),
            tracks,
            layers,
            stats: Arc::clone(stats),
            settings: settings.clone(),
            began: now,
            heard: None,
            report_at: now + REPORT_INTERVAL,
            arrivals: Arrivals::new(now),
            allowance: agreed
                .chosen()
                .any(Chosen::takes_bit_rate)
                .then(|| Allowance::new(now)),
            // In a bundle all sections have one transport, so a statement of one holds for all (RFC 8859).
            // ffmpeg states it for video alone, and reads a request only if no report precedes it.
            takes_bare_feedback: agreed.chosen().any(|chosen| chosen.reduced_size_rtcp),
            compound: Vec::new(),
        }
    }

    /// Handles a media packet.
    pub(super) fn rtp(
        &mut self,
        datagram: &[u8],
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) -> Result<(), Error> {
        let (track, taken) = self.take(datagram, now);
        self.streams.received(track, datagram.len());
        if let Some(allowance) = &mut self.allowance {
            allowance.arrived(datagram.len());
        }
        match taken {
            Taken::No => {
                self.stats.whip.refused.add(1);
                return Ok(());
            }
            Taken::First => {
                // The sooner a sender receives its allowed bit rate, the better its first seconds.
                self.report_at = now;
                self.synchronize();
            }
            Taken::Yes => {}
        }
        self.heard = Some(now);
        self.deliver(now)?;
        self.speak(now, out)
    }

    /// Handles the sender's reports.
    pub(super) fn rtcp(&mut self, compound: &[u8], now: Instant) {
        for packet in rtcp::packets(compound) {
            match packet {
                rtcp::Packet::SenderReport { report, .. } => {
                    if let Some(track) = self.track_of(report.ssrc) {
                        track.sender_report(report.ntp, report.rtp_timestamp, now);
                        self.synchronize();
                    }
                }
                rtcp::Packet::Bye { ssrc: Some(ssrc) } => {
                    if let Some(track) = self.track_of(ssrc) {
                        track.leave(ssrc);
                    }
                    if let Some(layers) = &mut self.layers {
                        layers.map.leave(ssrc);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub(super) fn due(&self) -> Instant {
        let tracks = self.tracks.iter().filter_map(Track::due);
        let own = self.report_at.min(self.silent_at());
        let others = self.streams.due().into_iter().chain(self.arrivals.due());
        tracks.chain(others).fold(own, Instant::min)
    }

    /// Gives up on packets, requests them, sends reports, and returns an error for a silent publisher.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) -> Result<(), Error> {
        if now >= self.silent_at() {
            return Err(match self.streams.have_begun() {
                true => Error::Silent(self.settings.source_timeout),
                false => Error::NoMedia(self.settings.first_media_timeout),
            });
        }
        let moment = self.moment(now);
        for (at, track) in self.tracks.iter_mut().enumerate() {
            track.pop(moment, self.streams.items(at));
        }
        self.deliver(now)?;
        self.speak(now, out)
    }

    /// Ends the epochs and logs the reason.
    pub(super) fn end(mut self, reason: &dyn Display) {
        self.tracks.iter_mut().for_each(Track::count);
        self.streams.end(reason);
    }

    /// Ends the epochs because of an error, which is counted and logged.
    pub(super) fn fail(mut self, error: &Error) {
        self.tracks.iter_mut().for_each(Track::count);
        self.streams.fail(error);
    }

    /// Passes a datagram to its track, and returns that track's index.
    fn take(&mut self, datagram: &[u8], now: Instant) -> (Option<usize>, Taken) {
        if datagram.len() > PACKET_BYTES_MAX {
            return (None, Taken::No);
        }
        let Ok(packet) = Packet::parse(datagram) else {
            return (None, Taken::No);
        };
        let number = packet.header.payload_type;
        let section = self.tracks.iter().position(|track| track.carries(number));
        let Some(section) = section else {
            return (None, Taken::No);
        };
        let numbering = self.tracks[section].numbering;
        if let Some(&[high, low]) = numbering.and_then(|id| packet.element(id)) {
            let number = u16::from_be_bytes([high, low]);
            self.arrivals.note(number, packet.header.ssrc, now);
        }
        let Some(at) = self.track_for(section, &packet, now) else {
            return (None, Taken::No);
        };
        let moment = self.moment(now);
        let taken = self.tracks[at].take(&packet, moment, self.streams.items(at));
        (Some(at), taken)
    }

    /// Returns the track of a packet whose section begins at the track `at`; with simulcast its source
    /// determines the layer.
    fn track_for(&mut self, at: usize, packet: &Packet<'_>, now: Instant) -> Option<usize> {
        let number = packet.header.payload_type;
        let layers = self.layers.as_mut().filter(|layers| layers.first == at);
        let Some(LayerTracks { map, .. }) = layers else {
            return Some(at);
        };
        let layer = match self.tracks[at].is_media(number) {
            true => map.of_media(packet, now),
            false => map.of_repetition(packet),
        };
        layer.map(|layer| at + layer)
    }

    fn moment(&self, now: Instant) -> Moment {
        let since = Span::from(now.saturating_duration_since(self.began));
        Moment {
            now,
            came: Timestamp::ZERO + since,
        }
    }

    fn track_of(&mut self, ssrc: u32) -> Option<&mut Track> {
        let mut tracks = self.tracks.iter_mut();
        tracks.find(|track| track.ssrc() == Some(ssrc))
    }

    /// Aligns video with audio. Without audio, layers are aligned with the first one that has a report.
    fn synchronize(&mut self) {
        let is_audio = |track: &Track| track.kind == Kind::Audio;
        let audio = self.tracks.iter().position(is_audio);
        let leader = || {
            let mut tracks = self.tracks.iter();
            tracks.position(|track| track.clock.is_reported())
        };
        let Some(leader) = audio.or_else(leader) else {
            return;
        };
        let clock = self.tracks[leader].clock;
        for (at, track) in self.tracks.iter_mut().enumerate() {
            if at != leader && track.kind == Kind::Video {
                track.clock.follow(&clock);
            }
        }
    }

    fn deliver(&mut self, now: Instant) -> Result<(), Error> {
        let tracks = &self.tracks;
        self.streams.deliver(|track| tracks[track].size(), now)
    }

    /// Sends everything that is due.
    fn speak(&mut self, now: Instant, out: &mut impl PublisherOutbox) -> Result<(), Error> {
        let tracks = &mut self.tracks;
        self.streams
            .take_keyframe_requests(now, |track| tracks[track].want_keyframe(now));
        self.ask(now, out);
        self.tell(now, out);
        if now >= self.report_at {
            self.report_at = now + REPORT_INTERVAL;
            self.report(now, out);
            self.streams.check(now)?;
        }
        Ok(())
    }

    /// Requests lost packets and keyframes.
    fn ask(&mut self, now: Instant, out: &mut impl PublisherOutbox) {
        let mut start = self.begin_feedback();
        for at in 0..self.tracks.len() {
            self.tracks[at].ask(OURS, now, &mut self.compound);
            if self.compound.len() > COMPOUND_BYTES_MAX {
                out.rtcp(self.handle, &self.compound);
                start = self.begin_feedback();
            }
        }
        if self.compound.len() > start {
            out.rtcp(self.handle, &self.compound);
        }
    }

    /// Sends the arrival times of packets, if that is due.
    fn tell(&mut self, now: Instant, out: &mut impl PublisherOutbox) {
        if self.arrivals.due().is_none_or(|due| now < due) {
            return;
        }
        self.begin_feedback();
        self.arrivals.report(OURS, now, &mut self.compound);
        out.rtcp(self.handle, &self.compound);
    }

    /// Begins a compound packet, and returns its length.
    fn begin_feedback(&mut self) -> usize {
        self.compound.clear();
        if !self.takes_bare_feedback {
            rtcp::write_receiver_report(&mut self.compound, OURS, &[]);
            rtcp::write_sdes(&mut self.compound, OURS, NAME);
        }
        self.compound.len()
    }

    /// Sends a report on the received packets, and the allowed bit rate.
    fn report(&mut self, now: Instant, out: &mut impl PublisherOutbox) {
        let mut travel = Travel::default();
        let tracks = self.tracks.iter_mut().filter_map(|track| {
            let report = track.report(now)?;
            travel += track.reception.travel;
            Some(report)
        });
        let reports: Vec<ReportBlock> = tracks.collect();
        self.tracks.iter_mut().for_each(Track::count);
        self.compound.clear();
        rtcp::write_receiver_report(&mut self.compound, OURS, &reports);
        rtcp::write_sdes(&mut self.compound, OURS, NAME);
        if let Some(allowance) = &mut self.allowance
            && !reports.is_empty()
        {
            let sources: Vec<u32> = reports.iter().map(|report| report.ssrc).collect();
            let bit_rate = allowance.decide(travel, now);
            rtcp::write_remb(&mut self.compound, OURS, bit_rate, &sources);
        }
        out.rtcp(self.handle, &self.compound);
    }

    /// Returns the time at which the publisher is given up if no media arrives.
    fn silent_at(&self) -> Instant {
        match self.heard.filter(|_| self.streams.have_begun()) {
            Some(heard) => heard + self.settings.source_timeout,
            None => self.began + self.settings.first_media_timeout,
        }
    }
}
