//! Programs that play RTMP, each writing what it receives to a file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::framemd5::{self, Frame};
use crate::{Process, Tool, temp_folder};

/// A program that plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// The distribution's ffmpeg (5.1 on Debian 12), writing FLV.
    Ffmpeg,
    /// An ffmpeg of this year, writing FLV with whatever Enhanced RTMP can carry.
    CurrentFfmpeg,
    /// GStreamer's `rtmp2src`, which outputs FLV bytes as received.
    GstreamerRtmp2,
    /// librtmp's own `rtmpdump`, writing FLV with the timestamps of the wire.
    Rtmpdump,
    /// VLC, writing MPEG-TS.
    Vlc,
}

/// Number of frames at the end among which VLC cuts one: when the stream ends, VLC cuts the access unit that it is writing.
/// With B-frames, this is not the last one in presentation order.
const VLC_CUT: usize = 3;

/// A running player, and the file that it writes.
#[derive(Debug)]
pub struct Playing {
    player: Player,
    process: Process,
    file: PathBuf,
    /// Holds the file.
    _folder: tempfile::TempDir,
}

impl Player {
    /// All players.
    pub const ALL: [Self; 5] = [
        Self::Ffmpeg,
        Self::CurrentFfmpeg,
        Self::GstreamerRtmp2,
        Self::Rtmpdump,
        Self::Vlc,
    ];

    /// Starts playing `url`.
    ///
    /// # Panics
    /// Panics if the program is not installed.
    #[must_use]
    pub fn start(self, url: &str) -> Playing {
        self.start_with(url, &[])
    }

    /// Starts playing with environment variables: `SSL_CERT_FILE` names the trusted certificates.
    ///
    /// # Panics
    /// Panics if the program is not installed.
    #[must_use]
    pub fn start_with(self, url: &str, environment: &[(&str, &str)]) -> Playing {
        let folder = temp_folder();
        let file = folder.path().join("received");
        // Created first, so that its length can be read, and so that VLC, which runs as another user if the tests run as root,
        // may write to it.
        let made = std::fs::write(&file, [])
            .and_then(|()| permit(folder.path(), 0o755))
            .and_then(|()| permit(&file, 0o666));
        made.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tool = self.tool(url, &file);
        let process = environment
            .iter()
            .fold(tool, |tool, (name, value)| tool.env(name, value))
            .start();
        Playing {
            player: self,
            process,
            file,
            _folder: folder,
        }
    }

    /// Returns the number of frames of each track that the player may discard at the end of a stream.
    pub fn discarded_max(self) -> usize {
        match self {
            // VLC discards its queues when it is notified that the stream ends.
            Self::Vlc => 25,
            Self::Ffmpeg | Self::CurrentFfmpeg | Self::GstreamerRtmp2 | Self::Rtmpdump => 0,
        }
    }

    fn tool(self, url: &str, file: &Path) -> Tool {
        match self {
            Self::Ffmpeg => copying(Tool::ffmpeg(), url).arg(file),
            Self::CurrentFfmpeg => copying(Tool::current_ffmpeg(), url).arg(file),
            Self::GstreamerRtmp2 => Tool::new("gst-launch-1.0")
                // rtmp2src trusts the system's certificates, regardless of the environment.
                .args(["-q", "rtmp2src", "tls-validation-flags=0"])
                .arg(format!("location={url}"))
                .args(["!", "filesink", "buffer-mode=unbuffered"])
                .arg(format!("location={}", file.display())),
            Self::Rtmpdump => Tool::new("rtmpdump")
                .args(["--quiet", "--live", "--rtmp", url, "--flv"])
                .arg(file),
            Self::Vlc => vlc()
                .args(["--quiet", "--intf", "dummy", url, "--sout"])
                .arg(format!("#std{{access=file,mux=ts,dst={}}}", file.display()))
                .arg("vlc://quit"),
        }
    }
}

