//! `carillon import`: reads a configuration of another server, and writes one of this server.
//!
//! The output file holds passwords, so only its owner may read it. Standard error lists what could not be carried over, one
//! line each, with names but without values.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use config::{Config, Location, Problem};
use import::{Imported, Kind, Refusal, SOURCE_BYTES_MAX, SourceError};

/// Source file, its kind, and the destination.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The configuration: icecast.xml, nginx.conf, mediamtx.yml or srs.conf.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Server that the file configures; detected from the content by default.
    #[arg(long, value_enum)]
    kind: Option<KindName>,
    /// New file for the result, readable only by its owner; standard output by default.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replaces the file if it exists.
    #[arg(long, requires = "output")]
    force: bool,
}

/// The kinds by their names on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    Icecast,
    Nginx,
    Mediamtx,
    Srs,
}

/// Reasons why an import fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{} cannot be read: {error}", file.display())]
    Read { file: PathBuf, error: io::Error },
    #[error("{} is not UTF-8; convert it first, such as by iconv -f ISO-8859-1 -t UTF-8", .0.display())]
    NotText(PathBuf),
    #[error("{}: {error}", file.display())]
    Source { file: PathBuf, error: SourceError },
    #[error("{} is no configuration that is known; name its server with --kind", .0.display())]
    Unknown(PathBuf),
    #[error("{} is there already; --force replaces it", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {error}", file.display())]
    Write { file: PathBuf, error: io::Error },
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Icecast => Self::Icecast,
            KindName::Nginx => Self::Nginx,
            KindName::Mediamtx => Self::Mediamtx,
            KindName::Srs => Self::Srs,
        }
    }
}

/// Imports: writes the result to `out` if no file is named, and what could not be carried over to `notes`.
pub(crate) fn run(
    arguments: &Arguments,
    out: &mut impl Write,
    notes: &mut impl Write,
) -> Result<(), Failure> {
    let file = &arguments.file;
    let source = read(file)?;
    let kind = arguments.kind.map(Kind::from).or_else(|| Kind::of(&source));
    let kind = kind.ok_or_else(|| Failure::Unknown(file.clone()))?;
    let name = file
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let imported =
        import::import(kind, &name, &source, refusals).map_err(|error| Failure::Source {
            file: file.clone(),
            error,
        })?;
    match &arguments.output {
        Some(path) => write(path, &imported.toml, arguments.force)?,
        None => out.write_all(imported.toml.as_bytes())?,
    }
    tell(file, kind, &imported, notes)?;
    Ok(())
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = SOURCE_BYTES_MAX as u64 + 1;
    let read = File::open(file).and_then(|open| open.take(limit).read_to_end(&mut bytes));
    read.map_err(|error| Failure::Read {
        file: file.to_owned(),
        error,
    })?;
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(Failure::Source {
            file: file.to_owned(),
            error: SourceError::TooLarge,
        });
    }
    String::from_utf8(bytes).map_err(|_| Failure::NotText(file.to_owned()))
}

/// Returns the errors that `carillon check` would report for the text, without environment variables.
fn refusals(toml: &str) -> Vec<Refusal> {
    let Err(report) = Config::parse("imported", toml, std::iter::empty()) else {
        return Vec::new();
    };
    report.problems().iter().map(refusal).collect()
}

fn refusal(problem: &Problem) -> Refusal {
    let line = match problem.at {
        Location::File { line, .. } => Some(line),
        _ => None,
    };
    let Problem {
        key, message, help, ..
    } = problem;
    let help = help
        .as_ref()
        .map(|help| format!("; {help}"))
        .unwrap_or_default();
    Refusal {
        line,
        message: format!("{key} {message}{help}"),
    }
}

/// Writes a file that only its owner may read. An existing file is replaced as a whole, or not at all.
fn write(path: &Path, toml: &str, is_forced: bool) -> Result<(), Failure> {
    let failed = |error| Failure::Write {
        file: path.to_owned(),
        error,
    };
    let create = |path: &Path| {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    if !is_forced {
        let mut file = create(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::Exists(path.to_owned()),
            _ => failed(error),
        })?;
        return file.write_all(toml.as_bytes()).map_err(failed);
    }
    let beside = path.with_added_extension("part");
    let mut file = create(&beside).map_err(failed)?;
    let written = file.write_all(toml.as_bytes());
    let put = written.and_then(|()| fs::rename(&beside, path));
    put.map_err(|error| {
        // The remainder would block the next attempt, and holds passwords.
        fs::remove_file(&beside).ok();
        failed(error)
    })
}

