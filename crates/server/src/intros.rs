//! What listeners over HTTP are sent first, by the rules of the configuration: files that are read at the start.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use config::Config;
use web::listen::{INTRO_BYTES_MAX, Intro, Intros, NoIntro};

/// Why a file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum IntroError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no intro.
    #[error(transparent)]
    Unfit(#[from] NoIntro),
}

/// Reads the intros of a configuration.
///
/// # Errors
/// The first file that is of no use, and why.
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
    // One byte more than there may be tells that there are too many.
    let limit = INTRO_BYTES_MAX as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(Arc::new(Intro::read(&bytes)?))
}
