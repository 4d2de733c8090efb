//! The operator's port.

use std::sync::Arc;

use operator::Console;
use tokio::net::TcpListener;

use super::notice::{Facts, Notice};
use super::phase::{Phase, Shown};
use super::{Run, Service};
use crate::ports::Port;

/// Service that runs the operator's port until the listeners have left, so that the operator can watch them leave.
pub(super) struct OperatorPort {
    pub(super) socket: TcpListener,
    pub(super) console: Arc<Console>,
}

/// Adds the port's address to the start-up notice.
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
    fn run(self: Box<Self>, phase: Shown) -> Run {
        let serving = operator::serve(self.socket, self.console);
        Box::pin(phase.cut(Phase::Drained, serving))
    }
}
