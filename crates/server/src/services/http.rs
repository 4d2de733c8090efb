//! The HTTP and HTTPS ports.

use std::sync::Arc;

use config::Http;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::sockets::Doors;
use super::{Context, Run, Service};
use crate::door::Door;
use crate::door::tls::Handshakes;
use crate::ports::{Bound, Port};
use crate::start_error::StartError;

/// See the module's description.
#[derive(Default)]
pub(super) struct HttpPorts(Doors);

impl HttpPorts {
    /// Binds the configured addresses; those of HTTPS if there is a certificate.
    pub(super) fn bind(config: &Http, tls: Option<Handshakes>) -> Result<Self, StartError> {
        let mut doors = Doors::default();
        let upgrade = tls.as_ref().filter(|_| config.tls_upgrade);
        let plain = Door::Http(upgrade.map(|tls| tls.upgrade.clone()));
        doors.bind(Port::Http, &config.listen, &plain)?;
        if let Some(tls) = tls {
            doors.bind(Port::Https, &config.tls_listen, &Door::Https(tls.https))?;
        }
        Ok(Self(doors))
    }
}

impl Service for HttpPorts {
    fn until(&self) -> Phase {
        Phase::Closed
    }

    fn bound(&self) -> Vec<Bound> {
        self.0.bound()
    }

    fn announce(&self, facts: &Facts<'_>, notice: &mut Notice) {
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

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        self.0.run(context, &phase)
    }
}
