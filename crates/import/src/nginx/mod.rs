//! `nginx.conf` with `rtmp {}`.
//!
//! Directives in `rtmp` or `server` apply to the applications in them that do not override them: [`Scope`].

mod access;
mod application;
mod words;

pub(crate) use self::words::WORDS;
use crate::draft::Import;
use crate::source::Directive;
use crate::units;

/// The blocks around an application, innermost first.
#[derive(Clone, Copy, Debug)]
struct Scope<'a> {
    blocks: &'a [&'a Directive],
}

impl<'a> Scope<'a> {
    /// Returns all directives with a name in the innermost block that has one.
    fn all(&self, name: &str) -> impl Iterator<Item = &'a Directive> {
        let mut blocks = self.blocks.iter();
        let block = blocks.find(|block| block.child(name).is_some());
        block.into_iter().flat_map(move |block| block.all(name))
    }

    /// Returns the first of them.
    fn one(&self, name: &str) -> Option<&'a Directive> {
        self.all(name).next()
    }
}

/// Imports a file.
pub(crate) fn import(root: &Directive, import: &mut Import) {
    for directive in &root.children {
        match &*directive.name {
            "rtmp" => rtmp(directive, import),
            _ => import.explain(directive),
        }
    }
}

fn rtmp(rtmp: &Directive, import: &mut Import) {
    listens(rtmp, import);
    let mut applications = 0;
    for directive in &rtmp.children {
        match &*directive.name {
            "server" => {
                for inner in &directive.children {
                    match &*inner.name {
                        "listen" => {}
                        "application" => {
                            applications += 1;
                            let blocks = [inner, directive, rtmp];
                            application::application(inner, Scope { blocks: &blocks }, import);
                        }
                        _ => shared(inner, import),
                    }
                }
            }
            _ => shared(directive, import),
        }
    }
    if applications > 0 {
        import.remark("auth", "nginx lets anybody publish where no hook and no `deny publish` says otherwise. Here publishers need a key,");
        import.remark("auth", "or the permission of auth.hook. Without publish_key a key is generated at each start and printed.");
    }
}

fn listens(rtmp: &Directive, import: &mut Import) {
    let servers = rtmp.all("server");
    let listens = servers.flat_map(|server| server.all("listen"));
    let (sockets, listens): (Vec<_>, Vec<_>) =
        listens.partition(|listen| listen.value().starts_with("unix:"));
    for socket in sockets {
        import.leave(socket, "there are no sockets of files");
    }
    let addresses = listens.iter().map(|listen| units::address(listen.value()));
    let addresses: Vec<_> = addresses.collect();
    let id = import.section("rtmp");
    if !listens.is_empty() {
        import.set_from(id, "listen", &addresses[..], &listens);
    }
    let is_proxied =
        |listen: &&&Directive| listen.values.iter().any(|word| word == "proxy_protocol");
    if let Some(listen) = listens.iter().find(is_proxied) {
        import.set(id, "proxy_protocol", true, listen);
        import.remark(
            id,
            "nginx believes every client's PROXY header. Here the proxies are named in http.trusted_proxies.",
        );
    }
}

/// Imports a directive for all applications. Directives that an application looks up by its scope are accounted for there.
fn shared(directive: &Directive, import: &mut Import) {
    match &*directive.name {
        "max_connections" => import.set_number("limits", "listeners", directive),
        "access_log" if directive.value() == "off" => import.needless(
            directive,
            "no access log is written unless log.access names one",
        ),
        "access_log" => import.set("log", "access", directive.value(), directive),
        name if application::LOOKED_UP.contains(&name) => {}
        _ => application::general(directive, import),
    }
}
