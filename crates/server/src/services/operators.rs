//! The operator's port.

use std::sync::Arc;

use operator::Console;
use tokio::net::TcpListener;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::{Run, Service};
use crate::ports::Port;

/// See the module's description.
pub(super) struct OperatorPort {
    pub(super) socket: TcpListener,
    pub(super) console: Arc<Console>,
}

/// Adds what people need to know of the port to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
    let Some(address) = facts.first(Port::Admin) else {
        return;
    };
    notice.operate.extend([
        format!("  metrics  http://{address}/metrics"),
        format!("  API      http://{address}/api/v1/streams"),
    ]);
}

impl Service for OperatorPort {
    /// An operator sees how the listeners leave.
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn run(self: Box<Self>, phase: Shown) -> Run {
        let serving = operator::serve(self.socket, self.console);
        Box::pin(phase.cut(Phase::Drained, serving))
    }
}
