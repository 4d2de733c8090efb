//! The programs the tests drive, the Debian packages they are in, and their installation.
//!
//! A tool that is missing after the attempt to install it fails the run: no test is skipped.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::axe;
use crate::current_ffmpeg;
use crate::icy_clients;
use crate::npm;
use crate::python;
use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::sanitize;
use crate::webrtc_players;

/// Known to read this repository's `deny.toml`.
const CARGO_DENY_VERSION: (u32, u32, u32) = (0, 20, 2);

/// One thing the tests need.
struct Need {
    what: &'static str,
    /// Exits with 0 when the tool is installed.
    probe: &'static [&'static str],
    /// The Debian package that contains it.
    package: &'static str,
}

const NEEDS: &[Need] = &[
    need("a C++ compiler", &["c++", "--version"], "g++"),
    need("cmake", &["cmake", "--version"], "cmake"),
    need("curl", &["curl", "--version"], "curl"),
    need("openssl", &["openssl", "version"], "openssl"),
    need("h2load", &["h2load", "--version"], "nghttp2-client"),
    need(
        "java with its compiler",
        &["javac", "-version"],
        "default-jdk-headless",
    ),
    need("sqlite3", &["sqlite3", "--version"], "sqlite3"),
    need(
        "Python environments",
        &["python3", "-c", "import ensurepip"],
        "python3-venv",
    ),
    need("ffmpeg", &["ffmpeg", "-version"], "ffmpeg"),
    need("ffprobe", &["ffprobe", "-version"], "ffmpeg"),
    need("icecast2", &["which", "icecast2"], "icecast2"),
    need("cmus", &["cmus", "--version"], "cmus"),
    need("mpd", &["mpd", "--version"], "mpd"),
    need("script", &["script", "--version"], "bsdutils"),
    need("ezstream", &["ezstream", "-V"], "ezstream"),
    need("ices2", &["which", "ices2"], "ices2"),
    need("darkice", &["which", "darkice"], "darkice"),
    need("butt", &["which", "butt"], "butt"),
    need("mixxx", &["which", "mixxx"], "mixxx"),
    need("jackd", &["which", "jackd"], "jackd2"),
    need("Xvfb", &["which", "Xvfb"], "xvfb"),
    need("xdotool", &["which", "xdotool"], "xdotool"),
    need("mpg123", &["which", "mpg123"], "mpg123"),
    need("ogg123", &["which", "ogg123"], "vorbis-tools"),
    need("streamripper", &["which", "streamripper"], "streamripper"),
    need("mp3val", &["which", "mp3val"], "mp3val"),
    need("oggz-validate", &["which", "oggz-validate"], "oggz-tools"),
    need("liquidsoap", &["liquidsoap", "--version"], "liquidsoap"),
    need(
        "gst-launch-1.0",
        &["gst-launch-1.0", "--version"],
        "gstreamer1.0-tools",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "videotestsrc"],
        "gstreamer1.0-plugins-base",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "flvmux"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "shout2send"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "lamemp3enc"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "taginject"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "souphttpsrc"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "icydemux"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "rtmp2sink"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "x264enc"],
        "gstreamer1.0-plugins-ugly",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "avenc_aac"],
        "gstreamer1.0-libav",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "rtmp2src"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "rtmpsink"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "h264parse"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "webrtcbin"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "tsdemux"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "hlsdemux"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "hlsdemux2"],
        "gstreamer1.0-plugins-good",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "av1dec"],
        "gstreamer1.0-plugins-bad",
    ),
    gstreamer(
        &["gst-inspect-1.0", "--exists", "x265enc"],
        "gstreamer1.0-plugins-bad",
    ),
    // Its version is not GStreamer's, which `--exists` compares.
    need(
        "nicesrc",
        &["gst-inspect-1.0", "nicesrc"],
        "gstreamer1.0-nice",
    ),
    need(
        "GStreamer in Python",
        &["/usr/bin/python3", "-c", "import gi"],
        "python3-gi",
    ),
    need(
        "GStreamer's WebRTC in Python",
        &[
            "/usr/bin/python3",
            "-c",
            "import gi; gi.require_version('GstWebRTC', '1.0')",
        ],
        "gir1.2-gst-plugins-bad-1.0",
    ),
    need("rtmpdump", &["which", "rtmpdump"], "rtmpdump"),
    need("mkvmerge", &["mkvmerge", "--version"], "mkvtoolnix"),
    need("mediainfo", &["which", "mediainfo"], "mediainfo"),
    need("fsfreeze", &["fsfreeze", "--version"], "util-linux"),
    need("mkfs.ext4", &["which", "mkfs.ext4"], "e2fsprogs"),
    need("cvlc", &["which", "cvlc"], "vlc-bin"),
    need(
        "VLC's plugins for RTMP and for writing MPEG-TS",
        &[
            "sh",
            "-c",
            "cd /usr/lib/*/vlc/plugins && ls access/libavio_plugin.so mux/libmux_ts_plugin.so",
        ],
        "vlc-plugin-base",
    ),
    need("mpv", &["mpv", "--version"], "mpv"),
    need("valgrind", &["valgrind", "--version"], "valgrind"),
    need("setpriv", &["setpriv", "--version"], "util-linux"),
    need("tshark", &["tshark", "--version"], "tshark"),
    // Not in every user's PATH.
    need("nginx", &["/usr/sbin/nginx", "-v"], "nginx-light"),
    need("haproxy", &["/usr/sbin/haproxy", "-v"], "haproxy"),
    need(
        "nginx's RTMP module",
        &["test", "-f", "/usr/lib/nginx/modules/ngx_rtmp_module.so"],
        "libnginx-mod-rtmp",
    ),
    need("pip", &["python3", "-m", "pip", "--version"], "python3-pip"),
    need("chromium", &["chromium", "--version"], "chromium"),
    need(
        "chromedriver",
        &["chromedriver", "--version"],
        "chromium-driver",
    ),
    need("firefox-esr", &["firefox-esr", "--version"], "firefox-esr"),
    need("node", &["node", "--version"], "nodejs"),
    need("npm", &["npm", "--version"], "npm"),
];

