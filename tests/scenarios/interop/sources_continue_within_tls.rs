//! Sources by libshout connect to the port of plain HTTP and continue within TLS (RFC 2817), where the server has a
//! certificate: a tap on the wire sees the probe, the handshake and nothing else in clear.

use testkit::{Certificate, Clip, PUBLISH_KEY, Server, Wiretap, framemd5};

use crate::interop::icecast_sources_are_heard_unchanged::{Ezstream, is_heard};
use crate::support::titles::base64;
use crate::support::{DEADLINE, wait_until};

/// The longest record of TLS 1.3 (RFC 8446 §5.2).
const RECORD_BYTES_MAX: usize = (1 << 14) + 256;

/// Splits what one side sent into its first head, which is in clear, and the TLS records behind it.
fn head_and_records<'a>(what: &str, said: &'a [u8]) -> (String, Vec<&'a [u8]>) {
    let end = said.windows(4).position(|end| end == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("{what}: {:?}", String::from_utf8_lossy(said))) + 4;
    let (head, mut rest) = said.split_at(end);
    let mut records = Vec::new();
    // A piece of the last record may be missing.
    while rest.len() >= 5 {
        let [kind @ 20..=23, 3, 1..=3, high, low, ..] = *rest else {
            panic!("{what}: no TLS: {:?}", String::from_utf8_lossy(rest));
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        assert!(length <= RECORD_BYTES_MAX, "{what}: {kind}, {length} bytes");
        let Some((record, more)) = rest.split_at_checked(5 + length) else {
            break;
        };
        records.push(record);
        rest = more;
    }
    (String::from_utf8(head.to_vec()).unwrap(), records)
}

/// Runs ezstream through a tap; `tls` is how much ezstream insists on TLS.
fn ezstream_continues_within_tls(tls: &str) {
    let certificate = Certificate::make();
    let server = certificate.serve(Server::builder()).start();
    let tap = Wiretap::start(server.addr("http"));
    let clip = Clip::Mp3.seconds(30);
    let secure = format!("<tls>{tls}</tls><ca_file>{}</ca_file>", certificate.path());
    let _source = Ezstream {
        // The name in the certificate.
        host: "localhost",
        port: tap.addr().port(),
        more: &secure,
    }
    .start("ez.mp3", &clip);
    is_heard(&server, "ez.mp3", &framemd5::packets(&clip), 100_000);

    // The title also comes over a connection of its own within TLS.
    wait_until("the sound to be overheard", || {
        let all = tap.overheard();
        all.iter().any(|one| one.client.len() > 100_000)
    });
    let secret = base64(format!("source:{PUBLISH_KEY}").as_bytes());
    for (index, overheard) in tap.overheard().iter().enumerate() {
        let what = format!("{tls}, connection {index}");
        let (asked, from_client) = head_and_records(&what, &overheard.client);
        assert!(
            asked.starts_with("OPTIONS * HTTP/1.1\r\n"),
            "{what}: {asked}"
        );
        assert!(asked.contains("\r\nUpgrade: TLS/1.0"), "{what}: {asked}");
        let (answer, from_server) = head_and_records(&what, &overheard.server);
        assert!(answer.starts_with("HTTP/1.1 101 "), "{what}: {answer}");
        for (side, records) in [("client", from_client), ("server", from_server)] {
            let first = records.first().map(|record| record[0]);
            assert_eq!(
                first,
                Some(22),
                "{what}: the {side} begins with a handshake"
            );
        }
        for said in [&overheard.client, &overheard.server] {
            for word in [PUBLISH_KEY, &secret, "Authorization", "/ez.mp3"] {
                let is_heard = said.windows(word.len()).any(|at| at == word.as_bytes());
                assert!(!is_heard, "{what}: {word} in clear");
            }
        }
    }
}

#[test]
fn ezstream_that_may_use_tls_does() {
    ezstream_continues_within_tls("May");
}

#[test]
fn ezstream_that_requires_tls_has_it() {
    ezstream_continues_within_tls("Required");
}

/// The port speaks nothing but TLS: libshout detects that by the missing reply.
#[test]
fn ezstream_that_may_use_tls_finds_a_port_of_https() {
    let certificate = Certificate::make();
    let server = certificate.serve_at(&["http"], Server::builder()).start();
    let clip = Clip::Mp3.seconds(30);
    let _source = Ezstream {
        host: "localhost",
        port: server.addr("https").port(),
        more: &format!("<tls>May</tls><ca_file>{}</ca_file>", certificate.path()),
    }
    .start("ez.mp3", &clip);
    is_heard(&server, "ez.mp3", &framemd5::packets(&clip), 100_000);
}

/// One server has no certificate, and on the other upgrades are off.
#[test]
fn ezstream_that_requires_tls_and_has_none_keeps_its_password() {
    let certificate = Certificate::make();
    let without = Server::start();
    let refusing = certificate
        .serve_at(&["http"], Server::builder())
        .set("http", "tls_upgrade", "false")
        .start();
    for server in [without, refusing] {
        let tap = Wiretap::start(server.addr("http"));
        let (mut source, _config) = Ezstream {
            host: "localhost",
            port: tap.addr().port(),
            more: "<tls>Required</tls><reconnect_attempts>1</reconnect_attempts>",
        }
        .start("ez.mp3", &Clip::Mp3.seconds(30));
        assert!(!source.wait(DEADLINE).success(), "{}", source.stderr());
        let secret = base64(format!("source:{PUBLISH_KEY}").as_bytes());
        for overheard in tap.overheard() {
            let said = String::from_utf8_lossy(&overheard.client).into_owned();
            assert!(
                !said.contains(PUBLISH_KEY) && !said.contains(&secret),
                "{said}"
            );
        }
    }
}
