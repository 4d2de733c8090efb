//! Frames of a packet, and packets that combine the frames of several (RFC 6716 §3.2).
//!
//! ```text
//! code 0  [config:5 S:1 0:2] frame
//! code 1  [config:5 S:1 1:2] frame frame                       of one length
//! code 2  [config:5 S:1 2:2] [length] frame frame
//! code 3  [config:5 S:1 3:2] [V P count:6] (padding length) ([length]…) frame… (padding)
//! ```
//!
//! Frames are moved, never decoded, so combining them does not change the audio. The bytes are untrusted: nothing is
//! read beyond them, and nothing is allocated for sizes that they only claim.

use super::{FRAME_BYTES_MAX, samples};

/// Upper bound on the frames of a packet: 120 ms in frames of 2.5 ms.
pub const FRAMES_MAX: usize = 48;

/// Mask of a packet's code, in the last bits of its first byte.
const CODE: u8 = 3;

/// Fields in the second byte of a packet of code 3: frames have lengths of their own, padding follows, and the count.
const VARIABLE: u8 = 0x80;
const PADDED: u8 = 0x40;
const COUNT: u8 = 0x3F;

/// Length from which a length field takes two bytes.
const LENGTH_TWO_BYTES: usize = 252;

/// Largest frame that announces a pause until the audio resumes (RFC 6716 §2.1.9).
const SILENCE_BYTES_MAX: usize = 1;

/// The frames of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    /// First byte without the code: the properties that all frames share.
    shape: u8,
    frames: [&'a [u8]; FRAMES_MAX],
    count: usize,
    samples: u64,
    has_extensions: bool,
}

impl<'a> Frames<'a> {
    /// Parses a packet; `None` if it breaks a rule of RFC 6716 §3.4.
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        let samples = samples(packet)?;
        let (toc, rest) = packet.split_first()?;
        let mut found = Self {
            shape: toc & !CODE,
            frames: [&[]; FRAMES_MAX],
            count: 0,
            samples,
            has_extensions: false,
        };
        match toc & CODE {
            0 => found.push(rest)?,
            1 => found.push_equal(rest, 2)?,
            2 => found.push_variable(rest, 2)?,
            _ => found.push_counted(rest)?,
        }
        Some(found)
    }

    /// Iterates over the frames. An empty one is audio that was lost or not sent.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.frames[..self.count].iter().copied()
    }

    /// Returns their total duration in samples at [`RATE`](super::RATE).
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Whether the packet has more than frames: extensions in its padding concern that packet as a whole.
    pub const fn has_extensions(&self) -> bool {
        self.has_extensions
    }

    /// Whether the sender pauses after this packet.
    pub fn is_silence(&self) -> bool {
        self.iter().all(|frame| frame.len() <= SILENCE_BYTES_MAX)
    }

    fn push(&mut self, frame: &'a [u8]) -> Option<()> {
        let place = self.frames.get_mut(self.count)?;
        if frame.len() > FRAME_BYTES_MAX {
            return None;
        }
        *place = frame;
        self.count += 1;
        Some(())
    }

    fn push_equal(&mut self, rest: &'a [u8], count: usize) -> Option<()> {
        if !rest.len().is_multiple_of(count) {
            return None;
        }
        let bytes = rest.len() / count;
        (0..count).try_for_each(|index| self.push(&rest[index * bytes..][..bytes]))
    }

    /// Reads frames whose lengths precede them, except for the last, which takes the rest.
    fn push_variable(&mut self, mut rest: &'a [u8], count: usize) -> Option<()> {
        let mut lengths = [0; FRAMES_MAX];
        let lengths = lengths.get_mut(..count.checked_sub(1)?)?;
        for length in lengths.iter_mut() {
            *length = take_length(&mut rest)?;
        }
        for length in lengths {
            let (frame, after) = rest.split_at_checked(*length)?;
            self.push(frame)?;
            rest = after;
        }
        self.push(rest)
    }

    fn push_counted(&mut self, rest: &'a [u8]) -> Option<()> {
        let (head, mut rest) = rest.split_first()?;
        if head & PADDED != 0 {
            let padding = take_padding_length(&mut rest)?;
            let (frames, padding) = rest.split_at(rest.len().checked_sub(padding)?);
            self.has_extensions = padding.iter().any(|byte| *byte != 0);
            rest = frames;
        }
        let count = usize::from(head & COUNT);
        if head & VARIABLE == 0 {
            self.push_equal(rest, count)
        } else {
            self.push_variable(rest, count)
        }
    }
}

fn take_byte(rest: &mut &[u8]) -> Option<usize> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(usize::from(*first))
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    match take_byte(rest)? {
        first @ LENGTH_TWO_BYTES.. => Some(4 * take_byte(rest)? + first),
        first => Some(first),
    }
}

