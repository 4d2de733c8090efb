//! Suggestion of the known word that was probably meant.

/// Similarity below which a guess would only confuse: `port` is not a misspelling of `workers`.
const SIMILARITY_MIN: f64 = 0.75;

/// Similarity of a slip: one letter too many, too few, wrong, or swapped with its neighbour. In a word as short as `url` the
/// other measure rates a slip too low to pass.
const SLIP_SIMILARITY: f64 = 0.9;

/// Returns the known word that was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let similarity = |candidate: &str| {
        let candidate = candidate.to_ascii_lowercase();
        let is_slip = word.len() > 1 && strsim::osa_distance(&word, &candidate) == 1;
        let slip = if is_slip { SLIP_SIMILARITY } else { 0.0 };
        strsim::jaro_winkler(&word, &candidate).max(slip)
    };
    known
        .map(|candidate| (similarity(candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
