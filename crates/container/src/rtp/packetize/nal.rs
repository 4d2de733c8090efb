//! Common part of H.264 and HEVC: units that fit share a packet, others are fragmented.
//!
//! ```text
//! [SPS PPS SEI] [fragment] [fragment] … [fragment]      a keyframe: the sets first, then equal pieces
//! ```

use std::fmt::Debug;
use std::marker::PhantomData;

use bytes::Bytes;
use media::codec::nal::{self, Packing, without_emulation_prevention};
use media::codec::sei;

use super::super::depacketize::nal::{FRAGMENT_END, FRAGMENT_START, SHARED_LENGTH_BYTES};
use super::super::payloads::Payloads;
use super::{Frame, Picture, equal_pieces};

/// Upper bound on the units that share a packet. More small ones than this are unheard of.
const AGGREGATED_MAX: usize = 16;

/// Kinds of parameter set: video, sequence and picture.
pub(super) const SET_KINDS: usize = 3;

/// Treatment of a unit by a packetizer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// A unit that is not sent: delimiters, filler, units that only a hypothetical decoder reads, and types that
    /// receivers would misread.
    Drop,
    /// A parameter set of this kind, below [`SET_KINDS`].
    Set(usize),
    /// A piece of a frame.
    Slice {
        /// Decoders may start at the frame.
        is_key: bool,
        /// No frame is predicted from this one, if it is of the highest temporal layer.
        is_disposable: bool,
        /// Temporal layer of the frame.
        layer: u8,
    },
    /// Anything else.
    Other,
}

/// Differences between the codecs.
pub(super) trait Syntax: Debug {
    /// Bytes that begin each unit, and each packet that is shared.
    const HEAD_BYTES: usize;
    /// Bytes that begin a fragment, the last of which has the flags.
    const FRAGMENT_HEAD_BYTES: usize;

    fn class(unit: &[u8]) -> Class;
    /// Parses a configuration record: bytes of the lengths, temporal layers, parameter sets by kind.
    fn configuration(record: &[u8]) -> Option<(usize, u8, [Vec<Bytes>; SET_KINDS])>;
    /// Returns the first [`Self::HEAD_BYTES`] of a packet that these units share.
    fn shared_head(units: &[&[u8]]) -> [u8; 2];
    /// Returns the first [`Self::FRAGMENT_HEAD_BYTES`] of a fragment of `unit`, without flags.
    fn fragment_head(unit: &[u8]) -> [u8; 3];
}

/// Classifies supplemental information, given without the unit's header. Encoders at a constant bit rate put a few
/// bytes before each frame that state when a buffer is drained. They would be a packet of their own before the frame's
/// equal pieces, and cost each viewer a second send.
pub(super) fn class_of_sei(payload: &[u8]) -> Class {
    if sei::is_for_hypothetical_decoder(&without_emulation_prevention(payload)) {
        Class::Drop
    } else {
        Class::Other
    }
}

/// Packetizer of one track.
#[derive(Debug)]
pub(super) struct Packer<S> {
    packing: Packing,
    /// Parameter sets that are sent before keyframes that do not bring their own.
    sets: [Vec<Bytes>; SET_KINDS],
    /// Number of known temporal layers.
    layers: u8,
    syntax: PhantomData<S>,
}

impl<S: Syntax> Packer<S> {
    pub(super) fn new(record: &[u8]) -> Self {
        let (packing, layers, sets) = match S::configuration(record) {
            Some((bytes, layers, sets)) => (Packing::Lengths(bytes), layers, sets),
            None => (Packing::StartCodes, 0, Default::default()),
        };
        Self {
            packing,
            sets,
            layers,
            syntax: PhantomData,
        }
    }

