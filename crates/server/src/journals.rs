//! Check of the journals that a configuration names, without a server: `carillon check`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use config::Config;
use outbound::uploads::Found;

/// Describes what is wrong with the journals, one line each; changes nothing.
pub(crate) fn tell(config: &Config) -> String {
    let mut reported = String::new();
    let recording = &config.recording;
    let of_uploads = recording.journal().filter(|_| recording.upload.is_on());
    if let Some(path) = of_uploads {
        let found = outbound::uploads::look(&path);
        add(&mut reported, "uploads", &path, found);
    }
    let directory = config.webhooks.directory.as_deref();
    if let Some(directory) = directory.filter(|_| !config.hooks.is_empty()) {
        let (path, found): (PathBuf, _) = outbound::webhooks::look(directory);
        add(&mut reported, "webhooks", &path, found);
    }
    reported
}

fn add(reported: &mut String, whose: &str, path: &Path, found: io::Result<Found>) {
    let why = match found {
        Ok(Found::Nothing | Found::Whole) => return,
        Ok(Found::Taken) => "is in use, so nothing is said about it".to_owned(),
        Ok(Found::Damaged(error)) => format!(
            "is damaged ({error}): the server sets it aside, and begins without what is in it"
        ),
        Err(error) => format!("cannot be read: {error}"),
    };
    let path = path.display();
    // Writing to a String does not fail.
    writeln!(reported, "the journal of {whose}, {path}, {why}").ok();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn damaged_journals_are_reported_and_left_as_they_are() {
        let root = tempfile::tempdir().expect("a directory");
        let folder = root.path().display();
        let source = format!(
            "[auth]\npublish_key = \"a-long-secret\"\n[recording]\ndirectory = \"{folder}\"\n[recording.upload]\nbucket = \"radio\"\n\
             [webhooks]\ndirectory = \"{folder}\"\n[[webhook]]\nurl = \"http://127.0.0.1:1/\"\n\
             secret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n"
        );
        let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
        assert_eq!(tell(&config), "", "there are none yet");
        let files = ["uploads.redb", "webhooks.redb"].map(|name| root.path().join(name));
        for file in &files {
            fs::write(file, "no database").expect("written");
        }
        let reported = tell(&config);
        let lines: Vec<&str> = reported.lines().collect();
        assert_eq!(lines.len(), 2, "{reported}");
        for (line, file) in lines.into_iter().zip(&files) {
            let begin = format!(", {}, is damaged (", file.display());
            assert!(line.contains(&begin), "{line}");
            assert_eq!(fs::read(file).expect("read"), b"no database");
        }
        assert_eq!(fs::read_dir(root.path()).expect("read").count(), 2);
    }
}
