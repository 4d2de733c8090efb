//! Repair and finalisation of closed files. The same code runs after a recording and after a crash; it may be interrupted
//! anywhere, and repeated.

use std::io;
use std::time::Duration;

use container::mp4_file::{Finaliser, Found, Outcome, Scan, movie_duration};
use container::{Walk, Walker, flv, mp3_file, ogg, ts, webm};

use crate::Container;

use crate::archive::disk::Output;

/// Bytes at the start of a `moov` that contain the duration.
const MOVIE_HEADER_BYTES: u64 = 128;

/// State of an MP4 file.
#[derive(Debug)]
pub(crate) enum Mended {
    /// Nothing in the file is playable.
    Nothing,
    /// Fragments, without an incomplete one at the end.
    Fragmented {
        finaliser: Finaliser,
        /// Length of the complete part.
        bytes: u64,
        duration: Duration,
    },
    /// A plain file, which needs no change.
    Plain { bytes: u64, duration: Duration },
}

/// Examines a file, and truncates an incomplete end.
///
/// # Errors
/// Fails when the disk refuses.
pub(crate) fn mend(file: &mut dyn Output) -> io::Result<Mended> {
    let mended = examine(file)?;
    if let Mended::Fragmented { bytes, .. } = mended
        && bytes < file.bytes()?
    {
        file.cut(bytes)?;
    }
    Ok(mended)
}

/// Examines a file without changing it.
///
/// # Errors
/// Fails when the disk refuses.
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
            let reported = file.read(moov..moov.saturating_add(MOVIE_HEADER_BYTES))?;
            let duration = movie_duration(&reported).unwrap_or_default();
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

/// Repairs a file in any other format: truncates an incomplete end, and fills in what is known only now. Returns the length,
/// and the duration, or `None` if the file does not contain it.
///
/// # Errors
/// Fails when the disk refuses.
pub(crate) fn settle(
    container: Container,
    file: &mut dyn Output,
) -> io::Result<(u64, Option<Duration>)> {
    let bytes = file.bytes()?;
    let mut walker: Box<dyn Walker> = match container {
        Container::Mp3 => Box::new(Walk::<mp3_file::Frames>::of(bytes)),
        Container::Ogg => Box::new(Walk::<ogg::file::Pages>::of(bytes)),
        Container::Flv => Box::new(Walk::<flv::recorded::Tags>::of(bytes)),
        Container::Ts => Box::new(Walk::<ts::file::Packets>::of(bytes)),
        Container::WebM => Box::new(Walk::<webm::file::Elements>::of(bytes)),
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

/// Turns `bytes` of fragments into a plain file; returns its length and duration.
///
/// # Errors
/// Fails when the file cannot have an index, or the disk does not accept it now. The file plays all the same.
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
        // Without its header the index is useless, and it may have filled the disk.
        file.cut(bytes).ok();
        return Err(error);
    }
    file.sync()?;
    Ok((bytes + finished.moov.len() as u64, finished.duration))
}
