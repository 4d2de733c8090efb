//! Counts of a viewer's packets by the numbers in their headers. Nothing is decrypted.

use media::Kind;
use webrtc::client::Answer;
use webrtc::rtcp::ReportBlock;
use webrtc::rtp::Header;
use webrtc::sdp::MediaKind;

use super::packets::Packets;

/// Maximum number of sources of a session: audio, video, and their repetitions.
const LINES_MAX: usize = 4;

/// Payload types of the formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types {
    audio: Option<u8>,
    video: Option<u8>,
}

impl Types {
    /// Payload types of the floor server.
    pub(super) const FLOOR: Self = Self {
        audio: Some(111),
        video: Some(102),
    };

    /// Returns the payload types that `answer` chose.
    pub(super) fn of(answer: &Answer) -> Self {
        let of = |kind| answer.section(kind)?.payload_type;
        Self {
            audio: of(MediaKind::Audio),
            video: of(MediaKind::Video),
        }
    }

    /// Returns the kind of a payload type; `None` for repetitions.
    pub(super) fn kind(self, payload_type: u8) -> Option<Kind> {
        if self.audio == Some(payload_type) {
            Some(Kind::Audio)
        } else if self.video == Some(payload_type) {
            Some(Kind::Video)
        } else {
            None
        }
    }
}

/// Packet counts of one source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketLine {
    ssrc: u32,
    /// Kind of track; `None` for repetitions, whose loss does not matter.
    kind: Option<Kind>,
    /// First and highest number, extended past 16 bits.
    first: u32,
    highest: u32,
    received: u32,
    /// Runs of missing numbers, counted when a higher number arrived.
    gaps: u32,
    /// Packets that arrived after a higher number.
    late: u32,
    /// Numbers of expected and received packets at the last report.
    reported: (u32, u32),
}

impl PacketLine {
    fn new(header: &Header, kind: Option<Kind>) -> Self {
        let first = u32::from(header.sequence);
        Self {
            ssrc: header.ssrc,
            kind,
            first,
            // The packet itself is counted next.
            highest: first.wrapping_sub(1),
            ..Self::default()
        }
    }

    fn enter(&mut self, sequence: u16) {
        let ahead = sequence.wrapping_sub(self.highest as u16) as i16;
        self.received += 1;
        match u32::try_from(ahead) {
            Ok(0) | Err(_) => self.late += 1,
            Ok(ahead) => {
                self.gaps += u32::from(ahead > 1);
                self.highest = self.highest.wrapping_add(ahead);
            }
        }
    }

    fn expected(&self) -> u32 {
        self.highest.wrapping_sub(self.first).wrapping_add(1)
    }

    fn lost(&self) -> u32 {
        self.expected().saturating_sub(self.received)
    }

    /// Returns a receiver report for the time since the last one.
    fn report(&mut self) -> ReportBlock {
        let (expected, received) = (self.expected(), self.received);
        let (before, had) = std::mem::replace(&mut self.reported, (expected, received));
        let expected = u64::from(expected.wrapping_sub(before));
        let lost = expected.saturating_sub(u64::from(received.wrapping_sub(had)));
        let fraction = (lost * 256).checked_div(expected).unwrap_or(0);
        ReportBlock {
            ssrc: self.ssrc,
            fraction_lost: fraction.min(255) as u8,
            lost: self.lost().min(i32::MAX as u32) as i32,
            highest_sequence: self.highest,
            jitter: 0,
            last_report: 0,
            since_last_report: 0,
        }
    }
}

/// Packet counts of all sources of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    lines: [PacketLine; LINES_MAX],
    count: usize,
}

impl Lines {
    /// Records a sealed packet. Returns the kind of media that it carries.
    pub(super) fn enter(&mut self, packet: &[u8], types: Types) -> Option<Kind> {
        // The length of the padding, if there is any, is sealed: the byte in its place means nothing.
        let header = Header::parse(packet)?;
        let kind = types.kind(header.payload_type);
        let known = self.lines[..self.count]
            .iter()
            .position(|line| line.ssrc == header.ssrc);
        let at = known.unwrap_or(self.count);
        if at == LINES_MAX {
            return kind;
        }
        if known.is_none() {
            self.lines[at] = PacketLine::new(&header, kind);
            self.count += 1;
        }
        self.lines[at].enter(header.sequence);
        kind
    }

