//! Programs around the server: encoders, players, probes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::{Process, server, target_dir};

/// The Debian packages of programs that are not in one of their own name.
const PACKAGES: &[(&str, &str)] = &[
    ("ffprobe", "ffmpeg"),
    ("jackd", "jackd2"),
    ("Xvfb", "xvfb"),
    ("ogg123", "vorbis-tools"),
    ("oggz-validate", "oggz-tools"),
    ("node", "nodejs"),
    ("script", "bsdutils"),
    ("perf", "linux-perf"),
    ("gst-launch-1.0", "gstreamer1.0-tools"),
    ("chromedriver", "chromium-driver"),
    ("cvlc", "vlc-bin"),
    ("setpriv", "util-linux"),
    ("fsfreeze", "util-linux"),
    ("mkvmerge", "mkvtoolnix"),
    ("umount", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("dumpcap", "tshark"),
    ("/usr/sbin/nginx", "nginx-light libnginx-mod-rtmp"),
    ("/usr/sbin/haproxy", "haproxy"),
];

/// Ensures that `program` is installed.
///
/// # Panics
/// Panics if it is not; the message names the Debian package. A test never skips itself instead.
pub fn require(program: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        return;
    }
    let package = PACKAGES
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(program, |row| row.1);
    panic!("`{program}` is missing: apt-get install {package} (or: cargo xtask tools-all)");
}

/// Returns a Python that has the WebRTC stack `aiortc`.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn aiortc() -> PathBuf {
    installed("aiortc/bin/python", "a Python with aiortc")
}

/// Returns the WebRTC player built on pion.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not built it.
pub fn pion_viewer() -> PathBuf {
    installed("bin/pion-viewer", "a player on pion")
}

/// Returns the program that plays with the elements of gst-plugins-rs.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not built it.
pub fn whep_elements() -> PathBuf {
    installed("bin/whep-elements", "a player on gst-plugins-rs")
}

/// Returns the program that listens with Go's TLS.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not built it.
pub fn tls_listener() -> PathBuf {
    installed("bin/tls-listener", "the client of Go's TLS")
}

/// Returns a Python that has `moto`, an object storage server.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn moto() -> PathBuf {
    installed("moto/bin/python", "a Python with moto")
}

/// Returns a Python that has `standardwebhooks`, which verifies webhook messages.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn webhooks() -> PathBuf {
    installed("webhooks/bin/python", "a Python with standardwebhooks")
}

/// Returns a Python that has `PyJWT`, which makes JSON Web Tokens.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn pyjwt() -> PathBuf {
    installed("pyjwt/bin/python", "a Python with PyJWT")
}

/// Returns the script of axe-core, which judges whether a page is accessible.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn axe() -> String {
    let path = installed("axe.min.js", "axe-core");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folder of the npm packages that read titles: `icy` and `icecast-metadata-js`.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put them below the target directory.
pub fn icy_clients() -> PathBuf {
    npm("icy", "node_modules", "read titles")
}

/// Returns the folder of the npm packages that read and play HLS: `m3u8-parser`, `hls-parser`, `hls.js`, `shaka-player`.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put them below the target directory.
pub fn hls_clients() -> PathBuf {
    npm("hls", "installed.json", "read and play HLS")
}

/// Returns the folder of the npm packages that read MP4 files: `mp4box`.
///
/// # Panics
/// Panics if `cargo xtask tools-all` has not put it below the target directory.
pub fn mp4_readers() -> PathBuf {
    npm("mp4", "installed.json", "read MP4 files")
}

/// Returns a folder of npm packages, which contains `proof` once they are installed.
fn npm(folder: &str, proof: &str, do_what: &str) -> PathBuf {
    let what = format!("npm packages that {do_what}");
    let mut folder = installed(&format!("{folder}/{proof}"), &what);
    folder.pop();
    folder
}

/// Returns a path in the folder in which `cargo xtask tools-all` puts everything that is not a Debian package.
fn installed(path: &str, what: &str) -> PathBuf {
    let path = target_dir().join("tools").join(path);
    assert!(
        path.exists(),
        "{} is missing, {what}: cargo xtask tools-all",
        path.display()
    );
    path
}

