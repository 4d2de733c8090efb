//! Values that a key does not take.

use super::*;

const OUT_OF_RANGE: &str = r#"
[fanout] ; workers = 1025 => 2 fanout.workers: above 1024
[fanout] ; target_utilisation = 1.0 => 2 fanout.target_utilisation: 0.001 to 0.9
[fanout] ; target_utilisation = nan => 2 fanout.target_utilisation: 0.001 to 0.9
[fanout] ; log_mib = 0 => 2 fanout.log_mib: 1 to 1048576
[fanout] ; backend = "kqueue" => 2 fanout.backend: "auto", "io_uring" or "epoll"
[fanout] ; backend = "epol" => 2 fanout.backend: did you mean "epoll"?
[fanout.audio] ; subgroup = 0 => 2 fanout.audio.subgroup: 1 to 10000
[limits] ; listeners = 4294967296 => 2 limits.listeners: 0 for no limit
[limits] ; listeners = 99999999999999999999 => 2 limits.listeners: 0 for no limit
[hls] ; key_period = "900ms" => 2 hls.key_period: 1s to 24h
[hls] ; part = "199ms" => 2 hls.part: 200ms to 2s
[hls] ; segment = "11s" => 2 hls.segment: 1s to 10s
[hls] ; dvr = "25h" ; dvr_directory = "/" => 2 hls.dvr: above 24h
[http] ; head_timeout = "0s" => 2 http.head_timeout: zero
[http] ; head_timeout = "9999h" => 2 http.head_timeout: 168h
[http] ; head_timeout = "99999999999999999999s" => 2 http.head_timeout: unit
[http] ; head_timeout = "10" => 2 http.head_timeout: unit
[http] ; head_timeout = "1.5s" => 2 http.head_timeout: "400ms"
[webrtc] ; public_ips = ["radio.example"] => 2 webrtc.public_ips: not a host name
[webrtc] ; public_ips = ["0.0.0.0"] => 2 webrtc.public_ips: no host can be reached
[http] ; listen = ["localhost:8000"] => 2 http.listen: not a host name
[http] ; listen = ["0.0.0.0:70000"] => 2 http.listen: with its port
[http] ; listen = "0.0.0.0:8000" => 2 http.listen: an array
[http] ; trusted_proxies = ["10.0.0.0/33"] => 2 http.trusted_proxies: network
[http] ; base_url = "radio.example.com/tv" => 2 http.base_url: neither https:// nor http://
[http] ; server_header = "a\nb" => 2 http.server_header: control
[http] ; listen = [] ; [rtmp] ; listen = [] => 2 http.listen: no listener can connect
http = 1 => 1 http: write [http]
[stream] ; match = "*" => 1 stream: [[stream]]
[[stream]] ; public = false => 1 stream.0.match: is missing
[[stream]] ; match = "/live/*" => 2 stream.0.match: empty segment
[[stream]] ; match = "a b" => 2 stream.0.match: no stream's name
[rtmp] ; play_wait = 10 => 2 rtmp.play_wait: with its unit
linger = "5s" => 1 linger: did you mean `ingest.linger`?
[cluster] ; node = "east" => 1 cluster: no such key
[[stream]] ; match = "live/*" ; max_listeners = 100 => 3 stream.0.max_listeners: no such key; `listeners_max` and `listen_duration_max` of a [[stream]]; `limits.listeners` is for all
[[stream]] ; match = "live/*" ; fallback-mount = "/jingles.mp3" => 3 stream.0.fallback-mount: no such key; `fallback` of a [[stream]]
[fanout.video] ; burst = "4s" => 2 fanout.video.burst: fanout.audio.burst
"#;

#[test]
fn values_out_of_range_are_reported() {
    each_has_one_problem(OUT_OF_RANGE);
}

#[test]
fn webrtc_is_turned_off_by_an_empty_address_and_shares_a_number_without_tcp() {
    let config = parse("[webrtc]\nlisten = \"\"").expect("valid");
    assert_eq!(config.webrtc.listen, None);
    let udp = "[webrtc]\nlisten = \"0.0.0.0:8000\"\ntcp = false";
    assert!(parse(udp).is_ok(), "the other is TCP");
}
