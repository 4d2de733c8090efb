//! `[auth.hook]`, built from the addresses that another server queries and notifies.

use crate::draft::{Import, TableId};
use crate::source::Directive;

/// An address, and the directive that names it.
pub(crate) type Address<'a> = (&'a Directive, String);

/// Hook addresses of one server.
#[derive(Default)]
pub(crate) struct Hook<'a> {
    /// Name of the server whose request format the addresses expect.
    pub(crate) dialect: &'static str,
    /// Address that decides about publishers.
    pub(crate) publish: Option<Address<'a>>,
    /// Address that decides about listeners.
    pub(crate) play: Option<Address<'a>>,
    /// Address that decides about clients that have connected.
    pub(crate) connect: Option<Address<'a>>,
    /// Address that is notified of progress, and the interval if the file states one.
    pub(crate) update: Option<Address<'a>>,
    pub(crate) update_every: Option<&'a Directive>,
    /// Addresses that are notified when publishing or playing ends.
    pub(crate) ends: Vec<Address<'a>>,
    /// Addresses that are notified of publishers that come and go.
    pub(crate) mounts: Vec<Address<'a>>,
}

impl Hook<'_> {
    /// Sets the section; returns `None` if no address decides about anything.
    pub(crate) fn set(self, import: &mut Import) -> Option<TableId> {
        let (Some(first), asks) = (match (&self.publish, &self.play) {
            (Some(publish), Some(_)) => (Some(publish), "all"),
            (Some(publish), None) => (Some(publish), "publish"),
            (None, play) => (play.as_ref(), "play"),
        }) else {
            let reported = self.connect.iter().chain(&self.update);
            let reported = reported.chain(&self.ends).chain(&self.mounts);
            let reported = reported.map(|(directive, _)| *directive);
            for directive in reported.chain(self.update_every) {
                import.leave(
                    directive,
                    "only the hook that permits receives updates, and there is none; a [[webhook]] receives events of streams",
                );
            }
            return None;
        };
        let id = import.section("auth.hook");
        import.set(id, "url", &first.1, first.0);
        import.set(id, "dialect", self.dialect, first.0);
        import.set(id, "asks", asks, first.0);
        if let Some((play, address)) = &self.play {
            match *address == first.1 {
                true => import.carry(play, "auth.hook.url"),
                false => import.set(id, "play_url", address, play),
            }
        }
        for (key, reported) in [("connect_url", &self.connect), ("update_url", &self.update)] {
            if let Some((directive, address)) = reported {
                import.set(id, key, address, directive);
            }
        }
        if let Some(directive) = self.update_every {
            match &self.update {
                Some(_) => import.set_time(id, "update_every", 1.0, directive),
                None => import.needless(directive, "nobody receives updates"),
            }
        }
        for (key, all) in [("end_url", &self.ends), ("mount_url", &self.mounts)] {
            let first = all.first().map(|(_, address)| address);
            for (directive, address) in all {
                match Some(address) == first {
                    true => import.set(id, key, address, directive),
                    false => {
                        import.leave(directive, format!("auth.hook.{key} is one for all of them"));
                    }
                }
            }
        }
        Some(id)
    }
}