fn tell(file: &Path, kind: Kind, imported: &Imported, notes: &mut impl Write) -> io::Result<()> {
    let left = imported.left().count();
    let (server, name) = (kind.server(), file.display());
    match left {
        0 => writeln!(notes, "{name} of {server}: everything is carried over")?,
        _ => writeln!(notes, "{name} of {server}: not carried over:")?,
    }
    for (account, reason) in imported.left() {
        let note = format!("line {}: {}: {reason}", account.line, account.directive);
        writeln!(notes, "  {}", printable(&note))?;
    }
    for message in &imported.unsettled {
        let note = format!("still refused by `carillon check`: {message}");
        writeln!(notes, "  {}", printable(&note))?;
    }
    Ok(())
}

/// Replaces control characters. Names come from the imported file, also within the errors of `check`, and go to a terminal; a
/// note must be one line.
fn printable(note: &str) -> String {
    note.replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tests::assert_has;

    fn import_into(folder: &Path, force: bool) -> Result<String, Failure> {
        let file = folder.join("icecast.xml");
        let source = "<icecast><limits><clients>10</clients></limits><authentication>\
            <source-password>hackme</source-password></authentication><novelty>1</novelty></icecast>";
        fs::write(&file, source).unwrap();
        let arguments = Arguments {
            file,
            kind: None,
            output: Some(folder.join("carillon.toml")),
            force,
        };
        let mut notes = Vec::new();
        run(&arguments, &mut io::sink(), &mut notes)?;
        Ok(String::from_utf8(notes).unwrap())
    }

    fn assert_private(path: &Path) {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_result_is_valid_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let notes = import_into(folder.path(), false).unwrap();
        let path = folder.path().join("carillon.toml");
        assert_private(&path);
        let text = fs::read_to_string(&path).unwrap();
        assert_has(&text, &["\nlisteners = 10  # line 1: limits.clients\n"]);
        // This key is among the first that attackers try.
        assert_has(&text, &["\n#publish_key = \"hackme\""]);
        assert!(refusals(&text).is_empty());
        let unknown = "line 1: icecast.novelty: the import does not know it";
        assert_has(&notes, &[unknown]);
        assert!(!notes.contains("hackme"), "{notes}");
    }

    #[test]
    fn a_note_is_one_line_whatever_names_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("icecast.xml");
        let source = "<icecast><mount><mount-name>/a\n  line 9: b</mount-name><fallback-mount>/c\n\
            \u{9b}31mline 9: d</fallback-mount></mount></icecast>";
        fs::write(&file, source).unwrap();
        let arguments = Arguments {
            file,
            kind: None,
            output: None,
            force: false,
        };
        let mut notes = Vec::new();
        run(&arguments, &mut io::sink(), &mut notes).unwrap();
        let notes = String::from_utf8(notes).unwrap();
        assert!(notes.lines().count() > 1, "{notes}");
        for line in notes.lines().skip(1) {
            let is_own = !line.starts_with("  line 9") && !line.contains(char::is_control);
            assert!(is_own, "{notes}");
        }
    }

    #[test]
    fn a_file_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("carillon.toml");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(
            import_into(folder.path(), false),
            Err(Failure::Exists(_))
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        import_into(folder.path(), true).unwrap();
        assert_private(&path);
        assert!(fs::read_to_string(&path).unwrap().contains("[limits]"));
    }

    /// Files that the samples name and that keep clients out.
    const FILES: [&str; 4] = [
        "/etc/icecast/users",
        "/etc/icecast/allow",
        "/var/azuracast/stations/example/config/icecast_ip_bans.txt",
        "/var/azuracast/stations/example/config/icecast_agents.txt",
    ];

    #[test]
    fn whatever_line_is_missing_the_result_is_valid() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/samples");
        let empty = tempfile::NamedTempFile::new().unwrap();
        for entry in fs::read_dir(samples).unwrap() {
            let path = entry.unwrap().path();
            let source = fs::read_to_string(&path).unwrap();
            // Without the files nobody could listen, which is refused.
            let empty = empty.path().to_str().unwrap();
            let source = FILES
                .into_iter()
                .fold(source, |source, file| source.replace(file, empty));
            let kind = Kind::of(&source).expect("a kind");
            let lines: Vec<_> = source.lines().collect();
            for missing in 0..=lines.len() {
                let after = lines.get(missing + 1..).unwrap_or_default();
                let rest = [&lines[..missing], after].concat().join("\n");
                let Ok(imported) = import::import(kind, "x", &rest, refusals) else {
                    continue;
                };
                let place = format!("{} without line {}", path.display(), missing + 1);
                // Without the file's name, nobody may listen.
                let nobody = "there is no key for listeners";
                let unsettled = &imported.unsettled;
                let is_kept = unsettled.iter().all(|message| message.contains(nobody));
                assert!(is_kept, "{place}: {unsettled:?}");
                assert_eq!(refusals(&imported.toml).len(), unsettled.len(), "{place}");
            }
        }
    }
}
