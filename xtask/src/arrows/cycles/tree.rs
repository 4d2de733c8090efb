//! The modules of a crate, and resolution of paths to modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::reading::Reading;
use crate::run::Failure;
use crate::source;

/// Maximum number of re-exports on the way to a name: more mean a circle of imports.
const STEPS_MAX: usize = 16;

/// Modules of a crate, by number; the crate's root is the first.
pub(super) struct Tree {
    modules: Vec<Module>,
}

struct Module {
    /// Path such as `a::b`; empty for the root.
    name: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    reading: Reading,
    lines: usize,
}

impl Tree {
    /// Reads the source folder of a crate.
    pub(super) fn read(source: &Path) -> Result<Self, Failure> {
        let mut tree = Self {
            modules: Vec::new(),
        };
        tree.add(&source.join("lib.rs"), source, "", None)?;
        Ok(tree)
    }

    /// Adds the module of a file and its submodules, whose files are in `folder`.
    fn add(
        &mut self,
        file: &Path,
        folder: &Path,
        name: &str,
        parent: Option<usize>,
    ) -> Result<usize, Failure> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        let reading =
            Reading::of(&text).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        let children = reading.children.clone();
        let index = self.modules.len();
        self.modules.push(Module {
            name: name.to_owned(),
            parent,
            children: BTreeMap::new(),
            reading,
            lines: source::shipped_lines(&text),
        });
        for child in children {
            let below = folder.join(&child);
            let (flat, nested) = (folder.join(format!("{child}.rs")), below.join("mod.rs"));
            let file = if flat.is_file() { flat } else { nested };
            let separator = if name.is_empty() { "" } else { "::" };
            let path = format!("{name}{separator}{child}");
            let added = self.add(&file, &below, &path, Some(index))?;
            self.modules[index].children.insert(child, added);
        }
        Ok(index)
    }

    /// Returns the name of a module; `lib` for the root.
    pub(super) fn name(&self, module: usize) -> String {
        let name = &self.modules[module].name;
        if name.is_empty() { "lib" } else { name }.to_owned()
    }

    pub(super) fn lines(&self, module: usize) -> usize {
        self.modules[module].lines
    }

    /// Returns the modules that each module uses.
    pub(super) fn edges(&self) -> Vec<Vec<usize>> {
        let all = 0..self.modules.len();
        all.map(|from| {
            let mut to = self.used_by(from);
            to.remove(&from);
            to.into_iter().collect()
        })
        .collect()
    }

    fn used_by(&self, module: usize) -> BTreeSet<usize> {
        let reading = &self.modules[module].reading;
        let imports = reading.imports.iter().filter(|one| !one.is_for_others);
        let imported = imports.map(|import| &import.path);
        imported
            .chain(&reading.paths)
            .filter_map(|path| self.find(module, path, STEPS_MAX))
            .collect()
    }

    /// Returns the module that defines what a path means, seen from a module; `None` for names of other crates.
    fn find(&self, from: usize, path: &[String], steps: usize) -> Option<usize> {
        let (first, mut rest) = path.split_first()?;
        let mut module = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            name => return self.named(from, name, rest, steps),
        };
        while let Some((next, after)) = rest.split_first().filter(|(next, _)| *next == "super") {
            debug_assert_eq!(next, "super");
            (module, rest) = (self.modules[module].parent?, after);
        }
        let Some((name, after)) = rest.split_first() else {
            return Some(module);
        };
        Some(self.named(module, name, after, steps).unwrap_or(module))
    }

    /// Resolves a name within a module, and then the rest of the path.
    fn named(&self, module: usize, name: &str, rest: &[String], steps: usize) -> Option<usize> {
        let here = &self.modules[module];
        if let Some(&child) = here.children.get(name) {
            let Some((next, after)) = rest.split_first() else {
                return Some(child);
            };
            return Some(self.named(child, next, after, steps).unwrap_or(child));
        }
        if here.reading.defined.contains(name) {
            return Some(module);
        }
        let steps = steps.checked_sub(1)?;
        let imports = &here.reading.imports;
        let import = imports.iter().find(|one| one.name.as_deref() == Some(name));
        if let Some(import) = import {
            let path = [&import.path[..], rest].concat();
            return self.find(module, &path, steps);
        }
        let mut globs = imports.iter().filter(|import| import.name.is_none());
        globs.find_map(|import| {
            let through = self.find(module, &import.path, steps)?;
            (through != module).then(|| self.named(through, name, rest, steps))?
        })
    }
}