/// Reads a padding length: each byte of 255 stands for 254 of padding and announces another byte.
fn take_padding_length(rest: &mut &[u8]) -> Option<usize> {
    let mut padding = 0;
    loop {
        match take_byte(rest)? {
            255 => padding += 254,
            last => return Some(padding + last),
        }
    }
}

/// Combines the frames of consecutive packets into one.
#[derive(Debug, Default)]
pub struct Combiner {
    shape: u8,
    /// Bytes of the frames, one after another.
    bytes: Vec<u8>,
    lengths: Vec<u16>,
    samples: u64,
}

impl Combiner {
    /// Whether it has no frames.
    pub const fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns the total duration of its frames, in samples at [`RATE`](super::RATE).
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Whether `frames` can follow in one packet of at most `bytes_max`: they have the coding, bandwidth, frame length
    /// and channels of the earlier ones, and the packet is not longer than any may be.
    pub fn takes(&self, frames: &Frames<'_>, bytes_max: usize) -> bool {
        let samples = self.samples + frames.samples;
        let own: usize = frames.iter().map(<[u8]>::len).sum();
        let count = self.lengths.len() + frames.count;
        // Counted as if each length took two bytes.
        let bytes = 2 + 2 * count + self.bytes.len() + own;
        (self.is_empty() || self.shape == frames.shape)
            && !frames.has_extensions
            && samples <= super::PACKET_SAMPLES_MAX.into()
            && bytes <= bytes_max
    }

    /// Appends `frames`; the caller has checked that it [`takes`](Self::takes) them.
    pub fn push(&mut self, frames: &Frames<'_>) {
        debug_assert!(self.takes(frames, usize::MAX), "asked before");
        self.shape = frames.shape;
        self.samples += frames.samples;
        for frame in frames.iter() {
            self.bytes.extend_from_slice(frame);
            self.lengths.push(frame.len() as u16);
        }
    }

