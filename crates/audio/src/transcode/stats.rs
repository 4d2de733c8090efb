//! Counters of the processed audio.

base::numbers! {
    /// Counters of one transcoder since it was opened.
    pub struct Stats {
        /// Frames of the source, good and bad.
        pub frames: u64,
        /// Frames that could not be decoded and were concealed.
        pub bad_frames: u64,
        /// Bad frames on which the decoder panicked; it was replaced each time.
        pub decoder_panics: u64,
        /// Times the source's clock ran ahead of its samples by more than the tolerance and the gap was filled.
        pub gaps: u64,
        /// Audio synthesised for gaps, in 1/48 000 s.
        pub filled_samples: u64,
        /// Times the source's clock fell behind its samples by more than the tolerance and audio was left out.
        pub overlaps: u64,
        /// Audio left out, in 1/48 000 s.
        pub skipped_samples: u64,
        /// Times the source's clock jumped too far to fill or skip; output continued at the new time.
        pub jumps: u64,
        /// Opus packets produced.
        pub packets: u64,
        /// Bytes in these packets.
        pub packet_bytes: u64,
        /// Packets that libopus failed to produce; their time passes in silence.
        pub failed_packets: u64,
    }
}
