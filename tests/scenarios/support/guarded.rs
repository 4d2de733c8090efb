//! Server that knows every kind of credential, the credentials, and the clients that they admit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use testkit::{Clip, Process, Server, Tool};

use crate::support::token_issuer::SECRET;
use crate::support::{DEADLINE, codecs, file, is_admitted, repeat_to};

/// Key for the streams of `other/`, where nothing is.
pub(crate) const ELSEWHERE: &str = "elsewhere-key-5512";
pub(crate) const PLAIN: &str = "plain-key-7741-van";
pub(crate) const OF_FILE: &str = "of-the-file-3390-ann";
pub(crate) const HASHED: &str = "open-sesame-41";
/// Hash of [`HASHED`].
const HASH: &str = include_str!("../../../crates/auth/src/proof/hash.phc");
pub(crate) const LINK_SECRET: &str = "an-hmac-secret-of-32-characters!";

/// Server that knows every kind of credential, with all its logs on.
pub(crate) struct Guarded {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
}

impl Guarded {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys.toml");
        write_keys(&keys, OF_FILE);
        let config = format!(
            "[[auth.key]]\nname = \"van\"\nkey = \"{PLAIN}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n\
             [[auth.key]]\nname = \"hashed\"\nkey = \"{}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n\
             [[auth.key]]\nname = \"elsewhere\"\nkey = \"{ELSEWHERE}\"\nmatch = \"other/*\"\nscopes = [\"publish\", \"play\"]\n\
             {LINKS}[auth.jwt]\nsecret = \"{SECRET}\"\n",
            HASH.trim()
        );
        let log = folder.path().join("log");
        fs::write(&log, "").unwrap();
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let server = Server::builder()
            .set("auth", "play", "\"key\"")
            .set("auth", "keys_file", &path("keys.toml"))
            .set("ingest", "linger", "\"0s\"")
            .set("log", "level", "\"trace\"")
            .set("log", "access", &path("access"))
            .toml(&config)
            .log_to(&log)
            .start();
        Self { server, folder }
    }

    /// Makes a link by `carillon sign`.
    pub(crate) fn sign(&self, arguments: &[&str]) -> String {
        sign(arguments)
    }

    /// Returns everything that the server has logged.
    pub(crate) fn logs(&self) -> String {
        let read = |name| fs::read(self.folder.path().join(name)).unwrap();
        let both = [read("log"), read("access")].concat();
        String::from_utf8_lossy(&both).into_owned()
    }

    /// Returns whether ffmpeg's attempt to publish a clip at an address is admitted.
    pub(crate) fn publishes(&self, clip: Clip, url: &str, stream: &str) -> bool {
        let mut publisher = repeat_to(url, clip);
        self.is_there(stream, &mut publisher)
    }

    pub(crate) fn is_there(&self, stream: &str, publisher: &mut Process) -> bool {
        is_admitted(&self.server, stream, publisher)
    }

    /// Requests a path with curl; returns the status and the challenge.
    pub(crate) fn curl(&self, path: &str, arguments: &[&str]) -> (u16, String) {
        let printed = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "-w"])
            .arg("%{http_code} %header{www-authenticate}")
            .args(arguments)
            .arg(self.server.http_url(path))
            .finish(DEADLINE);
        let printed = String::from_utf8(printed.stdout).unwrap();
        let (status, challenge) = printed.split_once(' ').unwrap();
        (status.parse().unwrap(), challenge.to_owned())
    }

    /// Returns the status of a listener that takes the first bytes only, and so is no player that has to be stopped.
    pub(crate) fn first_bytes(&self, path: &str, arguments: &[&str]) -> u16 {
        self.curl(path, &[&["-r", "0-1"], arguments].concat()).0
    }

    /// Returns the status of an invalid offer: the server checks the permission before it reads the offer.
    pub(crate) fn offers(&self, path: &str, arguments: &[&str]) -> u16 {
        let offer = ["-H", "Content-Type: application/sdp", "-d", "v=0"];
        self.curl(path, &[&offer, arguments].concat()).0
    }

    /// Returns whether ffprobe finds video.
    pub(crate) fn shows(&self, url: &str) -> bool {
        codecs(url, &[]).contains("h264")
    }

    pub(crate) fn rtmp(&self, stream: &str, query: &str) -> String {
        format!("rtmp://{}/{stream}?{query}", self.server.addr("rtmp"))
    }
}

/// Makes a link by `carillon sign`, with [`LINK_SECRET`].
pub(crate) fn sign(arguments: &[&str]) -> String {
    let config = file(LINKS.as_bytes());
    let printed = Tool::carillon()
        .args(["sign", "--config"])
        .arg(config.path())
        .args(arguments)
        .run(DEADLINE);
    let printed = String::from_utf8(printed).unwrap();
    let token = printed.lines().find_map(|line| line.strip_prefix("token"));
    token.expect(&printed).trim().to_owned()
}

pub(crate) const LINKS: &str = "[auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n";

pub(crate) fn write_keys(path: &Path, key: &str) {
    let new = path.with_extension("new");
    let text = format!(
        "[[key]]\nname = \"ann\"\nkey = \"{key}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n"
    );
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(new, path).unwrap();
}

/// Asserts that none of these is in the logs.
pub(crate) fn assert_secret(guarded: &Guarded, secrets: &[String]) {
    let logs = guarded.logs();
    assert!(logs.contains("live/show"), "they are the logs of this run");
    for secret in secrets {
        assert!(!logs.contains(secret), "{secret} is in the logs");
    }
}
