//! One stream's chain from coded frames to Opus packets.

use std::sync::Arc;

use media::{Sample, Span, Timestamp, Track, TrackId};

use crate::transcode::clock::Step;
use crate::transcode::conceal::Concealer;
use crate::transcode::decoder::{Decoded, Decoder, Fault, Shape};
use crate::transcode::encoder::Packer;
use crate::transcode::segment::Segment;
use crate::transcode::{Caveat, Frame, OUTPUT_RATE, Options, Stats, Unsupported};

/// Panics of the decoder after which a source is given up. Each one costs an unwinding and a line on standard error, and real
/// sources cause none.
const PANICS_MAX: u64 = 16;

/// Limits of timestamps. Stamps beyond two centuries are clamped, which leaves headroom for arithmetic.
const LATEST: Timestamp = Timestamp::from_ticks(i64::MAX / 2);
const EARLIEST: Timestamp = Timestamp::from_ticks(i64::MIN / 2);

/// Transcoder from the samples of an AAC or MP3 track to samples of an Opus track.
///
/// Output time is counted in samples from the first input's `pts` on, never goes back, and has a gap only where the input's
/// clock was set forward by more than a second. Shorter gaps are filled, shorter overlaps left out. Each packet's `pts` is the
/// playback time of the first sample decoded from it: libopus's own delay is accounted for.
///
/// ```
/// # use carillon_audio::transcode::{Options, Transcoder, Unsupported};
/// # fn demo(source: &media::Track, samples: &[media::Sample]) -> Result<(), Unsupported> {
/// let mut transcoder = Transcoder::open(source, Options::default())?;
/// let mut packets = Vec::new();
/// for sample in samples {
///     transcoder.push(sample, &mut packets)?;
/// }
/// transcoder.finish(&mut packets);
/// # Ok(())
/// # }
/// ```
pub struct Transcoder {
    output: Arc<Track>,
    decoder: Decoder,
    concealer: Concealer,
    /// Whether the packer is in a run: from the first frame to [`Transcoder::finish`] or a jump.
    running: bool,
    /// Part of the run that has the present rate; `None` before its first frame.
    segment: Option<Segment>,
    /// Number of channels that the packer is set to.
    channels: u8,
    packer: Packer,
    /// Offset added to the source's timestamps since its clock was set back.
    offset: Span,
    /// End of the output when it was last finished, or of an earlier output, if set before the first sample. No output begins
    /// before it.
    pub(crate) ended: Option<Timestamp>,
    stats: Stats,
    /// Buffers kept for their allocations: one unit's audio, before and after resampling.
    decoded: Vec<Frame>,
    resampled: Vec<Frame>,
}

impl Transcoder {
    /// Creates a transcoder for `source`; its output track has the same id. Options beyond their range are clamped.
    pub fn open(source: &Track, options: Options) -> Result<Self, Unsupported> {
        let decoder = Decoder::new(source)?;
        let packer = Packer::new(source.id, options)?;
        Ok(Self {
            output: Arc::new(packer.track()),
            decoder,
            concealer: Concealer::default(),
            running: false,
            segment: None,
            channels: 2,
            packer,
            offset: Span::ZERO,
            ended: None,
            stats: Stats::default(),
            decoded: Vec::new(),
            resampled: Vec::new(),
        })
    }

    /// Returns the track that transcoders with these options write, whatever their input; its id is `id`.
    pub fn output_of(id: TrackId, options: Options) -> Result<Track, Unsupported> {
        Packer::new(id, options).map(|packer| packer.track())
    }

    /// Returns the Opus track: 48 kHz, two channels, an OpusHead as its configuration. It stays the same for the life of the
    /// transcoder.
    pub const fn output(&self) -> &Arc<Track> {
        &self.output
    }

    /// Returns the known losses. Implicitly signalled HE-AAC is detected after some frames.
    pub fn caveat(&self) -> Option<Caveat> {
        self.decoder.caveat()
    }

    /// Returns the counters since the start.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Switches to another configuration of the source. Output continues without a gap, in the same track. After an error the
    /// transcoder must not be used any more.
    pub fn retune(&mut self, source: &Track, out: &mut Vec<Sample>) -> Result<(), Unsupported> {
        self.decoder = Decoder::new(source)?;
        self.end_segment(out);
        self.concealer.reset();
        Ok(())
    }

