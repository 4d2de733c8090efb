//! Record of the passed steps and tests for each state of the files, kept below the target directory, so that `--resume`
//! repeats only what did not pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run::{self, Failure, Workspace};

/// Steps and tests that passed, with their seconds, for one [`state`].
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Path of the file; `None` keeps nothing.
    path: Option<PathBuf>,
    state: String,
    green: BTreeMap<String, f64>,
    is_resumed: bool,
}

impl Journal {
    /// Opens the journal for the current state. Entries for another state are discarded, and all entries count only if the run
    /// is resumed.
    pub(crate) fn open(workspace: &Workspace, is_resumed: bool) -> Result<Self, Failure> {
        let path = workspace.target.join("xtask/journal.json");
        match state(workspace) {
            Ok(state) => Ok(Self::read(&path, state, is_resumed)),
            Err(failure) if is_resumed => Err(failure),
            // Files without git can be tested, too.
            Err(_) => Ok(Self::default()),
        }
    }

    fn read(path: &Path, state: String, is_resumed: bool) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let mut green = BTreeMap::new();
        if value["state"] == *state {
            let rows = value["green"].as_object().into_iter().flatten();
            green
                .extend(rows.filter_map(|(name, seconds)| Some((name.clone(), seconds.as_f64()?))));
        }
        Self {
            path: Some(path.to_owned()),
            state,
            green,
            is_resumed,
        }
    }

    /// Returns the seconds of a step or test that passed before and need not be repeated.
    pub(crate) fn passed(&self, name: &str) -> Option<f64> {
        self.green.get(name).copied().filter(|_| self.is_resumed)
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Discards everything, and keeps nothing from here on, if the state has changed since the journal was opened.
    pub(crate) fn check(&mut self, workspace: &Workspace) {
        if state(workspace).is_ok_and(|now| now == self.state) {
            return;
        }
        if let Some(path) = self.path.take() {
            std::fs::remove_file(path).ok();
        }
        self.green.clear();
    }

    /// Records a result at once: the run may be killed.
    pub(crate) fn note(&mut self, name: &str, is_passed: bool, seconds: f64) {
        if is_passed {
            self.green.insert(name.to_owned(), seconds);
        } else {
            self.green.remove(name);
        }
        if let Err(error) = self.write() {
            eprintln!("xtask: what passed cannot be kept for --resume: {error}");
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let draft = path.with_extension("new");
        let value = json!({"state": self.state, "green": self.green});
        std::fs::write(&draft, format!("{value:#}\n"))?;
        std::fs::rename(&draft, path)
    }
}

/// Returns an identifier of everything known to affect a result: the files, the compiler, and the variables that tests and the
/// server read.
fn state(workspace: &Workspace) -> Result<String, Failure> {
    let compiler = run::capture(&mut workspace.command("rustc", &["-vV"]))?;
    let mut variables: Vec<_> = std::env::vars()
        .filter(|(name, _)| name.starts_with("CARILLON_"))
        .collect();
    variables.sort();
    let tree = tree_of(workspace)?;
    Ok(format!("{tree} {variables:?} {compiler}"))
}

/// Returns the identifier of everything that git would commit now, whether it has been committed or not. The user's own index
/// stays unchanged.
pub(crate) fn tree_of(workspace: &Workspace) -> Result<String, Failure> {
    let index = workspace.target.join("xtask/index");
    if let Some(folder) = index.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Beginning with a copy saves git from reading every file.
    let own = run::capture(&mut workspace.command("git", &["rev-parse", "--git-path", "index"]))?;
    std::fs::copy(workspace.root.join(own.trim()), &index)?;
    let git = |arguments: &[&str]| {
        let mut command = workspace.command("git", arguments);
        command.env("GIT_INDEX_FILE", &index);
        run::capture(&mut command)
    };
    git(&["add", "--all"])?;
    Ok(git(&["write-tree"])?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_resumed_run_of_the_same_tree_knows_what_passed() {
        let path = std::env::temp_dir().join(format!("carillon-journal-{}", std::process::id()));
        let open = |tree: &str, is_resumed| Journal::read(&path, tree.to_owned(), is_resumed);
        let mut first = open("one", false);
        first.note("step clippy", true, 2.5);
        first.note("test a", true, 1.0);
        first.note("test b", true, 1.0);
        first.note("test b", false, 1.0);
        assert_eq!(first.passed("step clippy"), None);
        let again = open("one", true);
        assert_eq!(again.passed("step clippy"), Some(2.5));
        assert_eq!(again.passed("test a"), Some(1.0));
        assert_eq!(again.passed("test b"), None);
        assert_eq!(open("one", false).passed("test a"), None);
        assert_eq!(open("other", true).passed("test a"), None);
        std::fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn a_tree_has_the_identifier_of_its_files() {
        let root = std::env::temp_dir().join(format!("carillon-tree-{}", std::process::id()));
        std::fs::create_dir_all(&root).expect("made");
        let workspace = Workspace {
            target: root.join(".git/target"),
            root,
        };
        let git = |arguments: &[&str]| run::capture(&mut workspace.command("git", arguments));
        let file = |text: &str| std::fs::write(workspace.root.join("file"), text);
        let tree = || tree_of(&workspace).expect("this is a work tree");
        git(&["init", "--quiet"]).expect("a repository");
        file("one").expect("written");
        git(&["add", "file"]).expect("an index");
        let one = tree();
        assert_eq!(one, tree());
        file("another").expect("written");
        assert_ne!(one, tree(), "uncommitted changes count");
        std::fs::write(workspace.root.join("new"), "").expect("written");
        git(&["checkout", "--", "file"]).expect("as it was");
        assert_ne!(one, tree(), "and so do new files");
        std::fs::remove_dir_all(&workspace.root).expect("removed");
    }
}
