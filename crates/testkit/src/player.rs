//! The programs that play RTMP, each writing what it receives to a file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::framemd5::{self, Frame};
use crate::{Process, Tool};

/// Which program plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// The distribution's ffmpeg (5.1 on Debian 12), writing FLV.
    Ffmpeg,
    /// An ffmpeg of this year, writing FLV with whatever Enhanced RTMP can carry.
    CurrentFfmpeg,
    /// GStreamer's `rtmp2src`, whose bytes are FLV as they came.
    GstreamerRtmp2,
    /// librtmp's own `rtmpdump`, writing FLV with the times of the wire.
    Rtmpdump,
    /// VLC, writing MPEG-TS.
    Vlc,
}

/// When the stream ends, VLC cuts the access unit that it is writing. With B-frames it is not the last one in
/// the order of presentation, but one of this many.
const VLC_CUT: usize = 3;

/// A player at work, and the file that it writes.
#[derive(Debug)]
pub struct Playing {
    player: Player,
    process: Process,
    file: PathBuf,
    /// Holds the file.
    _folder: tempfile::TempDir,
}

impl Player {
    /// All of them.
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
    /// When the program is not installed.
    #[must_use]
    pub fn start(self, url: &str) -> Playing {
        self.start_with(url, &[])
    }

    /// The same with environment variables: `SSL_CERT_FILE` names the trusted certificates.
    ///
    /// # Panics
    /// When the program is not installed.
    #[must_use]
    pub fn start_with(self, url: &str, environment: &[(&str, &str)]) -> Playing {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("temp folder: {error}"));
        let file = folder.path().join("received");
        // Made first, so that its length can be read, and so that VLC, which runs as another user where the
        // tests run as root, may write to it.
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

    /// Frames of each track that it may discard at the end of a stream.
    #[must_use]
    pub fn discarded_max(self) -> usize {
        match self {
            // It discards its queues when it is told that the stream ends.
            Self::Vlc => 25,
            Self::Ffmpeg | Self::CurrentFfmpeg | Self::GstreamerRtmp2 | Self::Rtmpdump => 0,
        }
    }

    fn tool(self, url: &str, file: &Path) -> Tool {
        match self {
            Self::Ffmpeg => copying(Tool::ffmpeg(), url).arg(file),
            Self::CurrentFfmpeg => copying(Tool::current_ffmpeg(), url).arg(file),
            Self::GstreamerRtmp2 => Tool::new("gst-launch-1.0")
                // The certificates that it trusts are the system's, whatever the environment says.
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
    /// Which program it is.
    #[must_use]
    pub fn player(&self) -> Player {
        self.player
    }

    /// The file that it writes.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Bytes that it has written so far.
    ///
    /// # Panics
    /// When the file is gone.
    #[must_use]
    pub fn written(&self) -> u64 {
        let metadata = std::fs::metadata(&self.file);
        metadata
            .unwrap_or_else(|error| panic!("{}: {error}", self.file.display()))
            .len()
    }

    /// The process, for signals.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits for the player to end by itself.
    ///
    /// # Panics
    /// When it still runs after `deadline`.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        self.process.wait(deadline)
    }

    /// The pictures it received, decoded.
    ///
    /// # Panics
    /// When they do not decode without a complaint.
    #[must_use]
    pub fn pictures(&self) -> Vec<Frame> {
        let decoded = framemd5::decoded_by(Tool::current_ffmpeg(), &self.file, &["-an"]);
        let mut pictures = framemd5::video(&decoded);
        if self.player == Player::Vlc {
            pictures.truncate(pictures.len().saturating_sub(VLC_CUT));
        }
        pictures
    }

    /// The packets of sound it received. AAC is compared as packets: its decoded samples depend on where the
    /// decoder began.
    ///
    /// # Panics
    /// When the file does not parse without a complaint.
    #[must_use]
    pub fn sounds(&self) -> Vec<Frame> {
        let ffmpeg = Tool::current_ffmpeg();
        if self.player != Player::Vlc {
            return framemd5::audio(&framemd5::packets_by(ffmpeg, &self.file, &[]));
        }
        // MPEG-TS puts a header of its own before each AAC frame, and VLC cuts the last one.
        let how = ["-bsf:a", "aac_adtstoasc"];
        let mut sounds = framemd5::audio(&framemd5::packets_by(ffmpeg, &self.file, &how));
        sounds.pop();
        sounds
    }
}

/// All tracks, each tag written as soon as it has come.
fn copying(ffmpeg: Tool, url: &str) -> Tool {
    ffmpeg
        .args(["-y", "-i", url, "-map", "0:v?", "-map", "0:a?"])
        .args(["-c", "copy", "-flush_packets", "1", "-f", "flv"])
}

/// VLC, without a window. It does not run as root; where the tests do, it runs as the user `nobody`.
///
/// # Panics
/// When it is not installed.
#[must_use]
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
        let sounds = framemd5::audio(&framemd5::packets(&clip));
        for mut playing in players {
            let player = playing.player();
            playing.wait(DEADLINE);
            for (sent, got) in [(&sent, playing.pictures()), (&sounds, playing.sounds())] {
                let join = framemd5::join(sent, &got, 0);
                assert!(
                    matches!(join, Ok(join) if join.matched > 50),
                    "{player:?}: {join:?}"
                );
            }
        }
    }
}
