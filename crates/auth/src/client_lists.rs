//! Files of client lists, in the form of Icecast's `deny-ip` and `deny-agents`: one address, network or pattern per line. Empty
//! lines, and lines that begin with `#`, are ignored.

use std::path::Path;

use net::Network;

use crate::files::read_file;
use crate::wildcard::Wildcard;

/// Most entries of a file, which are compared one by one for each client that connects.
const ENTRIES_MAX: usize = 10_000;

/// Reads a file of addresses and networks.
///
/// # Errors
/// Fails when the file cannot be read or is invalid.
pub fn read_addresses(path: &Path) -> Result<Vec<Network>, String> {
    read(path, |line| {
        // A comment after the entry gives the reason.
        let reported = line.split('#').next().unwrap_or_default().trim();
        reported
            .parse()
            .map_err(|_| format!("`{reported}` is no address and no network such as 192.0.2.0/24"))
    })
}

/// Reads a file of patterns for program names.
///
/// # Errors
/// As for [`read_addresses`].
pub fn read_agents(path: &Path) -> Result<Vec<Wildcard>, String> {
    read(path, |line| {
        Wildcard::parse(line).map_err(|why| format!("`{line}` {why}"))
    })
}

fn read<T>(path: &Path, entry: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let at = path.display();
    let text = read_file(path).map_err(|why| format!("{at} {why}"))?;
    let entries = parse(&text, entry).map_err(|(line, why)| format!("{at}:{line}: {why}"))?;
    match entries.len() {
        ..=ENTRIES_MAX => Ok(entries),
        _ => Err(format!("{at}: there are more than 10,000 entries")),
    }
}

/// Parses a file; an error has its line number, counted from 1.
fn parse<T>(
    text: &str,
    entry: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, (usize, String)> {
    let lines = text.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(line, number)| entry(line).map_err(|why| (number, why)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_is_a_client() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list");
        let write = |text: &str| fs::write(&path, text).expect("written");
        write("# banned\n192.0.2.7\n\n  198.51.100.0/24 # a school\n2001:db8::/32\r\n");
        let networks = read_addresses(&path).expect("it is one");
        let shown: Vec<_> = networks.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32"]);
        write("192.0.2.7\n192.168.*\n");
        let why = read_addresses(&path).expect_err("it is none");
        let is_named = why.contains("list:2:") && why.contains("192.168.*");
        assert!(is_named, "{why}");
        write("# programs\nStream Ripper*\n*#1 player*\n");
        let agents = read_agents(&path).expect("it is one");
        assert_eq!(agents.len(), 2);
        assert!(agents[1].matches("The #1 Player/2"));
        write("");
        assert!(read_addresses(&path).is_ok_and(|none| none.is_empty()));
        assert!(read_agents(&folder.path().join("none")).is_err());
    }
}