/// Encoders that make the tests' media; a trimmed ffmpeg may lack some.
const ENCODERS: &[&str] = &[
    "libx264",
    "aac",
    "libmp3lame",
    "libvorbis",
    "libopus",
    "flac",
    "libvpx",
];

const fn need(what: &'static str, probe: &'static [&'static str], package: &'static str) -> Need {
    Need {
        what,
        probe,
        package,
    }
}

const fn gstreamer(probe: &'static [&'static str], package: &'static str) -> Need {
    Need {
        what: probe[2],
        probe,
        package,
    }
}

pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    rust_components(workspace)?;
    sanitize::require_runtime(workspace)?;
    let all: Vec<_> = NEEDS.iter().map(|need| need.what).collect();
    require(workspace, &all)?;
    encoders(workspace)?;
    current_ffmpeg::install(workspace)?;
    python::install(workspace)?;
    webrtc_players::install(workspace)?;
    npm::install(workspace, "hls")?;
    npm::install(workspace, "mp4")?;
    axe::install(workspace)?;
    icy_clients::install(workspace)?;
    cargo_deny(workspace)?;
    println!("{} programs and plugins are in place", NEEDS.len());
    report.count(1, 0);
    Ok(())
}

/// Installs those of the needs with these names that are missing.
pub(crate) fn require(workspace: &Workspace, names: &[&str]) -> Result<(), Failure> {
    let missing = missing_needs(names);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = packages(&missing);
    let absent: Vec<_> = missing.iter().map(|need| need.what).collect();
    println!("missing: {}", absent.join(", "));
    install(workspace, &packages)?;
    require_present(names, &packages)
}

fn missing_needs(names: &[&str]) -> Vec<&'static Need> {
    let wanted = NEEDS.iter().filter(|need| names.contains(&need.what));
    wanted.filter(|need| !succeeds(need.probe)).collect()
}

fn packages(missing: &[&Need]) -> Vec<&'static str> {
    let mut packages: Vec<_> = missing.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn require_present(names: &[&str], installed: &[&str]) -> Result<(), Failure> {
    let still = missing_needs(names);
    if still.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = still
        .iter()
        .map(|need| format!("{} (package {})", need.what, need.package))
        .collect();
    Err(Failure(format!(
        "still missing after installing {}: {}",
        installed.join(" "),
        names.join(", ")
    )))
}