/// A program to run, with its arguments.
#[must_use]
#[derive(Debug)]
pub struct Tool {
    name: String,
    command: Command,
}

/// Exit status and output of a program.
#[derive(Debug)]
pub struct Finished {
    /// The exit status.
    pub status: ExitStatus,
    /// All of standard output.
    pub stdout: Vec<u8>,
    /// The last lines of standard error.
    pub stderr: String,
}

impl Tool {
    /// # Panics
    /// Panics if `program` is not installed.
    pub fn new(program: &str) -> Self {
        require(program);
        Self::of(program, OsStr::new(program))
    }

    fn of(name: &str, program: &OsStr) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        Self {
            name: name.to_owned(),
            command,
        }
    }

    fn quiet_ffmpeg(self) -> Self {
        self.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error"])
    }

    /// Returns ffmpeg without banner, prompts and progress; errors go to standard error.
    pub fn ffmpeg() -> Self {
        Self::new("ffmpeg").quiet_ffmpeg()
    }

    /// Returns an ffmpeg of this year without banner, prompts and progress: Debian's carries no HEVC, AV1, VP9 or Opus over
    /// RTMP.
    ///
    /// # Panics
    /// Panics if `cargo xtask tools-all` has not put it below the target directory.
    pub fn current_ffmpeg() -> Self {
        let what = "the ffmpeg of the Python package imageio-ffmpeg";
        let path = installed("bin/ffmpeg-current", what);
        Self::of("ffmpeg-current", path.as_os_str()).quiet_ffmpeg()
    }

    /// Returns ffprobe without a banner; errors go to standard error.
    pub fn ffprobe() -> Self {
        Self::new("ffprobe").args(["-hide_banner", "-loglevel", "error"])
    }

    /// Returns the server's own binary, for its other commands: `load`.
    pub fn carillon() -> Self {
        Self::of("carillon", server::binary().as_os_str())
    }

    /// Returns a program that was built, at any path.
    pub fn built(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self::of(&name.to_string_lossy(), path.as_os_str())
    }

    /// Returns ffmpeg sending `clip` at its natural pace, unchanged, in container `format`, to `url`.
    pub fn ffmpeg_publish(clip: &Path, format: &str, url: &str) -> Self {
        Self::ffmpeg()
            .args(["-re", "-i"])
            .arg(clip)
            .args(["-c", "copy", "-f", format, url])
    }

    /// Returns liquidsoap with `script` as its program; allowed to run as root, as it is in containers.
    pub fn liquidsoap(script: &str) -> Self {
        let script = format!("settings.init.allow_root.set(true)\n{script}");
        Self::new("liquidsoap").arg(script)
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the program in the background.
    #[must_use]
    pub fn start(mut self) -> Process {
        Process::start(&self.name, &mut self.command)
    }

    /// Runs the program to its end, whatever its exit status.
    ///
    /// # Panics
    /// Panics if the program still runs after `deadline`.
    pub fn finish(self, deadline: Duration) -> Finished {
        let mut process = self.start();
        let status = process.wait(deadline);
        Finished {
            status,
            stdout: process.stdout(),
            stderr: process.stderr(),
        }
    }

    /// Runs the program to its end and demands success and silence on standard error: with ffmpeg's log level `error`, this
    /// means that nothing it decoded was broken. Returns standard output.
    ///
    /// # Panics
    /// Panics if the program fails, complains, or still runs after `deadline`.
    pub fn run(self, deadline: Duration) -> Vec<u8> {
        let name = self.name.clone();
        let finished = self.finish(deadline);
        assert!(
            finished.status.success() && finished.stderr.is_empty(),
            "{name}: {}\n{}",
            finished.status,
            finished.stderr
        );
        finished.stdout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "apt-get install no-such-program")]
    fn a_missing_program_is_an_error() {
        require("no-such-program");
    }

    #[test]
    fn output_is_returned() {
        let out = Tool::new("sh")
            .args(["-c", "echo fine"])
            .run(Duration::from_secs(10));
        assert_eq!(out, b"fine\n");
    }

    #[test]
    #[should_panic(expected = "a complaint")]
    fn a_complaint_is_a_failure() {
        Tool::new("sh")
            .args(["-c", "echo a complaint >&2"])
            .run(Duration::from_secs(10));
    }
}
