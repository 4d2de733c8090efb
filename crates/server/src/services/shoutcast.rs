//! The ports for sources of SHOUTcast v1.

use std::sync::Arc;

use config::Shoutcast;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::sockets::Doors;
use super::{Context, Run, Service};
use crate::door::Door;
use crate::ports::{Bound, Port};
use crate::start_error::StartError;

/// See the module's description.
#[derive(Default)]
pub(super) struct ShoutcastPorts(Doors);

impl ShoutcastPorts {
    /// Binds the configured addresses.
    pub(super) fn bind(config: &Shoutcast) -> Result<Self, StartError> {
        let mut doors = Doors::default();
        doors.bind(Port::Shoutcast, &config.listen, &Door::Shoutcast)?;
        Ok(Self(doors))
    }
}

impl Service for ShoutcastPorts {
    fn until(&self) -> Phase {
        Phase::Closed
    }

    fn bound(&self) -> Vec<Bound> {
        self.0.bound()
    }

    fn announce(&self, facts: &Facts<'_>, notice: &mut Notice) {
        if let Some(address) = facts.first(Port::Shoutcast) {
            notice.publish.push(format!(
                "  old      SHOUTcast v1 server {address}, password {}",
                facts.key
            ));
        }
    }

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        self.0.run(context, &phase)
    }
}
