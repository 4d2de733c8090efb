//! HTTPS carries the same streams.

use std::process::Command;

use testkit::{Certificate, Clip, Process, Server, Tool, framemd5, wait_until};

use crate::support::{
    DEADLINE, assert_joins, file, publish_icecast, publish_rtmp, wait_for_stream,
};

#[test]
fn curl_hears_a_mount_and_a_picture_stream() {
    let certificate = Certificate::make();
    let server = certificate
        .serve(Server::builder())
        .set("http", "tls_listen", "[\"127.0.0.1:0\"]")
        .set("ingest", "linger", "\"1s\"")
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 10, "radio.mp3");
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(8), "live/show");
    wait_for_stream(&server, "radio.mp3");
    wait_for_stream(&server, "live/show");
    let fetch = |path: &str| {
        let url = format!("https://{}{path}", server.addr("https"));
        Tool::new("curl")
            .args(["-sS", "--cacert"])
            .arg(certificate.path())
            .arg(url)
            .start()
    };
    let (mut radio, mut show) = (fetch("/radio.mp3"), fetch("/live/show.flv"));
    assert!(radio.wait(DEADLINE).success(), "{}", radio.stderr());
    assert!(show.wait(DEADLINE).success(), "{}", show.stderr());

    let sent = framemd5::packets(Clip::Mp3.seconds(10));
    let got = framemd5::packets(file(&radio.stdout()).path());
    assert_eq!(assert_joins("radio", &sent, &got).missing, 0);
    let sent = framemd5::video(&framemd5::packets(Clip::Flv.seconds(8)));
    let got = framemd5::video(&framemd5::packets(file(&show.stdout()).path()));
    assert_eq!(assert_joins("show", &sent, &got).missing, 0);

    let page = Tool::new("curl")
        .args(["-sS", "--cacert"])
        .arg(certificate.path())
        .arg(format!("https://{}/", server.addr("https")))
        .run(DEADLINE);
    assert!(String::from_utf8_lossy(&page).contains("<html"));
}

/// Bytes of a mount that show that it is heard.
const HEARD: usize = 20_000;

#[test]
fn those_that_come_back_bring_their_session_along() {
    let certificate = Certificate::make();
    let server = certificate
        .serve(Server::builder())
        .set("http", "tls_listen", "[\"127.0.0.1:0\"]")
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 120, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let folder = tempfile::tempdir().unwrap();
    let listen = |version: &str, session: &str| {
        let line = format!(
            "printf 'GET /radio.mp3 HTTP/1.0\\r\\n\\r\\n' | openssl s_client -ign_eof {version} \
             -connect localhost:{} -CAfile {} {session}",
            server.addr("https").port(),
            certificate.path()
        );
        Process::start("s_client", Command::new("sh").args(["-c", &line]))
    };
    for version in ["-tls1_3", "-tls1_2"] {
        let file = folder.path().join(version);
        let file = file.display();
        for (session, words) in [
            (format!("-sess_out {file}"), "\nNew, TLSv1."),
            (format!("-sess_in {file}"), "\nReused, TLSv1."),
        ] {
            let mut listener = listen(version, &session);
            wait_until(&format!("{version} {session}"), DEADLINE, || {
                let heard = listener.stdout();
                assert!(listener.is_running(), "{}", listener.stderr());
                let told = String::from_utf8_lossy(&heard);
                heard.len() > HEARD && told.contains("200 OK") && told.contains(words)
            });
            listener.kill();
        }
    }
}
