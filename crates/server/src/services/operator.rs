//! The operator's port.

use std::sync::Arc;

use config::Admin;
use tokio::net::TcpListener;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::{Context, Run, Service, sockets};
use crate::admin;
use crate::ports::{Bound, Port};
use crate::start_error::StartError;

/// See the module's description.
pub(super) struct OperatorPort {
    bound: Bound,
    socket: TcpListener,
}

impl OperatorPort {
    /// Binds the configured address.
    pub(super) fn bind(config: &Admin) -> Result<Self, StartError> {
        let (bound, socket) = sockets::bind(Port::Admin, config.listen, &[])?;
        Ok(Self { bound, socket })
    }
}

impl Service for OperatorPort {
    /// An operator sees how the listeners leave.
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn bound(&self) -> Vec<Bound> {
        vec![self.bound]
    }

    fn announce(&self, facts: &Facts<'_>, notice: &mut Notice) {
        let Some(address) = facts.first(Port::Admin) else {
            return;
        };
        notice.operate.extend([
            format!("  metrics  http://{address}/metrics"),
            format!("  API      http://{address}/api/v1/streams"),
        ]);
    }

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        let serving = admin::serve(self.socket, Arc::clone(context));
        Box::pin(phase.cut(Phase::Drained, serving))
    }
}
