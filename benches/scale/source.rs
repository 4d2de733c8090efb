//! Media that is sent to a server: `carillon load publish`, in a separate process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::{Process, Server, Tool, wait_until};

/// Time limit from the start of a publisher to its stream, on a busy machine.
const STREAM_DEADLINE: Duration = Duration::from_secs(30);
/// Duration longer than any turn; publishers are killed.
const DURATION: &str = "1h";
/// Seconds of the recording, which is repeated.
const OGG_SECONDS: &str = "120";
/// Seconds of the film: at twice its rate it lasts half as long.
const FILM_SECONDS: u32 = 300;
/// Time limit for ffmpeg.
const MAKE_DEADLINE: Duration = Duration::from_secs(120);
/// Time limit for a response to a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Begins to publish. The publisher ends when the process is dropped.
pub(crate) fn publish(url: &str, media: &[String]) -> Process {
    Tool::carillon()
        .args(["load", "publish", url, "--duration", DURATION])
        .args(media)
        .start()
}

/// Waits until our server has a publisher.
pub(crate) fn wait_for_publisher(server: &Server) {
    wait_until("the stream", STREAM_DEADLINE, || {
        server.metrics().sum("carillon_publishers", &[]) >= 1.0
    });
}

/// Waits until `addr` serves listeners at `path`.
pub(crate) fn wait_for_mount(addr: SocketAddr, path: &str) {
    wait_until("the mount", STREAM_DEADLINE, || {
        let ask = || -> std::io::Result<bool> {
            let mut socket = TcpStream::connect(addr)?;
            socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            write!(socket, "GET /{path} HTTP/1.0\r\n\r\n")?;
            let mut status = [0; 12];
            socket.read_exact(&mut status)?;
            Ok(status.ends_with(b" 200"))
        };
        ask().unwrap_or(false)
    });
}

/// Returns a film of 1 Mb/s that lasts long enough for a window at twice its rate, made on first use.
pub(crate) fn film() -> PathBuf {
    made("bench-film.mp4", |draft| {
        let pictures = format!("testsrc2=s=320x180:r=25:d={FILM_SECONDS}");
        let audio = format!("anoisesrc=d={FILM_SECONDS}:seed=1");
        Tool::ffmpeg()
            .args([
                "-y", "-f", "lavfi", "-i", &pictures, "-f", "lavfi", "-i", &audio,
            ])
            .args(["-c:v", "libx264", "-preset", "ultrafast", "-g", "50"])
            .args([
                "-b:v", "900k", "-minrate", "900k", "-maxrate", "900k", "-bufsize", "900k",
            ])
            .args(["-x264-params", "nal-hrd=cbr", "-c:a", "aac", "-b:a", "96k"])
            .arg(draft)
            .run(MAKE_DEADLINE);
    })
}

/// Returns an Ogg Vorbis recording of 12 kb/s, the field's classic test: mono at 8 kHz, made on first use.
pub(crate) fn ogg_12k() -> PathBuf {
    // Noise, which Vorbis cannot compress below the requested rate. Pages add the twelfth kb/s.
    let audio = format!("anoisesrc=d={OGG_SECONDS}:r=8000:a=0.3:seed=1,lowpass=f=1500");
    made("bench-12k.ogg", |draft| {
        Tool::ffmpeg()
            .args(["-y", "-f", "lavfi", "-i", &audio])
            .args(["-c:a", "libvorbis", "-ac", "1", "-ar", "8000"])
            .args(["-b:a", "11k", "-minrate", "11k", "-maxrate", "11k"])
            .args(["-fflags", "+bitexact", "-map_metadata", "-1"])
            .arg(draft)
            .run(MAKE_DEADLINE);
    })
}

/// Returns a file next to this program; `make` writes it under the name that it receives.
fn made(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let path = folder.with_file_name(name);
    if path.is_file() {
        return path;
    }
    let draft = folder.with_file_name(format!("draft-{name}"));
    make(&draft);
    std::fs::rename(&draft, &path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
