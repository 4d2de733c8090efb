//! The journals that a configuration names, before there is a server: `carillon check`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use config::Config;
use uploads::Found;

/// What is wrong with them, a line for each; nothing of them is changed.
pub(crate) fn tell(config: &Config) -> String {
    let mut told = String::new();
    let recording = &config.recording;
    let of_uploads = recording.journal().filter(|_| recording.upload.is_on());
    if let Some(path) = of_uploads {
        let found = uploads::look(&path);
        add(&mut told, "uploads", &path, found);
    }
    let directory = config.webhooks.directory.as_deref();
    if let Some(directory) = directory.filter(|_| !config.hooks.is_empty()) {
        let (path, found): (PathBuf, _) = webhooks::look(directory);
        add(&mut told, "webhooks", &path, found);
    }
    told
}

fn add(told: &mut String, whose: &str, path: &Path, found: io::Result<Found>) {
    let why = match found {
        Ok(Found::Nothing | Found::Whole) => return,
        Ok(Found::Taken) => "is in use, so nothing is said about it".to_owned(),
        Ok(Found::Damaged(error)) => format!(
            "is damaged ({error}): the server sets it aside, and begins without what is in it"
        ),
        Err(error) => format!("cannot be read: {error}"),
    };
    let path = path.display();
    // A String takes everything.
    writeln!(told, "the journal of {whose}, {path}, {why}").ok();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn damaged_journals_are_told_of_and_left_as_they_are() {
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
        let told = tell(&config);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        for (line, file) in lines.into_iter().zip(&files) {
            let begin = format!(", {}, is damaged (", file.display());
            assert!(line.contains(&begin), "{line}");
            assert_eq!(fs::read(file).expect("read"), b"no database");
        }
        assert_eq!(fs::read_dir(root.path()).expect("read").count(), 2);
    }
}
