//! Listener rules by stream: lookups of each stream's [`MountRule`].

use std::path::Path;

use media::{Charset, StreamName};

use crate::{AudioRule, Config, Fallback, MountRule};

/// First segment of the names of streams that are played from fallback files.
const FILLERS: &str = "fallback";

impl Config {
    /// Returns the rules for the listeners of a stream.
    pub fn mount(&self, name: &StreamName) -> MountRule {
        let rule = self.rule(name);
        rule.map(|rule| rule.mount.clone()).unwrap_or_default()
    }

    /// Returns the rule that selects audio events of a stream.
    pub fn audio(&self, name: &StreamName) -> AudioRule {
        self.rule(name).map(|rule| rule.audio).unwrap_or_default()
    }

    /// Resolves a path, percent-decoded once: an alias, and everything below it, stands for its stream.
    pub fn aliased(&self, path: &str) -> Option<String> {
        let name = path.strip_prefix('/')?;
        let exact = self.aliases.iter().find(|rule| rule.path == name);
        let below = || {
            self.aliases.iter().find_map(|rule| {
                let rest = name.strip_prefix(&rule.path)?;
                let is_below = rest.starts_with('/') && !rule.path.is_empty();
                is_below.then_some((rule, rest))
            })
        };
        let (rule, rest) = exact.map(|rule| (rule, "")).or_else(below)?;
        Some(format!("/{}{rest}", rule.stream))
    }

    /// Returns the character set of a stream's texts that are not UTF-8.
    pub fn charset(&self, name: &StreamName) -> Charset {
        let rule = self.rule(name);
        rule.map_or(Charset::UTF_8, |rule| rule.mount.charset)
    }

    /// Whether listeners of a stream are sent the links of an Ogg chain as one logical stream.
    pub fn unchain(&self, name: &StreamName) -> bool {
        self.rule(name).is_some_and(|rule| rule.mount.unchain)
    }

    /// Returns the stream that is played while the publisher of this one is away. A pattern that fits its own fallback gives it
    /// none; renditions have the publisher of their stream.
    pub fn fallback(&self, name: &StreamName) -> Option<StreamName> {
        let fits = |rule: &crate::StreamRule| rule.pattern.matches(name.as_str());
        let index = self.streams.iter().position(fits)?;
        let fallback = match self.streams[index].mount.fallback.as_ref()? {
            Fallback::Stream(stream) => stream.clone(),
            Fallback::Files(_) => filler(index)?,
        };
        let is_own = fallback == *name || name.parent().is_some();
        (!is_own).then_some(fallback)
    }

    /// Returns the streams with a fallback that a rule names literally, rather than by a pattern.
    pub fn named_with_fallback(&self) -> Vec<StreamName> {
        let rules = self.streams.iter().filter(|rule| rule.pattern.is_name());
        let names = rules.filter_map(|rule| StreamName::parse(rule.pattern.as_str()).ok());
        names
            .filter(|name| !name.is_reserved() && self.fallback(name).is_some())
            .collect()
    }

    /// Whether a stream is played from fallback files.
    pub fn is_filler(&self, name: &StreamName) -> bool {
        let is_named_so = name.as_str().starts_with(FILLERS);
        is_named_so && self.fillers().any(|(filler, _)| filler == *name)
    }

    /// Returns the streams that are played from files as fallbacks, and the file or the folder of each.
    pub fn fillers(&self) -> impl Iterator<Item = (StreamName, &Path)> {
        let rules = self.streams.iter().enumerate();
        rules.filter_map(|(index, rule)| match &rule.mount.fallback {
            Some(Fallback::Files(path)) => Some((filler(index)?, path.as_path())),
            _ => None,
        })
    }
}

/// Returns the name of the stream that is played from the files of a rule.
fn filler(index: usize) -> Option<StreamName> {
    StreamName::parse(&format!("{FILLERS}/{index}")).ok()
}
