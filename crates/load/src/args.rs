//! The command line of `carillon load`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::publish::synthetic::Audio;
use crate::quantity::{self, Slow};
use crate::target::Target;

/// The arguments of `carillon load`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Many listeners of one stream, and what they receive.
    ///
    /// Listeners of a synthetic publisher (`carillon load publish`, in another terminal) are checked frame by
    /// frame, and report how old each frame is when it arrives.
    Listen(Listen),
    /// Many publishers of synthetic media or of a file.
    Publish(Publish),
    /// A part of a load; started by the other two.
    #[command(hide = true)]
    Worker,
}

#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// http://host:port/path, ws://host:port/path, rtmp://host/app/name (https://, wss:// and rtmps:// within TLS, of any
    /// certificate),
    /// hls+http://host:port/stream/index.m3u8, whep+http://host:port/stream/whep; `{n}` is the number of a stream, see --streams.
    pub(crate) url: Target,
    /// Number of listeners.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub(crate) listeners: u64,
    #[command(flatten)]
    pub(crate) course: Course,
    #[command(flatten)]
    pub(crate) listening: Listening,
}

/// Behaviour of listeners.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listening {
    /// Requests titles within the audio, as radio players do.
    #[arg(long)]
    pub(crate) icy: bool,
    /// The share of listeners that stop reading once media arrives.
    #[arg(long, value_name = "P%", value_parser = quantity::share, default_value = "0%")]
    pub(crate) stalled: f64,
    /// A share of listeners, and the bit rate that each of them reads: 5%:12k.
    #[arg(long, value_name = "P%:RATE")]
    pub(crate) slow: Option<Slow>,
    /// Listeners that leave per second, each replaced by a new one.
    #[arg(long, value_name = "R/s", value_parser = quantity::rate)]
    pub(crate) churn: Option<f64>,
    /// Number of listeners checked frame by frame.
    #[arg(long = "check", value_name = "N", default_value_t = 10)]
    pub(crate) checked: u64,
    /// Streams to spread the listeners over: `{n}` in the address, from 0 on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) streams: u64,
    /// A file of queries for http:// addresses without one, such as `jwt=…`, one a line: each listener has one of its own, and
    /// those beyond the last line begin again with the first.
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) playing: Playing,
}

impl Listening {
    /// Returns the number of the stream that member `number` listens to.
    pub(crate) fn stream(&self, number: u64) -> u64 {
        number % self.streams.max(1)
    }
}

/// Behaviour of HLS players.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Playing {
    /// Over HLS: plays whole segments, and leaves the parts of low-latency HLS alone.
    #[arg(long)]
    pub(crate) whole_segments: bool,
    /// Over HLS: requests the next part before it is listed, as Apple's players do.
    #[arg(long, conflicts_with = "whole_segments")]
    pub(crate) hints: bool,
    /// Over HLS: requests each playlist when its next part is due, instead of having the server hold the request:
    /// for servers of files, which hold nothing.
    #[arg(long, conflicts_with_all = ["whole_segments", "hints"])]
    pub(crate) paced: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Publish {
    /// rtmp://host/app/name?key=KEY, icecast://source:KEY@host:port/mount,
    /// whip+http://KEY@host:port/stream/whip; `{n}` is the number of the publisher, from 0 on.
    pub(crate) url: Target,
    /// Number of publishers; each one needs a stream of its own.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1)]
    pub(crate) publishers: u64,
    #[command(flatten)]
    pub(crate) course: Course,
    /// Sends this file over and over, by its own times: FLV, MP3, AAC, Ogg, WebM.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["audio", "audio_rate", "video_rate"])]
    pub(crate) file: Option<PathBuf>,
    /// Codec of the synthetic audio; by default MP3 to Icecast, AAC over RTMP and Opus over WebRTC.
    #[arg(long, value_enum)]
    pub(crate) audio: Option<Audio>,
    /// Its bit rate.
    #[arg(long, value_name = "RATE", value_parser = quantity::bit_rate, default_value = "128k")]
    pub(crate) audio_rate: u64,
    /// Adds synthetic video of this bit rate, 25 frames a second.
    #[arg(long, value_name = "RATE", value_parser = quantity::bit_rate)]
    pub(crate) video_rate: Option<u64>,
    /// Time between two keyframes, in whole seconds; over WebRTC the server may ask for more.
    #[arg(long, value_name = "D", value_parser = quantity::duration, default_value = "2s")]
    pub(crate) keyframe_interval: Duration,
}

/// Course of a load.
#[derive(Args, Debug)]
pub(crate) struct Course {
    /// Connections begun per second; by default 500/s, and 50/s over WebRTC because of its handshakes.
    #[arg(long, value_name = "R/s", value_parser = quantity::rate)]
    pub(crate) ramp: Option<f64>,
    /// Length of the measurement, after all have joined.
    #[arg(long, value_name = "D", value_parser = quantity::duration, default_value = "30s")]
    pub(crate) duration: Duration,
    /// Time between the last join and the measurement.
    #[arg(long, value_name = "D", value_parser = quantity::duration, default_value = "2s")]
    pub(crate) settle: Duration,
    /// Processes to spread over; by default as few as the descriptor limit allows.
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u64>,
    /// A process of the server; its use of the machine is reported, with that of its children.
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Proxy to send WebRTC's datagrams to, instead of the address in the server's answer.
    #[arg(long, value_name = "ADDR")]
    pub(crate) via: Option<SocketAddr>,
    /// Reports in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        load: Arguments,
    }

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let words = std::iter::once("load").chain(line.split(' '));
        Cli::try_parse_from(words).map(|cli| cli.load.command)
    }

    #[test]
    fn commands_are_understood() {
        let line = "listen http://127.0.0.1:8000/radio.mp3 --listeners 5000 --ramp 1000/s \
                    --duration 60s --stalled 5% --slow 5%:12k --churn 10/s --pid 7 --json --icy";
        let Ok(Command::Listen(listen)) = parse(line) else {
            panic!("{:?}", parse(line));
        };
        let course = listen.course;
        assert_eq!((listen.listeners, course.ramp), (5_000, Some(1_000.0)));
        let listening = listen.listening;
        assert_eq!((listening.stalled, listening.churn), (0.05, Some(10.0)));
        assert_eq!(listening.slow.map(|slow| slow.bit_rate), Some(12_000));
        assert_eq!((&course.pid[..], course.json), (&[7][..], true));
        let line =
            "publish icecast://source:k@127.0.0.1:8000/radio.mp3 --publishers 1 --audio-rate 64k";
        assert!(
            matches!(parse(line), Ok(Command::Publish(publish)) if publish.audio_rate == 64_000)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "listen",
            "listen ftp://127.0.0.1/x",
            "listen http://127.0.0.1/x --duration 5",
            "listen hls+http://127.0.0.1/x --hints --whole-segments",
            "listen hls+http://127.0.0.1/x --hints --paced",
            "publish rtmp://127.0.0.1/live/a --file a.flv --audio-rate 64k",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
