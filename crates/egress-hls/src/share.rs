//! What the address of a request may have held for it, and whether its answers are others' as well.

use bytes::Bytes;
use net::holdings::{Held, Kind};

use crate::answer::Refused;
use crate::{Context, Request};

/// See the module's description.
#[derive(Clone, Copy)]
pub(crate) struct Share<'a> {
    context: &'a Context,
    request: &'a Request<'a>,
}

impl<'a> Share<'a> {
    pub(crate) fn of(context: &'a Context, request: &'a Request<'a>) -> Self {
        Self { context, request }
    }

    /// Whether caches may give the answer to others.
    pub(crate) fn is_public(self) -> bool {
        self.context
            .is_shared(self.request.stream, self.request.headers)
    }

    /// Charges bytes to the address.
    ///
    /// # Errors
    /// When it has its share.
    pub(crate) fn take(self, kind: Kind, bytes: usize) -> Result<Held, Refused> {
        let address = self.request.peer.ip();
        let held = self.context.holdings.take(kind, address, bytes);
        held.ok_or(Refused::HoldsEnough)
    }

    /// The same bytes, which are charged until they are sent.
    ///
    /// # Errors
    /// When it has its share.
    pub(crate) fn answer(self, bytes: Bytes) -> Result<Bytes, Refused> {
        Ok(self.take(Kind::Answers, bytes.len())?.over(bytes))
    }
}
