//! SIGHUP makes the server reopen its access log and reload its certificate, SIGUSR1 and SIGUSR2 do nothing, and listeners
//! notice none of them.

use std::path::Path;

use testkit::{Certificate, Clip, Server, Signal, Tool, framemd5};

use crate::support::{
    DEADLINE, assert_joins, file, metric, repeat_icecast, round, rounds, wait_until,
};

/// Number of signals sent during playback.
const SIGNALS: usize = 100;

/// Counts the reloads in the server's log.
fn reloads(server: &Server) -> usize {
    server.log().matches("SIGHUP: done").count()
}

/// Sends SIGHUP and waits until the server has reloaded.
fn hang_up(server: &mut Server) {
    let before = reloads(server);
    server.process().signal(Signal::HUP);
    wait_until("SIGHUP to be heard", || reloads(server) > before);
}

#[test]
fn listeners_miss_nothing() {
    let mut server = Server::start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut listener = server.listen("/radio.mp3");
    for _ in 0..SIGNALS {
        hang_up(&mut server);
        server.process().signal(Signal::USR1);
        server.process().signal(Signal::USR2);
        let length = listener.body().len();
        listener.read_bytes(length + 1_000, DEADLINE);
    }
    server.wait_for_log("SIGUSR1", DEADLINE);
    server.wait_for_log("SIGUSR2", DEADLINE);
    let sent = rounds(&framemd5::packets(round(Clip::Mp3)));
    let got = framemd5::packets(file(listener.body()).path());
    // The last packet may be cut; the others are one run of the clip and its repetitions.
    let whole = &got[..got.len() - 1];
    assert!(assert_joins("radio", &sent, whole).matched > SIGNALS);
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
}

#[test]
fn a_moved_access_log_is_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let moved = folder.path().join("access.log.1");
    let mut server = Server::builder()
        .set("log", "access", &format!("{path:?}"))
        .start();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(server.get("/first").status, 404);
    wait_until("the first line", || read(&path).contains("/first"));

    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(server.get("/second").status, 404);
    wait_until("a line of the moved file", || {
        read(&moved).contains("/second")
    });
    hang_up(&mut server);
    assert_eq!(server.get("/third").status, 404);
    wait_until("the new file", || read(&path).contains("/third"));
    assert!(!read(&moved).contains("/third"));
    assert_eq!(read(&path).lines().count(), 1);

    // If the folder is gone the open file stays in use.
    drop(folder);
    hang_up(&mut server);
    server.wait_for_log("a log stays what it was", DEADLINE);
    assert_eq!(server.get("/fourth").status, 404);
}

/// Returns the certificate that a handshake shows, in PEM.
fn shown(server: &Server, port: &str) -> String {
    let address = server.addr(port).to_string();
    let finished = Tool::new("openssl")
        .args(["s_client", "-connect", &address])
        .finish(DEADLINE);
    let said = String::from_utf8_lossy(&finished.stdout).into_owned();
    let from = said.find("-----BEGIN CERTIFICATE").expect("a certificate");
    said[from..]
        .lines()
        .take_while(|line| !line.contains("END CERTIFICATE"))
        .collect()
}

fn of_file(pem: &str) -> String {
    pem.lines()
        .take_while(|line| !line.contains("END CERTIFICATE"))
        .collect()
}

#[test]
fn a_renewed_certificate_is_shown_to_new_connections() {
    let certificate = Certificate::make();
    let mut server = certificate
        .serve_at(&["http", "rtmp"], Server::builder())
        .start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let listener = Tool::new("curl")
        .args(["-sSN", "--cacert"])
        .arg(certificate.path())
        .arg(format!("https://{}/radio.mp3", server.addr("https")))
        .start();
    let hears_more = || {
        let before = listener.stdout().len();
        wait_until("more of the stream", || {
            listener.stdout().len() > before + 20_000
        });
    };
    hears_more();
    let old = certificate.pem();
    assert_eq!(shown(&server, "https"), of_file(&old));

    // Half of a renewal: the key does not belong to this certificate.
    certificate.renew_key_only();
    hang_up(&mut server);
    server.wait_for_log("the certificate stays what it was", DEADLINE);
    assert_eq!(shown(&server, "https"), of_file(&old));

    certificate.renew();
    hang_up(&mut server);
    let new = certificate.pem();
    assert_ne!(new, old);
    for port in ["https", "rtmps"] {
        assert_eq!(shown(&server, port), of_file(&new));
    }
    server.wait_for_log(&format!("new: serial {}", certificate.serial()), DEADLINE);
    hears_more();

    std::fs::write(certificate.file("cert.pem"), "no certificate").unwrap();
    hang_up(&mut server);
    assert_eq!(shown(&server, "https"), of_file(&new));
    hears_more();
    let expires = metric(&server, "carillon_certificate_expires_seconds", "");
    assert!(expires > 1.7e9, "{expires}");
}
