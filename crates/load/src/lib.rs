//! The load generator behind `carillon load`: thousands of listeners and publishers, for our server and its peers, and a report
//! of their observations.
//!
//! ```text
//!  carillon load listen … ──► coordinator ──plan──► worker ─┬─ epoll ─ listener, listener, …
//!                              │    ▲               worker ─┘
//!                     /proc/PID│    └────── tallies ──┘
//!                              ▼
//!                            report
//! ```
//!
//! A worker is a process with one thread: a listener is a socket and some counters, and bytes that are not checked are
//! discarded in the kernel. A few listeners are *checked*: frames of a synthetic publisher carry their number and the time they
//! were sent (`stamp`), which reveals holes, repetitions and delay. Publishers and listeners are two commands and may run on
//! different hosts; the frames carry everything that one needs to know of the other.
//!
//! Over HLS (`hls`), a listener is a player with two connections, and checks the rules for playlists.
//!
//! Over WebRTC (`rtc`), each member has its own session; most viewers count the packets that they receive, and checked viewers
//! decrypt them.
//!
//! The generator speaks to servers as players and encoders do, over RTMP with `rml_rtmp`: a second opinion on our own
//! implementation.

mod answer;
mod args;
mod checker;
mod churn;
mod clock;
mod conversation;
mod coordinator;
mod group;
mod histogram;
mod hls;
mod laps;
mod ledger;
mod listen;
mod messages;
mod muster;
mod plan;
mod publish;
mod quantity;
mod reading;
mod reception;
mod report;
mod rtc;
mod socket;
mod stamp;
mod sums;
mod tally;
mod target;
mod timers;
mod tls;
mod watch;
mod worker;

use std::io::Write;

pub use crate::args::Arguments;
use crate::args::{Command, Course, Listen, Playing, Publish};
pub use crate::coordinator::LoadError;
use crate::plan::{Plan, Source, Work};
pub use crate::publish::recording::FileError;
use crate::publish::recording::Recording;
pub use crate::publish::synthetic::RateError;
use crate::publish::synthetic::{Audio, Picture, Program, SyntheticAudio};
use crate::target::{Protocol, Target};