    /// Appends the packet to `out`, and begins another.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let lengths = &self.lengths[..];
        if let [first, others @ ..] = lengths {
            let is_constant = others.iter().all(|length| length == first);
            if others.is_empty() {
                out.push(self.shape);
            } else {
                let kind = if is_constant { 0 } else { VARIABLE };
                out.extend([self.shape | CODE, kind | lengths.len() as u8]);
            }
            if !is_constant {
                for length in &lengths[..lengths.len() - 1] {
                    write_length(usize::from(*length), out);
                }
            }
            out.extend_from_slice(&self.bytes);
        }
        self.clear();
    }

    /// Drops all frames.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
        self.samples = 0;
    }
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    match length.checked_sub(LENGTH_TWO_BYTES) {
        None => out.push(length as u8),
        Some(above) => {
            let first = LENGTH_TWO_BYTES + above % 4;
            out.extend([first as u8, ((length - first) / 4) as u8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(packet: &[u8]) -> Option<Vec<Vec<u8>>> {
        let parsed = Frames::parse(packet)?;
        Some(parsed.iter().map(<[u8]>::to_vec).collect())
    }

    /// CELT, stereo, 20 ms.
    const SHAPE: u8 = 0xFC;

    #[test]
    fn each_code_gives_its_frames() {
        let of = |packet: &[u8]| frames(packet).expect("a packet");
        assert_eq!(of(&[SHAPE]), [b""]);
        assert_eq!(of(b"\xFCabc"), [b"abc"]);
        assert_eq!(of(b"\xFDabcd"), [b"ab", b"cd"]);
        assert_eq!(of(b"\xFE\x01abc"), [&b"a"[..], b"bc"]);
        assert_eq!(of(b"\xFF\x03abc"), [b"a", b"b", b"c"]);
        assert_eq!(of(b"\xFF\x83\x02\x00aab"), [&b"aa"[..], b"", b"b"]);
        assert_eq!(of(b"\xFF\x42\x02ab\0\0"), [b"a", b"b"], "padded");
        assert_eq!(of(b"\xFF\xC2\x01\x02aabb\0")[0], b"aa");
        let long = [&[0xFE, 252, 62][..], &[7; 500], &[8]].concat();
        assert_eq!(of(&long)[0].len(), 500);
    }

    #[test]
    fn packets_that_break_the_rules_are_none() {
        for packet in [
            &b""[..],
            b"\xFDabc",
            b"\xFE",
            b"\xFE\x04abc",
            b"\xFE\xFC",
            b"\xFF",
            b"\xFF\x00abc",
            b"\xFF\x02abc",
            b"\xFF\x83\x02\x03abc",
            b"\xFF\x41\x05abc",
            b"\xFF\x41\xFF\xFF",
            b"\xFF\x07abcdefg",
            &[SHAPE; 1 + FRAME_BYTES_MAX + 1],
        ] {
            assert!(Frames::parse(packet).is_none(), "{packet:?}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_not_combined() {
        let parse = |packet| Frames::parse(packet).expect("a packet");
        let mut combiner = Combiner::default();
        combiner.push(&parse(b"\xFCabc"));
        let takes = |packet| combiner.takes(&parse(packet), 1_000);
        assert!(takes(b"\xFDabcd") && takes(b"\xFF\x02ab"));
        assert!(!takes(b"\xF8abc"), "mono");
        assert!(!takes(b"\xF4abc"), "10 ms");
        assert!(!takes(b"\x7Cabc"), "hybrid");
        assert!(takes(b"\xFF\x42\x01ab\0"), "padding is dropped");
        assert!(!takes(b"\xFF\x42\x01ab\x05"), "extensions are not");
        // 120 ms.
        assert!(takes(b"\xFF\x05abcde") && !takes(b"\xFF\x06abcdef"));
        assert!(combiner.takes(&parse(b"\xFCabc"), 12) && !combiner.takes(&parse(b"\xFCabc"), 11));
    }

    #[test]
    fn equal_frames_need_no_lengths() {
        let mut combiner = Combiner::default();
        let mut out = Vec::new();
        combiner.finish(&mut out);
        assert!(out.is_empty() && combiner.is_empty());
        for packet in [b"\xFCab", b"\xFCcd"] {
            combiner.push(&Frames::parse(packet).expect("a packet"));
        }
        assert_eq!(combiner.samples(), 1_920);
        combiner.finish(&mut out);
        assert_eq!(out, b"\xFF\x02abcd");
        combiner.push(&Frames::parse(b"\xFCab").expect("a packet"));
        out.clear();
        combiner.finish(&mut out);
        assert_eq!(out, b"\xFCab");
    }

    #[test]
    fn silence_is_known() {
        let is_silence = |packet| Frames::parse(packet).expect("a packet").is_silence();
        assert!(is_silence(b"\xFC") && is_silence(b"\xFC\0") && is_silence(b"\xFDab"));
        assert!(!is_silence(b"\xFCab"));
    }

    fn packet() -> impl Strategy<Value = Vec<u8>> {
        let frame = prop::collection::vec(any::<u8>(), 0..600);
        let shape = (0..32u8, any::<bool>())
            .prop_map(|(config, stereo)| config << 3 | u8::from(stereo) << 2);
        (shape, prop::collection::vec(frame, 1..=2)).prop_map(|(shape, frames)| match &frames[..] {
            [first, second] => {
                let mut out = vec![shape | 2];
                write_length(first.len(), &mut out);
                [&out[..], first, second].concat()
            }
            _ => [&[shape], &frames[0][..]].concat(),
        })
    }

    proptest! {
        /// However packets are combined, the resulting frames equal the original ones.
        #[test]
        fn frames_come_back(packets in prop::collection::vec(packet(), 1..30), bytes_max in 200..3_000usize) {
            let (mut combiner, mut combined) = (Combiner::default(), Vec::new());
            let mut finish = |combiner: &mut Combiner| {
                let mut out = Vec::new();
                combiner.finish(&mut out);
                combined.push(out);
            };
            let (mut sent, mut sent_samples) = (Vec::new(), 0);
            for packet in &packets {
                let parsed = Frames::parse(packet).expect("a packet");
                if !combiner.is_empty() && !combiner.takes(&parsed, bytes_max) {
                    finish(&mut combiner);
                }
                combiner.push(&parsed);
                sent.extend(parsed.iter().map(|frame| (packet[0] & !CODE, frame.to_vec())));
                sent_samples += parsed.samples();
            }
            finish(&mut combiner);
            let (mut came, mut came_samples) = (Vec::new(), 0);
            for packet in &combined {
                let parsed = Frames::parse(packet).expect("it was made here");
                came.extend(parsed.iter().map(|frame| (packet[0] & !CODE, frame.to_vec())));
                came_samples += parsed.samples();
                prop_assert!(packet.len() <= bytes_max || parsed.iter().len() <= 2, "one packet's own length");
            }
            prop_assert_eq!((came, came_samples), (sent, sent_samples));
        }

        #[test]
        fn any_bytes_are_read_within_bounds(bytes: Vec<u8>) {
            if let Some(parsed) = Frames::parse(&bytes) {
                let total: usize = parsed.iter().map(<[u8]>::len).sum();
                prop_assert!(total < bytes.len());
                prop_assert!(parsed.iter().len() <= FRAMES_MAX);
            }
        }
    }
}
