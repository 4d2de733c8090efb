//! `<relay>`, which becomes a `[[pull]]`.

use super::mount::with_credentials_of;
use super::stream;
use crate::draft::Import;
use crate::source::Directive;
use crate::units;

/// `<relay>`: a mount that is pulled. Those of icecast-kh name further masters in `<host>` or `<master>`.
pub(super) fn relay(relay: &Directive, import: &mut Import) {
    let own = |name| relay.value_of(name);
    let Some(mount) = own("local-mount").or_else(|| own("mount")) else {
        return import.ledger.leave(relay, "names no mount");
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
        return import.ledger.leave(relay, "names no server");
    }
    let Some(id) = import.entry("pull", relay) else {
        return;
    };
    let from: Vec<_> = relay
        .children
        .iter()
        .filter(|child| ADDRESS.contains(&&*child.name))
        .collect();
    import.set(id, "stream", units::text(&stream(mount)), relay);
    import.set_from(id, "url", units::text(&addresses.remove(0)), &from);
    if !addresses.is_empty() {
        let texts: Vec<_> = addresses
            .iter()
            .map(|address| units::text(address))
            .collect();
        import.set_from(
            id,
            "alternates",
            format!("[{}]", texts.join(", ")),
            &masters,
        );
    }
    for child in &relay.children {
        match &*child.name {
            name if ADDRESS.contains(&name) => {}
            "host" | "master" => {
                for part in &child.children {
                    import.ledger.carry(part, "pull.url".to_owned());
                }
            }
            "on-demand" if child.is_on() => import.set(id, "on_demand", "true", child),
            "on-demand" => import
                .ledger
                .needless(child, "is what [[pull]] does by default"),
            "relay-shoutcast-metadata" => import.ledger.needless(child, "titles always come along"),
            "enable" => import
                .ledger
                .needless(child, "one that is listed is relayed"),
            _ => import.ledger.leave(child, "[[pull]] has no such setting"),
        }
    }
}

/// Parts of the address of a relay.
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

/// The address of a master; what it does not say is that of the relay.
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
    let credentials = ["username", "password"].map(|name| relay.child(name));
    Some(with_credentials_of(
        &url,
        credentials.map(|it| it.map(Directive::value)),
    ))
}