    /// Takes one sample, appending to `out` the packets that it completes. A bad frame is not an error;
    /// [`Unsupported::Damaged`] means that the source is given up for good.
    pub fn push(&mut self, sample: &Sample, out: &mut Vec<Sample>) -> Result<(), Unsupported> {
        if self.is_after_gap(sample.pts) {
            self.decoder.lose();
        }
        // Only the first of a sample's frames is stamped.
        let mut at = Some(sample.pts);
        let mut audio = std::mem::take(&mut self.decoded);
        for unit in self.decoder.units(sample) {
            audio.clear();
            self.stats.frames += 1;
            let shape = match self.decoder.decode(unit, &mut audio) {
                Decoded::Good(shape) => Some(shape),
                Decoded::Bad(shape, fault) => {
                    self.note_bad_frame(fault)?;
                    shape
                }
            };
            // The length of a bad frame is not known before the first good one.
            let Some(shape) = shape else {
                continue;
            };
            match at.take() {
                Some(at) => self.follow_clock(at, shape, out)?,
                None => _ = self.follow_shape(shape, out)?,
            }
            if audio.is_empty() {
                self.concealer.conceal(shape.frames, shape.rate, &mut audio);
            } else {
                self.concealer.good(&mut audio);
            }
            self.pass_on(&audio, out);
        }
        self.decoded = audio;
        Ok(())
    }

    /// Ends the output: pending audio is written, with silence up to the end of the last packet. Samples may follow, as after a
    /// jump of the clock.
    pub fn finish(&mut self, out: &mut Vec<Sample>) {
        if self.running {
            self.end_segment(out);
            self.ended = Some(self.packer.finish(&mut self.stats, out));
            self.running = false;
        }
    }

    fn note_bad_frame(&mut self, fault: Fault) -> Result<(), Unsupported> {
        self.stats.bad_frames += 1;
        self.stats.decoder_panics += u64::from(fault == Fault::Panic);
        if self.stats.decoder_panics > PANICS_MAX {
            return Err(Unsupported::Damaged);
        }
        Ok(())
    }

    /// Converts a source's timestamp to the output's time.
    fn on_timeline(&self, at: Timestamp) -> Timestamp {
        (at + self.offset).clamp(EARLIEST, LATEST)
    }

    fn is_after_gap(&self, at: Timestamp) -> bool {
        self.segment.as_ref().is_some_and(|segment| {
            let step = segment.step(self.on_timeline(at));
            matches!(step, Step::Fill(_) | Step::Jump)
        })
    }

    /// Aligns the segment with a frame stamped `at`.
    fn follow_clock(
        &mut self,
        at: Timestamp,
        shape: Shape,
        out: &mut Vec<Sample>,
    ) -> Result<(), Unsupported> {
        let at = self.on_timeline(at);
        if !self.running {
            self.begin(at);
        }
        let segment = self.follow_shape(shape, out)?;
        match segment.step(at) {
            Step::Continue => {}
            Step::Fill(count) => {
                let missing = count - segment.unskip(count);
                self.fill(missing, shape.rate, out);
            }
            Step::Skip(count) => {
                segment.skip(count);
                self.stats.overlaps += 1;
            }
            Step::Jump => {
                self.stats.jumps += 1;
                self.finish(out);
                self.concealer.reset();
                self.begin(at);
                self.follow_shape(shape, out)?;
            }
        }
        Ok(())
    }

    /// Adapts the packer and the segment to frames of `shape`.
    fn follow_shape(
        &mut self,
        shape: Shape,
        out: &mut Vec<Sample>,
    ) -> Result<&mut Segment, Unsupported> {
        if shape.channels != self.channels {
            self.packer.set_channels(shape.channels)?;
            self.channels = shape.channels;
        }
        if self
            .segment
            .as_ref()
            .is_some_and(|segment| segment.rate != shape.rate)
        {
            self.end_segment(out);
        }
        match &mut self.segment {
            Some(segment) => Ok(segment),
            empty => {
                let fresh = Segment::new(self.packer.end(), shape.rate)
                    .ok_or(Unsupported::SampleRate(shape.rate))?;
                Ok(empty.insert(fresh))
            }
        }
    }

    /// Begins a run at `at`, or at the end of the output so far if that is later.
    fn begin(&mut self, at: Timestamp) {
        let start = self.ended.map_or(at, |ended| ended.max(at));
        self.offset = self.offset + (start - at);
        self.packer.begin(start);
        self.running = true;
    }

    fn fill(&mut self, count: usize, rate: u32, out: &mut Vec<Sample>) {
        let mut filler = Vec::new();
        self.concealer.conceal(count, rate, &mut filler);
        self.stats.gaps += 1;
        self.stats.filled_samples += output_samples(count, rate);
        self.pass_on(&filler, out);
    }

    fn pass_on(&mut self, frames: &[Frame], out: &mut Vec<Sample>) {
        let Some(segment) = &mut self.segment else {
            return;
        };
        self.resampled.clear();
        let left_out = segment.push(frames, &mut self.resampled);
        self.stats.skipped_samples += output_samples(left_out, segment.rate);
        self.packer.push(&self.resampled, &mut self.stats, out);
    }

    fn end_segment(&mut self, out: &mut Vec<Sample>) {
        if let Some(segment) = self.segment.take() {
            self.resampled.clear();
            segment.finish(&mut self.resampled);
            self.packer.push(&self.resampled, &mut self.stats, out);
        }
    }
}

fn output_samples(count: usize, rate: u32) -> u64 {
    count as u64 * u64::from(OUTPUT_RATE) / u64::from(rate)
}
