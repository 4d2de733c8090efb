//! Clients that come back resume their session of TLS, also when the certificate has been renewed meanwhile, and hear the
//! stream under keys of their own.

use std::process::Command;

use testkit::{Certificate, Clip, Process, Server, Signal, wait_until};

use crate::support::{DEADLINE, publish_icecast, wait_for_stream};

/// More than the head of the answer: sound.
const HEARD_BYTES: usize = 50_000;

/// Hears a mount by openssl's own client, and returns what that says about the handshake. The session is read from a file, and
/// another one written.
fn hear(server: &Server, certificate: &Certificate, version: &str, sessions: [&str; 2]) -> String {
    let [read, write] = sessions;
    let read = match read {
        "" => String::new(),
        file => format!("-sess_in {file}"),
    };
    let addr = format!("localhost:{}", server.addr("https").port());
    let line = format!(
        "{{ printf 'GET /radio.mp3 HTTP/1.1\\r\\nHost: {addr}\\r\\n\\r\\n'; exec sleep 600; }} | \
         exec openssl s_client {version} -connect {addr} -servername localhost -CAfile {} -verify_return_error \
         {read} -sess_out {write}",
        certificate.path()
    );
    let client = Process::start("s_client", Command::new("sh").args(["-c", &line]));
    wait_until("the sound", DEADLINE, || {
        client.stdout().len() > HEARD_BYTES
    });
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
    wait_for_stream(&server, "radio.mp3");
    let file = |version: &str, number: usize| {
        let name = format!("session{version}-{number}");
        folder.path().join(name).display().to_string()
    };
    let versions = [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")];
    for (version, named) in versions {
        let sessions = [0, 1].map(|number| file(version, number));
        let first = hear(&server, &certificate, version, ["", &sessions[0]]);
        assert!(first.starts_with(&format!("New, {named}")), "{first}");
        let second = hear(&server, &certificate, version, [&sessions[0], &sessions[1]]);
        assert!(second.starts_with(&format!("Reused, {named}")), "{second}");
    }
    certificate.renew();
    server.process().signal(Signal::HUP);
    server.wait_for_log(&format!("new: serial {}", certificate.serial()), DEADLINE);
    for (version, named) in versions {
        let [session, next] = [1, 2].map(|number| file(version, number));
        let third = hear(&server, &certificate, version, [&session, &next]);
        assert!(third.starts_with(&format!("Reused, {named}")), "{third}");
    }
}
