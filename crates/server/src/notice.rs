//! What `serve` prints when it is ready: for programs one line per listening socket and `ready`, for people
//! lines to copy.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use config::Config;

use crate::keys::Generated;
use crate::sockets::{Bound, Port};

/// Replaces a secret that the operator already knows.
const KEY_PLACEHOLDER: &str = "KEY";

/// The whole notice. Each `listening` line, and `ready`, is a contract with the programs that start us.
pub(crate) fn text(config: &Config, bound: &[Bound], generated: &Generated, demo: bool) -> String {
    let mut out = String::new();
    for Bound { port, address } in bound {
        line(&mut out, &format!("listening {} {address}", port.label()));
    }
    line(&mut out, "ready");
    let first = |port| {
        bound
            .iter()
            .find(|b| b.port == port)
            .map(|b| reachable(b.address))
    };
    let key = match &config.auth.publish_key {
        Some(key) if generated.publish_key => key.reveal(),
        _ => KEY_PLACEHOLDER,
    };
    line(&mut out, "");
    let secure = first(Port::Rtmps).map(|address| ("rtmps", address));
    let rtmp = first(Port::Rtmp).map(|address| ("rtmp", address));
    if let Some((scheme, address)) = rtmp.or(secure) {
        publish_over_rtmp(&mut out, scheme, address, key, config.rtmp.challenge);
    }
    if let (Some(_), Some((_, address))) = (rtmp, secure) {
        let secure = format!("  secure   the same to rtmps://{address}");
        line(&mut out, &secure);
    }
    let http = first(Port::Http).map(|address| ("http", address));
    let web = http.or_else(|| first(Port::Https).map(|address| ("https", address)));
    if let Some((_, http)) = http {
        line(&mut out, "Publish radio");
        line(
            &mut out,
            &format!(
                "  ffmpeg   ffmpeg -re -i FILE -c:a libmp3lame -b:a 128k -content_type audio/mpeg \
                 -f mp3 'icecast://source:{key}@{http}/radio.mp3'"
            ),
        );
        line(
            &mut out,
            &format!("  others   Icecast server {http}, user source, password {key}"),
        );
    }
    if let Some((scheme, web)) = web {
        if first(Port::Webrtc).is_some() {
            line(&mut out, "Publish from a browser");
            let page = format!("  camera   {scheme}://{web}/live/show/publish");
            line(&mut out, &page);
            let whip = format!("  OBS      Service WHIP, Server {scheme}://{web}/live/show/whip");
            line(&mut out, &whip);
            line(&mut out, &format!("           Bearer Token {key}"));
        }
        line(&mut out, "Listen");
        line(&mut out, &format!("  browser  {scheme}://{web}/"));
        line(
            &mut out,
            &format!("  player   {scheme}://{web}/live/show.flv"),
        );
        if demo {
            line(&mut out, &format!("  demo     {scheme}://{web}/demo/"));
        }
    }
    if let Some((scheme, address)) = rtmp.or(secure) {
        line(
            &mut out,
            &format!("  RTMP     {scheme}://{address}/live/show"),
        );
    }
    if let Some(admin) = first(Port::Admin) {
        line(&mut out, "Operate");
        line(&mut out, &format!("  metrics  http://{admin}/metrics"));
        line(
            &mut out,
            &format!("  API      http://{admin}/api/v1/streams"),
        );
    }
    told_once(&mut out, config, generated);
    out
}

fn publish_over_rtmp(
    out: &mut String,
    scheme: &str,
    address: SocketAddr,
    key: &str,
    challenge: bool,
) {
    // For a publisher that is asked for a password, the stream's name does not contain it.
    let (target, name) = if challenge {
        (
            format!("{scheme}://source:{key}@{address}/live/show"),
            "show".to_owned(),
        )
    } else {
        let name = format!("show?key={key}");
        (format!("{scheme}://{address}/live/{name}"), name)
    };
    line(out, "Publish sound and picture");
    line(
        out,
        &format!(
            "  ffmpeg   ffmpeg -re -i FILE -c:v libx264 -bf 0 -g 60 -pix_fmt yuv420p -c:a aac -f flv \
             '{target}'"
        ),
    );
    line(
        out,
        &format!("  OBS      Server      {scheme}://{address}/live"),
    );
    line(out, &format!("           Stream Key  {name}"));
    // Without these options a viewer over WebRTC is refused, or waits long for the first picture.
    line(
        out,
        "           Output      keyframe interval 2 s, no B-frames (x264: tune zerolatency)",
    );
    if challenge {
        line(
            out,
            &format!("           User        source, password {key}"),
        );
    }
}

