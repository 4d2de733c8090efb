//! `<relay>`, which becomes a `[[pull]]`.

use super::mount::with_credentials_of;
use super::stream;
use crate::draft::Import;
use crate::source::Directive;

/// Imports `<relay>`: a mount that is pulled. Relays of icecast-kh name further masters in `<host>` or `<master>`.
pub(super) fn relay(relay: &Directive, import: &mut Import) {
    let own = |name| relay.value_of(name);
    let Some(mount) = own("local-mount").or_else(|| own("mount")) else {
        return import.leave(relay, "names no mount");
    };
    let is_master = |child: &&Directive| {
        ["host", "master"].contains(&&*child.name) && !child.children.is_empty()
    };
    let masters: Vec<_> = relay.children.iter().filter(is_master).collect();
    let mut addresses: Vec<_> = std::iter::once(relay)
        .chain(masters.iter().copied())
        .filter_map(|master| master_address(master, relay))
        .collect();
    if addresses.is_empty() {
        return import.leave(relay, "names no server");
    }
    let Some(id) = import.entry("pull", relay, &[("stream", &stream(mount))]) else {
        return;
    };
    let from: Vec<_> = relay
        .children
        .iter()
        .filter(|child| ADDRESS.contains(&&*child.name))
        .collect();
    import.set_from(id, "url", addresses.remove(0), &from);
    if !addresses.is_empty() {
        import.set_from(id, "alternates", &addresses[..], &masters);
    }
    for child in &relay.children {
        match &*child.name {
            name if ADDRESS.contains(&name) => {}
            "host" | "master" => {
                for part in &child.children {
                    import.carry(part, "pull.url");
                }
            }
            "on-demand" if child.is_on() => import.set(id, "on_demand", true, child),
            "on-demand" => import.needless(child, "is what [[pull]] does by default"),
            "relay-shoutcast-metadata" => import.needless(child, "titles always come along"),
            "enable" => import.needless(child, "one that is listed is relayed"),
            _ => import.leave(child, "[[pull]] has no such setting"),
        }
    }
}

/// Parts of a relay's address.
const ADDRESS: [&str; 8] = [
    "server",
    "ip",
    "port",
    "mount",
    "local-mount",
    "username",
    "password",
    "timeout",
];

/// Returns the address of a master; missing parts come from the relay.
fn master_address(master: &Directive, relay: &Directive) -> Option<String> {
    let part = |name| master.value_of(name).or_else(|| relay.value_of(name));
    let host = master
        .value_of("server")
        .or_else(|| master.value_of("ip"))?;
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let mount = part("mount").or_else(|| part("local-mount"))?;
    let url = format!(
        "http://{host}:{}/{}",
        part("port").unwrap_or("8000"),
        mount.trim_start_matches('/')
    );
    let credentials = ["username", "password"].map(|name| relay.value_of(name));
    Some(with_credentials_of(&url, credentials))
}