/// Installs through apt-get as root or by a sudo that asks for no password.
fn install(workspace: &Workspace, packages: &[&str]) -> Result<(), Failure> {
    let by_hand = format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    );
    if !succeeds(&["apt-get", "--version"]) {
        return Err(Failure(format!(
            "this is not a Debian-like system; install what these Debian packages hold: {}",
            packages.join(" ")
        )));
    }
    let prefix: &[&str] = if is_root() {
        &[]
    } else if succeeds(&["sudo", "-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err(Failure(format!(
            "not allowed to install packages; run as root: {by_hand}"
        )));
    };
    let apt = |arguments: &[&str]| {
        let line = [
            prefix,
            &[
                "env",
                "DEBIAN_FRONTEND=noninteractive",
                "apt-get",
                "-qq",
                "-y",
            ],
            &["-o", "DPkg::Lock::Timeout=300"],
            arguments,
        ]
        .concat();
        run::run(&mut workspace.command(line[0], &line[1..]))
    };
    let advice = |failure: Failure| Failure(format!("{failure}\ninstall by hand: {by_hand}"));
    println!("installing: {}", packages.join(" "));
    apt(&["update"]).map_err(advice)?;
    apt(&[&["install", "--no-install-recommends"], packages].concat()).map_err(advice)
}

fn is_root() -> bool {
    run::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn encoders(workspace: &Workspace) -> Result<(), Failure> {
    let list = run::capture(&mut workspace.command("ffmpeg", &["-hide_banner", "-encoders"]))?;
    let missing = absent(&list, ENCODERS);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "this ffmpeg was built without the encoders {}",
        missing.join(", ")
    )))
}

/// The names among `wanted` that `ffmpeg -encoders` did not list.
pub(crate) fn absent(list: &str, wanted: &[&'static str]) -> Vec<&'static str> {
    let has = |name: &str| {
        list.lines()
            .any(|line| line.split_whitespace().nth(1) == Some(name))
    };
    wanted.iter().copied().filter(|name| !has(name)).collect()
}

/// rustfmt and clippy: rustup's minimal profile and some distributions leave them out.
fn rust_components(workspace: &Workspace) -> Result<(), Failure> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let probe = || run::capture(&mut workspace.cargo(&[subcommand, "--version"]));
        if probe().is_ok() {
            continue;
        }
        if succeeds(&["rustup", "--version"]) {
            run::run(&mut workspace.command("rustup", &["component", "add", component]))?;
        }
        probe().map_err(|_| {
            Failure(format!(
                "`cargo {subcommand}` is missing: rustup component add {component}"
            ))
        })?;
    }
    Ok(())
}

/// A cargo-deny that is recent enough: the user's, or one built below the target directory.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let tools = workspace.target.join("tools");
    let own = tools.join("bin/cargo-deny");
    for candidate in [PathBuf::from("cargo-deny"), own.clone()] {
        let version = run::capture(&mut workspace.command(&candidate, &["--version"]));
        if version.is_ok_and(|text| parse_version(&text) >= Some(CARGO_DENY_VERSION)) {
            return Ok(candidate);
        }
    }
    let (major, minor, patch) = CARGO_DENY_VERSION;
    let version = format!("{major}.{minor}.{patch}");
    println!("building cargo-deny {version} into {}", tools.display());
    let build = tools.join("build");
    let mut command = workspace.cargo(&[
        "install",
        "--quiet",
        "--locked",
        "cargo-deny",
        "--version",
        &version,
    ]);
    command
        .arg("--root")
        .arg(&tools)
        .env("CARGO_TARGET_DIR", &build);
    run::run(&mut command)?;
    // Half a gigabyte of objects that nothing reads again.
    std::fs::remove_dir_all(&build)?;
    Ok(own)
}

fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text
        .split_whitespace()
        .nth(1)?
        .split('.')
        .map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

fn succeeds(line: &[&str]) -> bool {
    let arguments: Vec<OsString> = line[1..].iter().map(OsString::from).collect();
    Command::new(line[0])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse_version("cargo-deny 0.20.2"), Some((0, 20, 2)));
        assert!(parse_version("cargo-deny 0.9.12") < Some(CARGO_DENY_VERSION));
        assert_eq!(parse_version("nonsense"), None);
    }

    #[test]
    fn packages_are_named_once() {
        let all: Vec<&Need> = NEEDS.iter().collect();
        let packages = packages(&all);
        assert!(
            packages.windows(2).all(|pair| pair[0] < pair[1]),
            "{packages:?}"
        );
    }
}
