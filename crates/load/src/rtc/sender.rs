//! A publisher's output once it has keys: frames as sealed packets, reports, and retransmitted packets.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use container::rtp::{HEADER_BYTES, PAYLOAD_BYTES, Packetizer, PayloadFormat, Payloads, Sequencer};
use media::{Sample, Timestamp, Track, TrackId};
use webrtc::client::Answer;
use webrtc::rtcp::{self, SenderReport};
use webrtc::srtp::{
    self, Keys, RTCP_OVERHEAD_MAX, RTP_OVERHEAD_MAX, Rollover, RtcpOpener, RtcpSealer, Sealer,
};

use super::packets::Packets;
use crate::socket::transmit_datagram;

/// Number of a track's packets that can be retransmitted: seconds of media.
const HISTORY_MAX: usize = 1_024;

/// Canonical name of a publisher's sources.
const CNAME: &str = "peer";

/// An offered track.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) track: Arc<Track>,
    pub(super) format: PayloadFormat,
    pub(super) ssrc: u32,
}

/// The sending end of a session.
#[derive(Debug)]
pub(super) struct Sender {
    sealer: Sealer,
    rtcp_out: RtcpSealer,
    rtcp_in: RtcpOpener,
    tracks: Vec<Outgoing>,
    payloads: Payloads,
    sealed: Vec<u8>,
}

#[derive(Debug)]
struct Outgoing {
    id: TrackId,
    ssrc: u32,
    payload_type: u8,
    packetizer: Packetizer,
    sequencer: Sequencer,
    rollover: Rollover,
    packets: u32,
    octets: u32,
    /// Newest sealed packets, with their numbers.
    history: VecDeque<(u16, Vec<u8>)>,
}

/// Requests of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) keyframe: bool,
    /// Number of bytes that were retransmitted.
    pub(super) bytes: usize,
}

impl Sender {
    /// Creates a sender for the offered tracks that `answer` accepts; `random` determines the first numbers and timestamps.
    pub(super) fn new(
        offered: &[Offered],
        answer: &Answer,
        keys: &Keys,
        random: u64,
    ) -> Result<Self, srtp::Error> {
        let sections = offered.iter().zip(&answer.media);
        let tracks = sections.filter_map(|(offered, section)| {
            Some(Outgoing::new(offered, section.payload_type?, random))
        });
        Ok(Self {
            sealer: Sealer::new(keys)?,
            rtcp_out: RtcpSealer::new(keys)?,
            rtcp_in: RtcpOpener::new(keys)?,
            tracks: tracks.collect(),
            payloads: Payloads::default(),
            sealed: vec![0; HEADER_BYTES + 2 * PAYLOAD_BYTES + RTP_OVERHEAD_MAX],
        })
    }

    /// Returns whether the server accepts any track.
    pub(super) fn is_wanted(&self) -> bool {
        !self.tracks.is_empty()
    }

