//! Files of addresses: one address or network a line, as Icecast's `deny-ip` has them. Empty lines and what follows a `#`
//! say nothing.

use std::path::Path;

use crate::{Network, read_file};

/// Most entries of a file: they are compared one after the other for each client that connects.
const ENTRIES_MAX: usize = 10_000;

/// Reads a file.
///
/// # Errors
/// What is wrong with it, or that it cannot be read.
pub fn read_addresses(path: &Path) -> Result<Vec<Network>, String> {
    let at = path.display();
    let text = read_file(path).map_err(|why| format!("{at} {why}"))?;
    let entries = parse(&text).map_err(|(line, why)| format!("{at}:{line}: {why}"))?;
    match entries.len() {
        ..=ENTRIES_MAX => Ok(entries),
        _ => Err(format!("{at}: there are more than 10,000 entries")),
    }
}

fn parse(text: &str) -> Result<Vec<Network>, (usize, String)> {
    let entry = |(at, line): (usize, &str)| {
        let told = line.split('#').next().unwrap_or_default().trim();
        match (told, told.parse()) {
            ("", _) => None,
            (_, Ok(network)) => Some(Ok(network)),
            (_, Err(_)) => Some(Err((
                at + 1,
                format!("`{told}` is no address and no network such as 192.0.2.0/24"),
            ))),
        }
    };
    text.lines().enumerate().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_address_or_a_network() {
        let text = "# banned\n192.0.2.7\n\n  198.51.100.0/24 # a school\n2001:db8::/32\r\n";
        let networks = parse(text).expect("it is one");
        let shown: Vec<_> = networks.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32"]);
        assert!(parse("").is_ok_and(|none| none.is_empty()));
        let (line, why) = parse("192.0.2.7\n192.168.*\n").expect_err("it is none");
        assert_eq!(line, 2);
        assert!(why.contains("192.168.*"), "{why}");
    }
}
