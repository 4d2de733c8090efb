//! The known word that was probably meant by another.

/// Below this similarity a guess would only confuse: `port` is no misspelling of `workers`.
const SIMILARITY_MIN: f64 = 0.75;

/// One letter too many, too few, wrong, or changed with its neighbour. In a word as short as `url`
/// that is as much as the other measure sees of it, which would let it pass.
const SLIP_SIMILARITY: f64 = 0.9;

/// The known word that was probably meant.
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