    /// Sends a frame. Returns its bytes on the wire; 0 if the server does not accept the track, or if the frame holds nothing
    /// for RTP.
    pub(super) fn sample(
        &mut self,
        sample: &Sample,
        socket: &OwnedFd,
    ) -> Result<usize, &'static str> {
        let own = |track: &&mut Outgoing| track.id == sample.track;
        let Some(track) = self.tracks.iter_mut().find(own) else {
            return Ok(0);
        };
        self.payloads.clear();
        match track.packetizer.push(sample, &mut self.payloads) {
            // Receivers cannot show frames out of order, and browsers never send them.
            Ok(picture) if picture.is_reordered && picture.is_disposable => return Ok(0),
            Ok(_) => {}
            Err(_) => return Ok(0),
        }
        let timestamp = track.sequencer.timestamp(sample.pts);
        let mut sent = 0;
        for payload in self.payloads.packets() {
            let number = track.sequencer.next();
            let mut header = track.sequencer.number(payload, timestamp);
            header[1] |= track.payload_type;
            let bytes = &self.payloads.bytes()[payload.range.clone()];
            let index = track.rollover.index(number).ok_or("its numbers ran out")?;
            let length = self
                .sealer
                .seal(index, &header, bytes, &mut self.sealed)
                .map_err(|_| "a packet could not be sealed")?;
            let packet = &self.sealed[..length];
            transmit_datagram(socket, packet)?;
            sent += length;
            track.packets = track.packets.wrapping_add(1);
            track.octets = track.octets.wrapping_add(bytes.len() as u32);
            if track.history.len() == HISTORY_MAX {
                track.history.pop_front();
            }
            track.history.push_back((number as u16, packet.to_vec()));
        }
        Ok(sent)
    }

    /// Reports each track: `at` on its timeline is `wall`, nanoseconds since 1970.
    pub(super) fn report(
        &mut self,
        at: Timestamp,
        wall: u64,
        socket: &OwnedFd,
    ) -> Result<(), &'static str> {
        for track in &self.tracks {
            let mut compound = Vec::new();
            let report = SenderReport {
                ssrc: track.ssrc,
                ntp: rtcp::ntp(Duration::from_nanos(wall)),
                rtp_timestamp: track.sequencer.timestamp(at),
                packets: track.packets,
                octets: track.octets,
            };
            report.write(&mut compound);
            rtcp::write_sdes(&mut compound, track.ssrc, CNAME);
            let mut sealed = vec![0; compound.len() + RTCP_OVERHEAD_MAX];
            let length = self
                .rtcp_out
                .seal(&compound, &mut sealed)
                .map_err(|_| "a report could not be sealed")?;
            transmit_datagram(socket, &sealed[..length])?;
        }
        Ok(())
    }

    /// Takes a sealed compound packet of the server, and retransmits the packets that it requests.
    pub(super) fn rtcp(
        &mut self,
        datagram: &mut [u8],
        socket: &OwnedFd,
        packets: &mut Packets,
    ) -> Result<Asked, &'static str> {
        let mut asked = Asked::default();
        let Ok(length) = self.rtcp_in.open(datagram) else {
            packets.refused += 1;
            return Ok(asked);
        };
        for packet in rtcp::packets(&datagram[..length]) {
            match packet {
                rtcp::Packet::PictureLoss { .. } => {
                    packets.keyframes_asked += 1;
                    asked.keyframe = true;
                }
                rtcp::Packet::Nack { media, lost } => {
                    let own = |track: &&Outgoing| track.ssrc == media;
                    let Some(track) = self.tracks.iter().find(own) else {
                        continue;
                    };
                    for sequence in lost {
                        packets.nacked += 1;
                        if let Some(packet) = track.sent(sequence) {
                            transmit_datagram(socket, packet)?;
                            packets.repeated += 1;
                            asked.bytes += packet.len();
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(asked)
    }
}

impl Outgoing {
    fn new(offered: &Offered, payload_type: u8, random: u64) -> Self {
        // A receiver that loses the first packets must not mistake the wrap for a jump back.
        let first = random as u16 & 0x7FFF;
        let clock_rate = offered.format.clock_rate();
        let origin = (random >> 16) as u32;
        Self {
            id: offered.track.id,
            ssrc: offered.ssrc,
            payload_type,
            packetizer: Packetizer::new(offered.format, &offered.track, PAYLOAD_BYTES),
            sequencer: Sequencer::new(offered.ssrc, first, origin, clock_rate),
            rollover: Rollover::starting_at(first.into()),
            packets: 0,
            octets: 0,
            history: VecDeque::new(),
        }
    }

    fn sent(&self, sequence: u16) -> Option<&[u8]> {
        let (newest, _) = self.history.back()?;
        let back = usize::from(newest.wrapping_sub(sequence));
        let at = self.history.len().checked_sub(1 + back)?;
        self.history.get(at).map(|(_, packet)| &packet[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::synthetic::{Audio, Program};

    #[test]
    fn the_newest_packets_can_be_sent_again() {
        let audio = Program::of(Audio::Opus, 64_000, None).audio;
        let offered = Offered {
            track: audio.track().expect("Opus"),
            format: PayloadFormat::Opus,
            ssrc: 7,
        };
        let mut outgoing = Outgoing::new(&offered, 111, 9);
        assert_eq!(outgoing.sent(0), None);
        for number in [65_534, 65_535, 0, 1_u16] {
            outgoing.history.push_back((number, vec![number as u8]));
        }
        assert_eq!(outgoing.sent(65_534), Some(&[254][..]));
        assert_eq!(outgoing.sent(1), Some(&[1][..]));
        assert_eq!(outgoing.sent(2), None);
        assert_eq!(outgoing.sent(65_533), None);
    }
}
