//! A viewer that decrypts every packet it receives.

use std::time::Instant;

use webrtc::client::{Accepted, Answer};
use webrtc::rtcp::ReportBlock;
use webrtc::sdp::MediaKind;
use webrtc::srtp::{self, Keys, Opener, RtcpOpener};

use super::packets::Packets;
use super::receiver::{Moment, Receiver};
use crate::ledger::Findings;

/// The receiving end of one session.
#[derive(Debug)]
pub(super) struct Follower {
    rtp_in: Opener,
    rtcp_in: RtcpOpener,
    receiver: Receiver,
}

impl Follower {
    /// For the sections that the server accepted. `asked` is the wall clock now.
    pub(super) fn new(sections: &[Accepted], keys: &Keys, asked: u64) -> Result<Self, srtp::Error> {
        Ok(Self {
            rtp_in: Opener::new(keys)?,
            rtcp_in: RtcpOpener::new(keys)?,
            receiver: Receiver::new(sections, asked),
        })
    }

    /// The sections of an answer that a follower needs.
    pub(super) fn sections(answer: &Answer) -> Vec<Accepted> {
        [MediaKind::Audio, MediaKind::Video]
            .into_iter()
            .filter_map(|kind| answer.section(kind).cloned())
            .collect()
    }

    /// Takes a sealed packet.
    pub(super) fn rtp(
        &mut self,
        datagram: &mut [u8],
        at: Moment,
        findings: &mut Findings,
        packets: &mut Packets,
    ) {
        match self.rtp_in.open(datagram) {
            Ok(opened) => self
                .receiver
                .rtp(&datagram[..opened.len], at, findings, packets),
            // A repetition of a packet that arrived after all.
            Err(srtp::Error::Replayed) => {}
            Err(_) => packets.refused += 1,
        }
    }

    /// Takes a sealed compound packet.
    pub(super) fn rtcp(&mut self, datagram: &mut [u8], at: Moment, packets: &mut Packets) {
        match self.rtcp_in.open(datagram) {
            Ok(length) => self.receiver.rtcp(&datagram[..length], at.now),
            Err(_) => packets.refused += 1,
        }
    }

    /// Gives up packets that have been waited for too long.
    pub(super) fn handle_timeout(
        &mut self,
        at: Moment,
        findings: &mut Findings,
        packets: &mut Packets,
    ) {
        self.receiver.handle_timeout(at, findings, packets);
    }

    /// When there is something to give up or to ask for.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.receiver.deadline()
    }

    /// Adds to `reports` the last sender reports.
    pub(super) fn complete(&self, reports: &mut [ReportBlock], now: Instant) {
        self.receiver.complete(reports, now);
    }

    /// Appends the requests that are due at `now`.
    pub(super) fn requests(
        &mut self,
        own_ssrc: u32,
        now: Instant,
        out: &mut Vec<u8>,
        packets: &mut Packets,
    ) {
        self.receiver.requests(own_ssrc, now, out, packets);
    }
}
