//! One publisher: its tracks, its epoch, and what it is told.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use container::rtp::Packet;
use media::{Item, Kind, Span, Timestamp};
use webrtc::mux::Handle;
use webrtc::rtcp::{self, ReportBlock};

use super::agree::Agreed;
use super::track::{Moment, Taken, Track};
use super::{Claim, PublisherOutbox};
use crate::admission::PublishedEpoch;
use crate::{Error, Settings, Stats};

/// The bit rate that a sender is told it may send, in bits per second; the number of packets that
/// may wait for repair is made for it. See the description of [`whip`](super) for the reason.
pub const BIT_RATE_MAX: u64 = 20_000_000;

/// The longest accepted packet: no path has longer datagrams, and this bounds the memory of those
/// that wait for repair.
const PACKET_BYTES_MAX: usize = 2_048;

/// Between two reports. Browsers' own rate control follows them.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The source of our reports. Browsers, too, call themselves 1 while they send nothing.
const OURS: u32 = 1;

/// Our canonical name, which reports must have and receivers do not use.
const NAME: &str = "carillon";

/// See the module's description.
#[derive(Debug)]
pub(super) struct Session {
    handle: Handle,
    claim: Claim,
    /// From the first frame on.
    epoch: Option<PublishedEpoch>,
    /// Bytes received before.
    early_bytes: usize,
    tracks: Vec<Track>,
    stats: Arc<Stats>,
    settings: Settings,
    /// Where the publisher's timeline begins.
    began: Instant,
    /// When media last arrived.
    heard: Option<Instant>,
    report_at: Instant,
    /// Whether the sender wants to know how much it may send.
    takes_bit_rate: bool,
    /// Whether feedback may be sent without a report before it.
    takes_bare_feedback: bool,
    /// Items being collected, and packets being written: reused memory.
    items: Vec<Item>,
    compound: Vec<u8>,
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
        match agreed.layers() {
            0 | 1 => tracing::debug!(?codecs, "publisher connected"),
            layers => tracing::info!(
                ?codecs,
                layers,
                "publisher connected; of its simulcast layers the one that brings most is taken"
            ),
        }
        let tracks = agreed.chosen().map(|chosen| Track::new(chosen, stats, now));
        let mut chosen = agreed.chosen();
        Self {
            handle,
            claim,
            epoch: None,
            early_bytes: 0,
            tracks: tracks.collect(),
            stats: Arc::clone(stats),
            settings: settings.clone(),
            began: now,
            heard: None,
            report_at: now + REPORT_INTERVAL,
            takes_bit_rate: agreed
                .chosen()
                .any(|chosen| chosen.formats.best.feedback.remb),
            takes_bare_feedback: chosen.all(|chosen| chosen.reduced_size_rtcp),
            items: Vec::new(),
            compound: Vec::new(),
        }
    }

    pub(super) const fn handle(&self) -> Handle {
        self.handle
    }

    /// Takes a packet of media.
    pub(super) fn rtp(
        &mut self,
        datagram: &[u8],
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) -> Result<(), Error> {
        match &mut self.epoch {
            Some(epoch) => epoch.received(datagram.len()),
            None => self.early_bytes += datagram.len(),
        }
        match self.take(datagram, now) {
            Taken::No => {
                self.stats.whip.refused();
                return Ok(());
            }
            Taken::First => {
                // The sooner a sender knows how much it may send, the better its first seconds.
                self.report_at = now;
                self.synchronize();
            }
            Taken::Yes => {}
        }
        self.heard = Some(now);
        self.deliver(now)?;
        self.speak(now, out)
    }

    /// Takes what the sender reports.
    pub(super) fn rtcp(&mut self, compound: &[u8], now: Instant) {
        for packet in rtcp::packets(compound) {
            match packet {
                rtcp::Packet::SenderReport {
                    ssrc,
                    ntp,
                    rtp_timestamp,
                    ..
                } => {
                    if let Some(track) = self.track_of(ssrc) {
                        track.sender_report(ntp, rtp_timestamp, now);
                        self.synchronize();
                    }
                }
                rtcp::Packet::Bye { ssrc: Some(ssrc) } => {
                    if let Some(track) = self.track_of(ssrc) {
                        track.leave(ssrc);
                    }
                }
                _ => {}
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub(super) fn due(&self) -> Instant {
        let tracks = self.tracks.iter().filter_map(Track::due);
        let own = self.report_at.min(self.silent_at());
        tracks.fold(own, Instant::min)
    }

    /// Gives up on packets, requests them, reports, and ends a publisher that is silent.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) -> Result<(), Error> {
        if now >= self.silent_at() {
            return Err(match self.epoch {
                Some(_) => Error::Silent(self.settings.source_timeout),
                None => Error::NoMedia(self.settings.first_media_timeout),
            });
        }
        let moment = self.moment(now);
        for track in &mut self.tracks {
            track.pop(moment, &mut self.items);
        }
        self.deliver(now)?;
        self.speak(now, out)
    }

    /// Ends the epoch, giving the reason in the log.
    pub(super) fn end(self, reason: &dyn Display) {
        match self.finish() {
            (Some(epoch), _) => epoch.end(reason),
            (None, claim) => tracing::info!(
                stream = %claim.permission.action().stream,
                peer = ?claim.source.peer,
                %reason,
                "a publisher over WebRTC left before its first frame"
            ),
        }
    }

    /// Ends the epoch because of an error, counting and logging it.
    pub(super) fn fail(self, error: &Error) {
        match self.finish() {
            (Some(epoch), claim) => {
                claim.stats.reject(error);
                epoch.end(error);
            }
            (None, claim) => claim.fail(error),
        }
    }

    fn finish(mut self) -> (Option<PublishedEpoch>, Claim) {
        self.tracks.iter_mut().for_each(Track::count);
        (self.epoch, self.claim)
    }

    fn take(&mut self, datagram: &[u8], now: Instant) -> Taken {
        if datagram.len() > PACKET_BYTES_MAX {
            return Taken::No;
        }
        let Ok(packet) = Packet::parse(datagram) else {
            return Taken::No;
        };
        let moment = self.moment(now);
        let mut tracks = self.tracks.iter_mut();
        match tracks.find(|track| track.carries(packet.header.payload_type)) {
            Some(track) => track.take(&packet, moment, &mut self.items),
            None => Taken::No,
        }
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

    /// Aligns picture with sound.
    fn synchronize(&mut self) {
        let sound = self.tracks.iter().find(|track| track.kind() == Kind::Audio);
        let Some(sound) = sound.map(Track::clock) else {
            return;
        };
        for track in &mut self.tracks {
            if track.kind() == Kind::Video {
                track.follow(&sound);
            }
        }
    }

    fn deliver(&mut self, now: Instant) -> Result<(), Error> {
        let epoch = match &mut self.epoch {
            Some(epoch) => epoch,
            // Until then the stream stays with its former publisher.
            None if self.items.is_empty() => return Ok(()),
            None => {
                let mut epoch = self.claim.redeem(now)?;
                epoch.received(std::mem::take(&mut self.early_bytes));
                self.epoch.insert(epoch)
            }
        };
        epoch.write(&mut self.items, now)
    }

    /// Sends what is due by now.
    fn speak(&mut self, now: Instant, out: &mut impl PublisherOutbox) -> Result<(), Error> {
        let epoch = self.epoch.as_mut();
        if epoch.is_some_and(|epoch| epoch.takes_keyframe_request(now)) {
            for track in &mut self.tracks {
                track.want_keyframe(now);
            }
        }
        self.ask(now, out);
        if now >= self.report_at {
            self.report_at = now + REPORT_INTERVAL;
            self.report(now, out);
            self.epoch
                .as_ref()
                .map_or(Ok(()), |epoch| epoch.check(now))?;
        }
        Ok(())
    }

    /// Requests lost packets and keyframes.
    fn ask(&mut self, now: Instant, out: &mut impl PublisherOutbox) {
        self.compound.clear();
        if !self.takes_bare_feedback {
            rtcp::write_receiver_report(&mut self.compound, OURS, &[]);
            rtcp::write_sdes(&mut self.compound, OURS, NAME);
        }
        let start = self.compound.len();
        for track in &mut self.tracks {
            track.ask(OURS, now, &mut self.compound);
        }
        if self.compound.len() > start {
            out.rtcp(self.handle, &self.compound);
        }
    }

    /// Reports what arrived, and how much may be sent.
    fn report(&mut self, now: Instant, out: &mut impl PublisherOutbox) {
        let tracks = self.tracks.iter_mut();
        let reports: Vec<ReportBlock> = tracks.filter_map(|track| track.report(now)).collect();
        self.tracks.iter_mut().for_each(Track::count);
        self.compound.clear();
        rtcp::write_receiver_report(&mut self.compound, OURS, &reports);
        rtcp::write_sdes(&mut self.compound, OURS, NAME);
        if self.takes_bit_rate && !reports.is_empty() {
            let sources: Vec<u32> = reports.iter().map(|report| report.ssrc).collect();
            rtcp::write_remb(&mut self.compound, OURS, BIT_RATE_MAX, &sources);
        }
        out.rtcp(self.handle, &self.compound);
    }

    /// When the publisher is given up if no media arrives.
    fn silent_at(&self) -> Instant {
        match self.heard.filter(|_| self.epoch.is_some()) {
            Some(heard) => heard + self.settings.source_timeout,
            None => self.began + self.settings.first_media_timeout,
        }
    }
}
