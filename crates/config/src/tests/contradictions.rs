//! Settings that contradict each other.

use super::*;

const CONTRADICTIONS: &str = r#"
[http] ; listen = ["0.0.0.0:1935"] => 2 http.listen: clashes with 0.0.0.0:1935 of rtmp
[rtmp] ; listen = ["127.0.0.1:8000"] => 2 rtmp.listen: clashes
[admin] ; listen = "127.0.0.1:8000" => 2 admin.listen: another port
[hls] ; part = "2s" ; segment = "1s" => 3 hls.segment: hls.part is longer
[auth.hook] ; end_url = "http://h/" => 2 auth.hook.end_url: needs `url`
[auth.hook] ; url = "http://h/" ; secret = "vQ2xT9mLw4" => 3 auth.hook.secret: is for dialect = "ome"
[auth.hook] ; url = "http://h/" ; end_url = "http://h/" ; dialect = "mediamtx" => 3 auth.hook.end_url: no ends
[auth.hook] ; url = "http://h/" ; mount_url = "http://h/" => 3 auth.hook.mount_url: is for dialect = "icecast"
[auth.hook] ; url = "http://h/" ; headers = ["referer"] => 3 auth.hook.headers: is for dialect = "icecast"
[auth.hook] ; url = "http://h/" ; dialect = "icecast" ; headers = ["a=b"] => 4 auth.hook.headers: no header's name
[hls] ; dvr = "2h" => 2 hls.dvr: no hls.dvr_directory
[rtmp] ; proxy_protocol = true => 2 rtmp.proxy_protocol: no proxy is trusted
[[access]] ; allow = [] => 2 access.0.allow: would let no client in
[[access]] ; actions = [] ; deny = ["192.0.2.7"] => 2 access.0.actions: for nothing
[http] ; country_header = "" ; [[access]] ; deny_countries = ["XX"] => 4 access.0.deny_countries: no client's is known
[[access]] ; deny_file = "/nowhere/banned" => 2 access.0.deny_file: cannot be opened
[hls] ; dvr = "2h" ; dvr_directory = "/tmp" ; encryption = true => 4 hls.encryption: no DVR window
[hls] ; dvr = "2h" ; dvr_directory = "/tmp" ; [[stream]] ; match = "a" ; encryption = true => 6 stream.0.encryption: no DVR window
[[stream]] ; match = "live/*" ; dvr = "2h" => 3 stream.0.dvr: no hls.dvr_directory
[hls] ; dvr_directory = "/dev/null" => 2 hls.dvr_directory: not a directory
[webrtc] ; listen = "127.0.0.1:8000" => 2 webrtc.listen: another port
[http] ; listen = ["[::1]:80", "[::]:80"] => 2 http.listen: clashes
[http] ; tls_listen = ["0.0.0.0:8443"] => 2 http.tls_listen: no certificate
[rtmp] ; tls_listen = ["0.0.0.0:8443"] => 2 rtmp.tls_listen: no certificate
[rtmp] ; listen = ["[::]:1935", "0.0.0.0:1935"] ; [admin] ; listen = "[::1]:1935" => 4 admin.listen: clashes
[fanout.audio] ; min_wait = "1s" => 2 fanout.audio.min_wait: longer than
[fanout.video] ; drop_after = "1s" => 2 fanout.video.drop_after: longer than
[[stream]] ; match = "a" ; min_wait = "300ms" => 3 stream.0.min_wait: for video
[[stream]] ; match = "a" ; drop_after = "1s" => 3 stream.0.drop_after: for audio
[[stream]] ; match = "a" ; [[stream]] ; match = "a" => 4 stream.1.match: first match
[[stream]] ; match = "**" ; [[stream]] ; match = "a" => 4 stream.1.match: first match
"#;

#[test]
fn contradictions_are_reported() {
    each_has_one_problem(CONTRADICTIONS);
    for fine in [
        "[http]\nlisten = [\"0.0.0.0:80\", \"[::]:80\"]",
        "[http]\nlisten = [\"127.0.0.1:0\", \"127.0.0.1:0\"]",
        "[fanout.audio]\nmin_wait = \"400ms\"",
        "[rtmp]\nlisten = []",
        "[http]\nlisten = []",
        "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
         [[variants]]\nname = \"y\"\nstreams = [\"a\", \"b\"]",
    ] {
        assert!(parse(fine).is_ok(), "{fine}");
    }
}

#[test]
fn half_a_certificate_is_none() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tls = "[http]\ntls_listen = [\"0.0.0.0:8443\"]\n";
    let tls = format!("{tls}certificate = \"{here}\"\n");
    one_problem(&tls, 3, "http.certificate", "private_key");
    let key = format!("private_key = \"{here}\"");
    let only_key = format!("[http]\ntls_listen = [\"0.0.0.0:8443\"]\n{key}");
    one_problem(&only_key, 3, "http.private_key", "certificate");
    assert!(parse(&format!("{tls}{key}")).is_ok());
    let pair = format!("certificate = \"{here}\"\n{key}");
    let secure_rtmp = "[rtmp]\ntls_listen = [\"0.0.0.0:1936\"]\n";
    assert!(parse(&format!("{secure_rtmp}[http]\n{pair}")).is_ok());
    let for_upgrades = parse(&format!("[http]\n{pair}"));
    assert!(for_upgrades.is_ok(), "on the plain port");
    let none = format!("[http]\ntls_upgrade = false\n{pair}");
    one_problem(&none, 3, "http.certificate", "tls_listen is empty");
    let absent = format!("{tls}{key}").replacen(here, "/absent", 1);
    one_problem(&absent, 3, "http.certificate", "no file /absent");
}
