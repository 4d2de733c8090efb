//! The ports for sources of SHOUTcast v1.

use super::notice::{Facts, Notice};
use crate::ports::Port;

/// Adds what people need to know of the ports to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
    if let Some(address) = facts.first(Port::Shoutcast) {
        notice.publish.push(format!(
            "  old      SHOUTcast v1 server {address}, password {}",
            facts.key
        ));
    }
}
