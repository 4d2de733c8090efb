//! `carillon import` converts another server's configuration, and the server runs with the result.

use testkit::Clip;
use testkit::http::Listener;

use crate::support::imported::{import, serve};
use crate::support::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::{DEADLINE, repeat_to, wait_for_stream};

/// The hook requests carry each field that MediaMTX (its documentation of `authHTTPAddress`) and SRS (that of `http_hooks`)
/// send.
#[test]
fn the_hooks_of_mediamtx_and_srs_are_asked_as_before() {
    let mediamtx = "authMethod: http\nauthHTTPAddress: HOOK\npaths:\n  all_others:\n";
    let srs = "listen 1935;\nvhost __defaultVhost__ {\n http_hooks {\n  enabled on;\n  on_publish HOOK;\n  \
               on_play HOOK;\n }\n}\n";
    let of_mediamtx = "ip user password token action path protocol id query userAgent";
    let of_srs = "server_id service_id action client_id ip vhost app tcUrl stream param stream_url \
                  stream_id";
    for (name, text, path, fields, reported) in [
        (
            "mediamtx.yml",
            mediamtx,
            "mediamtx",
            of_mediamtx,
            [("action", "publish"), ("path", "live/show")],
        ),
        (
            "srs.conf",
            srs,
            "srs",
            of_srs,
            [("action", "on_publish"), ("stream", "show")],
        ),
    ] {
        let hook = Hook::start();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text.replace("HOOK", &hook.url(path))).unwrap();
        let server = serve(&import(&file).0);
        let publish = |key: &str| repeat_to(&server.rtmp_url("live/show", key), Clip::Flv);
        let mut refused = publish(UNKNOWN);
        assert!(!refused.wait(DEADLINE).success(), "{name}");
        let _show = publish(KNOWN);
        wait_for_stream(&server, "live/show");
        let flv = |key: &str| server.get(&format!("/live/show.flv?key={key}")).status;
        assert!([401, 403].contains(&flv(UNKNOWN)), "{name}");
        let mut viewer = Listener::get(server.addr("http"), &format!("/live/show.flv?key={KNOWN}"));
        assert_eq!(viewer.status(), 200, "{name}");
        assert!(!viewer.read_bytes(1_000, DEADLINE).is_empty(), "{name}");
        let asked = hook.asked();
        assert!(asked.len() >= 4, "{name}: {asked:?}");
        for body in &asked {
            let request: serde_json::Value = serde_json::from_str(body).unwrap();
            for field in fields.split(' ') {
                assert!(request.get(field).is_some(), "{name}: {field}: {body}");
            }
        }
        let request: serde_json::Value = serde_json::from_str(&asked[1]).unwrap();
        for (field, value) in reported {
            assert_eq!(request[field], value, "{name}: {request}");
        }
    }
}
