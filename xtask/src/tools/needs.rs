//! Programs, plugins and libraries that tests drive, and the Debian packages that contain them.

/// Something that the tests need.
pub(super) struct Need {
    pub(super) what: &'static str,
    /// Command that exits with 0 if the tool is installed.
    pub(super) probe: &'static [&'static str],
    /// Debian package that contains it.
    pub(super) package: &'static str,
    /// Whether the core's tests need it, too.
    pub(super) is_of_core: bool,
}

pub(super) const NEEDS: &[Need] = &[
    core("a C++ compiler", &["c++", "--version"], "g++"),
    core("cmake", &["cmake", "--version"], "cmake"),
    core("curl", &["curl", "--version"], "curl"),
    core("openssl", &["openssl", "version"], "openssl"),
    need("h2load", &["h2load", "--version"], "nghttp2-client"),
    need(
        "java with its compiler",
        &["javac", "-version"],
        "default-jdk-headless",
    ),
    need("sqlite3", &["sqlite3", "--version"], "sqlite3"),
    core(
        "Python environments",
        &["python3", "-c", "import ensurepip"],
        "python3-venv",
    ),
    core("ffmpeg", &["ffmpeg", "-version"], "ffmpeg"),
    core("ffprobe", &["ffprobe", "-version"], "ffmpeg"),
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
    // Includes those of GStreamer itself and of its base plugins, on which it depends.
    need(
        "what programs on GStreamer's WebRTC are built with",
        &["pkg-config", "--exists", "gstreamer-webrtc-1.0"],
        "libgstreamer-plugins-bad1.0-dev",
    ),
    // The plugin's version is not GStreamer's, which `--exists` compares.
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
    core("fsfreeze", &["fsfreeze", "--version"], "util-linux"),
    core("mkfs.ext4", &["which", "mkfs.ext4"], "e2fsprogs"),
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
    need("mplayer", &["which", "mplayer"], "mplayer"),
    need("valgrind", &["valgrind", "--version"], "valgrind"),
    core("setpriv", &["setpriv", "--version"], "util-linux"),
    need("tshark", &["tshark", "--version"], "tshark"),
    // Not in every user's PATH.
    need("nginx", &["/usr/sbin/nginx", "-v"], "nginx-light"),
    need("strace", &["strace", "--version"], "strace"),
    need("faketime", &["faketime", "--version"], "faketime"),
    need("haproxy", &["/usr/sbin/haproxy", "-v"], "haproxy"),
    need(
        "nginx's RTMP module",
        &["test", "-f", "/usr/lib/nginx/modules/ngx_rtmp_module.so"],
        "libnginx-mod-rtmp",
    ),
    core("pip", &["python3", "-m", "pip", "--version"], "python3-pip"),
    core("chromium", &["chromium", "--version"], "chromium"),
    core(
        "chromedriver",
        &["chromedriver", "--version"],
        "chromium-driver",
    ),
    need("firefox-esr", &["firefox-esr", "--version"], "firefox-esr"),
    need("node", &["node", "--version"], "nodejs"),
    need("npm", &["npm", "--version"], "npm"),
];

const fn need(what: &'static str, probe: &'static [&'static str], package: &'static str) -> Need {
    Need {
        what,
        probe,
        package,
        is_of_core: false,
    }
}

/// Returns a need of the core. Keep these few: everyone who runs `cargo xtask test` installs each of them.
const fn core(what: &'static str, probe: &'static [&'static str], package: &'static str) -> Need {
    Need {
        is_of_core: true,
        ..need(what, probe, package)
    }
}

const fn gstreamer(probe: &'static [&'static str], package: &'static str) -> Need {
    need(probe[2], probe, package)
}