    /// Appends the packets of a frame; `None` for a sample without a frame. Parameter sets in such a sample are kept.
    pub(super) fn push(&mut self, frame: &Frame<'_>, out: &mut Payloads) -> Option<Picture> {
        let units = nal::units(frame.bytes, self.packing);
        let mut has_set = [false; SET_KINDS];
        let mut has_slice = false;
        let mut picture = Picture {
            keyframe: frame.keyframe,
            is_disposable: true,
            ..Picture::default()
        };
        for unit in units.clone() {
            match S::class(unit) {
                Class::Set(kind) => has_set[kind] = true,
                Class::Slice {
                    is_key,
                    is_disposable,
                    layer,
                } => {
                    has_slice = true;
                    picture.keyframe |= is_key;
                    self.layers = self.layers.max(layer + 1);
                    picture.is_disposable &= is_disposable && layer + 1 >= self.layers;
                }
                Class::Drop | Class::Other => {}
            }
        }
        if !has_slice {
            self.keep_sets(units, has_set);
            return None;
        }
        let mut shared = Shared::<S>::new(frame.payload_bytes);
        for (kind, sets) in self.sets.iter().enumerate() {
            if picture.keyframe && !has_set[kind] {
                sets.iter().for_each(|set| shared.push(set, out));
            }
        }
        for unit in units.filter(|unit| S::class(unit) != Class::Drop) {
            shared.push(unit, out);
        }
        shared.flush(out);
        Some(picture)
    }

    fn keep_sets<'a>(&mut self, units: impl Iterator<Item = &'a [u8]>, brought: [bool; SET_KINDS]) {
        for (sets, brought) in self.sets.iter_mut().zip(brought) {
            if brought {
                sets.clear();
            }
        }
        for unit in units {
            if let Class::Set(kind) = S::class(unit)
                && self.sets[kind].len() < AGGREGATED_MAX
            {
                self.sets[kind].push(Bytes::copy_from_slice(unit));
            }
        }
    }
}

/// Units that wait to share a packet.
struct Shared<'a, S> {
    units: [&'a [u8]; AGGREGATED_MAX],
    count: usize,
    /// Length of the packet, if they share one.
    bytes: usize,
    payload_bytes: usize,
    syntax: PhantomData<S>,
}

impl<'a, S: Syntax> Shared<'a, S> {
    const fn new(payload_bytes: usize) -> Self {
        Self {
            units: [&[]; AGGREGATED_MAX],
            count: 0,
            bytes: S::HEAD_BYTES,
            payload_bytes,
            syntax: PhantomData,
        }
    }

    fn push(&mut self, unit: &'a [u8], out: &mut Payloads) {
        if unit.len() > self.payload_bytes {
            self.flush(out);
            cut::<S>(unit, self.payload_bytes, out);
            return;
        }
        let bytes = SHARED_LENGTH_BYTES + unit.len();
        if self.count == AGGREGATED_MAX || self.bytes + bytes > self.payload_bytes {
            self.flush(out);
        }
        self.units[self.count] = unit;
        self.count += 1;
        self.bytes += bytes;
    }

    fn flush(&mut self, out: &mut Payloads) {
        let units = &self.units[..self.count];
        if let [unit] = units {
            out.put(unit);
        } else if let [_, ..] = units {
            out.put(&S::shared_head(units)[..S::HEAD_BYTES]);
            for unit in units {
                out.put(&(unit.len() as u16).to_be_bytes());
                out.put(unit);
            }
        }
        out.end_packet();
        self.count = 0;
        self.bytes = S::HEAD_BYTES;
    }
}

/// Fragments a unit that is longer than `payload_bytes` into equal pieces, of which the last may lack a few bytes.
fn cut<S: Syntax>(unit: &[u8], payload_bytes: usize, out: &mut Payloads) {
    let mut head = S::fragment_head(unit);
    let head = &mut head[..S::FRAGMENT_HEAD_BYTES];
    let body = &unit[S::HEAD_BYTES..];
    let chunk_bytes = equal_pieces(body.len(), payload_bytes - S::FRAGMENT_HEAD_BYTES);
    let last = (body.len() - 1) / chunk_bytes;
    for (index, chunk) in body.chunks(chunk_bytes).enumerate() {
        let flags = match index {
            0 => FRAGMENT_START,
            _ if index == last => FRAGMENT_END,
            _ => 0,
        };
        head[S::FRAGMENT_HEAD_BYTES - 1] |= flags;
        out.put(head);
        out.put(chunk);
        out.end_packet();
        head[S::FRAGMENT_HEAD_BYTES - 1] &= !(FRAGMENT_START | FRAGMENT_END);
    }
}
