//! `trak` of a plain file: that of the fragments, plus durations, edits and tables.

use super::InitTrack;
use super::finalise::movie_units;
use super::roll::put_roll;
use super::table::Table;
use super::walk::{Child, children};
use crate::fmp4::boxes::Boxes;

/// Writes a track: the content of its `trak`, plus durations, edits and tables.
pub(super) fn put_track(trak: &mut Boxes, track: &InitTrack, table: &Table, delay: u32) {
    let lasts = movie_units(table.seconds());
    for child in children(&track.trak) {
        match &child.kind {
            b"tkhd" => {
                put_with_duration(trak, child, 20, lasts.saturating_add(delay));
                put_edits(trak, table, lasts, delay);
            }
            b"edts" => {}
            b"mdia" => trak.put_box(b"mdia", |mdia| put_media(mdia, child, table)),
            _ => trak.put(child.whole),
        }
    }
}

/// Writes edits: an empty edit before a track that begins later, and a start at the first presented frame if
/// presentation order differs.
fn put_edits(trak: &mut Boxes, table: &Table, lasts: u32, delay: u32) {
    let first = u32::try_from(table.first_composition()).unwrap_or(0);
    if delay == 0 && first == 0 {
        return;
    }
    trak.put_box(b"edts", |edts| {
        edts.put_full_box(b"elst", 0, 0, |elst| {
            let empty = (delay > 0).then_some((delay, u32::MAX));
            let edits = empty.into_iter().chain([(lasts, first)]);
            elst.put_u32(1 + u32::from(delay > 0));
            for (duration, media_time) in edits {
                elst.put_u32(duration);
                elst.put_u32(media_time);
                elst.put_u32(0x0001_0000); // rate 1
            }
        });
    });
}

fn put_media(mdia: &mut Boxes, whole: Child<'_>, table: &Table) {
    for child in children(whole.content) {
        match &child.kind {
            b"mdhd" => put_media_header(mdia, child, table),
            b"minf" => mdia.put_box(b"minf", |minf| {
                for child in children(child.content) {
                    match &child.kind {
                        b"stbl" => minf.put_box(b"stbl", |stbl| {
                            let mut kept = children(child.content);
                            let stsd = kept.find(|child| child.kind == *b"stsd");
                            if let Some(stsd) = stsd {
                                stbl.put(stsd.whole);
                            }
                            put_tables(stbl, table);
                            put_roll(stbl, stsd.map_or(&[][..], |stsd| stsd.content), table);
                        }),
                        _ => minf.put(child.whole),
                    }
                }
            }),
            _ => mdia.put(child.whole),
        }
    }
}

fn put_media_header(mdia: &mut Boxes, old: Child<'_>, table: &Table) {
    let (timescale, duration) = (table.timescale, table.duration());
    // The language and the two bytes after it come last.
    let tail = old.content.last_chunk::<4>().copied().unwrap_or_default();
    let short = u32::try_from(duration);
    mdia.put_full_box(b"mdhd", u8::from(short.is_err()), 0, |mdhd| {
        mdhd.put_zeros(if short.is_ok() { 8 } else { 16 });
        mdhd.put_u32(timescale);
        match short {
            Ok(short) => mdhd.put_u32(short),
            Err(_) => mdhd.put_u64(duration),
        }
        mdhd.put(&tail);
    });
}

fn put_tables(stbl: &mut Boxes, table: &Table) {
    stbl.put_full_box(b"stts", 0, 0, |stts| {
        stts.put_u32(table.durations.0.len() as u32);
        for (count, duration) in &table.durations.0 {
            stts.put_u32(*count);
            stts.put_u32(*duration);
        }
    });
    if table.syncs.len() < table.sizes.len() {
        stbl.put_full_box(b"stss", 0, 0, |stss| {
            stss.put_u32(table.syncs.len() as u32);
            table.syncs.iter().for_each(|number| stss.put_u32(*number));
        });
    }
    let compositions = &table.compositions.0;
    if compositions
        .iter()
        .any(|(_, composition)| *composition != 0)
    {
        let is_signed = compositions.iter().any(|(_, composition)| *composition < 0);
        stbl.put_full_box(b"ctts", u8::from(is_signed), 0, |ctts| {
            ctts.put_u32(compositions.len() as u32);
            for (count, composition) in compositions {
                ctts.put_u32(*count);
                ctts.put(&composition.to_be_bytes());
            }
        });
    }
    stbl.put_full_box(b"stsc", 0, 0, |stsc| {
        stsc.put_u32(table.chunk_samples.0.len() as u32);
        let mut chunk = 1;
        for (chunks, samples) in &table.chunk_samples.0 {
            stsc.put_u32(chunk);
            stsc.put_u32(*samples);
            stsc.put_u32(1); // sample description
            chunk += *chunks;
        }
    });
    stbl.put_full_box(b"stsz", 0, 0, |stsz| {
        stsz.put_u32(0);
        stsz.put_u32(table.sizes.len() as u32);
        table.sizes.iter().for_each(|size| stsz.put_u32(*size));
    });
    stbl.put_full_box(b"co64", 0, 0, |co64| {
        co64.put_u32(table.chunks.len() as u32);
        table.chunks.iter().for_each(|at| co64.put_u64(*at));
    });
}

/// Copies a box with a 32-bit duration at `at`; a box with longer times is copied unchanged.
fn put_with_duration(boxes: &mut Boxes, child: Child<'_>, at: usize, duration: u32) {
    let mut content = child.content.to_vec();
    if content.first() == Some(&0)
        && let Some(field) = content.get_mut(at..at + 4)
    {
        field.copy_from_slice(&duration.to_be_bytes());
    }
    boxes.put_box(&child.kind, |boxes| boxes.put(&content));
}
