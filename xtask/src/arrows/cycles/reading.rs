//! Contents of one Rust file: the names that it defines and imports, and the paths that it uses. Tests are left out.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// Names and paths of one Rust file.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Names of the modules in files of their own.
    pub(super) children: Vec<String>,
    pub(super) defined: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths of more than one name, outside imports.
    pub(super) paths: BTreeSet<Vec<String>>,
}

/// A name that a `use` imports.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// Imported name; `None` for all names of the path, `*`.
    pub(super) name: Option<String>,
    /// Whether it is re-exported: `pub use`, with any visibility.
    pub(super) is_for_others: bool,
}

impl Reading {
    pub(super) fn of(text: &str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        let mut reading = Self::default();
        reading.visit_file(&file);
        Ok(reading)
    }

    fn import(&mut self, tree: &UseTree, before: &[String], is_for_others: bool) {
        let with = |name: &dyn ToString| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => {
                return self.import(&path.tree, &with(&path.ident), is_for_others);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, is_for_others);
                }
                return;
            }
            UseTree::Glob(_) => (before.to_vec(), None),
            UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned())
            }
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(rename) if rename.ident == "self" => {
                (before.to_vec(), Some(rename.rename.to_string()))
            }
            UseTree::Rename(rename) => (with(&rename.ident), Some(rename.rename.to_string())),
        };
        self.imports.push(Import {
            path,
            name,
            is_for_others,
        });
    }

    /// Collects paths among the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && colons < 2 => {
                    colons += 1;
                    continue;
                }
                _ => {}
            }
            self.path(std::mem::take(&mut path));
            colons = 0;
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_item(&mut self, item: &'ast Item) {
        let (name, attributes): (Option<&syn::Ident>, &[Attribute]) = match item {
            Item::Const(item) => (Some(&item.ident), &item.attrs),
            Item::Enum(item) => (Some(&item.ident), &item.attrs),
            Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
            Item::Macro(item) => (item.ident.as_ref(), &item.attrs),
            Item::Mod(item) => (None, &item.attrs),
            Item::Static(item) => (Some(&item.ident), &item.attrs),
            Item::Struct(item) => (Some(&item.ident), &item.attrs),
            Item::Trait(item) => (Some(&item.ident), &item.attrs),
            Item::Type(item) => (Some(&item.ident), &item.attrs),
            Item::Union(item) => (Some(&item.ident), &item.attrs),
            Item::Impl(item) => (None, &item.attrs),
            Item::Use(item) => (None, &item.attrs),
            _ => (None, &[]),
        };
        if attributes.iter().any(is_of_tests) {
            return;
        }
        self.defined.extend(name.map(ToString::to_string));
        match item {
            Item::Mod(module) if module.content.is_none() => {
                self.children.push(module.ident.to_string());
            }
            Item::Use(item) => {
                let is_for_others = !matches!(item.vis, Visibility::Inherited);
                self.import(&item.tree, &[], is_for_others);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|one| one.ident.to_string());
        self.path(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

/// Returns whether an attribute is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_of_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let text = list.tokens.to_string();
    list.path.is_ident("cfg") && (text == "test" || text.starts_with("all (test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_has_and_uses() {
        let text = "
            mod child;
            #[cfg(test)] mod tests;
            pub use self::child::{Kid, other as Another};
            use crate::door::*;
            use super::{self, window};
            struct House;
            fn build() { let _ = super::street::number(); println!(\"{}\", crate::town::NAME); }
            #[cfg(test)] mod more { use crate::nothing::Never; }
        ";
        let reading = Reading::of(text).unwrap();
        assert_eq!(reading.children, ["child"]);
        assert_eq!(Vec::from_iter(&reading.defined), ["House", "build"]);
        let imports: Vec<_> = reading
            .imports
            .iter()
            .map(|import| {
                let name = import.name.as_deref().unwrap_or("*");
                (import.path.join("::"), name, import.is_for_others)
            })
            .collect();
        let expected = [
            ("self::child::Kid", "Kid", true),
            ("self::child::other", "Another", true),
            ("crate::door", "*", false),
            ("super", "super", false),
            ("super::window", "window", false),
        ];
        assert_eq!(
            imports,
            expected.map(|(path, name, others)| (path.to_owned(), name, others))
        );
        let paths: Vec<_> = reading.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["crate::town::NAME", "super::street::number"]);
    }
}
