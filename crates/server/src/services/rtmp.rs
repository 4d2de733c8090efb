//! The RTMP and RTMPS ports.

use std::net::SocketAddr;
use std::sync::Arc;

use config::Rtmp;
use rustls::ServerConfig;

use super::notice::{Facts, Notice};
use super::sockets::Doors;
use crate::door::Door;
use crate::ports::Port;
use crate::start_error::StartError;

/// Binds the configured addresses; those of RTMPS only if there is a certificate.
pub(super) fn bind(
    doors: &mut Doors,
    config: &Rtmp,
    tls: Option<Arc<ServerConfig>>,
) -> Result<(), StartError> {
    doors.add(Port::Rtmp, &config.listen, &Door::Rtmp)?;
    if let Some(tls) = tls {
        doors.add(Port::Rtmps, &config.tls_listen, &Door::Rtmps(tls))?;
    }
    Ok(())
}

/// Adds the ports' addresses to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
    let secure = facts.first(Port::Rtmps).map(|address| ("rtmps", address));
    let plain = facts.first(Port::Rtmp).map(|address| ("rtmp", address));
    let Some((scheme, address)) = plain.or(secure) else {
        return;
    };
    publish(facts, &mut notice.publish, scheme, address);
    if let (Some(_), Some((_, address))) = (plain, secure) {
        let line = format!("  secure   the same to rtmps://{address}");
        notice.publish.push(line);
    }
    let line = format!("  RTMP     {scheme}://{address}/live/show");
    notice.listen.push(line);
}

fn publish(facts: &Facts<'_>, lines: &mut Vec<String>, scheme: &str, address: SocketAddr) {
    let key = facts.key;
    let challenge = facts.config.rtmp.challenge;
    // A publisher that is challenged for a password has no key in its stream name.
    let (target, name) = if challenge {
        let target = format!("{scheme}://source:{key}@{address}/live/show");
        (target, "show".to_owned())
    } else {
        let name = format!("show?key={key}");
        (format!("{scheme}://{address}/live/{name}"), name)
    };
    lines.extend([
        "Publish sound and picture".to_owned(),
        format!(
            "  ffmpeg   ffmpeg -re -i FILE -c:v libx264 -bf 0 -g 60 -pix_fmt yuv420p -c:a aac -f flv '{target}'"
        ),
        format!("  OBS      Server      {scheme}://{address}/live"),
        format!("           Stream Key  {name}"),
        // Without these options, a WebRTC viewer is refused, or waits a long time for the first frame.
        "           Output      keyframe interval 2 s, no B-frames (x264: tune zerolatency)".to_owned(),
    ]);
    if challenge {
        lines.push(format!("           User        source, password {key}"));
    }
}