fn told_once(out: &mut String, config: &Config, generated: &Generated) {
    let auth = &config.auth;
    let mut new = Vec::new();
    if let Some(key) = auth.publish_key.as_ref().filter(|_| generated.publish_key) {
        new.push(("publish_key".to_owned(), key, "to publish".to_owned()));
    }
    for rule in &auth.keys {
        if let Some(key) = rule
            .secret
            .as_ref()
            .filter(|_| generated.keys.contains(&rule.name))
        {
            let purpose = format!("to publish {}", rule.pattern.as_str());
            new.push((format!("key {}", rule.name), key, purpose));
        }
    }
    if let Some(password) = auth
        .admin_password
        .as_ref()
        .filter(|_| generated.admin_password)
    {
        let purpose = "to operate, with any user name".to_owned();
        new.push(("admin_password".to_owned(), password, purpose));
    }
    if new.is_empty() {
        return;
    }
    line(
        out,
        "Made for this run, because the configuration has none (section [auth])",
    );
    for (key, secret, purpose) in new {
        line(out, &format!("  {key:15} {}   {purpose}", secret.reveal()));
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a String takes all text");
}

/// An address that works on this host: one cannot connect to `0.0.0.0` everywhere.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use config::Secret;

    use super::*;

    const PLAIN: &[(Port, &str)] = &[(Port::Rtmp, "0.0.0.0:1935"), (Port::Http, "[::]:8000")];
    const WEBRTC: (Port, &str) = (Port::Webrtc, "0.0.0.0:8189");

    fn notice(generated: Generated) -> String {
        notice_of(PLAIN, generated, Config::default())
    }

    fn notice_of(ports: &[(Port, &str)], generated: Generated, mut config: Config) -> String {
        config.auth.publish_key = Some(Secret::new("bells-at-noon-41"));
        config.auth.admin_password = Some(Secret::new("tower-warden-77"));
        let bound: Vec<_> = ports
            .iter()
            .map(|(port, text)| Bound {
                port: *port,
                address: text.parse().expect("an address"),
            })
            .collect();
        text(&config, &bound, &generated, true)
    }

    #[test]
    fn programs_find_their_lines() {
        let text = notice(Generated::default());
        assert!(text.starts_with("listening rtmp 0.0.0.0:1935\nlistening http [::]:8000\nready\n"));
        assert!(
            text.contains("rtmp://127.0.0.1:1935/live/show?key=KEY"),
            "{text}"
        );
        assert!(text.contains("http://[::1]:8000/demo/"), "{text}");
    }

    #[test]
    fn browsers_may_publish_where_there_is_webrtc() {
        let page = "http://[::1]:8000/live/show/publish";
        assert!(!notice(Generated::default()).contains(page));
        let ports = [PLAIN, &[WEBRTC]].concat();
        let text = notice_of(&ports, Generated::default(), Config::default());
        assert!(text.contains("listening webrtc 0.0.0.0:8189\n"), "{text}");
        assert!(
            text.contains(page) && text.contains("Bearer Token KEY"),
            "{text}"
        );
    }

    #[test]
    fn secure_ports_are_told() {
        let both = [
            (Port::Rtmp, "0.0.0.0:1935"),
            (Port::Rtmps, "0.0.0.0:1936"),
            (Port::Https, "0.0.0.0:8443"),
        ];
        let text = notice_of(&both, Generated::default(), Config::default());
        assert!(text.contains("listening rtmps 0.0.0.0:1936\n"), "{text}");
        assert!(text.contains(" rtmp://127.0.0.1:1935/live\n"), "{text}");
        assert!(
            text.contains("the same to rtmps://127.0.0.1:1936\n"),
            "{text}"
        );
        let text = notice_of(&both[1..], Generated::default(), Config::default());
        assert!(
            text.contains("'rtmps://127.0.0.1:1936/live/show?key=KEY'"),
            "{text}"
        );
        assert!(!text.contains("rtmp://"), "{text}");
    }

    #[test]
    fn with_a_challenge_the_key_is_not_in_the_name() {
        let mut config = Config::default();
        config.rtmp.challenge = true;
        let text = notice_of(PLAIN, Generated::default(), config);
        assert!(
            text.contains("'rtmp://source:KEY@127.0.0.1:1935/live/show'"),
            "{text}"
        );
        assert!(!text.contains("?key="), "{text}");
    }

    #[test]
    fn configured_secrets_are_not_shown_and_generated_ones_are() {
        let text = notice(Generated::default());
        assert!(
            !text.contains("bells-at-noon-41") && !text.contains("tower-warden-77"),
            "{text}"
        );
        let text = notice(Generated {
            publish_key: true,
            ..Generated::default()
        });
        assert!(
            text.contains("icecast://source:bells-at-noon-41@[::1]:8000/radio.mp3"),
            "{text}"
        );
        assert!(!text.contains("tower-warden-77"), "{text}");
    }
}
