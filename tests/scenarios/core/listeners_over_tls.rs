//! HTTPS carries the same streams as HTTP.

use testkit::{Certificate, Clip, Server, Tool, framemd5};

use crate::support::{DEADLINE, assert_joins, file, publish_icecast, publish_rtmp};

#[test]
fn curl_hears_a_mount_and_a_picture_stream() {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 10, "radio.mp3");
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(8), "live/show");
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