impl Playing {
    /// Returns the kind of the player.
    pub fn player(&self) -> Player {
        self.player
    }

    /// Returns the file that it writes.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the number of bytes that it has written so far.
    ///
    /// # Panics
    /// Panics if the file is gone.
    pub fn written(&self) -> u64 {
        let metadata = std::fs::metadata(&self.file);
        metadata
            .unwrap_or_else(|error| panic!("{}: {error}", self.file.display()))
            .len()
    }

    /// Returns the process, for signals.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits for the player to end by itself.
    ///
    /// # Panics
    /// Panics if the player still runs after `deadline`.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        self.process.wait(deadline)
    }

    /// Returns the video frames it received, decoded.
    ///
    /// # Panics
    /// Panics if they do not decode without errors.
    pub fn pictures(&self) -> Vec<Frame> {
        let decoded = framemd5::decoded_by(Tool::current_ffmpeg(), &self.file, &["-an"]);
        let mut pictures = framemd5::video(&decoded);
        if self.player == Player::Vlc {
            pictures.truncate(pictures.len().saturating_sub(VLC_CUT));
        }
        pictures
    }

    /// Returns the audio packets it received. AAC is compared as packets: its decoded samples depend on where the decoder
    /// began.
    ///
    /// # Panics
    /// Panics if the file does not parse without errors.
    pub fn audio_frames(&self) -> Vec<Frame> {
        let ffmpeg = Tool::current_ffmpeg();
        if self.player != Player::Vlc {
            return framemd5::audio(&framemd5::packets_by(ffmpeg, &self.file, &[]));
        }
        // MPEG-TS puts its own header before each AAC frame, and VLC cuts the last one.
        let how = ["-bsf:a", "aac_adtstoasc"];
        let mut audio_frames = framemd5::audio(&framemd5::packets_by(ffmpeg, &self.file, &how));
        audio_frames.pop();
        audio_frames
    }
}

/// Adds options that copy all tracks, each tag written as soon as it has arrived.
fn copying(ffmpeg: Tool, url: &str) -> Tool {
    ffmpeg
        .args(["-y", "-i", url, "-map", "0:v?", "-map", "0:a?"])
        .args(["-c", "copy", "-flush_packets", "1", "-f", "flv"])
}

/// Returns VLC, without a window. VLC does not run as root; if the tests do, it runs as the user `nobody`.
///
/// # Panics
/// Panics if VLC is not installed.
pub fn vlc() -> Tool {
    crate::require("cvlc");
    if rustix::process::geteuid().is_root() {
        Tool::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "cvlc"])
            .env("HOME", "/nonexistent")
    } else {
        Tool::new("cvlc")
    }
}

fn permit(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod foreign {
    use super::*;
    use crate::{Clip, Nginx, Publisher};

    const DEADLINE: Duration = Duration::from_secs(60);

    /// Players find no fault with an independent server, so a fault they find with ours is real.
    #[test]
    fn nginx_is_played_frame_for_frame() {
        let nginx = Nginx::start();
        let clip = Clip::Flv.seconds(8);
        let mut publisher = Publisher::Ffmpeg.start(&clip, &nginx.rtmp_url("show"));
        nginx.wait_for_stream("show");
        let players = Player::ALL.map(|player| player.start(&nginx.rtmp_url("show")));
        assert!(publisher.wait(DEADLINE).success());
        let sent = framemd5::video(&framemd5::decoded(&clip));
        let audio_frames = framemd5::audio(&framemd5::packets(&clip));
        for mut playing in players {
            let player = playing.player();
            playing.wait(DEADLINE);
            for (sent, got) in [
                (&sent, playing.pictures()),
                (&audio_frames, playing.audio_frames()),
            ] {
                let join = framemd5::join(sent, &got, 0);
                assert!(
                    matches!(join, Ok(join) if join.matched > 50),
                    "{player:?}: {join:?}"
                );
            }
        }
    }
}
