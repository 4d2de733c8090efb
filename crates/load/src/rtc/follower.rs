//! A viewer that decrypts every packet it receives.

use webrtc::client::Answer;
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
    pub(super) receiver: Receiver,
}

impl Follower {
    /// Creates a follower for the sections that the server accepted. `asked` is the current wall clock.
    pub(super) fn new(answer: &Answer, keys: &Keys, asked: u64) -> Result<Self, srtp::Error> {
        let kinds = [MediaKind::Audio, MediaKind::Video].into_iter();
        let sections = kinds.filter_map(|kind| answer.section(kind));
        Ok(Self {
            rtp_in: Opener::new(keys)?,
            rtcp_in: RtcpOpener::new(keys)?,
            receiver: Receiver::new(sections, asked),
        })
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
}
