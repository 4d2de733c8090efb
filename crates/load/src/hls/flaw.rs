//! Violations that a server can commit, in few words: reports count by these words.

/// A rule that a playlist or its media breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("a part is longer than PART-TARGET")]
    PartTooLong,
    #[error("a segment is longer than TARGETDURATION")]
    SegmentTooLong,
    #[error("parts without PART-TARGET")]
    NoPartTarget,
    #[error("parts without a PART-HOLD-BACK of twice PART-TARGET or more")]
    PartHoldBackTooShort,
    #[error("a HOLD-BACK below three times TARGETDURATION")]
    HoldBackTooShort,
    #[error("a CAN-SKIP-UNTIL below six times TARGETDURATION")]
    SkipTooShort,
    #[error("the end of the playlist went back")]
    EndWentBack,
    #[error("MEDIA-SEQUENCE went back")]
    SequenceWentBack,
    #[error("DISCONTINUITY-SEQUENCE went back")]
    DiscontinuityWentBack,
    #[error("TARGETDURATION changed")]
    TargetChanged,
    #[error("PART-TARGET changed")]
    PartTargetChanged,
    #[error("HOLD-BACK or PART-HOLD-BACK changed")]
    HoldBackChanged,
    #[error("media that was listed is listed otherwise")]
    Rewritten,
    #[error("a discontinuity is counted otherwise")]
    DiscontinuityMiscounted,
    #[error("a blocking reload was answered without the part it asks for")]
    Unheld,
    #[error("a blocking reload was refused")]
    Rejected,
    #[error("listed media was refused")]
    Refused,
    #[error("media or a map begins as none may begin")]
    BadStart,
}
