//! Coded audio as a publisher's connection would deliver it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::mpeg_audio::FrameHeader;
use media::{Codec, Framing, Kind, Sample, Span, Timestamp, Track, TrackId};
use testkit::Tool;

const DEADLINE: Duration = Duration::from_secs(60);

/// Time of every source's first sample: not zero, so that a lost offset shows.
pub(super) const START: Timestamp = Timestamp::from_millis(5_000);

#[derive(Clone)]
pub(super) struct Source {
    pub(super) track: Arc<Track>,
    pub(super) samples: Vec<Sample>,
    /// All samples as one byte stream, for ffmpeg.
    pub(super) stream: Vec<u8>,
    pub(super) format: &'static str,
}

/// Audio of which no two moments are alike, differing between the channels.
pub(super) fn sweep(rate: u32, seconds: f32) -> String {
    format!("aevalsrc=0.3*sin(2*PI*(200+150*t)*t)|0.3*sin(2*PI*(300+100*t)*t):s={rate}:d={seconds}")
}

/// One note on both channels, or on one.
pub(super) fn tone(rate: u32, channels: u8, hertz: u32, seconds: f32) -> String {
    let one = format!("0.5*sin(2*PI*{hertz}*t)");
    let all = vec![one; usize::from(channels)].join("|");
    format!("aevalsrc={all}:s={rate}:d={seconds}")
}

/// AAC-LC in bare access units, as RTMP carries it.
pub(super) fn aac(audio: &str) -> Source {
    let framed = adts(audio);
    let header = AdtsHeader::parse(&framed.stream).expect("ADTS");
    let config = AudioSpecificConfig::from_adts(&header);
    let track = Track {
        framing: Framing::Bare,
        config: Bytes::copy_from_slice(&config.to_bytes().expect("an ordinary rate")),
        ..(*framed.track).clone()
    };
    let samples = framed.samples.iter().map(|sample| Sample {
        data: sample.data.slice(header.header_bytes..),
        ..sample.clone()
    });
    Source {
        samples: samples.collect(),
        track: Arc::new(track),
        ..framed
    }
}

/// AAC-LC in ADTS frames, as Icecast sources send it.
pub(super) fn adts(audio: &str) -> Source {
    let stream = encode(audio, &["-c:a", "aac", "-b:a", "128k", "-f", "adts"]);
    let header = AdtsHeader::parse(&stream).expect("ADTS");
    let config = AudioSpecificConfig::from_adts(&header);
    let mut track = self_framed(Codec::Aac, config.sample_rate, config.channels);
    track.config = Bytes::copy_from_slice(&config.to_bytes().expect("an ordinary rate"));
    cut(stream, "aac", track, |data| {
        let header = AdtsHeader::parse(data).expect("ADTS");
        (header.frame_bytes, header.samples(), header.sample_rate)
    })
}

/// MP3, each frame a sample.
pub(super) fn mp3(audio: &str) -> Source {
    let options = "-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0 -f mp3";
    let stream = encode(audio, &options.split(' ').collect::<Vec<_>>());
    let header = FrameHeader::parse(&stream).expect("MP3");
    let track = self_framed(Codec::Mp3, header.sample_rate, header.channels);
    cut(stream, "mp3", track, |data| {
        let header = FrameHeader::parse(data).expect("MP3");
        (header.frame_bytes(), header.samples(), header.sample_rate)
    })
}

fn self_framed(codec: Codec, sample_rate: u32, channels: u8) -> Track {
    Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec,
        framing: Framing::SelfFramed,
        config: Bytes::new(),
        sample_rate,
        channels,
        flv: None,
    }
}

impl Source {
    /// Duration of the source.
    pub(super) fn duration(&self) -> Span {
        let last = self.samples.last().expect("not empty");
        last.pts + last.duration - self.samples[0].pts
    }

    /// The source's audio, `by` later.
    pub(super) fn shifted(mut self, by: Span) -> Self {
        for sample in &mut self.samples {
            sample.pts += by;
            sample.dts = sample.pts;
        }
        self
    }
}

fn encode(audio: &str, arguments: &[&str]) -> Vec<u8> {
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", audio, "-fflags", "+bitexact"])
        .args(arguments)
        .arg("-")
        .run(DEADLINE)
}

/// Cuts a stream into frames by a function from what is left to bytes, samples and rate of the next.
fn cut(
    stream: Vec<u8>,
    format: &'static str,
    track: Track,
    next: impl Fn(&[u8]) -> (usize, u32, u32),
) -> Source {
    let mut rest = Bytes::from(stream.clone());
    let mut samples = Vec::new();
    let mut count = 0;
    while !rest.is_empty() {
        let (bytes, length, rate) = next(&rest);
        let pts = START + Span::from_samples(count, rate);
        count += u64::from(length);
        samples.push(Sample {
            track: track.id,
            dts: pts,
            pts,
            duration: Span::from_samples(u64::from(length), rate),
            keyframe: true,
            data: rest.split_to(bytes),
            flv: None,
        });
    }
    Source {
        track: Arc::new(track),
        samples,
        stream,
        format,
    }
}
