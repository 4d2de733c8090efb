//! `[auth.hook]`, of the addresses that another server asks and tells.

use crate::draft::{Import, TableId};
use crate::source::Directive;

/// An address and the directive that names it.
pub(crate) type Address<'a> = (&'a Directive, String);

/// The addresses of one server.
#[derive(Default)]
pub(crate) struct Hook<'a> {
    /// Whose requests they take.
    pub(crate) dialect: &'static str,
    /// Who is asked about publishers.
    pub(crate) publish: Option<Address<'a>>,
    /// Who is asked about listeners.
    pub(crate) play: Option<Address<'a>>,
    /// Who is asked about clients that have connected.
    pub(crate) connect: Option<Address<'a>>,
    /// Who is told of what goes on, and how often if the file says so.
    pub(crate) update: Option<Address<'a>>,
    pub(crate) update_every: Option<&'a Directive>,
    /// Who is told of ends.
    pub(crate) ends: Vec<Address<'a>>,
    /// Who is told of publishers that come and go.
    pub(crate) mounts: Vec<Address<'a>>,
}

impl Hook<'_> {
    /// Sets the section; `None` if there is nobody to ask.
    pub(crate) fn set(self, import: &mut Import) -> Option<TableId> {
        let (Some(first), asks) = (match (&self.publish, &self.play) {
            (Some(publish), Some(_)) => (Some(publish), "all"),
            (Some(publish), None) => (Some(publish), "publish"),
            (None, play) => (play.as_ref(), "play"),
        }) else {
            let told = self.connect.iter().chain(&self.update);
            let told = told.chain(&self.ends).chain(&self.mounts);
            let told = told.map(|(directive, _)| *directive);
            for directive in told.chain(self.update_every) {
                import.leave(
                    directive,
                    "only the hook that permits is told of more, and there is none; a [[webhook]] is told of streams",
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
        for (key, told) in [("connect_url", &self.connect), ("update_url", &self.update)] {
            if let Some((directive, address)) = told {
                import.set(id, key, address, directive);
            }
        }
        if let Some(directive) = self.update_every {
            match &self.update {
                Some(_) => import.set_time(id, "update_every", 1.0, directive),
                None => import.needless(directive, "nobody is told of what goes on"),
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
