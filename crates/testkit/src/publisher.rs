//! Programs that publish over RTMP, each the same clip at its natural pace.

use std::path::Path;

use crate::{Process, Tool};

/// A program that publishes. All send the clip's own frames, none encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publisher {
    /// The distribution's ffmpeg (5.1 on Debian 12).
    Ffmpeg,
    /// An ffmpeg of this year.
    CurrentFfmpeg,
    /// GStreamer's `rtmp2sink`.
    GstreamerRtmp2,
    /// librtmp, through GStreamer's `rtmpsink`.
    Librtmp,
}

impl Publisher {
    /// Starts publishing the FLV file `clip` to `url`.
    ///
    /// # Panics
    /// Panics if the program is not installed.
    #[must_use]
    pub fn start(self, clip: &Path, url: &str) -> Process {
        match self {
            Self::Ffmpeg => Tool::ffmpeg_publish(clip, "flv", url).start(),
            Self::CurrentFfmpeg => Tool::current_ffmpeg()
                .args(["-re", "-i"])
                .arg(clip)
                .args(["-c", "copy", "-f", "flv", url])
                .start(),
            Self::GstreamerRtmp2 => gstreamer(clip, "rtmp2sink", url),
            Self::Librtmp => gstreamer(clip, "rtmpsink", url),
        }
    }
}

/// Starts a pipeline. The sink keeps the pace: it passes on each buffer when it is due.
fn gstreamer(clip: &Path, sink: &str, url: &str) -> Process {
    let pipeline = format!(
        "filesrc location={} ! flvdemux name=demux flvmux name=mux streamable=true ! {sink} \
         sync=true location={url} demux.video ! queue ! h264parse ! mux. \
         demux.audio ! queue ! aacparse ! mux.",
        clip.display()
    );
    Tool::new("gst-launch-1.0")
        .arg("-q")
        .args(pipeline.split_whitespace())
        .start()
}
