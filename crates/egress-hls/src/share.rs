//! Share of memory that the address of a request may use, and whether its answers may go to other clients.

use base::holdings::{Held, Kind};
use bytes::Bytes;

use crate::answer::Refused;
use crate::{Context, Request};

/// Share of one request's address; [`take`](Self::take) charges bytes to it.
#[derive(Clone, Copy)]
pub(crate) struct Share<'a> {
    context: &'a Context,
    request: &'a Request<'a>,
}

impl<'a> Share<'a> {
    pub(crate) fn of(context: &'a Context, request: &'a Request<'a>) -> Self {
        Self { context, request }
    }

    /// Returns whether caches may give the answer to other clients.
    pub(crate) fn is_public(self) -> bool {
        self.context
            .is_shared(self.request.stream, self.request.headers)
    }

    /// Charges bytes to the address.
    ///
    /// # Errors
    /// If the address has used up its share.
    pub(crate) fn take(self, kind: Kind, bytes: usize) -> Result<Held, Refused> {
        let address = self.request.peer.ip();
        let held = self.context.holdings.take(kind, address, bytes);
        held.ok_or(Refused::HoldsEnough)
    }

    /// Returns the bytes with a charge that lasts until they are sent.
    ///
    /// # Errors
    /// If the address has used up its share.
    pub(crate) fn answer(self, bytes: Bytes) -> Result<Bytes, Refused> {
        Ok(self.take(Kind::Answers, bytes.len())?.over(bytes))
    }
}
