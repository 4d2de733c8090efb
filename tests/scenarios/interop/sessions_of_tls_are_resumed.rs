//! Clients that come back resume their TLS session, also when the certificate has been renewed meanwhile, and receive the
//! stream under new keys.

use std::process::Command;

use testkit::{Certificate, Clip, Process, Server, Signal};

use crate::support::{DEADLINE, publish_icecast, wait_until};

/// Number of bytes to receive: more than the head of the reply, so some of it is audio.
const HEARD_BYTES: usize = 50_000;

/// Listens to a mount with openssl's own client, and returns the client's report on the handshake.
fn hear(server: &Server, certificate: &Certificate, options: &str) -> String {
    let addr = format!("localhost:{}", server.addr("https").port());
    let line = format!(
        "{{ printf 'GET /radio.mp3 HTTP/1.1\\r\\nHost: {addr}\\r\\n\\r\\n'; exec sleep 600; }} | \
         exec openssl s_client {options} -connect {addr} -servername localhost -CAfile {} -verify_return_error",
        certificate.path()
    );
    let client = Process::start("s_client", Command::new("sh").args(["-c", &line]));
    wait_until("the sound", || client.stdout().len() > HEARD_BYTES);
    let said = client.stdout();
    assert!(
        String::from_utf8_lossy(&said).contains("Content-Type: audio/mpeg"),
        "{}",
        client.stderr()
    );
    let said = String::from_utf8_lossy(&said).into_owned();
    let mut lines = said.lines();
    let handshake = lines.find(|line| line.contains(", Cipher is "));
    handshake.expect(&said).to_owned()
}

#[test]
fn openssl_resumes_its_session_also_after_the_certificate_was_renewed() {
    let certificate = Certificate::make();
    let folder = tempfile::tempdir().unwrap();
    let mut server = certificate.serve_at(&["http"], Server::builder()).start();
    let _radio = publish_icecast(&server, Clip::Mp3, 300, "radio.mp3");
    let versions = [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")];
    let session = |version: &str| folder.path().join(version).display().to_string();
    let resumes = |server: &Server, version: &str, named: &str| {
        let options = format!("{version} -sess_in {}", session(version));
        let again = hear(server, &certificate, &options);
        assert!(again.starts_with(&format!("Reused, {named}")), "{again}");
    };
    for (version, named) in versions {
        let options = format!("{version} -sess_out {}", session(version));
        let first = hear(&server, &certificate, &options);
        assert!(first.starts_with(&format!("New, {named}")), "{first}");
        resumes(&server, version, named);
    }
    certificate.renew();
    server.process().signal(Signal::HUP);
    server.wait_for_log(&format!("new: serial {}", certificate.serial()), DEADLINE);
    for (version, named) in versions {
        resumes(&server, version, named);
    }
}
