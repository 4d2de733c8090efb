//! Helpers for several scenarios.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::NamedTempFile;
use testkit::framemd5::{self, Frame, Join};
use testkit::http::Response;
use testkit::{Clip, PUBLISH_KEY, Process, Server, ServerBuilder, Tool, wait_until};

pub(crate) use testkit::DEADLINE;

/// A server whose streams end soon after their publisher.
pub(crate) fn server_with_short_linger() -> Server {
    Server::builder().set("ingest", "linger", "\"1s\"").start()
}

/// Waits until a stream is published.
pub(crate) fn wait_for_stream(server: &Server, name: &str) {
    wait_until(&format!("stream {name}"), DEADLINE, || {
        server
            .api("streams")
            .to_string()
            .contains(&format!("\"{name}\""))
    });
}

/// Where to play a stream over RTMP.
pub(crate) fn play_url(server: &Server, stream: &str) -> String {
    format!("rtmp://{}/{stream}", server.addr("rtmp"))
}

/// Publishes a clip over RTMP with ffmpeg, at its natural pace.
pub(crate) fn publish_rtmp(server: &Server, clip: &Path, stream: &str) -> Process {
    Tool::ffmpeg_publish(clip, "flv", &server.rtmp_url(stream, PUBLISH_KEY)).start()
}

/// Publishes a clip as an Icecast source with ffmpeg, at its natural pace.
pub(crate) fn publish_icecast(server: &Server, clip: Clip, seconds: u32, stream: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(seconds))
        .args([
            "-c",
            "copy",
            "-content_type",
            clip.content_type(),
            "-f",
            clip.format(),
        ])
        .arg(server.icecast_url(stream, PUBLISH_KEY))
        .start()
}

/// A file with those bytes, for ffmpeg to read.
pub(crate) fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Demands that the packets of one kind in `got` are a run of those in `sent`.
pub(crate) fn assert_joins(what: &str, sent: &[Frame], got: &[Frame]) -> Join {
    framemd5::join(sent, got, 0).unwrap_or_else(|mismatch| panic!("{what}: {mismatch}"))
}

/// A TCP connection with deadlines set.
pub(crate) fn connect(addr: SocketAddr) -> std::net::TcpStream {
    let socket = std::net::TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.set_write_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// A certificate for `localhost`, and the authority that signed it.
pub(crate) struct Certificate {
    folder: tempfile::TempDir,
}

impl Certificate {
    pub(crate) fn make() -> Self {
        let made = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        // None of the extensions that the system's configuration adds.
        std::fs::write(
            made.file("req.conf"),
            "[req]\ndistinguished_name = dn\n[dn]\n",
        )
        .unwrap();
        made.openssl(
            "ca",
            "/CN=authority",
            &["basicConstraints=critical,CA:TRUE"],
            &[],
        );
        made.renew();
        made
    }

    /// Makes another pair of certificate and key, signed by the same authority, in the same files.
    pub(crate) fn renew(&self) {
        self.openssl(
            "cert",
            "/CN=localhost",
            &[
                "basicConstraints=critical,CA:FALSE",
                "subjectAltName=IP:127.0.0.1,DNS:localhost",
            ],
            &["-CA", &self.file("ca.pem"), "-CAkey", &self.file("ca.key")],
        );
    }

    /// Replaces the key, so that it no longer fits the certificate.
    pub(crate) fn renew_key_only(&self) {
        let certificate = self.pem();
        self.renew();
        std::fs::write(self.file("cert.pem"), certificate).unwrap();
    }

    /// The certificate.
    pub(crate) fn pem(&self) -> String {
        std::fs::read_to_string(self.file("cert.pem")).unwrap()
    }

    /// Its serial number.
    pub(crate) fn serial(&self) -> String {
        let said = Tool::new("openssl")
            .args(["x509", "-noout", "-serial", "-in", &self.file("cert.pem")])
            .run(DEADLINE);
        let said = String::from_utf8_lossy(&said).trim().to_lowercase();
        said.trim_start_matches("serial=").to_owned()
    }

    fn openssl(&self, name: &str, subject: &str, extensions: &[&str], signer: &[&str]) {
        let finished = Tool::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-config", &self.file("req.conf"), "-subj", subject])
            .args(
                extensions
                    .iter()
                    .flat_map(|extension| ["-addext", *extension]),
            )
            .args(signer)
            .args(["-out", &self.file(&format!("{name}.pem"))])
            .args(["-keyout", &self.file(&format!("{name}.key"))])
            .finish(DEADLINE);
        assert!(finished.status.success(), "{}", finished.stderr);
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The PEM file that clients are told to trust.
    pub(crate) fn path(&self) -> String {
        self.file("ca.pem")
    }

    /// A server that shows the certificate.
    pub(crate) fn serve(&self, server: ServerBuilder) -> ServerBuilder {
        server
            .set(
                "http",
                "certificate",
                &format!("\"{}\"", self.file("cert.pem")),
            )
            .set(
                "http",
                "private_key",
                &format!("\"{}\"", self.file("cert.key")),
            )
    }
}

/// Status, headers and body, as curl gets them.
pub(crate) fn curl(server: &Server, path: &str, arguments: &[&str]) -> Response {
    let answer = Tool::new("curl")
        .args(["-s", "-i", "--path-as-is"])
        .args(arguments)
        .arg(server.http_url(path))
        .run(DEADLINE);
    Response::parse(&answer)
}
