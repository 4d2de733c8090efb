//! Mending and finalising a file that is written no more. One code, after a recording and after a crash; it may be
//! interrupted anywhere, and done again.

use std::io;
use std::time::Duration;

use container::mp4_file::{Finaliser, Found, Outcome, Scan, movie_duration};
use container::{Walker, flv, mp3_file, ogg, ts, webm};

use recordings::Container;

use crate::disk::Output;

/// Bytes of the beginning of a `moov` that tell how long the file lasts.
const MOVIE_HEADER_BYTES: u64 = 128;

/// What a file of MP4 is.
#[derive(Debug)]
pub(crate) enum Mended {
    /// Nothing can be played of it.
    Nothing,
    /// Fragments, without a cut one at the end.
    Fragmented {
        finaliser: Finaliser,
        /// Of the whole part.
        bytes: u64,
        duration: Duration,
    },
    /// A plain file, of which nothing is to be changed.
    Plain { bytes: u64, duration: Duration },
}

/// Looks what a file is, and cuts what is not whole at its end.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn mend(file: &mut dyn Output) -> io::Result<Mended> {
    let mended = examine(file)?;
    if let Mended::Fragmented { bytes, .. } = mended
        && bytes < file.bytes()?
    {
        file.cut(bytes)?;
    }
    Ok(mended)
}

/// Looks what a file is, and changes nothing.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn examine(file: &mut dyn Output) -> io::Result<Mended> {
    let bytes = file.bytes()?;
    let mut scan = Scan::new(bytes);
    let mut finaliser = None;
    let mut fragments = 0_u64;
    while let Some(wanted) = scan.wants() {
        match scan.take(&file.read(wanted)?) {
            Some(Found::Init(init)) => finaliser = Some(Finaliser::new(init)),
            Some(Found::Fragment(fragment)) => {
                fragments += 1;
                if let Some(finaliser) = &mut finaliser {
                    finaliser.add(&fragment);
                }
            }
            None => {}
        }
    }
    match (scan.outcome(), finaliser) {
        (Outcome::Finalised { moov }, _) => {
            let told = file.read(moov..moov.saturating_add(MOVIE_HEADER_BYTES))?;
            let duration = movie_duration(&told).unwrap_or_default();
            Ok(Mended::Plain { bytes, duration })
        }
        (Outcome::Fragmented { whole }, Some(finaliser)) if fragments > 0 => {
            Ok(Mended::Fragmented {
                duration: finaliser.duration(),
                finaliser,
                bytes: whole,
            })
        }
        _ => Ok(Mended::Nothing),
    }
}

/// Goes through a file that was kept as it is: cuts what is not whole at its end, and writes what is known of it now
/// into it. Its duration is `None` if it does not tell.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn settle(
    container: Container,
    file: &mut dyn Output,
) -> io::Result<(u64, Option<Duration>)> {
    let bytes = file.bytes()?;
    let mut walker: Box<dyn Walker> = match container {
        Container::Mp3 => Box::new(mp3_file::walk(bytes)),
        Container::Ogg => Box::new(ogg::file::walk(bytes)),
        Container::Flv => Box::new(flv::recorded::walk(bytes)),
        Container::Ts => Box::new(ts::file::walk(bytes)),
        Container::WebM => Box::new(webm::file::walk(bytes)),
        Container::Mp4 | Container::M4a => return Ok((bytes, None)),
    };
    while let Some(wanted) = walker.wants() {
        walker.take(&file.read(wanted)?);
    }
    let closed = walker.close();
    if closed.bytes < bytes {
        file.cut(closed.bytes)?;
    }
    for (at, patch) in &closed.patches {
        file.write(&[patch], *at)?;
    }
    Ok((closed.bytes, closed.duration))
}

/// Makes a plain file of one with so many bytes of fragments, and returns how many bytes that has and how long it lasts.
///
/// # Errors
/// When it can have no index, or the disk takes none now. It plays all the same.
pub(crate) fn finalise(
    file: &mut dyn Output,
    finaliser: Finaliser,
    bytes: u64,
) -> io::Result<(u64, Duration)> {
    let finished = finaliser.finish(bytes).map_err(io::Error::other)?;
    let written = file
        .write(&[&finished.moov], bytes)
        .and_then(|()| file.sync())
        .and_then(|()| file.write(&[&finished.header], finished.header_at));
    if let Err(error) = written {
        // Without its header the index is nothing; it may have filled the disk.
        file.cut(bytes).ok();
        return Err(error);
    }
    file.sync()?;
    Ok((bytes + finished.moov.len() as u64, finished.duration))
}
