//! Settings that contradict each other.

use super::*;

#[test]
fn contradictions_are_told() {
    for (source, line, key, words) in [
        (
            "[http]\nlisten = [\"0.0.0.0:1935\"]",
            2,
            "http.listen",
            "clashes with 0.0.0.0:1935 of rtmp",
        ),
        (
            "[rtmp]\nlisten = [\"127.0.0.1:8000\"]",
            2,
            "rtmp.listen",
            "clashes",
        ),
        (
            "[admin]\nlisten = \"127.0.0.1:8000\"",
            2,
            "admin.listen",
            "another port",
        ),
        (
            "[hls]\npart = \"2s\"\nsegment = \"1s\"",
            3,
            "hls.segment",
            "hls.part is longer",
        ),
        (
            "[auth.hook]\nend_url = \"http://h/\"",
            2,
            "auth.hook.end_url",
            "needs `url`",
        ),
        (
            "[auth.hook]\nurl = \"http://h/\"\nsecret = \"vQ2xT9mLw4\"",
            3,
            "auth.hook.secret",
            "is for dialect = \"ome\"",
        ),
        (
            "[auth.hook]\nurl = \"http://h/\"\nend_url = \"http://h/\"\ndialect = \"mediamtx\"",
            3,
            "auth.hook.end_url",
            "no ends",
        ),
        (
            "[auth.hook]\nurl = \"http://h/\"\nmount_url = \"http://h/\"",
            3,
            "auth.hook.mount_url",
            "is for dialect = \"icecast\"",
        ),
        (
            "[auth.hook]\nurl = \"http://h/\"\nheaders = [\"referer\"]",
            3,
            "auth.hook.headers",
            "is for dialect = \"icecast\"",
        ),
        (
            "[auth.hook]\nurl = \"http://h/\"\ndialect = \"icecast\"\nheaders = [\"a=b\"]",
            4,
            "auth.hook.headers",
            "no header's name",
        ),
        ("[hls]\ndvr = \"2h\"", 2, "hls.dvr", "no hls.dvr_directory"),
        (
            "[rtmp]\nproxy_protocol = true",
            2,
            "rtmp.proxy_protocol",
            "no proxy is trusted",
        ),
        (
            "[[access]]\nallow = []",
            2,
            "access.0.allow",
            "would let no client in",
        ),
        (
            "[[access]]\nactions = []\ndeny = [\"192.0.2.7\"]",
            2,
            "access.0.actions",
            "for nothing",
        ),
        (
            "[http]\ncountry_header = \"\"\n[[access]]\ndeny_countries = [\"XX\"]",
            4,
            "access.0.deny_countries",
            "no client's is known",
        ),
        (
            "[[access]]\ndeny_file = \"/nowhere/banned\"",
            2,
            "access.0.deny_file",
            "cannot be opened",
        ),
        (
            "[hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\nencryption = true",
            4,
            "hls.encryption",
            "no DVR window",
        ),
        (
            "[hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\n[[stream]]\nmatch = \"a\"\nencryption = true",
            6,
            "stream.0.encryption",
            "no DVR window",
        ),
        (
            "[[stream]]\nmatch = \"live/*\"\ndvr = \"2h\"",
            3,
            "stream.0.dvr",
            "no hls.dvr_directory",
        ),
        (
            "[hls]\ndvr_directory = \"/dev/null\"",
            2,
            "hls.dvr_directory",
            "not a directory",
        ),
        (
            "[webrtc]\nlisten = \"127.0.0.1:8000\"",
            2,
            "webrtc.listen",
            "another port",
        ),
        (
            "[http]\nlisten = [\"[::1]:80\", \"[::]:80\"]",
            2,
            "http.listen",
            "clashes",
        ),
        (
            "[http]\ntls_listen = [\"0.0.0.0:8443\"]",
            2,
            "http.tls_listen",
            "no certificate",
        ),
        (
            "[rtmp]\ntls_listen = [\"0.0.0.0:8443\"]",
            2,
            "rtmp.tls_listen",
            "no certificate",
        ),
        (
            "[rtmp]\nlisten = [\"[::]:1935\", \"0.0.0.0:1935\"]\n[admin]\nlisten = \"[::1]:1935\"",
            4,
            "admin.listen",
            "clashes",
        ),
        (
            "[fanout.audio]\nmin_wait = \"1s\"",
            2,
            "fanout.audio.min_wait",
            "longer than",
        ),
        (
            "[fanout.video]\ndrop_after = \"1s\"",
            2,
            "fanout.video.drop_after",
            "longer than",
        ),
        (
            "[[stream]]\nmatch = \"a\"\nmin_wait = \"300ms\"",
            3,
            "stream.0.min_wait",
            "for video",
        ),
        (
            "[[stream]]\nmatch = \"a\"\ndrop_after = \"1s\"",
            3,
            "stream.0.drop_after",
            "for audio",
        ),
        (
            "[[stream]]\nmatch = \"a\"\n[[stream]]\nmatch = \"a\"",
            4,
            "stream.1.match",
            "first match",
        ),
        (
            "[[stream]]\nmatch = \"**\"\n[[stream]]\nmatch = \"a\"",
            4,
            "stream.1.match",
            "first match",
        ),
    ] {
        one_problem(source, line, key, words);
    }
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
    one_problem(
        &format!("{tls}certificate = \"{here}\""),
        3,
        "http.certificate",
        "private_key",
    );
    one_problem(
        &format!("{tls}private_key = \"{here}\""),
        3,
        "http.private_key",
        "certificate",
    );
    let pair = format!("certificate = \"{here}\"\nprivate_key = \"{here}\"");
    assert!(parse(&format!("{tls}{pair}")).is_ok());
    let secure_rtmp = "[rtmp]\ntls_listen = [\"0.0.0.0:1936\"]\n";
    assert!(parse(&format!("{secure_rtmp}[http]\n{pair}")).is_ok());
    assert!(
        parse(&format!("[http]\n{pair}")).is_ok(),
        "for upgrades on the plain port"
    );
    one_problem(
        &format!("[http]\ntls_upgrade = false\n{pair}"),
        3,
        "http.certificate",
        "tls_listen is empty",
    );
    let absent = format!("{tls}certificate = \"/absent\"\nprivate_key = \"{here}\"");
    one_problem(&absent, 3, "http.certificate", "no file /absent");
}
