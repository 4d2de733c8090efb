//! Intros that listeners over HTTP receive first: files that the configuration names, read at start-up.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use config::Config;
use web::listen::{INTRO_BYTES_MAX, Intro, Intros, NoIntro};

/// Reasons why an intro file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum IntroError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a valid intro.
    #[error(transparent)]
    Unfit(#[from] NoIntro),
}

/// Reads the intros of a configuration.
///
/// # Errors
/// The first unusable file, and the reason.
pub(crate) fn read(config: &Arc<Config>) -> Result<Intros, (Box<Path>, IntroError)> {
    let rules = config.streams.iter();
    let paths = rules.map(|rule| rule.mount.intro.as_deref());
    let intros = paths.map(|path| {
        let read = path.map(|path| one(path).map_err(|error| (path.into(), error)));
        read.transpose()
    });
    let intros: Vec<Option<Arc<Intro>>> = intros.collect::<Result<_, _>>()?;
    let config = Arc::clone(config);
    Ok(Arc::new(move |stream| {
        let rule = config.rule(stream)?;
        let index = config
            .streams
            .iter()
            .position(|one| std::ptr::eq(one, rule))?;
        intros.get(index)?.clone()
    }))
}

fn one(path: &Path) -> Result<Arc<Intro>, IntroError> {
    let mut bytes = Vec::new();
    // One byte more than the limit shows that the file is too long.
    let limit = INTRO_BYTES_MAX as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(Arc::new(Intro::read(&bytes)?))
}
