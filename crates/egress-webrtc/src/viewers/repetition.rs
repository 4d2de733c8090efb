//! Retransmission of packets that a viewer reports lost, either unchanged or as packets of a separate source (RFC 4588), within
//! [its share](super::repair).

use container::rtp::{HEADER_BYTES, PayloadFormat, padding_bytes, without_padding};

use super::run::Run;
use super::viewer::{Lane, PACKET_BYTES_MAX, Viewer};
use crate::out::{Sent, ViewerOutbox};
use crate::stats::Counters;
use packagers::rtp::codes::{self, PICTURE};

/// Bytes that a retransmission adds to a packet: the original number (RFC 4588 §4).
const REPEATED_EXTRA: usize = 2;

impl Viewer {
    /// Retransmits packets of `kind` that the viewer reports lost, within its share.
    #[expect(
        clippy::too_many_arguments,
        reason = "a visit's needs, and what is asked for"
    )]
    pub(super) fn repeat<O: ViewerOutbox>(
        &mut self,
        kind: usize,
        lost: impl Iterator<Item = u16>,
        lane: Lane<'_>,
        millis: u32,
        out: &mut O,
        scratch: &mut [u8; PACKET_BYTES_MAX],
        counters: &mut Counters,
    ) {
        let (Some(line), Some(track)) = (self.lines[kind], self.track(lane, kind)) else {
            return;
        };
        let may_repeat = kind != PICTURE || self.books.link.may_repeat();
        let mut run = Run::default();
        let mut rtx = self.books.repair.rtx[kind];
        for sequence in lost {
            counters.nacked += 1;
            if !may_repeat {
                counters.nacks_refused += 1;
                continue;
            }
            let found = line.sent(sequence);
            let found = found.and_then(|(own, at)| Some((own, track.get(at)?)));
            let Some((own, packet)) = found else {
                counters.nacks_refused += 1;
                continue;
            };
            let len = usize::from(packet.len) + REPEATED_EXTRA;
            let repair = &mut self.books.repair;
            let times = repair.times(kind, sequence, millis);
            let Some(times) = times.filter(|times| self.credit.spend(len, *times)) else {
                counters.nacks_refused += 1;
                continue;
            };
            let is_repetition = line.rtx.filter(|_| repair.is_repetition(times));
            repair.repeated(kind, sequence, millis, (times, is_repetition.is_some()));
            let bytes = lane
                .follower
                .bytes(packet.offset, len - REPEATED_EXTRA, scratch);
            let Some((plain, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
                continue;
            };
            let header = line.header(plain, own);
            let mut whole = [0; PACKET_BYTES_MAX];
            let (index, header, payload) = match is_repetition {
                None => (own, header, payload),
                Some(payload_type) => {
                    let header = repeated_header(header, payload_type, rtx, line.format);
                    let payload = &payload[..payload.len() - padding_bytes(plain, payload)];
                    let Some(whole) = with_original(sequence, payload, &mut whole) else {
                        continue;
                    };
                    rtx += 1;
                    (rtx - 1, header, whole)
                }
            };
            let len = header.len() + payload.len() + self.sealer.overhead();
            if !run.takes(len, out.buffer().len())
                && !self.flush_repeated(&mut run, kind, rtx, out, counters)
            {
                return;
            }
            let place = &mut out.buffer()[run.len..];
            match self.sealer.seal(index, &header, payload, place) {
                Ok(sealed) => run.add(sealed),
                Err(_) => return,
            }
        }
        self.flush_repeated(&mut run, kind, rtx, out, counters);
    }

    /// Sends the buffer. If that fails, the packets count as lost, and the viewer will request them again.
    fn flush_repeated<O: ViewerOutbox>(
        &mut self,
        run: &mut Run,
        kind: usize,
        rtx: u64,
        out: &mut O,
        counters: &mut Counters,
    ) -> bool {
        // Numbers of packets that could not be sent are not reused either.
        self.books.repair.rtx[kind] = rtx;
        if run.is_empty() {
            return true;
        }
        let sent = out.send(self.path, run.len, run.segment);
        if sent != Sent::Sent {
            counters.blocked_sends += u64::from(sent == Sent::Blocked);
            return false;
        }
        counters.retransmissions += run.count as u64;
        self.count(run, counters);
        *run = Run::default();
        true
    }
}

/// Returns the header of a retransmission, whose padding is removed (RFC 4588 §4).
fn repeated_header(
    header: [u8; HEADER_BYTES],
    payload_type: u8,
    number: u64,
    format: PayloadFormat,
) -> [u8; HEADER_BYTES] {
    let mut header = without_padding(header);
    header[1] = header[1] & 0x80 | payload_type;
    header[2..4].copy_from_slice(&(number as u16).to_be_bytes());
    header[8..].copy_from_slice(&codes::rtx_ssrc(format).to_be_bytes());
    header
}

/// Returns the payload of a retransmission.
fn with_original<'a>(
    sequence: u16,
    payload: &[u8],
    whole: &'a mut [u8; PACKET_BYTES_MAX],
) -> Option<&'a [u8]> {
    let whole = whole.get_mut(..REPEATED_EXTRA + payload.len())?;
    let (original, rest) = whole.split_at_mut(REPEATED_EXTRA);
    original.copy_from_slice(&sequence.to_be_bytes());
    rest.copy_from_slice(payload);
    Some(whole)
}