/// Reasons why a load produced no report, or a report without members.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address belongs to the other command.
    #[error("{0}")]
    Use(&'static str),
    /// The process to watch does not exist.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The synthetic source is impossible.
    #[error("{0}")]
    Rate(#[from] RateError),
    /// The file to publish is unusable.
    #[error("the file: {0}")]
    File(#[from] FileError),
    /// The load's own processes failed.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// Standard input or output failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// No member joined; the report is printed all the same.
    #[error("no listener or publisher joined")]
    NoneJoined,
}

/// Runs the command of the arguments, and prints the report to standard output.
///
/// Must run in a program whose command `load` ends here: a load starts itself again.
///
/// # Errors
/// Returns an error if there is nothing to report, or if no member joined.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let (plan, course) = match arguments.command {
        Command::Worker => return Ok(worker::run()?),
        Command::Listen(listen) => plan_to_listen(listen)?,
        Command::Publish(publish) => plan_to_publish(publish)?,
    };
    if let Some(pid) = course.pid.iter().find(|pid| !watch::is_running(**pid)) {
        return Err(Error::NoProcess(*pid));
    }
    let report = coordinator::run(plan, &course.pid)?;
    let text = if course.json {
        serde_json::to_string_pretty(&report).map_err(LoadError::from)? + "\n"
    } else {
        report.text()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    if report.members.joined == 0 {
        return Err(Error::NoneJoined);
    }
    Ok(())
}

fn plan_to_listen(listen: Listen) -> Result<(Plan, Course), Error> {
    let Listen {
        url,
        listeners,
        course,
        listening,
    } = listen;
    let takes_less = listening.icy || listening.stalled > 0.0 || listening.slow.is_some();
    match url.protocol {
        Protocol::Icecast => return misuse("listen to an Icecast mount by its http:// address"),
        Protocol::Whip => return misuse("listen over WebRTC by a whep+http:// address"),
        Protocol::Whep | Protocol::Srtp if takes_less => {
            return misuse("viewers over WebRTC take everything: no --icy, --stalled, --slow");
        }
        Protocol::Hls if takes_less => {
            return misuse("players over HLS take whole answers: no --icy, --stalled, --slow");
        }
        Protocol::Websocket if listening.icy => {
            return misuse(
                "titles come between the audio of an http:// address: no --icy over WebSocket",
            );
        }
        Protocol::Http
        | Protocol::Websocket
        | Protocol::Rtmp
        | Protocol::Whep
        | Protocol::Srtp
        | Protocol::Hls => {}
    }
    if url.protocol != Protocol::Hls && listening.playing != Playing::default() {
        return misuse("--whole-segments, --hints and --paced are for hls+http:// addresses");
    }
    if listening.streams > 1 && !url.is_numbered() {
        return misuse("several streams need `{n}` in the address, for their number");
    }
    if listening.queries.is_some() && url.protocol != Protocol::Http {
        return misuse("--queries is for http:// addresses");
    }
    let plan = plan(url, listeners, &course, Work::Listen(listening))?;
    Ok((plan, course))
}

fn plan_to_publish(publish: Publish) -> Result<(Plan, Course), Error> {
    let protocol = publish.url.protocol;
    let is_known = matches!(
        protocol,
        Protocol::Rtmp | Protocol::Icecast | Protocol::Whip
    );
    if !is_known || publish.url.is_secure {
        return misuse(
            "publish to icecast://source:KEY@host:port/mount, rtmp://… or whip+http://KEY@host:port/…",
        );
    }
    if publish.publishers > 1 && !publish.url.is_numbered() {
        return misuse("several publishers need `{n}` in the address, for their number");
    }
    let source = match publish.file {
        Some(path) => {
            // Checked here, so that a mistake is reported once and not by each process.
            Recording::read(&path, protocol)?;
            Source::File(std::fs::canonicalize(path)?)
        }
        None => {
            let usual = match protocol {
                Protocol::Rtmp => Audio::Aac,
                Protocol::Whip => Audio::Opus,
                _ => Audio::Mp3,
            };
            let audio = publish.audio.unwrap_or(usual);
            if publish.video_rate.is_some() && protocol == Protocol::Icecast {
                return misuse("synthetic video goes over RTMP and WebRTC only");
            }
            if (protocol == Protocol::Whip) != (audio == Audio::Opus) && protocol != Protocol::Rtmp
            {
                return misuse("synthetic audio is Opus over WebRTC, MP3 or AAC towards Icecast");
            }
            let audio = SyntheticAudio::new(audio, publish.audio_rate)?;
            let interval = publish.keyframe_interval;
            let picture = publish.video_rate.map(|rate| Picture::new(rate, interval));
            let picture = picture.transpose()?;
            Source::Synthetic(Program { audio, picture })
        }
    };
    let members = publish.publishers;
    let plan = plan(publish.url, members, &publish.course, Work::Publish(source))?;
    Ok((plan, publish.course))
}

fn misuse<T>(words: &'static str) -> Result<T, Error> {
    Err(Error::Use(words))
}

fn plan(target: Target, members: u64, course: &Course, work: Work) -> Result<Plan, Error> {
    let protocol = target.protocol;
    Ok(Plan {
        target,
        via: course.via,
        process: 0,
        processes: coordinator::processes(members, descriptors(protocol), course.processes)?,
        begin_at: 0,
        members,
        ramp: course.ramp.unwrap_or_else(|| usual_ramp(protocol)),
        settle: course.settle,
        window: course.duration,
        work,
    })
}

/// Returns the number of sockets of a member.
fn descriptors(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Hls => 2,
        _ => 1,
    }
}

/// Returns the default number of joins per second: a handshake costs both sides a millisecond.
fn usual_ramp(protocol: Protocol) -> f64 {
    match protocol {
        Protocol::Whep | Protocol::Whip => 50.0,
        _ => 500.0,
    }
}