    /// Returns the sum of the counts of all sources.
    pub(super) fn sum(&self) -> Packets {
        let mut sum = Packets::default();
        for line in &self.lines[..self.count] {
            if line.kind.is_none() {
                sum.repeated += u64::from(line.received);
                continue;
            }
            sum.received += u64::from(line.received);
            sum.gaps += u64::from(line.gaps);
            sum.lost += u64::from(line.lost());
            sum.late += u64::from(line.late);
        }
        sum
    }

    /// Appends a receiver report on each source for the time since the last one.
    pub(super) fn report(&mut self, out: &mut Vec<ReportBlock>) {
        let lines = self.lines[..self.count].iter_mut();
        let media = lines.filter(|line| line.kind.is_some());
        out.extend(media.map(PacketLine::report));
    }
}

#[cfg(test)]
mod tests {
    use container::rtp::Header;

    use super::*;

    fn packet(payload_type: u8, ssrc: u32, sequence: u16) -> Vec<u8> {
        let header = Header {
            payload_type,
            ssrc,
            sequence,
            ..Header::default()
        };
        [&header.to_bytes()[..], b"sealed"].concat()
    }

    fn entered(sequences: &[u16]) -> Lines {
        let mut lines = Lines::default();
        for sequence in sequences {
            let kind = lines.enter(&packet(102, 7, *sequence), Types::FLOOR);
            assert!(matches!(kind, Some(Kind::Video)));
        }
        lines
    }

    #[test]
    fn what_is_missing_is_lost_across_a_wrap() {
        let lines = entered(&[65_533, 65_534, 1, 2, 5]);
        let sum = lines.sum();
        assert_eq!((sum.received, sum.gaps, sum.lost, sum.late), (5, 2, 4, 0));
    }

    #[test]
    fn padded_packets_are_counted_whatever_their_sealed_end() {
        let mut lines = Lines::default();
        for sequence in 0..=255 {
            let mut packet = packet(102, 7, sequence);
            packet[0] |= 0x20;
            packet.push(sequence as u8);
            let kind = lines.enter(&packet, Types::FLOOR);
            assert!(matches!(kind, Some(Kind::Video)), "{sequence}");
        }
        assert_eq!((lines.sum().received, lines.sum().lost), (256, 0));
    }

    #[test]
    fn what_comes_late_is_not_lost() {
        let sum = entered(&[1, 2, 4, 3, 5]).sum();
        assert_eq!((sum.gaps, sum.lost, sum.late), (1, 0, 1));
        let sum = entered(&[0, 65_535, 1]).sum();
        assert_eq!((sum.gaps, sum.lost, sum.late), (0, 0, 1));
    }

    #[test]
    fn repetitions_are_counted_apart() {
        let mut lines = entered(&[1, 2]);
        assert!(lines.enter(&packet(97, 8, 500), Types::FLOOR).is_none());
        lines.enter(&packet(97, 8, 600), Types::FLOOR);
        let sum = lines.sum();
        assert_eq!((sum.received, sum.repeated, sum.lost), (2, 2, 0));
    }

    #[test]
    fn reports_tell_what_was_lost_since_the_last() {
        let mut lines = entered(&[1, 2, 4]);
        let mut reports = Vec::new();
        lines.report(&mut reports);
        lines.enter(&packet(102, 7, 5), Types::FLOOR);
        lines.report(&mut reports);
        assert_eq!((reports[0].fraction_lost, reports[0].lost), (64, 1));
        assert_eq!((reports[1].fraction_lost, reports[1].lost), (0, 1));
        assert_eq!(reports[1].highest_sequence, 5);
    }

    #[test]
    fn sources_beyond_the_few_are_not_followed() {
        let mut lines = Lines::default();
        for ssrc in 0..100 {
            lines.enter(&packet(102, ssrc, 1), Types::FLOOR);
        }
        assert_eq!(lines.sum().received, LINES_MAX as u64);
        assert!(lines.enter(&[0x80, 102], Types::FLOOR).is_none());
    }
}
