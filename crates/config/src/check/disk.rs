//! Checks of settings for files that are kept on disks or read from them.

use std::path::PathBuf;

use super::{covered, no_directory, repeated, reserved};
use crate::read::Walk;
use crate::{Config, FilesRule};

pub(super) fn hls(config: &Config, walk: &mut Walk<'_>) {
    let hls = &config.hls;
    if hls.part > hls.segment {
        let blamed = match walk.is_set("hls.segment") {
            true => "hls.segment",
            false => "hls.part",
        };
        let message = "hls.part is longer than hls.segment";
        walk.problem(blamed, message, Some("a segment has several parts"));
    }
    let of_streams = config.streams.iter().filter_map(|rule| {
        let dvr = rule.dvr.filter(|dvr| !dvr.is_zero());
        dvr.map(|_| format!("{}.dvr", rule.key))
    });
    let of_all = (!hls.dvr.is_zero()).then(|| "hls.dvr".to_owned());
    let wanted = of_all.into_iter().chain(of_streams).next();
    encrypted_windows(config, walk);
    match (&hls.dvr_directory, wanted) {
        (None, Some(key)) => {
            let help = "set hls.dvr_directory to a directory that the server may write to";
            walk.problem(&key, "has no hls.dvr_directory to keep it in", Some(help));
        }
        (Some(path), _) => no_directory("hls.dvr_directory", path, walk),
        (None, None) => {}
    }
}

/// Refuses DVR windows of encrypted streams, since a window on disk is not encrypted.
fn encrypted_windows(config: &Config, walk: &mut Walk<'_>) {
    let hls = &config.hls;
    let of_all = (hls.encryption && !hls.dvr.is_zero()).then(|| "hls.encryption".to_owned());
    let of_streams = config.streams.iter().filter_map(|rule| {
        let is_encrypted = rule.encryption.unwrap_or(hls.encryption);
        let has_window = !rule.dvr.unwrap_or(hls.dvr).is_zero();
        let blamed = match rule.encryption {
            Some(_) => "encryption",
            None => "dvr",
        };
        // Settings that hold for all streams have been reported already.
        let is_own = rule.encryption.is_some() || rule.dvr.is_some();
        (is_encrypted && has_window && is_own).then(|| format!("{}.{blamed}", rule.key))
    });
    if let Some(key) = of_all.into_iter().chain(of_streams).next() {
        let help =
            "an encrypted stream has no DVR window: set dvr = \"0s\" for it, or encryption = false";
        walk.problem(&key, "goes with no DVR window", Some(help));
    }
}

/// Checks the directories of recordings, in which streams are found by the names of their directories.
pub(super) fn recordings(config: &Config, walk: &mut Walk<'_>) {
    let of_section = config.recording.directory.iter();
    let of_section = of_section.map(|path| ("recording.directory".to_owned(), path));
    let of_rules = config.records.iter();
    let of_rules = of_rules.map(|rule| (format!("{}.directory", rule.key), &rule.directory));
    let mut seen: Vec<&PathBuf> = Vec::new();
    for (key, path) in of_section.chain(of_rules) {
        if seen.contains(&path) {
            continue;
        }
        no_directory(&key, path, walk);
        let contains = |other: &&&PathBuf| path.starts_with(other) || other.starts_with(path);
        if let Some(other) = seen.iter().find(contains) {
            let message = format!(
                "{} and {} contain one another",
                path.display(),
                other.display()
            );
            let help = "recordings of one would be taken for those of the other";
            walk.problem(&key, message, Some(help));
        }
        seen.push(path);
    }
    for (index, rule) in config.records.iter().enumerate() {
        let earlier = config.records[..index].iter().map(|rule| &rule.pattern);
        covered(&format!("{}.match", rule.key), &rule.pattern, earlier, walk);
    }
}

/// Checks the settings of copies to object storage.
pub(super) fn uploads(config: &Config, walk: &mut Walk<'_>) {
    let recording = &config.recording;
    if !recording.upload.is_on() || !recording.upload.has_valid_bucket() {
        return;
    }
    if recording.directory.is_none() && config.records.is_empty() {
        let help = "set recording.directory, or add a [[record]]";
        let message = "gets nothing: there is no place for recordings";
        walk.problem("recording.upload.bucket", message, Some(help));
    } else if recording.journal().is_none() {
        let help =
            "name a journal that the server may write, such as \"/var/lib/carillon/uploads.redb\"";
        let message = "is set without recording.upload.journal, and recording.directory is empty";
        walk.problem("recording.upload.bucket", message, Some(help));
    }
}

/// Checks for folders that do not exist, and paths that hide something.
pub(super) fn files(config: &Config, walk: &mut Walk<'_>) {
    for FilesRule {
        path,
        directory,
        key,
    } in &config.files
    {
        let help = "choose a path that hides none of them";
        reserved(&format!("{key}.path"), path, Some(help), walk);
        if !directory.is_dir() {
            let message = format!("there is no directory {}", directory.display());
            let help = "name one that this server may read";
            walk.problem(&format!("{key}.directory"), message, Some(help));
        }
    }
    for FilesRule { path, key, .. } in repeated(&config.files, |rule| &rule.path) {
        let message = format!("`{path}` is the path of another folder");
        let help = "a path has one folder";
        walk.problem(&format!("{key}.path"), message, Some(help));
    }
}
