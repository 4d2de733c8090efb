//! The ports for SHOUTcast v1 sources.

use super::notice::{Facts, Notice};
use crate::ports::Port;

/// Adds the ports' addresses to the start-up notice.
pub(super) fn announce(facts: &Facts<'_>, notice: &mut Notice) {
    if let Some(address) = facts.first(Port::Shoutcast) {
        notice.publish.push(format!(
            "  old      SHOUTcast v1 server {address}, password {}",
            facts.key
        ));
    }
}
