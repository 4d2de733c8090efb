// Included by the targets that play strangers' MP4 files. An input is a file, a text, and a byte with the length of the text.

use container::mp4_file::index::{Index, Indexer, Purpose};

/// Splits the input into the file and the text.
pub(crate) fn split(input: &[u8]) -> Option<(&[u8], String)> {
    let (length, input) = input.split_last()?;
    let at = input.len().checked_sub(usize::from(*length))?;
    let (file, text) = input.split_at(at);
    Some((file, String::from_utf8_lossy(text).into_owned()))
}

/// Returns the index of a file for its segments, if it has one.
pub(crate) fn index(file: &[u8]) -> Option<Index> {
    let mut indexer = Indexer::new(file.len() as u64, Purpose::Segments);
    loop {
        let wants = indexer.wants();
        let bytes = &file[wants.start as usize..wants.end as usize];
        if let Some(index) = indexer.take(bytes).ok()? {
            return Some(index);
        }
    }
}
