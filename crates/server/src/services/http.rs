//! The HTTP and HTTPS ports.

use config::Http;
use web::tls::Handshakes;

use super::notice::{Facts, Notice};
use super::sockets::Doors;
use crate::door::Door;
use crate::ports::Port;
use crate::start_error::StartError;

/// Binds the configured addresses; those of HTTPS only if there is a certificate.
pub(super) fn bind(
    doors: &mut Doors,
    config: &Http,
    tls: Option<Handshakes>,
) -> Result<(), StartError> {
    let upgrade = tls.as_ref().filter(|_| config.tls_upgrade);
    let plain = Door::Http(upgrade.map(|tls| tls.upgrade.clone()));
    doors.add(Port::Http, &config.listen, &plain)?;
    if let Some(tls) = tls {
        doors.add(Port::Https, &config.tls_listen, &Door::Https(tls.https))?;
    }
    Ok(())
}

/// Adds the ports' addresses to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
    let key = facts.key;
    if let Some(http) = facts.first(Port::Http) {
        notice.publish.extend([
            "Publish radio".to_owned(),
            format!(
                "  ffmpeg   ffmpeg -re -i FILE -c:a libmp3lame -b:a 128k -content_type audio/mpeg -f mp3 \
                 'icecast://source:{key}@{http}/radio.mp3'"
            ),
            format!("  others   Icecast server {http}, user source, password {key}"),
        ]);
    }
    let Some(site) = facts.site() else {
        return;
    };
    notice.listen.extend([
        format!("  browser  {site}/"),
        format!("  player   {site}/live/show.flv"),
    ]);
    if facts.demo {
        notice.listen.push(format!("  demo     {site}/demo/"));
    }
}
