//! Hold on a connection while one reply on it lasts: the connection does not give way to others meanwhile.

use limits::{Evict, Handover};

/// Hold that the body of the reply owns, with the permit that bounds it.
pub(super) struct Lasting<P> {
    handover: Handover,
    /// `None` if another request on the connection holds it.
    evict: Option<Evict>,
    _permit: P,
}

impl<P> Lasting<P> {
    pub(super) fn begin(handover: &Handover, permit: P) -> Self {
        Self {
            evict: handover.permit().hold(),
            handover: handover.clone(),
            _permit: permit,
        }
    }
}

impl<P> Drop for Lasting<P> {
    fn drop(&mut self) {
        if let Some(evict) = self.evict.take() {
            let mut permit = self.handover.permit();
            permit.rest_again(evict);
            // A connection that had to give way ends by itself.
            permit.wake();
        }
    }
}
